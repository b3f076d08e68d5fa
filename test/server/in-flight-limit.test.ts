// Whether requests are taken at all: overload, health, and the end of the server, on kept connections too.
import { expect, test } from 'vitest';
import { ask, isWhole, framesOf, readAll, send } from '../helpers/ask.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { hello, rawClient, rawRequest } from '../helpers/raw-client.ts';
import { gate, scriptedProvider } from '../helpers/scripted-provider.ts';
import { content, FINISH, START, TERMINAL, wholeOf } from '../gateway/wire.ts';

async function place(limits: object = {}) {
  const upstream = await scriptedProvider();
  const server = await gateway({
    config: {
      providers: {
        talks: provider(upstream.url, 'chat', ['m']),
        writes: provider(upstream.url, 'messages', ['n']),
      },
      limits,
    },
  });
  return { upstream, server };
}

test('beyond max_concurrent: 503 at once, and room again when one is over', async () => {
  const { upstream, server } = await place({ max_concurrent: 2 });
  const end = gate();
  upstream.play({ steps: [START.chat, content('chat', 'a'), end.opened, FINISH.chat, TERMINAL.chat] });
  upstream.play({ steps: [START.chat, content('chat', 'a'), gate().opened] });
  const leaving = new AbortController();
  const streams = [
    await send(server, { model: 'm', stream: true }),
    await send(server, { model: 'm', stream: true, signal: leaving.signal }),
  ];
  for (const [protocol, model] of [
    ['chat', 'm'],
    ['messages', 'n'],
  ] as const) {
    const refused = await ask(server, { protocol, model });
    expect(refused).toMatchObject({ status: 503, error: { type: 'overloaded_error' } });
    expect(refused.headers.get('retry-after')).toBe('1');
  }
  expect((await fetch(`${server.url}/health`)).status).toBe(200);
  expect(upstream.requests).toHaveLength(2);

  // One that ended makes room, one that left too.
  upstream.playAlways({ body: wholeOf('chat', 'b') });
  end.open();
  await streams[0]?.text();
  const answered = await ask(server, { model: 'm' });
  expect(answered.status).toBe(200);
  // The refused ones were not counted.
  expect(answered.headers.get('x-ratelimit-remaining-requests')).toBe('297');
  upstream.play({ steps: [START.chat, content('chat', 'a'), gate().opened] });
  const third = await send(server, { model: 'm', stream: true });
  leaving.abort();
  await upstream.requests[1]?.left;
  await expect.poll(async () => (await ask(server, { model: 'm' })).status).toBe(200);
  await third.body?.cancel();
});

test('shutting down: streams end whole, requests on idle connections get a 503 and a close, new connections are refused', async () => {
  const { upstream, server } = await place();
  const end = gate();
  upstream.play({ steps: [START.chat, content('chat', 'a'), end.opened, FINISH.chat, TERMINAL.chat] });
  const stream = await send(server, { model: 'm', stream: true });
  // A connection in the middle of a head is not idle.
  const [chat, messages] = [await rawClient(server.url), await rawClient(server.url)];
  const chatRequest = rawRequest(server, hello('m'));
  const messagesRequest = rawRequest({ ...server, path: '/v1/messages' }, { ...hello('n'), max_tokens: 1 });
  chat.send(chatRequest.slice(0, 20));
  messages.send(messagesRequest.slice(0, 20));
  // The server has read both when it answers a third that came after them.
  await fetch(`${server.url}/health`);
  const stopping = server.stop();
  await expect(fetch(`${server.url}/health`)).rejects.toThrow();
  chat.send(chatRequest.slice(20));
  messages.send(messagesRequest.slice(20));
  for (const client of [chat, messages]) {
    const text = await client.closed;
    expect(text).toMatch(/^HTTP\/1\.1 503 /);
    expect(text).toMatch(/\r\nretry-after: 5\r\n/i);
    expect(text).toMatch(/\r\nconnection: close\r\n/i);
    expect(text).toContain('overloaded_error');
  }
  end.open();
  expect(isWhole({ frames: framesOf(await stream.text()) })).toBe(true);
  await stopping;
  expect(upstream.requests).toHaveLength(1);
});

test('shutting down: requests that were sent before are answered, on new and on used connections', async () => {
  const { upstream, server } = await place();
  upstream.playAlways({ body: wholeOf('chat', 'b') });
  const clients = await Promise.all(Array.from({ length: 6 }, () => rawClient(server.url)));
  const used = clients.slice(3);
  for (const client of used) client.send(rawRequest(server, hello('m')));
  for (const client of used) await client.until('"b"');
  for (const client of clients) client.send(rawRequest(server, hello('m')));
  // The server has read none of them yet.
  await server.stop();
  for (const client of clients) {
    const answers = (await client.closed).match(/HTTP\/1\.1 \d+/g);
    expect(answers).toEqual(Array(used.includes(client) ? 2 : 1).fill('HTTP/1.1 200'));
  }
});

test('shutting down: a connection is closed when its stream ends, though the head of the answer promised to keep it', async () => {
  const { upstream, server } = await place();
  const [end, endOfOther] = [gate(), gate()];
  const client = await rawClient(server.url);
  for (const { opened } of [end, endOfOther])
    upstream.play({ steps: [START.chat, content('chat', 'a'), opened, FINISH.chat, TERMINAL.chat] });
  client.send(rawRequest(server, hello('m', { stream: true })));
  await client.until('"a"');
  const other = await send(server, { model: 'm', stream: true });
  const stopping = server.stop();
  end.open();
  const text = await client.closed;
  expect(text).toMatch(/\r\nconnection: keep-alive\r\n/i);
  expect(text).toMatch(/\[DONE\]\s+0\s+$/);
  endOfOther.open();
  expect(isWhole({ frames: framesOf(await other.text()) })).toBe(true);
  await stopping;
});

test('when the grace is over, streams are cut with an error event', async () => {
  const { upstream, server } = await place({ shutdown_grace: '50ms' });
  const streams = await Promise.all(
    (['chat', 'messages'] as const).map((protocol) => {
      upstream.play({ steps: [START[protocol], content(protocol, 'a'), gate().opened] });
      return send(server, { protocol, model: protocol === 'chat' ? 'm' : 'n', stream: true });
    }),
  );
  upstream.play({ steps: [gate().opened] });
  const whole = ask(server, { model: 'm' });
  await Promise.all([upstream.next(), upstream.next(), upstream.next()]);
  // A reader drops what it has not read when the connection breaks.
  const read = streams.map(readAll);
  await server.stop();
  for (const reading of read) {
    const { text, broken } = await reading;
    const frames = framesOf(text);
    expect(broken).toBe(true);
    expect(frames.at(-1)?.data).toContain('overloaded_error');
    expect(isWhole({ frames })).toBe(false);
  }
  const refused = await whole;
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toBe('5');
  for (const { left } of upstream.requests) expect(await left).toBe(true);
});

test('an answer that is still on its way to a slow reader is not cut by the end of the server', async () => {
  const { upstream, server } = await place();
  const text = 'x'.repeat(8_000_000);
  upstream.play({ body: wholeOf('chat', text) });
  const client = await rawClient(server.url);
  client.socket.pause();
  client.send(rawRequest(server, hello('m')));
  await upstream.next();
  await expect.poll(() => server.log()).toContain('"answered"');
  const stopping = server.stop();
  client.socket.resume();
  const seen = await client.closed;
  expect(seen.length).toBeGreaterThan(text.length);
  await stopping;
});
