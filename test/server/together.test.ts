// Requests that come in one turn of the event loop are begun together, at its end: a body that came with its head is whole by
// then, and they are admitted in one tick.
import { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { expect, it, onTestFinished, vi } from 'vitest';
import { gateway, type TestGateway } from '../helpers/gateway.ts';

function requestOf({ url, key }: TestGateway): string {
  const body = JSON.stringify({ model: 'sim/echo', messages: [{ role: 'user', content: 'hello' }] });
  const head = [
    ...['POST /v1/chat/completions HTTP/1.1', `host: ${new URL(url).host}`, `authorization: Bearer ${key}`],
    ...['content-type: application/json', `content-length: ${body.length}`],
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

async function connected({ url }: TestGateway): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

async function answered(socket: Socket): Promise<string> {
  let text = '';
  while (!text.includes('"choices"')) text += String(((await once(socket, 'data')) as [Buffer])[0]);
  return text;
}

it('a small body is taken as a whole, not by its events', async () => {
  const started = await gateway();
  const port = Number(new URL(started.url).port);
  const on = vi.spyOn(IncomingMessage.prototype, 'on');
  onTestFinished(() => on.mockRestore());
  const socket = await connected(started);
  socket.write(requestOf(started));
  expect(await answered(socket)).toMatch(/^HTTP\/1.1 200 /);
  const contexts = on.mock.contexts as IncomingMessage[];
  const ours = contexts.filter(({ socket, method }) => socket.localPort === port && method === 'POST');
  expect(ours).toEqual([]);
});

it('requests that come at once are admitted in one tick, which the store counts in one commit', async () => {
  const started = await gateway();
  const sockets = await Promise.all(Array.from({ length: 8 }, () => connected(started)));
  const ask = async (socket: Socket): Promise<string> => {
    socket.write(requestOf(started));
    return answered(socket);
  };
  // A server takes new connections one by one.
  for (const socket of sockets) await ask(socket);
  const admit = started.store.admit.bind(started.store);
  let ticks = 0;
  const admitted: number[] = [];
  started.store.admit = (...asked) => {
    admitted.push(ticks);
    process.nextTick(() => (ticks += 1));
    return admit(...asked);
  };
  const answers = await Promise.all(sockets.map(ask));
  expect(answers.every((text) => text.startsWith('HTTP/1.1 200 '))).toBe(true);
  expect(admitted).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
});
