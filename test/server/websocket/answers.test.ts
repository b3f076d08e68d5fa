// Requests over a WebSocket: answered as over HTTP, one after the other; what the connection remembers; what is refused.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { provider, startGateway, type TestGateway } from '../../helpers/gateway.ts';
import { startScriptedProvider, type ScriptedProvider } from '../../helpers/scripted-provider.ts';
import { idOf, socketClient, textOf } from '../../helpers/socket-client.ts';
import { START, content, FINISH, TERMINAL, streamOf } from '../../gateway/wire.ts';

let upstream: ScriptedProvider;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startScriptedProvider();
  gateway = await startGateway({
    config: {
      providers: {
        chat: provider(`${upstream.url}/v1`, 'chat', ['c']),
        messages: provider(`${upstream.url}/v1`, 'messages', ['m']),
        responses: provider(`${upstream.url}/v1`, 'responses', ['r']),
      },
      tiers: { enterprise: 100_000, two: 2, both: { requests: '10/hour', cost: '5/day' } },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});
afterEach(() => {
  upstream.requests.length = 0;
});

const PROTOCOLS = [
  { model: 'c', protocol: 'chat' },
  { model: 'm', protocol: 'messages' },
  { model: 'r', protocol: 'responses' },
] as const;

describe.each(PROTOCOLS)('over a provider of $protocol', ({ model, protocol }) => {
  const play = (text: string) => upstream.play({ steps: [streamOf(protocol, text)] });

  it('each event of the answer is a message, and the last one is the whole Response', async () => {
    const client = await socketClient(gateway);
    play('Hello');
    const events = await client.create({ model, input: 'Hi', store: false });
    expect(events[0]?.type).toBe('response.created');
    expect(events.at(-1)?.type).toBe('response.completed');
    expect(events.filter(({ type }) => type === 'response.output_text.delta')).not.toEqual([]);
    expect(JSON.stringify(events)).toContain('Hello');
    expect(upstream.requests[0]?.json).toMatchObject({ model, stream: true });
    expect(upstream.requests[0]?.json).not.toHaveProperty('type');
    expect(upstream.requests[0]?.json).not.toHaveProperty('generate');
  });

  it('the next message goes on from the last answer by its id, although nothing is stored', async () => {
    const client = await socketClient(gateway);
    play('First answer');
    const first = await client.create({ model, input: 'First question', store: false });
    play('Second answer');
    const second = await client.create({
      model,
      store: false,
      previous_response_id: idOf(first),
      input: 'Second question',
    });
    expect(second.at(-1)?.type).toBe('response.completed');
    const asked = JSON.stringify(upstream.requests[1]?.json);
    expect(asked).toMatch(/First question.*Second question/);
    if (protocol !== 'responses') expect(asked).toMatch(/First question.*First answer.*Second question/);
    expect(asked).not.toContain('previous_response_id');
  });
});

it('one answer at a time: a second message waits, and nothing of the two is mixed', async () => {
  const client = await socketClient(gateway);
  let goOn = (): void => undefined;
  const held = new Promise<void>((resolve) => (goOn = resolve));
  const [before, after] = [START.chat + content('chat', 'one'), FINISH.chat + TERMINAL.chat];
  upstream.play({ steps: [before, held, after] }, { steps: [streamOf('chat', 'two')] });
  const first = client.create({ model: 'c', input: '1' });
  const second = first.then(() => client.answer());
  client.ws.send(JSON.stringify({ type: 'response.create', model: 'c', input: '2' }));
  await client.until('response.output_text.delta');
  expect(upstream.requests).toHaveLength(1);
  goOn();
  expect(textOf(await first)).toBe('one');
  expect(textOf(await second)).toBe('two');
});

it('generate: false prepares what the next message goes on from, asks nobody and is not counted', async () => {
  const key = await gateway.newKey({ account: 'prepared', tier: 'two' });
  const client = await socketClient({ url: gateway.url, key });
  for (let round = 0; round < 4; round += 1) {
    const prepared = await client.create({ model: 'c', input: 'Long.', store: false, generate: false });
    expect(prepared.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.completed',
    ]);
  }
  expect(upstream.requests).toEqual([]);
  const prepared = await client.create({ model: 'c', input: 'Long.', store: false, generate: false });
  upstream.play({ steps: [streamOf('chat', 'Yes')] });
  const next = { model: 'c', store: false, previous_response_id: idOf(prepared), input: 'Short.' };
  expect(textOf(await client.create(next))).toBe('Yes');
  expect(JSON.stringify(upstream.requests[0]?.json['messages'])).toMatch(/Long\..*Short\./);
});

describe('what fails is an error message, and the connection stays', () => {
  it.each([
    ['not JSON', '{', 'invalid_request_error'],
    ['no object', '[]', 'invalid_request_error'],
    ['another type', '{"type":"response.cancel"}', 'invalid_request_error'],
    ['no type', '{"model":"c","input":"x"}', 'invalid_request_error'],
    ['no model', '{"type":"response.create","input":"x"}', 'invalid_request_error'],
    ['nothing else', '{"type":"response.create"}', 'invalid_request_error'],
    ['a generate of another type', '{"type":"response.create","generate":1}', 'invalid_request_error'],
    ['an unknown model', '{"type":"response.create","model":"x","input":"x"}', 'invalid_request_error'],
    ['nesting', `{"type":"response.create","model":"c","input":${'['.repeat(600)}`, 'invalid_request_error'],
  ])('%s', async (_, text, type) => {
    const client = await socketClient(gateway);
    client.ws.send(text);
    expect(await client.answer()).toEqual([
      {
        type: 'error',
        status: 400,
        error: expect.objectContaining({ type, message: expect.any(String) as string }) as object,
        headers: expect.objectContaining({ 'x-request-id': expect.any(String) as string }) as object,
      },
    ]);
    upstream.play({ steps: [streamOf('chat', 'Still here')] });
    expect(textOf(await client.create({ model: 'c', input: 'Hi' }))).toBe('Still here');
  });

  it('an unknown previous_response_id has its code', async () => {
    const client = await socketClient(gateway);
    const [error] = await client.create({ model: 'c', previous_response_id: 'resp_none', input: 'x' });
    expect(error).toMatchObject({
      type: 'error',
      status: 400,
      error: { code: 'previous_response_not_found', param: 'previous_response_id' },
    });
  });

  it('a provider that fails before its answer begins, and one that fails in the middle: one end each', async () => {
    const client = await socketClient(gateway);
    upstream.play({ status: 400, body: { error: { message: 'No such thing.' } } });
    expect(await client.create({ model: 'c', input: 'x' })).toMatchObject([{ type: 'error', status: 400 }]);
    upstream.play({ steps: [START.chat + content('chat', 'half')] });
    const cut = await client.create({ model: 'c', input: 'x' });
    expect(cut.at(-1)).toMatchObject({ type: 'response.failed', response: { status: 'failed' } });
    expect(cut.map(({ type }) => type)).not.toContain('error');
    upstream.play({ steps: [streamOf('chat', 'Whole')] });
    expect(textOf(await client.create({ model: 'c', input: 'x' }))).toBe('Whole');
  });
});

it('the answer of a message that fails must not be gone on from again', async () => {
  const client = await socketClient(gateway);
  upstream.play({ steps: [streamOf('chat', 'Yes')] });
  const first = await client.create({ model: 'c', input: 'x', store: false });
  const output = { type: 'function_call_output', call_id: 'call_none', output: 'lost' };
  const next = { model: 'c', store: false, previous_response_id: idOf(first) };
  expect(await client.create({ ...next, input: [output] })).toMatchObject([{ type: 'error', status: 400 }]);
  expect(await client.create({ ...next, input: 'x' })).toMatchObject([
    { error: { code: 'previous_response_not_found' } },
  ]);
});

it('what is not stored is unknown to every other connection', async () => {
  const client = await socketClient(gateway);
  upstream.play({ steps: [streamOf('chat', 'Yes')] });
  const first = await client.create({ model: 'c', input: 'x', store: false });
  const next = { model: 'c', store: false, previous_response_id: idOf(first), input: 'y' };
  expect(await (await socketClient(gateway)).create(next)).toMatchObject([
    { error: { code: 'previous_response_not_found' } },
  ]);
});

it('what is stored is found from other connections, and over HTTP', async () => {
  const client = await socketClient(gateway);
  upstream.play({ steps: [streamOf('chat', 'Yes')] });
  const first = await client.create({ model: 'c', input: 'Stored?' });
  upstream.play({ steps: [streamOf('chat', 'Again')] });
  const other = await socketClient(gateway);
  const next = { model: 'c', previous_response_id: idOf(first), input: 'And?' };
  expect(textOf(await other.create(next))).toBe('Again');
  const shown = await fetch(`${gateway.url}/v1/responses/${idOf(first)}`, {
    headers: { authorization: `Bearer ${gateway.key}` },
  });
  expect(shown.status).toBe(200);
});

it('each message is counted by itself, and refused when the hour is used up', async () => {
  const key = await gateway.newKey({ account: 'counted', tier: 'two' });
  const client = await socketClient({ url: gateway.url, key });
  upstream.play({ steps: [streamOf('chat', '1')] }, { steps: [streamOf('chat', '2')] });
  expect(textOf(await client.create({ model: 'c', input: 'x' }))).toBe('1');
  expect(textOf(await client.create({ model: 'c', input: 'x' }))).toBe('2');
  expect(await client.create({ model: 'c', input: 'x' })).toMatchObject([
    {
      type: 'error',
      status: 429,
      error: { type: 'usage_limit_reached', resets_at: expect.any(Number) as number },
      headers: { 'retry-after': expect.any(String) as string, 'x-ratelimit-limit-requests': '2' },
    },
  ]);
});

it('Codex gets the hour of the account for its status line, other clients get no event that they do not know', async () => {
  const key = await gateway.newKey({ account: 'shown', tier: 'enterprise' });
  const codex = await socketClient({ url: gateway.url, key }, { headers: { originator: 'codex_exec' } });
  upstream.play({ steps: [streamOf('chat', '1')] }, { steps: [streamOf('chat', '2')] });
  const [hour, created] = await codex.create({ model: 'c', input: 'x' });
  expect(hour).toEqual({
    type: 'codex.rate_limits',
    rate_limits: {
      primary: { used_percent: 0, window_minutes: 60, reset_at: expect.any(Number) as number },
    },
  });
  expect(created?.type).toBe('response.created');
  const two = await gateway.newKey({ account: 'two limits', tier: 'both' });
  const other = await socketClient({ url: gateway.url, key: two }, { headers: { originator: 'codex-tui' } });
  upstream.play({ steps: [streamOf('chat', '1')] });
  expect((await other.create({ model: 'c', input: 'x' }))[0]).toMatchObject({
    rate_limits: { primary: { used_percent: 10, window_minutes: 60 }, secondary: { window_minutes: 1440 } },
  });
  upstream.play({ steps: [streamOf('chat', '2')] });
  const [first] = await (await socketClient(gateway)).create({ model: 'c', input: 'x' });
  expect(first?.type).toBe('response.created');
});

it('each message is a request of the log and of usage, with an id of its own', async () => {
  const key = await gateway.newKey({ account: 'logged' });
  const client = await socketClient({ url: gateway.url, key });
  upstream.play({ steps: [streamOf('chat', '1')] }, { steps: [streamOf('chat', '2')] });
  await client.create({ model: 'c', input: 'x' });
  await client.create({ model: 'c', input: 'x' });
  const account = await gateway.store.findAccount('logged');
  await expect
    .poll(async () => (await gateway.store.listRequests({ accountId: account?.id ?? 0, limit: 9 })).length)
    .toBe(2);
});
