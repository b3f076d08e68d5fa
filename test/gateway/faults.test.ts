// Every way in which a provider fails, before and after its first byte, towards clients of both protocols: what they see.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { ask, isWhole } from '../helpers/ask.ts';
import { PROVIDER_KEY, provider, startGateway } from '../helpers/gateway.ts';
import type { TestGateway } from '../helpers/gateway.ts';
import { closedPort, isWholeRequest, startRawServer } from '../helpers/raw-server.ts';
import type { RawServer } from '../helpers/raw-server.ts';
import {
  closed,
  content,
  errorBody,
  errorEvent,
  FINISH,
  http,
  json,
  opened,
  PING,
  START,
  TERMINAL,
  wholeOf,
} from './wire.ts';

// -- what a client sees --

interface Sight {
  status: number;
  chat: [type: string, code: string | null];
  messages: string;
  /** Headers, and null for those that must be absent. */
  headers?: Record<string, string | null>;
}

const UPSTREAM: Sight = {
  status: 502,
  chat: ['upstream_error', 'upstream_error'],
  messages: 'api_error',
  headers: { 'x-should-retry': null, 'retry-after': null },
};
const PERMANENT: Sight = { ...UPSTREAM, headers: { 'x-should-retry': 'false', 'retry-after': null } };
const REFUSED: Sight = {
  status: 400,
  chat: ['invalid_request_error', null],
  messages: 'invalid_request_error',
};
const NOT_FOUND: Sight = { ...REFUSED, chat: ['invalid_request_error', 'model_not_found'] };
const OVERFLOW: Sight = { ...REFUSED, chat: ['invalid_request_error', 'context_length_exceeded'] };

function busy(seconds: string): Sight {
  const headers = { 'retry-after': seconds, 'x-should-retry': null };
  return {
    status: 503,
    chat: ['overloaded_error', 'service_unavailable'],
    messages: 'overloaded_error',
    headers,
  };
}

// -- what a provider does --

/** Bytes, and what becomes of the connection then. */
interface Wire {
  bytes: string;
  then?: 'reset' | 'end' | 'silence';
}

type Mode = 'whole' | 'stream';

interface Fault {
  name: string;
  wire: (protocol: ProtocolName, mode: Mode) => Wire;
  sight: Sight;
  /** Only where it is meant; else both. */
  mode?: Mode;
  /** Which of the configured providers: `plain` unless told. */
  at?: Place;
}

/** A provider for each protocol at each of these. */
type Place = 'plain' | 'hasty' | 'lulled' | 'refused' | 'nowhere' | 'tls' | 'mute-tls';

const STATUSES: [status: number, type: string, sight: Sight][] = [
  [400, 'invalid_request_error', REFUSED],
  [401, 'authentication_error', PERMANENT],
  [402, 'billing_error', PERMANENT],
  [403, 'permission_error', PERMANENT],
  [404, 'not_found_error', NOT_FOUND],
  [405, 'x', UPSTREAM],
  [408, 'timeout_error', UPSTREAM],
  [409, 'x', UPSTREAM],
  [410, 'x', UPSTREAM],
  [413, 'request_too_large', REFUSED],
  [418, 'x', UPSTREAM],
  [422, 'invalid_request_error', REFUSED],
  [429, 'rate_limit_error', busy('1')],
  [500, 'api_error', UPSTREAM],
  [501, 'x', UPSTREAM],
  [502, 'x', UPSTREAM],
  [503, 'x', busy('1')],
  [504, 'timeout_error', UPSTREAM],
  [520, 'x', UPSTREAM],
  [529, 'overloaded_error', busy('1')],
  ...[201, 202, 204, 206].map((status): [number, string, Sight] => [status, 'x', UPSTREAM]),
  ...[300, 304, 399].map((status): [number, string, Sight] => [status, 'x', UPSTREAM]),
  ...[301, 302, 303, 307, 308].map((status): [number, string, Sight] => [status, 'x', UPSTREAM]),
];

const byStatus = STATUSES.map(([status, type, sight]): Fault => ({
  name: `status ${status}`,
  wire: (protocol) => {
    const headers = status < 400 && status >= 300 ? { location: 'http://127.0.0.1:1/v1' } : undefined;
    if (status === 204 || status === 304) return { bytes: `HTTP/1.1 ${status} Word\r\n\r\n`, then: 'end' };
    return { bytes: json(status, errorBody(protocol, type), headers) };
  },
  sight,
}));

const refusals: Fault[] = [
  {
    name: '429 that says how long',
    wire: (protocol) => ({
      bytes: json(429, errorBody(protocol, 'rate_limit_error'), { 'retry-after': '7' }),
    }),
    sight: busy('7'),
  },
  {
    name: '503 that says how long in milliseconds',
    wire: (protocol) => ({
      bytes: json(503, errorBody(protocol, 'overloaded_error'), { 'retry-after-ms': '2100' }),
    }),
    sight: busy('3'),
  },
  {
    name: '529 that says until when',
    wire: (protocol) => ({
      bytes: json(529, errorBody(protocol, 'overloaded_error'), {
        date: 'Sun, 01 Mar 2026 10:00:00 GMT',
        'retry-after': 'Sun, 01 Mar 2026 10:00:09 GMT',
      }),
    }),
    sight: busy('9'),
  },
  {
    name: '429 because the quota is used up',
    wire: () => ({
      bytes: json(429, { error: { message: 'no', type: 'insufficient_quota', code: 'insufficient_quota' } }),
    }),
    sight: PERMANENT,
  },
  {
    name: 'a context overflow with status 400',
    wire: (protocol) => ({
      bytes: json(
        400,
        errorBody(protocol, 'invalid_request_error', 'prompt is too long: 9 tokens > 8 maximum'),
      ),
    }),
    sight: OVERFLOW,
  },
  {
    name: 'a context overflow with status 500',
    wire: (protocol) => ({
      bytes: json(500, errorBody(protocol, 'api_error', 'prompt is too long: 9 tokens > 8 maximum')),
    }),
    sight: OVERFLOW,
  },
  {
    name: 'a page of HTML for an error',
    wire: () => ({
      bytes: http(502, '<html><title>Bad Gateway</title></html>', { 'content-type': 'text/html' }),
    }),
    sight: UPSTREAM,
  },
  { name: 'an error without a body', wire: () => ({ bytes: http(500, '') }), sight: UPSTREAM },
  {
    name: 'an error whose body breaks',
    wire: () => ({ bytes: 'HTTP/1.1 429 Word\r\ncontent-length: 99\r\n\r\n{"err', then: 'reset' }),
    sight: busy('1'),
  },
];

const connections: Fault[] = [
  { name: 'refused', at: 'refused', wire: () => ({ bytes: '' }), sight: UPSTREAM },
  { name: 'a name that does not resolve', at: 'nowhere', wire: () => ({ bytes: '' }), sight: UPSTREAM },
  { name: 'TLS that is none', at: 'tls', wire: () => ({ bytes: '' }), sight: UPSTREAM },
  { name: 'silence while it connects', at: 'mute-tls', wire: () => ({ bytes: '' }), sight: UPSTREAM },
  { name: 'a reset', wire: () => ({ bytes: '', then: 'reset' }), sight: UPSTREAM },
  { name: 'a close without a word', wire: () => ({ bytes: '', then: 'end' }), sight: UPSTREAM },
  { name: 'silence', at: 'hasty', wire: () => ({ bytes: '', then: 'silence' }), sight: UPSTREAM },
  { name: 'half a head', wire: () => ({ bytes: 'HTTP/1.1 200 OK\r\ncont', then: 'end' }), sight: UPSTREAM },
  { name: 'no HTTP', wire: () => ({ bytes: 'SSH-2.0-x\r\n\r\n', then: 'end' }), sight: UPSTREAM },
  {
    name: 'a head without an end',
    wire: () => ({
      bytes: `HTTP/1.1 200 OK\r\n${`x-a: ${'b'.repeat(1000)}\r\n`.repeat(160)}`,
      then: 'silence',
    }),
    sight: UPSTREAM,
  },
  {
    name: 'lengths that differ',
    wire: () => ({ bytes: 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 2\r\n\r\n{}abc' }),
    sight: UPSTREAM,
  },
];

const bodies: Fault[] = [
  {
    name: 'an empty body',
    wire: (_, mode) => ({ bytes: mode === 'whole' ? http(200, '') : closed('') }),
    sight: UPSTREAM,
  },
  {
    name: 'HTML with 200',
    wire: () => ({ bytes: http(200, '<html>login</html>', { 'content-type': 'text/html' }) }),
    sight: UPSTREAM,
  },
  { name: 'JSON of another kind', wire: () => ({ bytes: json(200, { hello: 'world' }) }), sight: UPSTREAM },
  { name: 'JSON that is no object', wire: () => ({ bytes: json(200, ['x']) }), sight: UPSTREAM },
  { name: 'null', wire: () => ({ bytes: json(200, null) }), sight: UPSTREAM },
  {
    name: 'broken JSON',
    wire: () => ({ bytes: http(200, '{"choices":[{', { 'content-type': 'application/json' }) }),
    sight: UPSTREAM,
  },
  {
    name: 'no choices, no content',
    wire: (protocol) => ({
      bytes: json(200, protocol === 'chat' ? { id: 'x', choices: [] } : { id: 'x', type: 'message' }),
    }),
    sight: UPSTREAM,
  },
  {
    name: 'an answer that is cut',
    wire: (protocol) => {
      const text = JSON.stringify(wholeOf(protocol, 'hello'));
      const bytes = http(200, text, { 'content-type': 'application/json' });
      return { bytes: bytes.slice(0, -20), then: 'reset' };
    },
    sight: UPSTREAM,
  },
  {
    name: 'an answer that stops',
    at: 'hasty',
    wire: (protocol) => {
      const bytes = json(200, wholeOf(protocol, 'hello'));
      return { bytes: bytes.slice(0, -20), then: 'silence' };
    },
    sight: UPSTREAM,
  },
  {
    name: 'an answer that is too large',
    wire: (protocol) => ({ bytes: json(200, wholeOf(protocol, 'x'.repeat(70_000))) }),
    sight: UPSTREAM,
  },
  ...(
    [
      ['overloaded_error', busy('1')],
      ['rate_limit_error', busy('1')],
      ['api_error', UPSTREAM],
      ['authentication_error', PERMANENT],
      ['invalid_request_error', REFUSED],
      ['not_found_error', NOT_FOUND],
    ] as const
  ).map(([type, sight]): Fault => ({
    name: `200 with ${type} inside`,
    wire: (protocol) => ({ bytes: json(200, errorBody(protocol, type)) }),
    sight,
  })),
];

/** Of a stream that has begun: met before content, and after it. */
const inStream: Fault[] = [
  { name: 'a reset', wire: () => ({ bytes: '', then: 'reset' }), sight: UPSTREAM },
  { name: 'an end of the connection', wire: () => ({ bytes: '', then: 'end' }), sight: UPSTREAM },
  { name: 'a proper end without a finish', wire: () => ({ bytes: '0\r\n\r\n' }), sight: UPSTREAM },
  { name: 'silence', at: 'lulled', wire: () => ({ bytes: '', then: 'silence' }), sight: UPSTREAM },
  {
    name: 'a line without an end',
    wire: () => ({ bytes: chunked(`data: ${'x'.repeat(70_000)}`), then: 'silence' }),
    sight: UPSTREAM,
  },
  { name: 'no proper chunk', wire: () => ({ bytes: 'zz\r\nx\r\n', then: 'silence' }), sight: UPSTREAM },
  ...(
    [
      ['overloaded_error', busy('1')],
      ['rate_limit_error', busy('1')],
      ['api_error', UPSTREAM],
      ['invalid_request_error', REFUSED],
      ['not_found_error', NOT_FOUND],
    ] as const
  ).map(([type, sight]): Fault => ({
    name: type,
    wire: (protocol) => ({ bytes: chunked(errorEvent(protocol, type)), then: 'silence' }),
    sight,
  })),
];

function chunked(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

// -- the gateway before them --

// Rows wait for time-outs side by side; more of them would only wait for one another.
vi.setConfig({ maxConcurrency: 8 });

/** Each row's wire, by the name of the model that is asked for it. */
const wires = new Map<string, Wire>();
let upstream: RawServer;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startRawServer((socket, soFar) => {
    if (!isWholeRequest(soFar)) return;
    const model = /"model":"([^"]+)"/.exec(soFar)?.[1] ?? '';
    const { bytes, then } = wires.get(model) ?? { bytes: http(500, 'no such row') };
    socket.write(bytes, () => {
      if (then === 'reset') socket.resetAndDestroy();
      else if (then !== 'silence') socket.end();
    });
  });
  // Speaks no TLS: at once, or not at all.
  const plaintext = await startRawServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const mute = await startRawServer(() => undefined);
  const url: Record<Place, string> = {
    plain: upstream.url,
    hasty: upstream.url,
    lulled: upstream.url,
    refused: `http://127.0.0.1:${await closedPort()}`,
    nowhere: 'http://nowhere.invalid',
    tls: plaintext.url.replace('http:', 'https:'),
    'mute-tls': mute.url.replace('http:', 'https:'),
  };
  const timeouts: Partial<Record<Place, object>> = {
    hasty: { first_byte: '150ms', idle: '150ms', whole: '150ms' },
    lulled: { idle: '150ms' },
    'mute-tls': { connect: '100ms' },
  };
  const places = (Object.keys(url) as Place[]).flatMap((place) =>
    (['chat', 'messages'] as const).map((protocol) => [
      `${place}-${protocol}`,
      {
        ...provider(url[place], protocol, []),
        models: undefined,
        timeout: timeouts[place],
      },
    ]),
  );
  gateway = await startGateway({
    config: {
      providers: Object.fromEntries(places) as Record<string, unknown>,
      limits: { max_reply: '64KiB' },
      tiers: { enterprise: 100_000 },
    },
  });
  return async () => {
    await plaintext.close();
    await mute.close();
  };
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

const PROTOCOLS = ['chat', 'messages'] as const;
let row = 0;

async function see(fault: Fault, mode: Mode, client: ProtocolName, speaks: ProtocolName, before = '') {
  const name = `row-${(row += 1)}`;
  const wire = fault.wire(speaks, mode);
  wires.set(name, { ...wire, bytes: before + wire.bytes });
  const model = `${fault.at ?? 'plain'}-${speaks}/${name}`;
  return ask(gateway, { protocol: client, model, stream: mode === 'stream' });
}

function expectError(error: unknown, sight: Sight, client: ProtocolName): void {
  if (client === 'messages') expect(error).toMatchObject({ type: sight.messages });
  else expect(error).toMatchObject({ type: sight.chat[0], code: sight.chat[1] });
  const text = JSON.stringify(error);
  expect(text).not.toContain(PROVIDER_KEY);
  expect(text).not.toMatch(/127\.0\.0\.1|localhost|\bat .*:\d+:\d+/);
}

describe.each(PROTOCOLS)('a %s client', (client) => {
  describe.each(PROTOCOLS)('of a provider that speaks %s', (speaks) => {
    // How a status is read does not depend on who asks: every one of them once, for each protocol.
    const statuses = client === speaks ? byStatus : byStatus.filter(({ name }) => name.endsWith('0'));
    const first = [...connections, ...statuses, ...refusals, ...bodies];
    const rows = first.flatMap((fault) =>
      (['whole', 'stream'] as const)
        .filter((mode) => (fault.mode ?? mode) === mode)
        .map((mode) => ({ fault, mode, name: `${fault.name}, ${mode}` })),
    );

    it.concurrent.each(rows)('before the first byte: $name', async ({ fault, mode }) => {
      const { status, headers, json: body, error } = await see(fault, mode, client, speaks);
      expect({ status, body }).toMatchObject({ status: fault.sight.status });
      expectError(error, fault.sight, client);
      expect(headers.get('content-type')).toBe('application/json');
      expect(headers.get('x-gateway-attempts')).toBe('1');
      expect(headers.get('x-request-id')).toMatch(/^req_/);
      if (client === 'messages') expect(body?.request_id).toBe(headers.get('request-id'));
      for (const [name, value] of Object.entries(fault.sight.headers ?? {}))
        expect([name, headers.get(name)]).toEqual([name, value]);
    });

    it.concurrent.each(inStream)('in a stream before content: $name', async (fault) => {
      const before = opened(PING[speaks] + START[speaks]);
      const { status, headers, error } = await see(fault, 'stream', client, speaks, before);
      expect(status).toBe(fault.sight.status);
      expectError(error, fault.sight, client);
      for (const [name, value] of Object.entries(fault.sight.headers ?? {}))
        expect([name, headers.get(name)]).toEqual([name, value]);
    });

    it.concurrent.each(inStream)('in a stream after content: $name', async (fault) => {
      const before = opened(START[speaks] + content(speaks, 'grüß dich'));
      const answer = await see(fault, 'stream', client, speaks, before);
      expect(answer.status).toBe(200);
      expect(answer.content).toBe('grüß dich');
      expectError(answer.error, fault.sight, client);
      expect(answer.frames.at(-1)?.data).toContain('"error"');
      expect(isWhole(answer)).toBe(false);
      // A client that does not know the event must not take the body for whole.
      expect(answer.broken).toBe(true);
    });

    it('a connection that breaks after the finish is an error, a proper end after it is not', async () => {
      const before = opened(START[speaks] + content(speaks, 'a') + FINISH[speaks]);
      const cut = { name: '', wire: () => ({ bytes: '', then: 'reset' as const }), sight: UPSTREAM };
      const broken = await see(cut, 'stream', client, speaks, before);
      expectError(broken.error, UPSTREAM, client);
      const proper = { ...cut, wire: () => ({ bytes: '0\r\n\r\n' }) };
      const whole = await see(proper, 'stream', client, speaks, before);
      expect(whole).toMatchObject({ error: undefined, content: 'a' });
    });

    it('the terminal frame alone is no answer', async () => {
      const empty = { name: '', wire: () => ({ bytes: closed(TERMINAL[speaks]) }), sight: UPSTREAM };
      const { status, error } = await see(empty, 'stream', client, speaks);
      expect(status).toBe(502);
      expectError(error, UPSTREAM, client);
    });

    it('garbage instead of a first frame is no answer', async () => {
      const garbage = { name: '', wire: () => ({ bytes: closed('data: {garbage\n\n') }), sight: UPSTREAM };
      const { status, error } = await see(garbage, 'stream', client, speaks);
      expect(status).toBe(502);
      expectError(error, UPSTREAM, client);
    });

    it('a whole answer though a stream was asked is replayed as one', async () => {
      const whole = {
        name: '',
        wire: () => ({ bytes: json(200, wholeOf(speaks, 'hello')) }),
        sight: UPSTREAM,
      };
      const answer = await see(whole, 'stream', client, speaks);
      expect(answer).toMatchObject({ status: 200, content: 'hello', error: undefined });
      expect(answer.headers.get('content-type')).toContain('text/event-stream');
      expect(isWhole(answer)).toBe(true);
    });
  });

  it('garbage after content is an error event where it is translated', async () => {
    const speaks = client === 'chat' ? 'messages' : 'chat';
    const before = opened(START[speaks] + content(speaks, 'a'));
    const garbage = { name: '', wire: () => ({ bytes: chunked('data: {garbage\n\n') }), sight: UPSTREAM };
    const answer = await see(garbage, 'stream', client, speaks, before);
    expect(answer).toMatchObject({ status: 200, content: 'a' });
    expectError(answer.error, UPSTREAM, client);
  });
});
