// One kept connection of the load client: sends prepared bytes, checks each answer, and tells when it is complete.
import { connect, type Socket } from 'node:net';
import { answerText, TERMINAL } from './answer.ts';
import { requestBody } from './bodies.ts';
import { createMessageParser } from './http-message.ts';
import type { Route } from './jobs.ts';
import { clockMicros, timesIn, withoutTimes } from './marks.ts';
import { LAST_WORD, textOf } from './replies.ts';

export interface Connection {
  /** Resolves when the answer is complete; rejects where it is not what it should be. One at a time. */
  send(request: Buffer): Promise<void>;
  /** Of the last answer, if its frames hold the stub's clock (`Result.firstTexts` and `laterTexts`). */
  textTimes(): { first: number | undefined; later: readonly number[] };
  close(): void;
}

const PATHS = { chat: '/v1/chat/completions', messages: '/v1/messages', responses: '/v1/responses' };

export function requestBytes({ wire, size, kind, model, port, key }: Route): Buffer {
  const body = requestBody(wire, size, model, kind !== 'whole');
  const credentials =
    wire === 'messages'
      ? `x-api-key: ${key}\r\nanthropic-version: 2023-06-01`
      : `authorization: Bearer ${key}`;
  const head = [
    `POST ${PATHS[wire]} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    'content-type: application/json',
    'accept: application/json',
    credentials,
    `content-length: ${body.length}`,
  ].join('\r\n');
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), body]);
}

/** `whole`: keep the answer and compare its text; else only its status and its end are looked at. */
export async function openConnection(route: Route, check: 'whole' | 'end'): Promise<Connection> {
  const socket = connect({ port: route.port, host: '127.0.0.1', noDelay: true });
  await opened(socket);
  let settle: { resolve: () => void; reject: (error: Error) => void } | undefined;
  let head = '';
  let body: Buffer[] = [];
  let sentAt = 0;
  let first: number | undefined;
  let later: number[] = [];

  function fail(reason: string): void {
    settle?.reject(new Error(reason));
    settle = undefined;
  }

  function finish(): void {
    const fault = faultOf(route, check, head, body);
    body = [];
    if (fault !== undefined) {
      fail(fault);
      return;
    }
    settle?.resolve();
    settle = undefined;
  }

  function readTimes(bytes: Buffer): void {
    const now = clockMicros();
    const times = timesIn(bytes.toString('latin1'));
    if (first === undefined) {
      const [cameAt, writtenAt] = times.splice(0, 2);
      if (cameAt === undefined || writtenAt === undefined) return;
      first = (now - sentAt - (writtenAt - cameAt)) / 1000;
    }
    for (const writtenAt of times) later.push((now - writtenAt) / 1000);
  }

  const parse = createMessageParser({
    head(text) {
      head = text;
    },
    body(bytes) {
      if (route.kind === 'tokens') readTimes(bytes);
      if (check === 'whole' || body.length < 2) body.push(bytes);
      else body = [body.at(-1) ?? bytes, bytes];
    },
    end: finish,
  });
  socket.on('data', parse);
  socket.on('error', (error) => fail(error.message));
  socket.on('close', () => fail('the connection was closed'));
  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        if (socket.destroyed) {
          reject(new Error('the connection was closed'));
          return;
        }
        settle = { resolve, reject };
        first = undefined;
        later = [];
        sentAt = clockMicros();
        socket.write(request);
      }),
    textTimes: () => ({ first, later }),
    close: () => socket.destroy(),
  };
}

/** With `end`, `body` holds the last pieces alone, which is where a complete answer ends. */
function faultOf(route: Route, check: 'whole' | 'end', head: string, body: Buffer[]): string | undefined {
  const text = Buffer.concat(body).toString();
  if (!/^HTTP\/1\.1 200 /.test(head)) return `${head.split('\r\n', 1)[0]}: ${text.slice(0, 300)}`;
  const streamed = route.kind !== 'whole';
  if (check === 'end') {
    const mark = streamed ? TERMINAL[route.wire] : LAST_WORD;
    return text.includes(mark) ? undefined : 'the answer has no end';
  }
  try {
    const answer = answerText(route.wire, streamed, text);
    return withoutTimes(answer) === textOf(route.kind)
      ? undefined
      : `another text came: ${answer.slice(0, 100)}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function opened(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
}
