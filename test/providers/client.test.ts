// The client of providers on real sockets: what every way to fail is called, and that nothing is left behind.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { createSecureServer as createSecureHttp2Server, createServer as createHttp2Server } from 'node:http2';
import { Server as TlsServer } from 'node:tls';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { FailureError, type ProviderFailure } from '../../src/errors.ts';
import { CancellationSource, type Cancellation } from '../../src/cancellation.ts';
import { systemClock, type Clock } from '../../src/clock.ts';
import { createProviderClient } from '../../src/providers/client.ts';
import type { ProviderCall, ProviderReply } from '../../src/providers/exchange.ts';
import { selfSigned } from '../helpers/certificate.ts';
import { manualClock } from '../helpers/clock.ts';

const open: Server[] = [];
const sockets = new Set<Socket>();

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  for (const server of open.splice(0)) server.close();
});

/** A raw server: `onRequest` gets the socket when a request's head came, and how many came on this connection before. */
async function rawServer(
  onRequest: (socket: Socket, before: number) => void,
  headEnd = '\r\n\r\n',
): Promise<string> {
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    let before = 0;
    socket.on('data', (data) => {
      if (data.includes(headEnd)) onRequest(socket, before++);
    });
  });
  open.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/x`;
}

function client(clock: Clock = systemClock): ReturnType<typeof createProviderClient> {
  return createProviderClient({ clock, env: {} });
}

function call(url: string, changes: Partial<ProviderCall> = {}): ProviderCall {
  const timeout = { connect: 1000, firstByte: 120_000, idle: 300_000, whole: 900_000 };
  return {
    url,
    method: 'POST',
    headers: [],
    body: Buffer.from('{}'),
    stream: true,
    timeout,
    network: undefined,
    ...changes,
  };
}

async function failureOf(reply: Promise<unknown>): Promise<ProviderFailure> {
  const error: unknown = await reply.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof FailureError)) throw new Error(`expected a failure, got ${String(error)}`);
  return error.failure;
}

/** Everything of a body, and how it ended. */
function drain(reply: ProviderReply): Promise<{ text: string; end: boolean | ProviderFailure }> {
  return new Promise((resolve) => {
    let text = '';
    reply.body.start({
      chunk: (bytes) => (text += bytes.toString()),
      end: (clean) => resolve({ text, end: clean }),
      fail: (failure) => resolve({ text, end: failure }),
    });
  });
}

const uncancelled = (): Cancellation => new CancellationSource();

describe('before a reply', () => {
  it('tells a refused connection', async () => {
    const url = await rawServer(() => undefined);
    open.splice(0).forEach((server) => server.close());
    expect(await failureOf(client().open(call(url), uncancelled()))).toMatchObject({
      kind: 'failed',
      reason: 'refused',
    });
  });

  it('tells a connection that is reset', async () => {
    const url = await rawServer((socket) => socket.resetAndDestroy());
    expect(await failureOf(client().open(call(url), uncancelled()))).toMatchObject({
      kind: 'failed',
      reason: 'reset',
    });
  });

  it('tells a name that does not resolve', async () => {
    const failure = await failureOf(client().open(call('http://nowhere.invalid/v1/x'), uncancelled()));
    expect(failure).toMatchObject({ kind: 'failed', reason: 'dns' });
  });

  it('names a server that does not speak TLS', async () => {
    const url = await rawServer((socket) => socket.end('nonsense'), '');
    const failure = await failureOf(client().open(call(url.replace('http:', 'https:')), uncancelled()));
    expect(failure.kind).toBe('failed');
    expect(failure.message).not.toContain('127.0.0.1');
  });

  it('tells bytes that are no HTTP', async () => {
    const url = await rawServer((socket) => socket.end('SSH-2.0-OpenSSH\r\n\r\n'));
    expect(await failureOf(client().open(call(url), uncancelled()))).toMatchObject({
      kind: 'failed',
      reason: 'http',
    });
  });

  it('names a server that speaks HTTP/2 alone, in the clear and over TLS', async () => {
    const { key, cert } = selfSigned('localhost');
    for (const server of [createHttp2Server(), createSecureHttp2Server({ key, cert })]) {
      await once(server.listen(0, '127.0.0.1'), 'listening');
      onTestFinished(() => void server.close());
      server.on('sessionError', () => undefined);
      const scheme = server instanceof TlsServer ? 'https' : 'http';
      const url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}/v1/x`;
      const failure = await failureOf(client().open(call(url), uncancelled()));
      expect(failure).toMatchObject({ kind: 'failed', reason: 'http2' });
      expect(failure.message).toContain('HTTP/2');
    }
  });

  it('gives up on a provider that is silent, by the clock', async () => {
    const clock = manualClock();
    let asked = (): void => undefined;
    const request = new Promise<void>((resolve) => (asked = resolve));
    const url = await rawServer(() => asked());
    const reply = failureOf(client(clock).open(call(url), uncancelled()));
    await request;
    clock.advance(120_000);
    expect(await reply).toMatchObject({ kind: 'timeout', reason: 'first_byte_timeout' });
  });

  it.each(['closes', 'is reset'])(
    'sends once more where a reused connection %s before any byte of a reply, and only then',
    async (how) => {
      let requests = 0;
      const url = await rawServer((socket, before) => {
        requests += 1;
        if (before > 0 && how === 'closes') socket.destroy();
        else if (before > 0) socket.resetAndDestroy();
        else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
      });
      const providers = client();
      expect(await drain(await providers.open(call(url), uncancelled()))).toEqual({ text: 'ok', end: true });
      // The client waits a turn of the loop before it uses a connection again.
      await new Promise(setImmediate);
      expect(await drain(await providers.open(call(url), uncancelled()))).toEqual({ text: 'ok', end: true });
      expect(requests).toBe(3);
    },
  );

  it('sends once more on a fresh connection where all idle ones were forgotten, and drops the others', async () => {
    let forgotten = false;
    let arrived = 0;
    let allArrived = (): void => undefined;
    const together = new Promise<void>((resolve) => (allArrived = resolve));
    const late: number[] = [];
    const url = await rawServer((socket, before) => {
      arrived += 1;
      if (forgotten && before > 0) {
        late.push(before);
        socket.resetAndDestroy();
        return;
      }
      if (arrived === 8) allArrived();
      // All eight requests are open at once, so that each has a connection of its own.
      void (forgotten ? Promise.resolve() : together).then(() =>
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'),
      );
    });
    const providers = client();
    const ask = async () => drain(await providers.open(call(url), uncancelled()));
    await Promise.all(Array.from({ length: 8 }, ask));
    const idle = [...sockets];
    expect(idle).toHaveLength(8);
    // The client waits a turn of the loop before it uses a connection again.
    await new Promise(setImmediate);
    forgotten = true;
    const dropped = Promise.all(idle.map((socket) => once(socket, 'close')));
    expect(await ask()).toEqual({ text: 'ok', end: true });
    await dropped;
    expect(late).toEqual([1]);
    await providers.close();
  });

  it('sends requests that met forgotten connections at the same time once more, each on a fresh one', async () => {
    let forgotten = false;
    let arrived = 0;
    let allArrived = (): void => undefined;
    const together = new Promise<void>((resolve) => (allArrived = resolve));
    const url = await rawServer((socket, before) => {
      arrived += 1;
      // Every connection serves one request; none says so.
      if (before > 0) return void socket.resetAndDestroy();
      if (arrived === 8) allArrived();
      void (forgotten ? Promise.resolve() : together).then(() =>
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'),
      );
    });
    const providers = client();
    const ask = async () => drain(await providers.open(call(url), uncancelled()));
    await Promise.all(Array.from({ length: 8 }, ask));
    await new Promise(setImmediate);
    forgotten = true;
    const again = await Promise.all(Array.from({ length: 8 }, ask));
    expect(again).toEqual(Array.from({ length: 8 }, () => ({ text: 'ok', end: true })));
    await providers.close();
  });

  it('lets a stream go on whose provider has forgotten the idle connections', async () => {
    const streams: Socket[] = [];
    const url = await rawServer((socket, before) => {
      if (streams.length === 0) {
        streams.push(socket);
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n');
      } else if (before > 0) socket.destroy();
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
    });
    const providers = client();
    const stream = drain(await providers.open(call(url), uncancelled()));
    for (let round = 0; round < 2; round += 1) {
      expect(await drain(await providers.open(call(url), uncancelled()))).toEqual({ text: 'ok', end: true });
      await new Promise(setImmediate);
    }
    streams[0]?.write('3\r\ndef\r\n0\r\n\r\n');
    expect(await stream).toEqual({ text: 'abcdef', end: true });
    await providers.close();
  });
});

describe('while it replies', () => {
  const bodies: [name: string, head: string, end: boolean | string][] = [
    ['chunked, whole', 'transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n', true],
    ['chunked, cut', 'transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n', 'truncated'],
    ['a length, met', 'content-length: 3\r\n\r\nabc', true],
    ['a length, not met', 'content-length: 9\r\n\r\nabc', 'truncated'],
    ['no declared end', 'connection: close\r\n\r\nabc', false],
  ];
  it.each(bodies)('%s', async (_name, rest, end) => {
    const url = await rawServer((socket) => socket.end(`HTTP/1.1 200 OK\r\n${rest}`));
    const heard = await drain(await client().open(call(url), uncancelled()));
    expect(heard.text).toBe('abc');
    if (typeof end === 'string') expect(heard.end).toMatchObject({ kind: 'failed', reason: end });
    else expect(heard.end).toBe(end);
  });

  it('gives up on a stream that falls silent, counted from its last byte', async () => {
    const clock = manualClock();
    let socket: Socket | undefined;
    const url = await rawServer((own) => {
      socket = own;
      own.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n');
    });
    const reply = await client(clock).open(call(url), uncancelled());
    let heard = (): void => undefined;
    let next = new Promise<void>((resolve) => (heard = resolve));
    const ended = new Promise<ProviderFailure>((resolve) => {
      reply.body.start({ chunk: () => heard(), end: () => undefined, fail: resolve });
    });
    await next;
    clock.advance(299_000);
    next = new Promise<void>((resolve) => (heard = resolve));
    socket?.write('3\r\ndef\r\n');
    await next;
    clock.advance(299_000);
    clock.advance(1000);
    expect(await ended).toMatchObject({ kind: 'timeout', reason: 'idle_timeout' });
  });

  it('allows a silence no longer than `idle`, even where the first byte was allowed longer', async () => {
    const clock = manualClock();
    const url = await rawServer((socket) =>
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n'),
    );
    const timeout = { connect: 1000, firstByte: 120_000, idle: 5000, whole: 900_000 };
    const reply = await client(clock).open(call(url, { timeout }), uncancelled());
    const ended = await new Promise<ProviderFailure>((resolve) => {
      reply.body.start({ chunk: () => clock.advance(5000), end: () => undefined, fail: resolve });
    });
    expect(ended).toMatchObject({ kind: 'timeout', reason: 'idle_timeout' });
  });

  describe('that is not streamed, when its time is over', () => {
    /** A reply of three bytes, two of which are there; its time-out is due when `expire` says so. */
    async function begun() {
      let now = 0;
      let due = (): void => undefined;
      const clock: Clock = {
        now: () => now,
        monotonic: () => now,
        after: (_ms, task) => {
          due = task;
          return () => undefined;
        },
      };
      let server: Socket | undefined;
      const url = await rawServer((socket) => {
        server = socket;
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\na');
      });
      const timeout = { connect: 1000, firstByte: 1000, idle: 1000, whole: 1000 };
      const reply = await client(clock).open(call(url, { stream: false, timeout }), uncancelled());
      let more = (): void => undefined;
      const ended = new Promise<string>((resolve) => {
        let text = '';
        reply.body.start({
          chunk: (bytes) => {
            text += bytes.toString();
            more();
          },
          end: () => resolve(text),
          fail: ({ reason }) => resolve(`${text} ${String(reason)}`),
        });
      });
      return {
        ended,
        expire: (at: number) => {
          now = at;
          due();
        },
        send: (bytes: string, at: number) => {
          now = at;
          server?.write(bytes);
          return new Promise<void>((resolve) => (more = resolve));
        },
      };
    }

    it('is read on while bytes of it are there', async () => {
      const { ended, expire, send } = await begun();
      await send('b', 1002);
      expire(1003);
      await send('c', 1004);
      expect(await ended).toBe('abc');
    });

    it('is given up where none came, or no more do', async () => {
      const silent = await begun();
      silent.expire(1001);
      expect(await silent.ended).toBe('a whole_timeout');
      const stuck = await begun();
      await stuck.send('b', 1002);
      stuck.expire(1003);
      stuck.expire(1004);
      expect(await stuck.ended).toBe('ab whole_timeout');
    });
  });

  it('ends the request within the abort, in the middle of a body', async () => {
    let closed = (): void => undefined;
    const gone = new Promise<void>((resolve) => (closed = resolve));
    const url = await rawServer((socket) => {
      socket.on('close', closed);
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n');
    });
    const source = new CancellationSource();
    const reply = await client().open(call(url), source);
    const ended = drain(reply);
    source.cancel(new Error('the client left'));
    await gone;
    expect((await ended).end).toMatchObject({ reason: 'aborted' });
  });

  it('keeps the connection of a reply that was released and then ended', async () => {
    const used: number[] = [];
    const url = await rawServer((socket, before) => {
      used.push(before);
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabc');
      setImmediate(() => socket.write('def'));
    });
    const providers = client();
    for (let round = 0; round < 3; round += 1) {
      const reply = await providers.open(call(url), uncancelled());
      await new Promise<void>((resolve) => {
        reply.body.start({ chunk: () => resolve(), end: () => undefined, fail: () => undefined });
      });
      reply.body.release();
      // The rest arrives with the next turns of the loop.
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    expect(used).toEqual([0, 1, 2]);
  });

  describe('of a reply that was released reads', () => {
    /** Bytes that come after the release; the end of the reply, or of the connection. */
    async function released(more: number, ends: boolean, clock: Clock = systemClock) {
      const used: number[] = [];
      let goOn = (): void => undefined;
      let closed = false;
      const url = await rawServer((socket, before) => {
        used.push(before);
        socket.on('close', () => (closed = true));
        const length = 3 + more + (ends ? 0 : 1);
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\nabc`);
        goOn = () => socket.write('x'.repeat(more));
      });
      const providers = client(clock);
      const ask = async (): Promise<void> => {
        const reply = await providers.open(call(url), uncancelled());
        await new Promise<void>((resolve) => {
          reply.body.start({ chunk: () => resolve(), end: () => undefined, fail: () => undefined });
        });
        reply.body.release();
        goOn();
      };
      await ask();
      return { ask, used, isClosed: () => closed };
    }

    it('up to 64 KiB, and keeps the connection', async () => {
      const { ask, used } = await released(60 * 1024, true);
      await new Promise((resolve) => setTimeout(resolve, 30));
      await ask();
      expect(used).toEqual([0, 1]);
    });

    it('no more than that, and gives the connection up', async () => {
      const { ask, used, isClosed } = await released(8 * 1024 * 1024, true);
      await expect.poll(isClosed).toBe(true);
      await ask();
      expect(used).toEqual([0, 0]);
    });

    it('no longer than a second', async () => {
      const clock = manualClock();
      const { isClosed } = await released(10, false, clock);
      clock.advance(999);
      for (let turn = 0; turn < 10; turn += 1) await nextTurn();
      expect(isClosed()).toBe(false);
      clock.advance(1);
      await expect.poll(isClosed).toBe(true);
    });
  });
});
