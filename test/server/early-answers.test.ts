// Answers that a client gets before its body was read: it can read them also with `Connection: close`. A connection that is closed with
// unread bytes is reset, and the reset takes the answer away.
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../helpers/gateway.ts';

/** More than the buffers of a connection take on both sides. */
const BODY = Buffer.alloc(24 * 1024 * 1024, 32);
const ROUNDS = 5;

let server: TestGateway;
beforeAll(async () => {
  server = await startGateway({ config: { limits: { max_body: '4MiB' } } });
});
afterAll(() => server.stop());

interface Sent {
  path?: string;
  key?: string;
  /** Without its length, in chunks. */
  chunked?: boolean;
}

function headOf({ path = '/v1/chat/completions', key = server.key, chunked = false }: Sent): string {
  const length = chunked ? 'transfer-encoding: chunked' : `content-length: ${BODY.length}`;
  return `POST ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\nconnection: close\r\n${length}\r\n\r\n`;
}

/** What a client gets that reads only after it has written all, as many do, or the error of its connection. */
function answerTo(bytes: readonly (string | Buffer)[]): Promise<string> {
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve) => {
    let got = '';
    const socket = connect(Number(port), hostname).pause();
    socket.on('data', (piece: Buffer) => (got += piece.toString('latin1')));
    socket.on('error', (error) => (got += ` ${error.message}`));
    socket.on('close', () => resolve(got));
    for (const part of bytes.slice(0, -1)) socket.write(part);
    socket.write(bytes.at(-1) ?? '', () => socket.resume());
  });
}

/** Status and body of an answer that is whole. */
function wholeAnswer(text: string): [status: number, body: unknown] {
  const { status, length, body } =
    /^HTTP\/1\.1 (?<status>\d+) [^]*?content-length: (?<length>\d+)[^]*?\r\n\r\n(?<body>[^]*)$/.exec(text)
      ?.groups ?? {};
  expect(body?.length, text).toBe(Number(length));
  return [Number(status), JSON.parse(body ?? '')];
}

it.each<[status: number, word: string, sent: Sent]>([
  [413, 'request_too_large', {}],
  [413, 'request_too_large', { chunked: true }],
  [401, 'invalid_api_key', { key: 'sk-gw-wrong' }],
  [404, 'not_found', { path: '/v1/nothing' }],
  [405, 'method_not_allowed', { path: '/v1/models' }],
])('P43: %i can be read by each client that closes its connection: %s %j', async (status, word, sent) => {
  const { chunked = false } = sent;
  const body = chunked ? [`${BODY.length.toString(16)}\r\n`, BODY, '\r\n0\r\n\r\n'] : [BODY];
  for (let round = 0; round < ROUNDS; round += 1) {
    const answer = wholeAnswer(await answerTo([headOf(sent), ...body]));
    expect(answer).toMatchObject([status, { error: { code: word } }]);
  }
});

it.each([
  ['headers that are too large', 'GET / HTTP/1.1\r\nhost: localhost\r\nx: ', 431],
  ['no HTTP', 'HELLO ', 400],
  [
    'a wrong size of a chunk',
    'POST /v1/models HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nxyz',
    400,
  ],
])('P43: the answer to %s can be read', async (_what, start, status) => {
  for (let round = 0; round < ROUNDS; round += 1)
    expect(wholeAnswer(await answerTo([start, BODY.fill('a')]))).toMatchObject([status, { error: {} }]);
});
