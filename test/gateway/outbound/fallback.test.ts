// Which faults let the next target try, which do not, and the one error for all attempts: on real sockets.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, isWhole } from '../../helpers/ask.ts';
import { provider, startGateway } from '../../helpers/gateway.ts';
import type { TestGateway } from '../../helpers/gateway.ts';
import { closedPort, isWholeRequest, startRawServer } from '../../helpers/raw-server.ts';
import type { RawServer } from '../../helpers/raw-server.ts';
import {
  closed,
  content,
  errorBody,
  errorEvent,
  http,
  json,
  opened,
  PING,
  START,
  streamOf,
  wholeOf,
} from '../wire.ts';

const P = 'chat';
/** Bytes for a whole and for a streamed request. `null`: the connection is reset. */
type Said = { whole: string | null; stream: string | null };

const both = (bytes: string | null): Said => ({ whole: bytes, stream: bytes });
const status = (code: number, type = 'x', headers = {}): Said =>
  both(json(code, errorBody(P, type), headers));

const OK: Said = { whole: json(200, wholeOf(P, 'hello')), stream: closed(streamOf(P, 'hello')) };
const RESET = both(null);
const OVERFLOW = both(json(500, errorBody(P, 'api_error', 'prompt is too long: 9 tokens > 8 maximum')));
const NO_QUOTA = both(json(429, { error: { message: 'x', code: 'insufficient_quota' } }));
const begun = (rest: string): Said => ({ ...RESET, stream: opened(PING[P] + START[P]) + rest });
const chunked = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

interface Row {
  name: string;
  said: Said[];
  /** The places that were asked, in order. */
  asked: string[];
  status: number;
  code?: string | null;
  headers?: Record<string, string | null>;
  /** Both unless told. */
  mode?: 'whole' | 'stream';
}

const PLACES = ['first', 'second', 'third', 'fourth'];

const goesOn: [string, Said][] = [
  ...[401, 402, 403, 404, 408, 409, 429, 500, 502, 503, 504, 529, 302, 204].map((code): [string, Said] => [
    `status ${code}`,
    code === 204
      ? both('HTTP/1.1 204 No Content\r\n\r\n')
      : status(code, 'x', { location: 'http://127.0.0.1:1/' }),
  ]),
  ['a quota that is used up', NO_QUOTA],
  ['a reset', RESET],
  ['an empty answer', both(http(200, ''))],
  ['HTML', both(http(200, '<html></html>', { 'content-type': 'text/html' }))],
  ['200 with an overload inside', status(200, 'overloaded_error')],
  ['200 with an unknown error inside', status(200, 'api_error')],
  [
    'half an answer',
    { whole: 'HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"choices":[', stream: opened(START[P]) },
  ],
];
const stops: [string, Said][] = [
  ...[400, 413, 422].map((code): [string, Said] => [`status ${code}`, status(code)]),
  ['a context overflow with status 500', OVERFLOW],
  ['200 with the client’s own error inside', status(200, 'invalid_request_error')],
];

const rows: Row[] = [
  ...goesOn.map(([name, said]): Row => ({
    name: `${name}: the next target answers`,
    said: [said, OK],
    asked: ['first', 'second'],
    status: 200,
  })),
  ...stops.map(([name, said]): Row => ({
    name: `${name}: no other target is asked`,
    said: [said, OK],
    asked: ['first'],
    status: 400,
  })),
  {
    name: 'a stream that dies at birth, after a ping and a role',
    mode: 'stream',
    said: [begun(''), begun('0\r\n\r\n'), OK],
    asked: ['first', 'second', 'third'],
    status: 200,
  },
  {
    name: 'an overload as first event',
    mode: 'stream',
    said: [begun(chunked(errorEvent(P, 'overloaded_error'))), OK],
    asked: ['first', 'second'],
    status: 200,
  },
  {
    name: 'the client’s own error as first event',
    mode: 'stream',
    said: [begun(chunked(errorEvent(P, 'invalid_request_error'))), OK],
    asked: ['first'],
    status: 400,
  },
  {
    name: 'three attempts at most',
    said: [status(500), RESET, status(500), OK],
    asked: ['first', 'second', 'third'],
    status: 502,
  },
  {
    name: '502 if any failed so',
    said: [status(429), status(500), status(404)],
    asked: ['first', 'second', 'third'],
    status: 502,
    code: 'upstream_error',
    headers: { 'retry-after': null, 'x-should-retry': null },
  },
  {
    name: '503 if none failed but one was busy, with the shortest of their own waits',
    said: [status(404), status(429, 'x', { 'retry-after': '20' }), status(503, 'x', { 'retry-after': '5' })],
    asked: ['first', 'second', 'third'],
    status: 503,
    code: 'service_unavailable',
    headers: { 'retry-after': '5', 'retry-after-ms': '5000' },
  },
  {
    name: '503 with a cool-down where nobody said how long',
    said: [status(429), status(503)],
    asked: ['first', 'second'],
    status: 503,
    headers: { 'retry-after': '1' },
  },
  {
    name: '400 if the model is nowhere',
    said: [status(404), status(404)],
    asked: ['first', 'second'],
    status: 400,
    code: 'model_not_found',
  },
  {
    name: 'keys that are refused everywhere: no retry helps',
    said: [status(401), NO_QUOTA],
    asked: ['first', 'second'],
    status: 502,
    headers: { 'x-should-retry': 'false' },
  },
  {
    name: 'a refused key and a failure: a retry may help',
    said: [status(401), status(500)],
    asked: ['first', 'second'],
    status: 502,
    headers: { 'x-should-retry': null },
  },
];

let upstream: RawServer;
let gateway: TestGateway;
const cases = rows.flatMap((row, at) =>
  (['whole', 'stream'] as const)
    .filter((mode) => (row.mode ?? mode) === mode)
    .map((mode) => ({ ...row, mode, id: `${at}-${mode}`, name: `${row.name} (${mode})` })),
);
const script = new Map<string, string | null>();
const arrived: string[] = [];

beforeAll(async () => {
  for (const { said, mode, id } of cases)
    said.forEach((one, at) => script.set(`${PLACES[at]}/${id}`, one[mode]));
  upstream = await startRawServer((socket, soFar) => {
    if (!isWholeRequest(soFar)) return;
    const place = /^POST \/(\w+)\//.exec(soFar)?.[1] ?? '';
    const key = `${place}/${/"model":"([^"]+)"/.exec(soFar)?.[1] ?? ''}`;
    arrived.push(key);
    const bytes = script.get(key) ?? null;
    if (bytes === null) socket.resetAndDestroy();
    else socket.end(bytes);
  });
  const providers = PLACES.map((place) => [
    place,
    { ...provider(`${upstream.url}/${place}`, P, []), models: undefined },
  ]);
  const routes = cases.map(({ id, said }) => [
    `route-${id}`,
    PLACES.slice(0, said.length).map((place) => `${place}/${id}`),
  ]);
  const dead = await closedPort();
  gateway = await startGateway({
    config: {
      providers: {
        ...(Object.fromEntries(providers) as object),
        dead: provider(`http://127.0.0.1:${dead}`, P, ['x']),
      },
      routes: {
        ...(Object.fromEntries(routes) as object),
        'after-dead': ['dead/x', 'first/alive'],
        alone: ['first/alone'],
        late: ['first/late', 'second/late'],
      },
      tiers: { enterprise: 100_000 },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

function askedFor(id: string): string[] {
  return arrived.filter((key) => key.endsWith(`/${id}`)).map((key) => key.slice(0, key.indexOf('/')));
}

describe('targets in turn', () => {
  it.concurrent.each(cases)('$name', async (row) => {
    const answer = await ask(gateway, { model: `route-${row.id}`, stream: row.mode === 'stream' });
    expect(answer.status, answer.text).toBe(row.status);
    expect(askedFor(row.id)).toEqual(row.asked);
    expect(answer.headers.get('x-gateway-attempts')).toBe(String(row.asked.length));
    if (row.status === 200) {
      expect(answer.content).toBe('hello');
      expect(answer.headers.get('x-gateway-provider')).toBe(row.asked.at(-1));
      expect(answer.headers.get('x-gateway-model')).toBe(row.id);
      if (row.mode === 'stream') expect(isWhole(answer)).toBe(true);
    }
    if (row.code !== undefined) expect(answer.error?.code).toBe(row.code);
    for (const [name, value] of Object.entries(row.headers ?? {}))
      expect([name, answer.headers.get(name)]).toEqual([name, value]);
  });

  it('a refused connection', async () => {
    script.set('first/alive', OK.whole);
    const answer = await ask(gateway, { model: 'after-dead' });
    expect(answer).toMatchObject({ status: 200, content: 'hello' });
    expect(answer.headers.get('x-gateway-attempts')).toBe('2');
  });

  it('none after a frame was written: the client gets an error', async () => {
    script.set('first/late', opened(START[P] + content(P, 'half')));
    script.set('second/late', OK.stream);
    const answer = await ask(gateway, { model: 'late', stream: true });
    expect(answer).toMatchObject({ status: 200, content: 'half', error: { type: 'upstream_error' } });
    expect(isWhole(answer)).toBe(false);
    expect(askedFor('late')).toEqual(['first']);
  });

  it('a lone target is always tried, and its 503 without a wait says 1', async () => {
    for (let times = 1; times <= 4; times += 1) {
      script.set('first/alone', status(429).whole);
      const { status: code, headers } = await ask(gateway, { model: 'alone' });
      expect(code).toBe(503);
      expect(headers.get('retry-after')).toBe('1');
      expect(askedFor('alone')).toHaveLength(times);
    }
    script.set('first/alone', status(429, 'x', { 'retry-after': '3000' }).whole);
    const { headers } = await ask(gateway, { model: 'alone' });
    expect(headers.get('retry-after')).toBe('3000');
    // The SDKs would sleep that long.
    expect(headers.get('x-should-retry')).toBe('false');
    script.set('first/alone', OK.whole);
    expect((await ask(gateway, { model: 'alone' })).status).toBe(200);
  });
});
