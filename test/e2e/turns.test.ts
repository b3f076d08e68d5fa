// How many turns of the event loop the gateway adds to a proxy that only passes bytes on, and how streams share a turn: all sockets are
// in this process, and each turn reads every socket once.
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { bareServer } from '../bench/proxy.ts';
import { gateway } from '../helpers/gateway.ts';
import { hello, rawClient, rawRequest, type RawClient } from '../helpers/raw-client.ts';
import { isWholeRequest, rawServer } from '../helpers/raw-server.ts';

/** Turns since the start of the test. */
let turn = 0;

function countTurns(): void {
  let counting = true;
  onTestFinished(() => void (counting = false));
  const count = (): void => {
    turn += 1;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
}

function frame(delta: object, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  const data = JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices });
  const text = `data: ${data}\n\n`;
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
const DONE = 'e\r\ndata: [DONE]\n\n\r\n';
const END = `${frame({}, 'stop')}${DONE}0\r\n\r\n`;

/** A provider that leaves each request to the test: its socket, and the turn in which its last byte was read. */
async function startProvider() {
  const asked = new Map<string, (came: { socket: Socket; at: number }) => void>();
  const seen = new WeakMap<Socket, number>();
  const server = await rawServer((socket, soFar) => {
    const request = soFar.slice(seen.get(socket) ?? 0);
    if (!isWholeRequest(request)) return;
    seen.set(socket, soFar.length);
    asked.get(/"content":"(\w+)"/.exec(request)?.[1] ?? '')?.({ socket, at: turn });
  });
  return {
    url: server.url,
    request: (name: string) =>
      new Promise<{ socket: Socket; at: number }>((resolve) => void asked.set(name, resolve)),
  };
}

let asked = 0;
const ask = (client: RawClient, key: string, name: string): void =>
  client.send(
    rawRequest({ key }, hello('m', { messages: [{ role: 'user', content: name }], stream: true }), [
      'content-type: application/json',
    ]),
  );

interface Turns {
  /** From the client's last byte until the provider has it. */
  request: number;
  /** From the provider's first text until the client has it. */
  text: number;
}

async function streamOnce(
  client: RawClient,
  key: string,
  provider: Awaited<ReturnType<typeof startProvider>>,
): Promise<Turns> {
  asked += 1;
  const name = `n${asked}`;
  const coming = provider.request(name);
  const sentAt = turn;
  ask(client, key, name);
  const { socket, at } = await coming;
  const writtenAt = turn;
  socket.write(HEAD + frame({ content: `text-${name}` }));
  await client.until(`text-${name}`);
  const text = turn - writtenAt;
  socket.write(frame({ content: `end-${name}` }) + END);
  await client.until(new RegExp(`end-${name}[^]*\r\n0\r\n\r\n`));
  return { request: at - sentAt, text };
}

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? NaN;

/** Medians of rounds in which so many streams begin at once, on connections that were used before. */
async function turnsOf(
  url: string,
  key: string,
  streams: number,
  provider: Awaited<ReturnType<typeof startProvider>>,
): Promise<Turns> {
  const clients = await Promise.all(Array.from({ length: streams }, () => rawClient(url)));
  const all: Turns[] = [];
  for (let round = 0; round < 7; round += 1) {
    for (let pause = 0; pause < 5; pause += 1) await nextTurn();
    const turns = await Promise.all(clients.map((client) => streamOnce(client, key, provider)));
    if (round > 1) all.push(...turns);
  }
  return {
    request: median(all.map(({ request }) => request)),
    text: median(all.map(({ text }) => text)),
  };
}

async function startBare(origin: string): Promise<string> {
  const server = bareServer(origin);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it.each([
  ['an hourly limit', 'enterprise'],
  ['limits of tokens and money', 'held'],
])(
  'the request and the first text take at most one turn more than through a bare proxy, with %s',
  async (_limits, tier) => {
    countTurns();
    const provider = await startProvider();
    const bare = await startBare(provider.url);
    const { url, key } = await gateway({ tier, config: configOf(provider.url) });
    for (const streams of [1, 16]) {
      const least = await turnsOf(bare, key, streams, provider);
      const ours = await turnsOf(url, key, streams, provider);
      expect(least).toEqual({ request: 1, text: 2 });
      expect(ours.request, `${streams} streams`).toBeLessThanOrEqual(least.request + 1);
      expect(ours.text, `${streams} streams`).toBeLessThanOrEqual(least.text + 1);
    }
  },
);

function configOf(origin: string): Record<string, unknown> {
  return {
    providers: { p: { protocol: 'chat', base_url: `${origin}/v1`, api_key: 'k', models: ['m'] } },
    tiers: { enterprise: 100_000, held: { requests: '100000/hour', tokens: '900M/day', cost: '100000/day' } },
  };
}

/** What one stream may get in a turn (src/providers/exchange.ts), and again what waited in a batch of writes. */
const SHARE_BYTES = 8 * 1024;
const BURSTS = 50;

it('while 50 streams burst, each gets the same share of a turn, and a new stream comes within some turns', async () => {
  countTurns();
  const provider = await startProvider();
  const { url, key } = await gateway({ config: configOf(provider.url) });
  const burst = frame({ content: 'many words '.repeat(4) }).repeat(2000);
  /** Bytes that each client has got. */
  const got: number[] = [];
  const ended: Promise<unknown>[] = [];
  const sockets: Socket[] = [];
  for (let index = 0; index < BURSTS; index += 1) {
    const client = await rawClient(url);
    got.push(0);
    client.socket.on('data', (bytes: Buffer) => void (got[index] = (got[index] ?? 0) + bytes.length));
    const coming = provider.request(`burst${index}`);
    ask(client, key, `burst${index}`);
    const { socket } = await coming;
    socket.write(HEAD + frame({ content: 'first' }));
    await client.until('first');
    ended.push(client.until('\r\n0\r\n\r\n'));
    sockets.push(socket);
  }
  const before = [...got];
  for (const socket of sockets) socket.write(burst + END);
  let most = 0;
  let furthest = 0;
  let turns = 0;
  const fresh = await rawClient(url);
  let first: Turns | undefined;
  const coming = streamOnce(fresh, key, provider).then((found) => (first = found));
  for (let last = [...got]; first === undefined || turns < 40; turns += 1) {
    await nextTurn();
    most = Math.max(most, ...got.map((bytes, index) => bytes - (last[index] ?? 0)));
    const served = got.map((bytes, index) => bytes - (before[index] ?? 0));
    furthest = Math.max(furthest, Math.max(...served) - Math.min(...served));
    last = [...got];
  }
  await coming;
  await Promise.all(ended);
  expect(first?.request).toBeLessThanOrEqual(4);
  expect(first?.text).toBeLessThanOrEqual(3);
  expect(most).toBeLessThanOrEqual(3 * SHARE_BYTES);
  expect(furthest).toBeLessThanOrEqual(3 * SHARE_BYTES);
});
