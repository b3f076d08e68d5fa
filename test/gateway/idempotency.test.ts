// Idempotency-Key: what was answered is answered again, what is under way is waited for, and nothing is sent or counted twice.
import { expect, test } from 'vitest';
import { createRepeats } from '../../src/repeats.ts';
import { ask, send } from '../helpers/ask.ts';
import { manualClock } from '../helpers/clock.ts';
import { gateway, provider, type TestGateway } from '../helpers/gateway.ts';
import { home } from '../helpers/process.ts';
import { gate, scriptedProvider, type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { streamOf, wholeOf } from './wire.ts';

async function place(): Promise<{
  upstream: ScriptedProvider;
  server: TestGateway;
  used: () => Promise<number>;
}> {
  const upstream = await scriptedProvider();
  upstream.playAlways({ body: wholeOf('chat', 'hello') });
  const providers = { p: provider(`${upstream.url}/v1`, 'chat', ['m']) };
  const server = await gateway({ config: { providers }, clock: manualClock() });
  return { upstream, server, used: () => server.store.used(1, Date.parse('2026-03-01T10:00:00Z')) };
}

const once = (key = 'key-1') => ({ model: 'm', headers: { 'idempotency-key': key } });

test('a finished answer is given again, and is neither sent nor counted twice', async () => {
  const { upstream, server, used } = await place();
  const first = await ask(server, once());
  const again = await ask(server, once());
  expect([first.status, again.status]).toEqual([200, 200]);
  expect(again.text).toBe(first.text);
  expect(again.headers.get('x-gateway-replayed')).toBe('true');
  expect(first.headers.has('x-gateway-replayed')).toBe(false);
  expect(again.headers.get('x-gateway-model')).toBe('m');
  expect(again.headers.has('x-ratelimit-remaining-requests')).toBe(false);
  expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
  expect(upstream.requests).toHaveLength(1);
  expect(await used()).toBe(1);
  await ask(server, once('key-2'));
  await ask(server, { model: 'm' });
  expect(upstream.requests).toHaveLength(3);
});

test('a finished stream is given again as a stream', async () => {
  const { upstream, server } = await place();
  upstream.play({ steps: [streamOf('chat', 'streamed')] });
  const first = await ask(server, { ...once(), stream: true });
  const again = await ask(server, { ...once(), stream: true });
  expect(again).toMatchObject({ status: 200, content: 'streamed', text: first.text });
  expect(again.headers.get('content-type')).toContain('text/event-stream');
  expect(upstream.requests).toHaveLength(1);
});

test('another body, another path or a query under the same key is a 422', async () => {
  const { upstream, server, used } = await place();
  await ask(server, once());
  const other = await ask(server, { ...once(), body: { temperature: 0 } });
  expect(other.status).toBe(422);
  expect(other.error?.message).toContain('this Idempotency-Key was used for another request');
  expect((await ask(server, { ...once(), protocol: 'messages' })).status).toBe(422);
  expect(upstream.requests).toHaveLength(1);
  expect(await used()).toBe(1);
});

test('another account has keys of its own', async () => {
  const { upstream, server } = await place();
  await ask(server, once());
  const key = await server.newKey({ account: 'other' });
  const seen = await ask({ url: server.url, key }, { ...once(), body: { temperature: 0 } });
  expect(seen.status).toBe(200);
  expect(upstream.requests).toHaveLength(2);
  expect((await ask({ url: server.url, key: 'sk-no' }, once())).status).toBe(401);
});

test('a whole request that is under way is joined, a stream is a 409 until it is over', async () => {
  const { upstream, server, used } = await place();
  const open = gate();
  upstream.answerBy(() => undefined);
  upstream.play({ steps: [open.opened, streamOf('chat', 'streamed')] });
  const stream = ask(server, { ...once('stream'), stream: true });
  await upstream.next();
  const busy = await ask(server, { ...once('stream'), stream: true });
  expect([busy.status, busy.headers.get('retry-after')]).toEqual([409, '1']);
  upstream.play({
    headers: { 'content-type': 'application/json' },
    steps: [open.opened, JSON.stringify(wholeOf('chat', 'whole'))],
  });
  const whole = ask(server, once());
  await upstream.next();
  const joined = [ask(server, once()), ask(server, once())];
  open.open();
  expect((await stream).content).toBe('streamed');
  for (const seen of await Promise.all([whole, ...joined]))
    expect(seen).toMatchObject({ status: 200, content: 'whole' });
  expect(upstream.requests).toHaveLength(2);
  expect(await used()).toBe(2);
});

test.each([
  ['a failure', { status: 500, body: { error: { message: 'broken' } } }, false],
  ['a refusal', { status: 400, body: { error: { message: 'no' } } }, false],
  ['a broken stream', { steps: [streamOf('chat', 'hello').slice(0, 150)] }, true],
])('%s is not kept: the same key asks again', async (_, script, stream) => {
  const { upstream, server } = await place();
  if (stream) upstream.playAlways({ steps: [streamOf('chat', 'hello')] });
  upstream.play(script);
  await ask(server, { ...once(), stream });
  const again = await ask(server, { ...once(), stream });
  expect(again).toMatchObject({ status: 200, content: 'hello' });
  expect(upstream.requests).toHaveLength(2);
});

test('a client that leaves makes room for its own repetition', async () => {
  const { upstream, server } = await place();
  upstream.play({ steps: [new Promise(() => undefined)] });
  const leaver = new AbortController();
  const first = send(server, { ...once(), signal: leaver.signal }).catch(String);
  const asked = await upstream.next();
  leaver.abort();
  await first;
  expect(await asked.left).toBe(true);
  expect(await ask(server, once())).toMatchObject({ status: 200, content: 'hello' });
});

test('an answer that is too large to keep is not sent twice: 409', async () => {
  const { upstream, server } = await place();
  upstream.play({ body: wholeOf('chat', 'x'.repeat(5 * 1024 * 1024)) });
  expect((await ask(server, once())).status).toBe(200);
  const again = await ask(server, once());
  expect([again.status, again.headers.get('x-should-retry')]).toEqual([409, 'false']);
  expect(upstream.requests).toHaveLength(1);
});

test('a key that is too long is a 400', async () => {
  const { server } = await place();
  expect((await ask(server, once('k'.repeat(256)))).status).toBe(400);
});

test('answers are forgotten after a day, and the oldest first where they are too many bytes', async () => {
  const clock = manualClock();
  const repeats = createRepeats(clock, 1000);
  const answer = { headers: [], body: Buffer.alloc(600), stream: false };
  for (const id of ['a', 'b']) {
    expect(await repeats.claim(id, 'f')).toEqual({ kind: 'first' });
    repeats.finish(id, answer);
  }
  expect(await repeats.claim('a', 'f')).toEqual({ kind: 'answered', answer: undefined });
  expect(await repeats.claim('b', 'f')).toEqual({ kind: 'answered', answer });
  clock.advance(24 * 60 * 60 * 1000);
  expect(await repeats.claim('b', 'f')).toEqual({ kind: 'first' });
});

test('the built program: one memory over two workers', async () => {
  const upstream = await scriptedProvider();
  upstream.playAlways({ body: wholeOf('chat', 'hello') });
  const shell = home({});
  shell.configure({ providers: { p: provider(`${upstream.url}/v1`, 'chat', ['m']) } });
  const server = await shell.serve('--workers', '2');
  const to = { url: server.url, key: await shell.newKey('free') };
  const first = await ask(to, once());
  // Each on a connection of its own, so that both workers get some.
  const all = await Promise.all(
    Array.from({ length: 12 }, () =>
      ask(to, { ...once(), headers: { ...once().headers, connection: 'close' } }),
    ),
  );
  expect(all.map(({ status, text }) => [status, text])).toEqual(all.map(() => [200, first.text]));
  expect(upstream.requests).toHaveLength(1);
});
