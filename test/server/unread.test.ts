// Clients that ask and do not read: they keep neither a slot nor a provider, while one that reads slowly gets everything.
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { ask } from '../helpers/ask.ts';
import { manualClock } from '../helpers/clock.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { hello, rawClient, rawRequest } from '../helpers/raw-client.ts';
import type { RawClient } from '../helpers/raw-client.ts';
import { gate, scriptedProvider } from '../helpers/scripted-provider.ts';
import { content, FINISH, START, TERMINAL, wholeOf } from '../gateway/wire.ts';

/** More than the buffers of a connection take on both sides. */
const MUCH = 24_000_000;
/** Enough for the system to take more of what waits; three times this leaves more than those buffers. */
const SOME = 4_000_000;
/** For a machine that has much else to do. */
const PATIENCE = { timeout: 15_000 };

async function place(limits: object = {}) {
  const upstream = await scriptedProvider();
  const clock = manualClock();
  const config = { providers: { p: provider(upstream.url, 'chat', ['m']) }, limits };
  const server = await gateway({ config, clock });
  return { upstream, clock, server };
}

/** A client whose request is there, and who reads nothing. */
async function unread(
  server: { url: string; key: string; path?: string },
  more: object = {},
): Promise<RawClient> {
  const client = await rawClient(server.url);
  client.socket.pause();
  client.send(rawRequest(server, hello('m', more), ['connection: close']));
  return client;
}

/** Reads until at least `count` bytes came, then stops again. */
function read(socket: Socket, count: number): Promise<void> {
  return new Promise((resolve) => {
    const wanted = socket.bytesRead + count;
    const look = (): void => {
      if (socket.bytesRead < wanted) return;
      socket.off('data', look).pause();
      resolve();
    };
    socket.on('data', look).resume();
  });
}

test('streams that nobody reads are dropped after limits.write_timeout, their providers aborted, their slots freed', async () => {
  const { upstream, clock, server } = await place({ max_concurrent: 2, write_timeout: '20s' });
  const pieces = Array.from({ length: MUCH / 1_000_000 }, () => content('chat', 'x'.repeat(1_000_000)));
  upstream.playAlways({ steps: [START.chat, ...pieces, gate().opened] });
  const clients = [await unread(server, { stream: true }), await unread(server, { stream: true })];
  const asked = [await upstream.next(), await upstream.next()];
  // Nothing says that a stream is stuck; once it is, time passes for it.
  let over = false;
  void Promise.all(asked.map(({ left }) => left)).then(() => (over = true));
  expect((await ask(server, { model: 'm' })).status).toBe(503);
  await expect.poll(() => (clock.advance(21_000), over), PATIENCE).toBe(true);
  for (const { left } of asked) expect(await left).toBe(true);
  upstream.playAlways({ body: wholeOf('chat', 'a') });
  expect((await ask(server, { model: 'm' })).status).toBe(200);
  expect(server.log()).toMatch(/"error":"client_closed"/);
  for (const { socket, closed } of clients) {
    socket.resume();
    expect(await closed).not.toContain('[DONE]');
  }
});

test('a whole answer holds its slot until the client has taken it', async () => {
  const { upstream, clock, server } = await place({ max_concurrent: 1, write_timeout: '20s' });
  const answer = wholeOf('chat', 'x'.repeat(MUCH));
  upstream.play({ body: answer });
  const client = await unread(server);
  await expect.poll(() => server.log(), PATIENCE).toContain('"answered"');
  expect((await ask(server, { model: 'm' })).status).toBe(503);
  // Who takes some in time may take long.
  for (let round = 0; round < 3; round += 1) {
    clock.advance(15_000);
    await read(client.socket, SOME);
    expect((await ask(server, { model: 'm' })).status).toBe(503);
  }
  client.socket.resume();
  expect((await client.closed).length).toBeGreaterThan(MUCH);
  upstream.play({ body: wholeOf('chat', 'a') });
  expect((await ask(server, { model: 'm' })).status).toBe(200);
});

test('a whole answer that nobody takes is thrown away, and the log says so', async () => {
  const { upstream, clock, server } = await place({ max_concurrent: 1, write_timeout: '20s' });
  upstream.play({ body: wholeOf('chat', 'x'.repeat(MUCH)) }, { body: wholeOf('chat', 'a') });
  const client = await unread(server);
  await expect.poll(() => server.log(), PATIENCE).toContain('"answered"');
  clock.advance(19_000);
  expect((await ask(server, { model: 'm' })).status).toBe(503);
  clock.advance(3000);
  client.socket.resume();
  expect((await client.closed).length).toBeLessThan(MUCH);
  expect((await ask(server, { model: 'm' })).status).toBe(200);
  expect(server.log()).toMatch(/"a connection was closed: its client does not read the answer"/);
});

test('one piece of a stream larger than any buffer is taken as slowly as the client likes', async () => {
  const { upstream, clock, server } = await place({ write_timeout: '20s' });
  upstream.play({ steps: [START.chat, content('chat', 'x'.repeat(MUCH)), FINISH.chat, TERMINAL.chat] });
  // Translated, it is written at once.
  const client = await unread({ ...server, path: '/v1/messages' }, { stream: true, max_tokens: 9 });
  await expect.poll(() => client.socket.bytesRead, PATIENCE).toBeGreaterThan(0);
  for (let round = 0; round < 3; round += 1) {
    clock.advance(15_000);
    await read(client.socket, SOME);
  }
  client.socket.resume();
  const text = await client.closed;
  expect(text.length).toBeGreaterThan(MUCH);
  expect(text).toContain('message_stop');
});
