// The connection of a WebSocket: who may open one, its bounds, and how it ends.
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { manualClock } from '../../helpers/clock.ts';
import { gateway, provider, type GatewayOptions, type TestGateway } from '../../helpers/gateway.ts';
import { hello, rawClient, rawRequest, type RawClient } from '../../helpers/raw-client.ts';
import { gate, scriptedProvider, type ScriptedProvider } from '../../helpers/scripted-provider.ts';
import { idOf, socketClient, textOf } from '../../helpers/socket-client.ts';
import { START, content, FINISH, TERMINAL, streamOf } from '../../gateway/wire.ts';

async function start(
  options: GatewayOptions & { limits?: object } = {},
): Promise<{ upstream: ScriptedProvider; to: TestGateway }> {
  const upstream = await scriptedProvider();
  upstream.playAlways({ steps: [streamOf('chat', 'Yes')] });
  const providers = { chat: provider(`${upstream.url}/v1`, 'chat', ['c']) };
  const { limits, config, ...rest } = options;
  const to = await gateway({
    config: { providers, tiers: { enterprise: 100_000 }, ...(limits && { limits }), ...config },
    ...rest,
  });
  return { upstream, to };
}

/** The status and the body of a refused upgrade. */
async function refused(
  { url }: { url: string },
  headers: Record<string, string>,
  path = '/v1/responses',
): Promise<{ status: number | undefined; json: unknown; headers: Record<string, unknown> }> {
  const ws = new WebSocket(url.replace('http', 'ws') + path, { headers });
  onTestFinished(() => ws.terminate());
  ws.on('error', () => undefined);
  const [, response] = (await once(ws, 'unexpected-response')) as [unknown, IncomingMessage];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode, json: JSON.parse(text), headers: response.headers };
}

const HANDSHAKE = [
  'host: localhost',
  'connection: Upgrade',
  'upgrade: websocket',
  'sec-websocket-version: 13',
  'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==',
];

const upgradeOf = ({ key }: TestGateway): string =>
  `GET /v1/responses HTTP/1.1\r\nauthorization: Bearer ${key}\r\n${HANDSHAKE.join('\r\n')}\r\n\r\n`;

const CREATE = '{"type":"response.create","model":"c","input":"x"}';

describe('the upgrade passes the checks of a request', () => {
  it('no key and a key that is not valid: 401; without the permission: 403', async () => {
    const { to } = await start();
    expect(await refused(to, {})).toMatchObject({
      status: 401,
      json: { error: { code: 'invalid_api_key' } },
      headers: { connection: 'close', 'x-should-retry': 'false' },
    });
    const bad = { authorization: `Bearer sk-gw-${'0'.repeat(43)}` };
    expect(await refused(to, bad)).toMatchObject({ status: 401 });
    const chatOnly = await to.newKey({ permissions: ['chat'] });
    const mayNot = { authorization: `Bearer ${chatOnly}` };
    expect(await refused(to, mayNot)).toMatchObject({ status: 403 });
  });

  it('a foreign Host and a foreign Origin: 403; a named origin, and that of the gateway: opened', async () => {
    const { to } = await start({
      config: { listen: { hosts: ['127.0.0.1'], port: 0, origins: ['https://app.example'] } },
    });
    const authorization = `Bearer ${to.key}`;
    expect(await refused(to, { authorization, host: 'evil.example' })).toMatchObject({ status: 403 });
    for (const origin of ['https://evil.example', 'null', 'http://localhost:1'])
      expect(await refused(to, { authorization, origin }), origin).toMatchObject({ status: 403 });
    for (const origin of ['https://app.example', to.url])
      expect(
        textOf(await (await socketClient(to, { headers: { origin } })).create({ model: 'c', input: 'x' })),
      ).toBe('Yes');
  });

  it('where no WebSocket is: 426 that says what to send, and 404', async () => {
    const { to } = await start();
    const authorization = `Bearer ${to.key}`;
    expect(await refused(to, { authorization }, '/v1/chat/completions')).toMatchObject({
      status: 426,
      json: { error: { message: expect.stringContaining('send POST') as string } },
    });
    expect(await refused(to, { authorization }, '/v1/nothing')).toMatchObject({ status: 404 });
    const plain = await fetch(`${to.url}/v1/responses`, { headers: { authorization } });
    expect([plain.status, plain.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it.each([
    ['another version', HANDSHAKE.map((line) => line.replace('version: 13', 'version: 8'))],
    ['a key of another form', HANDSHAKE.map((line) => line.replace('AAAA==', '=='))],
    ['no key', HANDSHAKE.filter((line) => !line.includes('sec-websocket-key'))],
  ])('%s: 400', async (_, lines) => {
    const { to } = await start();
    const client = await rawClient(to.url);
    client.send(
      `GET /v1/responses HTTP/1.1\r\nauthorization: Bearer ${to.key}\r\n${lines.join('\r\n')}\r\n\r\n`,
    );
    expect(await client.closed).toMatch(/^HTTP\/1\.1 400 [^]*connection: close[^]*sec-websocket/i);
  });

  it('more than limits.max_concurrent: 503, until one closes', async () => {
    const { to } = await start({ limits: { max_concurrent: 1 } });
    const first = await socketClient(to);
    const authorization = `Bearer ${to.key}`;
    expect(await refused(to, { authorization })).toMatchObject({ status: 503 });
    first.ws.close();
    await first.closed;
    await expect
      .poll(async () => textOf(await (await socketClient(to)).create({ model: 'c', input: 'x' })))
      .toBe('Yes');
  });

  it('more at once than limits.max_concurrent: the others get 503', async () => {
    const { to } = await start({ limits: { max_concurrent: 1 } });
    const clients = await Promise.all(Array.from({ length: 5 }, () => rawClient(to.url)));
    for (const client of clients) client.send(upgradeOf(to));
    const answers = await Promise.all(clients.map((client) => client.until('\r\n\r\n')));
    expect(answers.map((answer) => answer.slice(9, 12)).sort()).toEqual(['101', '503', '503', '503', '503']);
  });

  it('in maintenance: 503', async () => {
    const { to } = await start({ config: { maintenance: true } });
    expect(await refused(to, { authorization: `Bearer ${to.key}` })).toMatchObject({ status: 503 });
  });
});

it('a request that offers another protocol is served as if it did not, also the next one of its connection', async () => {
  const { upstream, to } = await start();
  upstream.playAlways({ body: { choices: [{ message: { content: 'Yes' }, finish_reason: 'stop' }] } });
  const client = await rawClient(to.url);
  const h2c = ['connection: Upgrade, HTTP2-Settings', 'upgrade: h2c', 'http2-settings: AAEAAEAAAAIAAAAB'];
  const request = rawRequest({ key: to.key }, hello('c'), h2c);
  client.send(request.slice(0, -20));
  await new Promise((resolve) => setImmediate(resolve));
  client.send(request.slice(-20));
  await client.until(/HTTP\/1\.1 200 [^]*Yes/);
  const proxied = ['connection: close, Upgrade', 'upgrade: websocket'];
  client.send(rawRequest({ key: to.key }, hello('c'), proxied));
  expect((await client.closed).match(/HTTP\/1\.1 200 /g)).toHaveLength(2);
  expect(upstream.requests).toHaveLength(2);
});

describe('frames that are no messages close the connection', () => {
  it('larger than limits.max_body: 1009', async () => {
    const { to } = await start({ limits: { max_body: 1000 } });
    const client = await socketClient(to);
    client.ws.send(JSON.stringify({ type: 'response.create', model: 'c', input: 'x'.repeat(1000) }));
    expect((await client.closed)[0]).toBe(1009);
  });

  it('bytes: 1003', async () => {
    const { to } = await start();
    const client = await socketClient(to);
    client.ws.send(Buffer.from('{"type":"response.create"}'));
    expect((await client.closed)[0]).toBe(1003);
  });

  it.each([
    ['not masked', [0x81, 0x02, 0x7b, 0x7d], 1002],
    ['a reserved bit', [0xc1, 0x82, 0, 0, 0, 0, 0x7b, 0x7d], 1002],
    ['an unknown opcode', [0x83, 0x80, 0, 0, 0, 0], 1002],
    ['not UTF-8', [0x81, 0x81, 0, 0, 0, 0, 0xff], 1007],
  ])('%s', async (_, frame, code) => {
    const { to } = await start();
    const client = await rawClient(to.url);
    client.send(
      `GET /v1/responses HTTP/1.1\r\nauthorization: Bearer ${to.key}\r\n${HANDSHAKE.join('\r\n')}\r\n\r\n`,
    );
    await client.until('\r\n\r\n');
    client.send(Buffer.from(frame));
    client.socket.end();
    const text = await client.closed;
    const close = Buffer.from(text.slice(text.indexOf('\r\n\r\n') + 4), 'latin1');
    expect(close[0]).toBe(0x88);
    expect(close.readUInt16BE(2)).toBe(code);
  });

  it('a flood of messages while one is answered: 1008', async () => {
    const { upstream, to } = await start();
    const client = await socketClient(to);
    upstream.play({ steps: [START.chat, new Promise(() => undefined)] });
    for (let at = 0; at < 40; at += 1) client.ws.send('{"type":"response.create","model":"c","input":"x"}');
    expect((await client.closed)[0]).toBe(1008);
    expect(await (await upstream.next()).left).toBe(true);
    expect(upstream.requests.length).toBeLessThan(3);
  });
});

/** Of a client to the gateway, with a mask that changes nothing. */
function frame(opcode: number, payload: string): Buffer {
  return Buffer.concat([
    Buffer.from([0x80 + opcode, 0x80 + payload.length, 0, 0, 0, 0]),
    Buffer.from(payload),
  ]);
}
const TEXT = 0x1;
const BYTES = 0x2;

async function rawSocket(to: TestGateway): Promise<RawClient> {
  const client = await rawClient(to.url);
  client.send(upgradeOf(to));
  await client.until('\r\n\r\n');
  return client;
}

it('a message behind the one for which the connection closes asks nobody', async () => {
  const { upstream, to } = await start();
  const client = await rawSocket(to);
  client.send(Buffer.concat([frame(BYTES, '{}'), frame(TEXT, CREATE)]));
  await client.until('\x88');
  await to.stop();
  expect(upstream.requests).toHaveLength(0);
});

it('what is sent right behind the handshake is answered', async () => {
  const { to } = await start();
  const client = await rawClient(to.url);
  client.send(Buffer.concat([Buffer.from(upgradeOf(to)), frame(TEXT, CREATE)]));
  expect(await client.until('response.completed')).toContain('HTTP/1.1 101 ');
});

it.each([['closes'], ['vanishes']])('a client that %s ends its upstream request', async (how) => {
  const { upstream, to } = await start();
  const client = await socketClient(to);
  upstream.play({ steps: [START.chat + content('chat', 'a'), new Promise(() => undefined)] });
  client.ws.send('{"type":"response.create","model":"c","input":"x"}');
  await client.until('response.output_text.delta');
  if (how === 'closes') client.ws.close();
  else client.ws.terminate();
  expect(await (await upstream.next()).left).toBe(true);
});

it('a key that is revoked meanwhile is refused at the next message, and the connection closed', async () => {
  const { to } = await start();
  const key = await to.newKey({ account: 'other' });
  const client = await socketClient({ url: to.url, key });
  expect(textOf(await client.create({ model: 'c', input: 'x' }))).toBe('Yes');
  const [row] = await to.store.listKeys('other');
  await to.store.revokeKey(row?.id ?? '', Date.now());
  expect(await client.create({ model: 'c', input: 'x' })).toMatchObject([
    { type: 'error', status: 401, error: { code: 'invalid_api_key' } },
  ]);
  expect((await client.closed)[0]).toBe(1008);
});

it('a client that reads slowly gets all of a large answer, and the provider is read no faster', async () => {
  const { upstream, to } = await start();
  const client = await socketClient(to);
  const [piece, pieces] = ['x'.repeat(100_000), 150];
  let sent = 0;
  function* steps(): Generator<string> {
    yield START.chat;
    for (; sent < pieces; sent += 1) yield content('chat', piece);
    yield FINISH.chat + TERMINAL.chat;
  }
  upstream.play({ steps: { [Symbol.iterator]: steps } as unknown as readonly string[] });
  client.ws.pause();
  const answered = client.create({ model: 'c', input: 'x' });
  await upstream.next();
  for (let before = -1; before !== sent;) {
    before = sent;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  expect(sent).toBeLessThan(pieces);
  client.ws.resume();
  expect(textOf(await answered)).toHaveLength(pieces * piece.length);
});

describe('silence', () => {
  it('a client that answers no ping is let go, one that does stays', async () => {
    const clock = manualClock();
    const { to } = await start({ clock });
    const deaf = await socketClient(to, { autoPong: false });
    const pinged = once(deaf.ws, 'ping');
    clock.advance(30_000);
    await pinged;
    clock.advance(30_000);
    expect((await deaf.closed)[0]).toBe(1006);
    const alive = await socketClient(to);
    for (let round = 0; round < 3; round += 1) {
      const again = once(alive.ws, 'ping');
      clock.advance(30_000);
      await again;
      expect(textOf(await alive.create({ model: 'c', input: 'x' }))).toBe('Yes');
    }
  });

  it('an idle connection is closed after half an hour: 1001', async () => {
    const clock = manualClock();
    const { to } = await start({ clock });
    const client = await socketClient(to);
    for (let halves = 1; halves < 60; halves += 1) {
      const pinged = once(client.ws, 'ping');
      clock.advance(30_000);
      await pinged;
      // What the client sent before it, its pong, has arrived then.
      const answered = once(client.ws, 'pong');
      client.ws.ping();
      await answered;
    }
    clock.advance(30_000);
    expect(await client.closed).toEqual([1001, 'the connection was idle']);
  });

  it('of the provider: the client gets a sign of life every 10 s', async () => {
    const clock = manualClock();
    const { upstream, to } = await start({ clock });
    const client = await socketClient(to);
    const goOn = gate();
    upstream.play({ steps: [goOn.opened, streamOf('chat', 'Late')] });
    client.ws.send('{"type":"response.create","model":"c","input":"x"}');
    await upstream.next();
    clock.advance(10_000);
    await client.until('response.created');
    clock.advance(10_000);
    await expect
      .poll(() => client.events.filter(({ type }) => type === 'response.in_progress').length)
      .toBeGreaterThan(1);
    goOn.open();
    expect(textOf(await client.answer())).toBe('Late');
  });
});

describe('the end of the server', () => {
  it('an answer under way is finished, then the connection closes with 1001; an idle one closes at once', async () => {
    const { upstream, to } = await start();
    const [busy, idle] = [await socketClient(to), await socketClient(to)];
    const goOn = gate();
    upstream.play({ steps: [START.chat + content('chat', 'a'), goOn.opened, FINISH.chat + TERMINAL.chat] });
    const answered = busy.create({ model: 'c', input: 'x' });
    await busy.until('response.output_text.delta');
    const stopped = to.stop();
    expect((await idle.closed)[0]).toBe(1001);
    goOn.open();
    expect(textOf(await answered)).toBe('a');
    expect((await busy.closed)[0]).toBe(1001);
    await stopped;
  });

  it('an answer that does not end in the grace is cut with a failed Response', async () => {
    const { upstream, to } = await start({ limits: { shutdown_grace: '10ms' } });
    const client = await socketClient(to);
    upstream.play({ steps: [START.chat + content('chat', 'a'), new Promise(() => undefined)] });
    const answered = client.create({ model: 'c', input: 'x' });
    await client.until('response.output_text.delta');
    const stopped = to.stop();
    expect((await answered).at(-1)).toMatchObject({ type: 'response.failed' });
    expect((await client.closed)[0]).toBe(1001);
    await stopped;
  });

  it('a client that does not answer the close does not keep the server', async () => {
    const { to } = await start();
    const client = await rawClient(to.url);
    client.send(
      `GET /v1/responses HTTP/1.1\r\nauthorization: Bearer ${to.key}\r\n${HANDSHAKE.join('\r\n')}\r\n\r\n`,
    );
    await client.until('\r\n\r\n');
    await to.stop();
    expect(await client.closed).toContain('\x88');
  });
});

it('what all connections remember is bounded: the one that was idle longest sends everything again', async () => {
  const { AnswerMemories, LastAnswer } = await import('../../../src/server/websocket/last-answer.ts');
  const all = new AnswerMemories({ connection: 60, all: 100 });
  const item = (id: string, size: number) => [{ id, text: () => id, size }];
  const [first, second, third] = [new LastAnswer(all), new LastAnswer(all), new LastAnswer(all)];
  first.keep(item('a', 40));
  second.keep(item('b', 40));
  first.keep(item('c', 40));
  third.keep(item('d', 50));
  expect([first, second, third].map((memory) => memory.find(['a', 'b', 'c', 'd']).size)).toEqual([1, 0, 1]);
  third.keep(item('e', 61));
  expect(third.find(['d', 'e']).size).toBe(0);
  first.forget();
  second.keep(item('f', 60));
  expect(second.find(['f']).get('f')).toBe('f');
  // Its client left while its answer was settled.
  second.end();
  second.keep(item('g', 60));
  expect(second.find(['f', 'g']).size).toBe(0);
});

it('a connection remembers its last answer alone', async () => {
  const { to } = await start();
  const client = await socketClient(to);
  const ask = { model: 'c', store: false };
  const first = idOf(await client.create({ ...ask, input: '1' }));
  const second = idOf(await client.create({ ...ask, input: '2' }));
  const [error] = await client.create({ ...ask, input: '3', previous_response_id: first });
  expect(error).toMatchObject({ error: { code: 'previous_response_not_found' } });
  expect(textOf(await client.create({ ...ask, input: '3', previous_response_id: second }))).toBe('Yes');
});
