// Bytes that are not quite a request: they get words and a request id too, and the connection ends.
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { manualClock } from '../helpers/clock.ts';
import { gateway } from '../helpers/gateway.ts';
import { hello, rawClient, rawRequest } from '../helpers/raw-client.ts';

const cases = [
  ['no Host', 'GET /v1/models HTTP/1.1\r\nconnection: close\r\n\r\n', 403, 'permission_error'],
  [
    'two Hosts',
    'GET /health HTTP/1.1\r\nhost: localhost\r\nhost: a.example\r\nconnection: close\r\n\r\n',
    403,
    'permission_error',
  ],
  ['no HTTP', 'HELLO\r\n\r\n', 400, 'invalid_request_error'],
  [
    'endless headers',
    `GET / HTTP/1.1\r\nhost: localhost\r\nx: ${'a'.repeat(70_000)}\r\n\r\n`,
    431,
    'invalid_request_error',
  ],
] as const;

test.each(cases)('%s', async (_name, bytes, status, type) => {
  const client = await rawClient((await gateway()).url);
  client.send(bytes);
  const text = await client.closed;
  expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(text).toMatch(/\r\nx-request-id: req_\w{24}\r\n/);
  expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4))).toMatchObject({ error: { type } });
});

test('a client that goes on sending after such an answer is cut off after half a minute', async () => {
  const clock = manualClock();
  const { port } = new URL((await gateway({ clock })).url);
  const socket = connect({ host: '127.0.0.1', port: Number(port), allowHalfOpen: true, noDelay: true });
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  socket.on('error', () => undefined).resume();
  socket.write('HELLO\r\n\r\n');
  await once(socket, 'end');
  for (let second = 0; second < 60 && !socket.destroyed; second += 1) {
    socket.write('more');
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    if (second < 28) expect(socket.destroyed, `${second} s`).toBe(false);
    clock.advance(1000);
  }
  await closed;
});

test('a client that never closes after such an answer keeps its descriptor no longer than a moment', async () => {
  const clock = manualClock();
  const { port } = new URL((await gateway({ clock })).url);
  const socket = connect({ host: '127.0.0.1', port: Number(port), allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  socket.write('HELLO\r\n\r\n');
  let text = '';
  socket.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')));
  await once(socket, 'end');
  expect(text).toMatch(/^HTTP\/1.1 400 /);
  // Both ends of it are in this process.
  const sockets = (): number =>
    process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  const before = sockets();
  clock.advance(5000);
  await expect.poll(sockets).toBe(before - 1);
});

test.each([
  ['/v1/chat/completions', { error: { type: 'invalid_request_error', param: null } }],
  ['/v1/messages', { type: 'error', error: { type: 'invalid_request_error' } }],
])('an expectation other than 100-continue: 417 in the shape of %s', async (path, shape) => {
  const server = await gateway();
  const client = await rawClient(server.url);
  client.send(rawRequest({ ...server, path }, hello('sim/echo'), ['expect: 200-ok', 'connection: close']));
  const text = await client.closed;
  expect(text).toMatch(/^HTTP\/1.1 417 /);
  expect(text).toMatch(/\r\nx-request-id: req_\w{24}\r\n/);
  expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4))).toMatchObject(shape);
});
