// A gateway that was held (stopped, suspended, busy) reads what came meanwhile before it takes a client for silent.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { gateway } from '../helpers/gateway.ts';
import { hello, rawClient, rawRequest } from '../helpers/raw-client.ts';

/** The server's end of the connections that are made from now on. */
function serverSockets(): Socket[] {
  const sockets: Socket[] = [];
  const add = (message: unknown): void => void sockets.push((message as { socket: Socket }).socket);
  subscribe('net.server.socket', add);
  onTestFinished(() => void unsubscribe('net.server.socket', add));
  return sockets;
}

/** Goes on where timers run: what is sent from here on is not read before the timers that are due have run. */
function timersPhase(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

test('an idle connection that has timed out answers the request that is waiting on it', async () => {
  const server = await gateway();
  const sockets = serverSockets();
  const client = await rawClient(server.url);
  client.send(rawRequest(server, hello('sim/echo')));
  await client.until(/\}$/);
  await timersPhase();
  client.send(rawRequest({ ...server, path: '/health', method: 'GET' }));
  const [socket] = sockets;
  socket?.emit('timeout');
  expect(await client.until('"status"')).toContain('"ok"');
  // One on which nothing waits is closed.
  socket?.emit('timeout');
  await client.closed;
});

test('a request that waits in the socket is answered, however late the gateway reads it', async () => {
  const server = await gateway();
  const sockets = serverSockets();
  const request = rawRequest(server, hello('sim/echo'));
  const clients = [await rawClient(server.url), await rawClient(server.url)] as const;
  for (const client of clients) client.send(request.slice(0, 40));
  // The gateway has read both when it answers another that came after them.
  await fetch(`${server.url}/health`);
  await timersPhase();
  clients[0].send(request.slice(40));
  for (const socket of sockets.slice(0, 2)) {
    // As node:http does, which looks for late requests once a second, by a timer.
    const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    (socket as Socket & { server: Server }).server.emit('clientError', late, socket);
  }
  expect(await clients[0].until(/\}$/)).toMatch(/^HTTP\/1.1 200 /);
  expect(await clients[1].closed).toMatch(/^HTTP\/1.1 408 /);
});
