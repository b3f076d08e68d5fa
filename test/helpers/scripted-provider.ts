// A provider that says exactly what a test tells it to, byte for byte, over a real socket, and remembers what it was asked.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** Breaks the connection after what was written so far has left. */
export const CUT = Symbol('cut');

/** Bytes to send, something to wait for, or the break of the connection. */
export type Step = string | Buffer | Promise<unknown> | typeof CUT;

export interface Script {
  status?: number;
  headers?: Record<string, string>;
  /** A text or JSON value as the whole body, with its length; or steps, in chunks. */
  body?: string | Buffer | object;
  steps?: readonly Step[];
}

export interface Asked {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  /** The body as JSON. */
  readonly json: Record<string, unknown>;
  /** Fulfilled when the exchange is over: true where the other side left before its end. */
  left: Promise<boolean>;
}

export interface ScriptedProvider {
  /** Without a version. */
  url: string;
  /** In order of arrival. */
  requests: Asked[];
  /** What the next requests get, one each. */
  play(...scripts: Script[]): void;
  /** What every request gets for which nothing else is left. */
  playAlways(script: Script): void;
  /** What each request gets by itself; undefined: as if this was not called. */
  answerBy(choose: (asked: Asked) => Script | undefined): void;
  /** The request that arrives next (or has, and was not asked for yet). */
  next(): Promise<Asked>;
  close(): Promise<void>;
}

/** Closes by itself when the test is over. */
export async function scriptedProvider(): Promise<ScriptedProvider> {
  const provider = await startScriptedProvider();
  onTestFinished(() => provider.close());
  return provider;
}

export async function startScriptedProvider(): Promise<ScriptedProvider> {
  const requests: Asked[] = [];
  const queue: Script[] = [];
  const waiting: ((asked: Asked) => void)[] = [];
  let unread = 0;
  let fallback: Script = { status: 500, body: { error: { message: 'nothing is left to play' } } };

  let choose: (asked: Asked) => Script | undefined = () => undefined;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const asked = recorded(request, response, Buffer.concat(chunks));
    requests.push(asked);
    const waiter = waiting.shift();
    if (waiter) {
      unread += 1;
      waiter(asked);
    }
    await perform(choose(asked) ?? queue.shift() ?? fallback, response);
  }

  const server = createServer((request, response) => {
    // A client that leaves while it asks or listens: the test looks at `left`.
    handle(request, response).catch(() => response.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    play: (...scripts) => void queue.push(...scripts),
    playAlways: (script) => void (fallback = script),
    answerBy: (chosen) => void (choose = chosen),
    next() {
      const asked = requests[unread];
      if (asked !== undefined) {
        unread += 1;
        return Promise.resolve(asked);
      }
      return new Promise((resolve) => waiting.push(resolve));
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function recorded(request: IncomingMessage, response: ServerResponse, bytes: Buffer): Asked {
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    headers: request.headers,
    bytes,
    get json() {
      return JSON.parse(bytes.toString()) as Record<string, unknown>;
    },
    left: new Promise((resolve) => response.on('close', () => resolve(!response.writableFinished))),
  };
}

async function perform(
  { status = 200, headers = {}, body, steps }: Script,
  response: ServerResponse,
): Promise<void> {
  if (steps === undefined) {
    const bytes = typeof body === 'object' && !Buffer.isBuffer(body) ? JSON.stringify(body) : (body ?? '');
    const length = String(Buffer.byteLength(bytes));
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...headers });
    response.end(bytes);
    return;
  }
  response.writeHead(status, { 'content-type': 'text/event-stream', ...headers });
  response.flushHeaders();
  for (const step of steps) {
    if (response.destroyed) return;
    if (step === CUT) {
      response.socket?.destroySoon();
      return;
    }
    if (step instanceof Promise) await step;
    else await written(step, response);
  }
  response.end();
}

/** Each piece leaves by itself, so that the reader may meet it by itself. */
function written(bytes: string | Buffer, response: ServerResponse): Promise<void> {
  return new Promise((resolve) => response.write(bytes, () => resolve()));
}

/** A stream that breaks after its first `count` bytes. */
export function cutAfter(bytes: string | Buffer, count: number): Step[] {
  return [Buffer.from(bytes).subarray(0, count), CUT];
}

/** The same bytes in pieces of `size`: frames and characters are split anywhere. */
export function inPieces(bytes: string | Buffer, size: number): Buffer[] {
  const whole = Buffer.from(bytes);
  return Array.from({ length: Math.ceil(whole.length / size) }, (_, at) =>
    whole.subarray(at * size, (at + 1) * size),
  );
}

/** A promise that the test keeps when it likes. */
export function gate(): { opened: Promise<void>; open(): void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
