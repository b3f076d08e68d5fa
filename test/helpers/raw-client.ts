// A client below HTTP: it sends any bytes, and sees the bytes that come back and how the connection ends.
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface RawClient {
  socket: Socket;
  send(bytes: string | Buffer): void;
  /** All that came so far, as latin1. */
  text(): string;
  /** Fulfilled when so much came that `mark` is in it. */
  until(mark: string | RegExp): Promise<string>;
  /** Fulfilled with everything when the connection is closed. */
  closed: Promise<string>;
}

/** Ends by itself when the test is over. */
export async function rawClient(url: string): Promise<RawClient> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  let text = '';
  let look = (): void => undefined;
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(text)));
  socket.on('error', () => undefined);
  socket.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1');
    look();
  });
  await once(socket, 'connect');
  socket.setNoDelay(true);
  return {
    socket,
    closed,
    send: (bytes) => void socket.write(bytes),
    text: () => text,
    until: (mark) =>
      new Promise((resolve, reject) => {
        look = () => {
          if (typeof mark === 'string' ? text.includes(mark) : mark.test(text)) resolve(text);
        };
        void closed.then(() => reject(new Error(`closed before ${String(mark)}: ${text}`)));
        look();
      }),
  };
}

/** A request as bytes. */
export function rawRequest(
  { key, path = '/v1/chat/completions', method = 'POST' }: { key: string; path?: string; method?: string },
  body: string | object = '',
  headers: string[] = [],
): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'host: localhost',
    `authorization: Bearer ${key}`,
    `content-length: ${Buffer.byteLength(text)}`,
    ...headers,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${text}`;
}

/** Fulfilled when so many requests of a path were answered, whatever the answers: on one connection, with little work of this process. */
export async function askOften(url: string, path: string, count: number): Promise<void> {
  const client = await rawClient(url);
  const request = `GET ${path} HTTP/1.1\r\nhost: localhost\r\n`;
  client.send(`${request}\r\n`.repeat(count - 1) + `${request}connection: close\r\n\r\n`);
  const answers = (await client.closed).match(/HTTP\/1\.1 \d/g) ?? [];
  if (answers.length !== count) throw new Error(`${answers.length} of ${count} requests were answered`);
}

/** The smallest request that is answered. */
export function hello(model: string, more: object = {}): object {
  return { model, messages: [{ role: 'user', content: 'hello' }], ...more };
}
