// One provider with `max_concurrent`: requests wait in order, streams get keep-alives, who leaves gives its place up, and a full line
// leads to the next target.
import { expect, test } from 'vitest';
import { faultsOf, load } from '../config/folder.ts';
import { ask, send } from '../helpers/ask.ts';
import { manualClock } from '../helpers/clock.ts';
import { gateway, provider, type TestGateway } from '../helpers/gateway.ts';
import { home } from '../helpers/process.ts';
import {
  CUT,
  gate,
  scriptedProvider,
  type Script,
  type ScriptedProvider,
} from '../helpers/scripted-provider.ts';
import { streamOf, wholeOf } from './wire.ts';

const CLIENTS = 50;
const HELLO = { body: wholeOf('chat', 'hello') };

const gpu = (upstream: ScriptedProvider, more: object = {}) =>
  provider(`${upstream.url}/v1`, 'chat', ['m'], { max_concurrent: 1, ...more });

const named = (name: string) => ({ model: 'm', body: { messages: [{ role: 'user', content: name }] } });

const namesOf = (upstream: ScriptedProvider): string[] =>
  upstream.requests.map(({ json }) => (json.messages as { content: string }[])[0]?.content ?? '');

/** Answers one after the other, and tells the most that were under way at once. */
function counting(upstream: ScriptedProvider): { most: () => number } {
  let underWay = 0;
  let most = 0;
  upstream.answerBy((asked) => {
    most = Math.max(most, (underWay += 1));
    void asked.left.then(() => (underWay -= 1));
    return undefined;
  });
  return { most: () => most };
}

/** Requests of the account that were admitted in the hour of the manual clock. */
const admitted = (server: TestGateway) => (): Promise<number> =>
  server.store.used(1, Date.parse('2026-03-01T10:00:00Z'));

test('50 clients at once: one after the other, in the order in which they came', async () => {
  const upstream = await scriptedProvider();
  const { most } = counting(upstream);
  const open = gate();
  upstream.playAlways(HELLO);
  upstream.play({ steps: [open.opened, streamOf('chat', 'first')] });
  const config = { providers: { gpu: gpu(upstream) }, tiers: { enterprise: 1000 } };
  const server = await gateway({ config, clock: manualClock() });
  const all: Promise<{ status: number }>[] = [ask(server, { ...named('0'), stream: true })];
  await upstream.next();
  for (let at = 1; at < CLIENTS; at += 1) {
    all.push(ask(server, named(String(at))));
    // Each is in the line before the next one comes.
    await expect.poll(admitted(server), { interval: 5, timeout: 20_000 }).toBe(at + 1);
  }
  expect(upstream.requests).toHaveLength(1);
  open.open();
  const statuses = (await Promise.all(all)).map(({ status }) => status);
  expect(statuses).toEqual(Array<number>(CLIENTS).fill(200));
  expect(namesOf(upstream)).toEqual(Array.from({ length: CLIENTS }, (_, at) => String(at)));
  expect(most()).toBe(1);
});

test('a stream that waits gets keep-alives, and one whose client leaves gives its place up', async () => {
  const upstream = await scriptedProvider();
  const open = gate();
  upstream.playAlways({ steps: [streamOf('chat', 'hello')] });
  upstream.play({ steps: [open.opened, streamOf('chat', 'first')] });
  const clock = manualClock();
  const server = await gateway({ config: { providers: { gpu: gpu(upstream) } }, clock });
  const first = ask(server, { ...named('first'), stream: true });
  await upstream.next();
  const leaver = new AbortController();
  const left = send(server, { ...named('leaver'), stream: true, signal: leaver.signal }).catch(String);
  await expect.poll(admitted(server)).toBe(2);
  const waiting = ask(server, { ...named('waiting'), stream: true });
  await expect.poll(admitted(server)).toBe(3);
  leaver.abort();
  await left;
  for (let at = 0; at < 3; at += 1) clock.advance(10_000);
  open.open();
  expect((await first).content).toBe('first');
  const seen = await waiting;
  expect(seen).toMatchObject({ status: 200, content: 'hello' });
  expect(seen.text.match(/^: ?keep-?alive/gim)).toHaveLength(3);
  expect(namesOf(upstream)).toEqual(['first', 'waiting']);
  expect(await admitted(server)()).toBe(3);
});

test.each([
  [
    'full',
    { queue: { size: 1 } },
    'gpu has 1 request under way (max_concurrent), and 1 more wait already (queue.size)',
  ],
  ['none', { queue: { size: 0 } }, 'gpu has 1 request under way (max_concurrent)'],
])('a line that is %s leads to the next target, and alone to a 503 that says so', async (_, queue, why) => {
  const [upstream, cloud] = [await scriptedProvider(), await scriptedProvider()];
  const open = gate();
  upstream.playAlways({ steps: [open.opened, streamOf('chat', 'from the gpu')] });
  cloud.playAlways({ body: wholeOf('chat', 'from the cloud') });
  const providers = { gpu: gpu(upstream, queue), cloud: provider(`${cloud.url}/v1`, 'chat', ['m']) };
  const server = await gateway({ config: { providers }, clock: manualClock() });
  const held = [ask(server, { model: 'gpu/m', stream: true })];
  await upstream.next();
  if (queue.queue.size === 1) {
    held.push(ask(server, { model: 'gpu/m', stream: true }));
    await expect.poll(admitted(server)).toBe(2);
  }
  const beside = await ask(server, { model: 'm' });
  expect(beside).toMatchObject({ status: 200, content: 'from the cloud' });
  expect(beside.headers.get('x-gateway-provider')).toBe('cloud');
  const alone = await ask(server, { model: 'gpu/m' });
  expect(alone.status).toBe(503);
  expect(alone.error?.message).toBe(why);
  expect(alone.headers.get('retry-after')).toBe('5');
  expect(alone.headers.get('x-gateway-attempts')).toBe('0');
  open.open();
  for (const seen of await Promise.all(held)) expect(seen.content).toBe('from the gpu');
});

test('a wait that is over leads to the next target, also in a stream that has begun', async () => {
  const [upstream, cloud] = [await scriptedProvider(), await scriptedProvider()];
  const open = gate();
  upstream.playAlways({ steps: [open.opened, streamOf('chat', 'from the gpu')] });
  cloud.playAlways({ steps: [streamOf('chat', 'from the cloud')] });
  const providers = {
    gpu: gpu(upstream, { queue: { wait: '15s' } }),
    cloud: provider(`${cloud.url}/v1`, 'chat', ['m']),
  };
  const clock = manualClock();
  const server = await gateway({ config: { providers }, clock });
  const first = ask(server, { model: 'gpu/m', stream: true });
  await upstream.next();
  const second = ask(server, { model: 'm', stream: true });
  await expect.poll(admitted(server)).toBe(2);
  clock.advance(15_000);
  expect(await second).toMatchObject({ status: 200, content: 'from the cloud' });
  open.open();
  expect((await first).content).toBe('from the gpu');
});

test.each<[string, Script]>([
  ['a refusal', { status: 400, body: { error: { message: 'no' } } }],
  ['a failure', { status: 500, body: { error: { message: 'no' } } }],
  ['a stream that breaks', { steps: [streamOf('chat', 'hello').slice(0, 80), CUT] }],
])('%s gives the place to the next request', async (_, script) => {
  const upstream = await scriptedProvider();
  upstream.playAlways(HELLO);
  const server = await gateway({ config: { providers: { gpu: gpu(upstream, { queue: { size: 0 } }) } } });
  upstream.play(script);
  await ask(server, { model: 'm', stream: 'steps' in script });
  await expect.poll(async () => (await ask(server, { model: 'm' })).status).toBe(200);
});

test('a client that leaves in the middle of its answer gives its place up', async () => {
  const upstream = await scriptedProvider();
  upstream.playAlways(HELLO);
  upstream.play({ steps: [streamOf('chat', 'hello').slice(0, 200), new Promise(() => undefined)] });
  const server = await gateway({ config: { providers: { gpu: gpu(upstream) } } });
  const leaver = new AbortController();
  const first = send(server, { model: 'm', stream: true, signal: leaver.signal });
  await upstream.next();
  const second = ask(server, { model: 'm' });
  await first;
  leaver.abort();
  expect(await second).toMatchObject({ status: 200, content: 'hello' });
});

test('without queue, 100 wait for ten minutes; a queue without max_concurrent is a fault', () => {
  const lineIn = (text: string) => load(`providers:\n  ollama: ${text}\n`).providers[0]?.line;
  expect(lineIn('{ max_concurrent: 2 }')).toEqual({ maxConcurrent: 2, size: 100, wait: 600_000 });
  expect(lineIn('{ max_concurrent: 2, queue: { size: 5, wait: 1m } }')).toEqual({
    maxConcurrent: 2,
    size: 5,
    wait: 60_000,
  });
  expect(lineIn('{}')).toBeUndefined();
  expect(faultsOf('providers:\n  ollama: { queue: { size: 5 } }\n')).toEqual([
    'gateway.yaml:2 providers.ollama.queue: has no effect without max_concurrent; write that, too',
  ]);
});

test.each([[[]], [['--workers', '2']]])(
  'the built program (%j): never two at once at the provider',
  async (words) => {
    const upstream = await scriptedProvider();
    const { most } = counting(upstream);
    upstream.playAlways(HELLO);
    const shell = home({});
    shell.configure({ providers: { gpu: gpu(upstream) }, tiers: { team: 1000 } });
    const server = await shell.serve(...words);
    const to = { url: server.url, key: await shell.newKey('team') };
    const all = await Promise.all(Array.from({ length: CLIENTS }, () => ask(to, { model: 'm' })));
    expect(all.map(({ status }) => status)).toEqual(Array<number>(CLIENTS).fill(200));
    expect(most()).toBe(1);
  },
);
