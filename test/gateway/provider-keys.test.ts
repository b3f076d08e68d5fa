// A provider with several keys: each cools down by itself, no request is lost, and no key is shown.
import { expect, test } from 'vitest';
import { faultsOf, load } from '../config/folder.ts';
import { ask, type Seen } from '../helpers/ask.ts';
import { manualClock } from '../helpers/clock.ts';
import { gateway, provider, type TestGateway } from '../helpers/gateway.ts';
import { home } from '../helpers/process.ts';
import { scriptedProvider, type Script, type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { streamOf, wholeOf } from './wire.ts';

const A = 'sk-first-secret-0123456789';
const B = 'sk-second-secret-0123456789';
const C = 'sk-third-secret-0123456789';
const LIMITED: Script = { status: 429, body: { error: { message: `too many with ${A}` } } };
const NO_QUOTA: Script = {
  status: 429,
  body: {
    error: {
      message: 'You exceeded your current quota',
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    },
  },
};
const REFUSED: Script = { status: 401, body: { error: { message: 'Incorrect API key' } } };

interface Place {
  upstream: ScriptedProvider;
  server: TestGateway;
  clock: ReturnType<typeof manualClock>;
  asked: () => (string | undefined)[];
}

async function place(keys: string[], more: object = {}): Promise<Place> {
  const upstream = await scriptedProvider();
  upstream.playAlways({ body: wholeOf('chat', 'hello') });
  const clock = manualClock();
  const p = provider(`${upstream.url}/v1`, 'chat', ['m'], { api_key: keys });
  const server = await gateway({ config: { providers: { p }, ...more }, clock });
  const asked = () => upstream.requests.map(({ headers }) => headers.authorization?.replace('Bearer ', ''));
  return { upstream, server, clock, asked };
}

const keyNumbers = (server: TestGateway): unknown[] =>
  server
    .log()
    .split('\n')
    .filter((line) => line.includes('"answered"') || line.includes('"a target failed"'))
    .map((line) => (JSON.parse(line) as { provider_key?: number }).provider_key);

test.each([
  ['rate limited', LIMITED],
  ['out of quota', NO_QUOTA],
  ['refused', REFUSED],
])('a key that is %s gives way to the next one within the same request', async (_, refusal) => {
  const { upstream, server, asked } = await place([A, B]);
  upstream.play(refusal);
  const seen = await ask(server, { model: 'm' });
  expect(seen).toMatchObject({ status: 200, content: 'hello' });
  expect(seen.headers.get('x-gateway-attempts')).toBe('1');
  // The first one cools: it is not asked meanwhile.
  expect((await ask(server, { model: 'm' })).status).toBe(200);
  expect(asked()).toEqual([A, B, B]);
  expect(keyNumbers(server)).toEqual([1, 2, 2]);
  expect(server.log()).not.toMatch(/secret-0123/);
});

test('a key is asked again after its own wait', async () => {
  const { upstream, server, clock, asked } = await place([A, B]);
  upstream.play({ ...LIMITED, headers: { 'retry-after': '20' } });
  await ask(server, { model: 'm' });
  clock.advance(19_000);
  await ask(server, { model: 'm' });
  clock.advance(1000);
  await ask(server, { model: 'm' });
  expect(asked()).toEqual([A, B, B, A]);
});

test('with one of two keys out of quota, of many requests at once none is lost', async () => {
  const { upstream, server } = await place([A, B], { tiers: { enterprise: 1000 } });
  upstream.playAlways({ body: wholeOf('chat', 'hello') });
  const byKey: Record<string, Script> = { [A]: NO_QUOTA, [B]: { body: wholeOf('chat', 'hello') } };
  upstream.answerBy(({ headers }) => byKey[headers.authorization?.slice('Bearer '.length) ?? '']);
  const all = await Promise.all(Array.from({ length: 40 }, () => ask(server, { model: 'm' })));
  expect(all.map(({ status }) => status)).toEqual(Array<number>(40).fill(200));
});

test('a stream begins anew with the next key, and a key whose failure is not its own is not exchanged', async () => {
  const { upstream, server, asked } = await place([A, B]);
  upstream.play(LIMITED, { steps: [streamOf('chat', 'hello')] });
  expect(await ask(server, { model: 'm', stream: true })).toMatchObject({ status: 200, content: 'hello' });
  upstream.play({ status: 500, body: { error: { message: 'broken' } } });
  expect((await ask(server, { model: 'm' })).status).toBe(502);
  expect(asked()).toEqual([A, B, B]);
});

test('where all keys are rate limited, the client waits for the first that is free again', async () => {
  const { upstream, server } = await place([A, B, C]);
  const limited = (seconds: number): Script => ({ ...LIMITED, headers: { 'retry-after': String(seconds) } });
  upstream.play(limited(50), limited(7), REFUSED);
  const seen: Seen = await ask(server, { model: 'm' });
  expect(seen.status).toBe(503);
  // The refused key cools for a second at first.
  expect(Number(seen.headers.get('retry-after'))).toBeLessThanOrEqual(7);
  expect(seen.text).not.toContain('secret');
});

test('all keys are tried before the next target, which counts as the second attempt', async () => {
  const upstream = await scriptedProvider();
  upstream.playAlways({ body: wholeOf('chat', 'hello') });
  const p = provider(`${upstream.url}/v1`, 'chat', ['m'], { api_key: [A, B] });
  const q = provider(`${upstream.url}/v1`, 'chat', ['m'], { api_key: C });
  const server = await gateway({ config: { providers: { p, q } } });
  upstream.play(LIMITED, REFUSED);
  const seen = await ask(server, { model: 'm' });
  expect(seen.status).toBe(200);
  expect(seen.headers.get('x-gateway-attempts')).toBe('2');
  expect(upstream.requests.map(({ headers }) => headers.authorization)).toEqual(
    [A, B, C].map((key) => `Bearer ${key}`),
  );
});

test('the key of another protocol is in its own header', async () => {
  const upstream = await scriptedProvider();
  upstream.playAlways({ body: wholeOf('messages', 'hello') });
  const p = provider(upstream.url, 'messages', ['m'], { api_key: [A, B] });
  const server = await gateway({ config: { providers: { p } } });
  upstream.play({
    status: 429,
    body: { type: 'error', error: { type: 'rate_limit_error', message: 'slow' } },
  });
  expect(await ask(server, { protocol: 'messages', model: 'm' })).toMatchObject({
    status: 200,
    content: 'hello',
  });
  expect(upstream.requests.map(({ headers }) => headers['x-api-key'])).toEqual([A, B]);
});

test('one of several keys that is not set is left out alone, with a warning', () => {
  const text = 'providers:\n  openai:\n    api_key: ["${K1}", "${K2}", "${file:/nowhere/x}"]\n';
  const { providers, warnings } = load(text, { env: { K2: 'k2' } });
  expect(providers[0]).toMatchObject({ name: 'openai', apiKey: 'k2' });
  expect(providers[0]?.apiKeys).toBeUndefined();
  expect(warnings).toEqual([
    'provider openai: one of its keys is left out: K1 is not set, the file /nowhere/x does not exist',
  ]);
  expect(load(`${text}  sim:\n`).warnings).toEqual([
    'provider openai is left out: K1, K2 are not set, the file /nowhere/x does not exist',
  ]);
});

test.each([
  ['[]', 'api_key: is an empty list; write one key, or [A, B] of 20 at most'],
  [
    '[a, "b c"]',
    'api_key[1]: is not a key; write ${NAME} of the environment variable that holds it, or the key as text',
  ],
  [
    JSON.stringify(Array.from({ length: 21 }, (_, at) => `k${at}`)),
    'api_key: has too many keys; write one key, or [A, B] of 20 at most',
  ],
])('api_key: %s is a fault', (keys, fault) => {
  expect(faultsOf(`providers:\n  openai:\n    api_key: ${keys}\n`)).toEqual([
    `gateway.yaml:3 providers.openai.${fault}`,
  ]);
});

test('the built program: requests ID names the keys by their numbers, and config show hides them', async () => {
  const upstream = await scriptedProvider();
  upstream.playAlways({ body: wholeOf('chat', 'hello') });
  upstream.play(NO_QUOTA);
  const shell = home({ K1: A, K2: B });
  const p = provider(`${upstream.url}/v1`, 'chat', ['m'], { api_key: ['${K1}', '${K2}'] });
  shell.configure({ providers: { p } });
  const server = await shell.serve('--workers', '2');
  const seen = await ask({ url: server.url, key: await shell.newKey('free') }, { model: 'm' });
  expect(seen.status).toBe(200);
  let shown = '';
  const show = async (): Promise<string> =>
    (shown = (await shell.command('requests', seen.headers.get('x-request-id') ?? '')).stdout);
  // The row is written after the answer.
  await expect
    .poll(show, { timeout: 20_000 })
    .toMatch(/1\. p\/m \(chat, key 1\): 429 billing.*\n.*2\. p\/m \(chat, key 2\): answered/);
  const { stdout: config } = await shell.command('config', 'show');
  expect(config).toContain('2 keys, set (sk-fir…), set (sk-sec…)');
  expect(shown + config + server.stderr()).not.toMatch(/secret-0123/);
});
