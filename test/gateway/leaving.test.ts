// A client that goes away ends its upstream request within a second, in whatever phase that is, and nobody else is asked.
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { gateway, provider } from '../helpers/gateway.ts';
import { hello, rawClient, rawRequest } from '../helpers/raw-client.ts';
import { isWholeRequest, rawServer } from '../helpers/raw-server.ts';
import { content, json, opened, PING, START, wholeOf } from './wire.ts';

/** What a provider has said when the client leaves; the client has seen `seen` of it. */
const PHASES: { name: string; says: string; stream: boolean; seen?: string }[] = [
  { name: 'before its head', says: '', stream: false },
  { name: 'before the head of a stream', says: '', stream: true },
  { name: 'after a head', says: opened(''), stream: true },
  { name: 'after frames that are held', says: opened(PING.chat + START.chat), stream: true },
  { name: 'in mid-stream', says: opened(START.chat + content('chat', 'abc')), stream: true, seen: 'abc' },
  {
    name: 'in the middle of a whole answer',
    says: json(200, wholeOf('chat', 'abc')).slice(0, -9),
    stream: false,
  },
  {
    name: 'in the middle of a refusal',
    says: 'HTTP/1.1 500 X\r\ncontent-length: 9\r\n\r\nabc',
    stream: false,
  },
];

interface Upstream {
  url: string;
  /** Fulfilled when a request is there and was answered with `says`. */
  asked: Promise<void>;
  /** Fulfilled when its connection is gone. */
  left: Promise<void>;
  count(): number;
}

async function upstreamThatSays(says: string, tls = false): Promise<Upstream> {
  let onAsked = (): void => undefined;
  let onLeft = (): void => undefined;
  const asked = new Promise<void>((resolve) => (onAsked = resolve));
  const left = new Promise<void>((resolve) => (onLeft = resolve));
  const begin = (socket: Socket): void => {
    socket.on('close', onLeft);
    if (says === '') onAsked();
    else socket.write(says, onAsked);
  };
  const server = await rawServer((socket, soFar) => {
    // Towards TLS this server is deaf: the greeting is all that it ever gets.
    if (tls || isWholeRequest(soFar)) begin(socket);
  });
  return {
    url: tls ? server.url.replace('http:', 'https:') : server.url,
    asked,
    left,
    count: () => server.connections,
  };
}

async function place(first: Upstream) {
  const second = await upstreamThatSays('');
  const server = await gateway({
    config: {
      providers: {
        first: provider(first.url, 'chat', ['m']),
        second: provider(second.url, 'chat', ['m']),
      },
    },
  });
  return { second, server };
}

async function leaveAndLook(first: Upstream, second: Upstream, leave: () => void): Promise<void> {
  const began = performance.now();
  leave();
  await first.left;
  // Before any time-out.
  expect(performance.now() - began).toBeLessThan(5000);
  expect(first.count()).toBe(1);
  expect(second.count()).toBe(0);
}

describe.each(['ends', 'resets'] as const)('a client that %s its connection', (how) => {
  it.each(PHASES)('$name', async ({ says, stream, seen }) => {
    const first = await upstreamThatSays(says);
    const { second, server } = await place(first);
    const client = await rawClient(server.url);
    client.send(rawRequest(server, hello('m', { stream })));
    await first.asked;
    if (seen !== undefined) await client.until(seen);
    await leaveAndLook(first, second, () => {
      if (how === 'ends') client.socket.destroy();
      else client.socket.resetAndDestroy();
    });
    await expect.poll(() => server.log()).toContain('"error":"client_closed"');
  });
});

it('while the connection to the provider is made', async () => {
  const first = await upstreamThatSays('', true);
  const { second, server } = await place(first);
  const client = await rawClient(server.url);
  client.send(rawRequest(server, hello('m')));
  await first.asked;
  client.socket.destroy();
  // The connection may still be tried; no request will go over it.
  await expect.poll(() => server.log(), { timeout: 5000 }).toContain('"error":"client_closed"');
  expect(second.count()).toBe(0);
});

it('with more than one request sent ahead: all of them end', async () => {
  const first = await upstreamThatSays(opened(START.chat + content('chat', 'abc')));
  const other = await upstreamThatSays(opened(START.chat + content('chat', 'abc')));
  const server = await gateway({
    config: {
      providers: {
        first: provider(first.url, 'chat', ['m']),
        other: provider(other.url, 'chat', ['n']),
      },
    },
  });
  const client = await rawClient(server.url);
  client.send(rawRequest(server, hello('m', { stream: true })));
  client.send(rawRequest(server, hello('n', { stream: true })));
  await Promise.all([first.asked, other.asked]);
  client.socket.destroy();
  await Promise.all([first.left, other.left]);
});

it('while its own body is still on its way: no provider is asked', async () => {
  const first = await upstreamThatSays('');
  const { second, server } = await place(first);
  const client = await rawClient(server.url);
  client.send(rawRequest(server, hello('m')).slice(0, -5));
  await fetch(`${server.url}/health`);
  client.socket.destroy();
  await client.closed;
  await fetch(`${server.url}/health`);
  expect(first.count() + second.count()).toBe(0);
});
