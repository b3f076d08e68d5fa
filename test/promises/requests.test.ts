// P1 to P5, from the client's side: what strangers send gets a readable answer, stays small, and is read in one way only.
import { deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { ask, PATHS } from '../helpers/ask.ts';
import { provider, startGateway } from '../helpers/gateway.ts';
import type { TestGateway } from '../helpers/gateway.ts';
import { hello, rawClient, rawRequest } from '../helpers/raw-client.ts';
import { gate, startScriptedProvider } from '../helpers/scripted-provider.ts';
import type { ScriptedProvider } from '../helpers/scripted-provider.ts';
import { content, FINISH, START, TERMINAL, wholeOf } from '../gateway/wire.ts';

let upstream: ScriptedProvider;
let gateway: TestGateway;

const MAX_BODY = 100_000;

beforeAll(async () => {
  upstream = await startScriptedProvider();
  upstream.playAlways({ body: wholeOf('chat', 'hello') });
  gateway = await startGateway({
    config: {
      providers: { talks: provider(upstream.url, 'chat', ['m', 'n']) },
      limits: { max_body: MAX_BODY, header_timeout: '300ms', request_timeout: '400ms' },
      tiers: { enterprise: 1_000_000, one: 1 },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

/** What reached the provider while `act` was under way. */
async function reached(act: () => Promise<unknown>): Promise<number> {
  const before = upstream.requests.length;
  await act();
  return upstream.requests.length - before;
}

interface Sent {
  body?: string | Buffer;
  headers?: Record<string, string>;
  method?: string;
  path?: string;
  key?: string;
}

function post(protocol: 'chat' | 'messages', { body, headers, method = 'POST', path, key }: Sent) {
  return fetch(gateway.url + (path ?? PATHS[protocol]), {
    method,
    body: method === 'GET' ? undefined : (body ?? JSON.stringify({ ...hello('m'), max_tokens: 5 })),
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${key ?? gateway.key}`,
      ...headers,
    },
  });
}

const BODY = Buffer.from(JSON.stringify({ ...hello('m'), max_tokens: 5 }));
const nested = (levels: number): string =>
  `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"x"}],"x":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;

const refused: [name: string, status: number, sent: Sent][] = [
  ['no body', 400, { body: '' }],
  ['no JSON', 400, { body: '{"model":' }],
  ['no object', 400, { body: '[1]' }],
  ['null', 400, { body: 'null' }],
  ['no UTF-8', 400, { body: Buffer.from([0x7b, 0xff, 0xfe, 0x7d]) }],
  ['another type', 400, { headers: { 'content-type': 'text/plain' } }],
  ['a coding that nobody knows', 400, { headers: { 'content-encoding': 'zstd' } }],
  ['a coding called as a member of every object', 400, { headers: { 'content-encoding': 'constructor' } }],
  ['a coding called __proto__', 400, { headers: { 'content-encoding': '__proto__' } }],
  ['half a gzip', 400, { headers: { 'content-encoding': 'gzip' }, body: gzipSync(BODY).subarray(0, 20) }],
  ['no gzip', 400, { headers: { 'content-encoding': 'gzip' }, body: BODY }],
  ['513 levels', 400, { body: nested(513) }],
  ['100,000 levels', 413, { body: nested(100_000) }],
  ['40,000 levels', 400, { body: nested(40_000) }],
  ['an unknown model', 400, { body: JSON.stringify({ ...hello('constructor'), max_tokens: 5 }) }],
  ['a model called __proto__', 400, { body: JSON.stringify({ ...hello('__proto__'), max_tokens: 5 }) }],
  ['no messages', 400, { body: '{"model":"m","max_tokens":5}' }],
  [
    'a key twice',
    400,
    { body: '{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"x"}],"model":"n"}' },
  ],
  [
    'a key twice, once in disguise',
    400,
    { body: '{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"x"}],"m\\u006fdel":"n"}' },
  ],
  ['an unknown path', 404, { path: '/v1/nothing' }],
  ['another method', 405, { method: 'GET' }],
  ['no key', 401, { headers: { authorization: '' } }],
  ['a wrong key', 401, { key: 'sk-gw-0000000000000000000000000000000000000000' }],
  ['another Host', 403, { headers: { host: 'evil.example' } }],
  [
    'a body that is too large and of another type',
    413,
    { body: Buffer.alloc(MAX_BODY + 1, 32), headers: { 'content-type': 'text/plain' } },
  ],
  ['a body that is too large', 413, { body: Buffer.alloc(MAX_BODY + 1, 32) }],
  ['a gzip bomb', 413, { headers: { 'content-encoding': 'gzip' }, body: gzipSync(Buffer.alloc(50_000_000)) }],
  [
    'a deflate bomb',
    413,
    { headers: { 'content-encoding': 'deflate' }, body: deflateSync(Buffer.alloc(50_000_000)) },
  ],
];

describe('P1, P2, P3: what is wrong is refused in the protocol’s own shape, and reaches no provider', () => {
  for (const protocol of ['chat', 'messages'] as const) {
    it.each(refused)(`${protocol}: %s is a %d`, async (name, status, sent) => {
      // fetch keeps `host` for itself.
      if (name === 'another Host') {
        const client = await rawClient(gateway.url);
        const text = rawRequest({ ...gateway, path: PATHS[protocol] }, hello('m'));
        client.send(text.replace('host: localhost', 'host: evil.example'));
        expect(await client.until('}')).toMatch(/^HTTP\/1\.1 403 /);
        return;
      }
      const count = await reached(async () => {
        const response = await post(protocol, sent);
        const body = (await response.json()) as { type?: string; error: object; request_id?: string };
        expect(response.status, JSON.stringify(body)).toBe(status);
        expect(response.headers.get('x-request-id')).toMatch(/^req_/);
        const path = sent.path ?? PATHS[protocol];
        if (protocol === 'messages' && path.startsWith('/v1/messages')) {
          expect(body).toMatchObject({ type: 'error', request_id: response.headers.get('request-id') });
        } else
          expect(Object.keys(body.error)).toEqual(
            expect.arrayContaining(['message', 'type', 'param', 'code']),
          );
      });
      expect(count).toBe(0);
    });
  }

  it('so do a permission, a model and an hour that a key does not have', async () => {
    const chatOnly = await gateway.newKey({ account: 'b', permissions: ['chat'] });
    const nOnly = await gateway.newKey({ account: 'c', models: ['n'] });
    const once = await gateway.newKey({ account: 'd', tier: 'one' });
    const count = await reached(async () => {
      expect((await post('messages', { key: chatOnly })).status).toBe(403);
      expect((await post('chat', { key: nOnly })).status).toBe(403);
      expect((await post('chat', { key: once })).status).toBe(200);
      const late = await post('chat', { key: once });
      // Clients may ask again by themselves where the hour ends within a minute.
      const isLong = Number(late.headers.get('retry-after')) > 60;
      expect([late.status, late.headers.get('x-should-retry')]).toEqual([429, isLong ? 'false' : null]);
    });
    expect(count).toBe(1);
  });

  it('whatever JSON it is: never the gateway’s own fault', async () => {
    const value = fc.jsonValue({ maxDepth: 3 });
    const message = fc.record({
      role: fc.constantFrom('user', 'assistant', 'system', 'tool', 'developer'),
      content: fc.oneof(
        value,
        fc.array(
          fc
            .record({
              type: fc.constantFrom(
                'text',
                'image',
                'tool_result',
                'tool_use',
                'image_url',
                'thinking',
                'document',
              ),
            })
            .chain((part) =>
              value.map((more) => ({ ...part, text: more, source: more, content: more, input: more })),
            ),
        ),
      ),
      tool_calls: value,
    });
    const body = fc.record(
      {
        messages: fc.array(message, { minLength: 1 }),
        tools: value,
        tool_choice: value,
        system: value,
        thinking: value,
        stop: value,
        response_format: value,
      },
      { requiredKeys: ['messages'] },
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('chat', 'messages'), body, async (protocol, members) => {
        const text = JSON.stringify({ model: 'm', max_tokens: 5, ...members });
        const response = await post(protocol, { body: text });
        const answer = await response.text();
        expect([200, 400], `${response.status} ${answer} ${text}`).toContain(response.status);
      }),
      { numRuns: 150 },
    );
  });
});

describe('P3: sizes and times are bounded', () => {
  it('512 levels are not too deep', async () => {
    expect((await post('chat', { body: nested(512) })).status).toBe(200);
  });

  it('a declared length over the limit is refused without the body', async () => {
    const client = await rawClient(gateway.url);
    client.send(
      rawRequest(gateway, 'x')
        .replace('content-length: 1', `content-length: ${MAX_BODY + 1}`)
        .slice(0, -1),
    );
    expect(await client.until('limits.max_body')).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('a body without a declared length is refused where it grows too large, readably', async () => {
    const client = await rawClient(gateway.url);
    client.send(rawRequest(gateway, '').replace('content-length: 0', 'transfer-encoding: chunked'));
    const piece = `8000\r\n${'x'.repeat(0x8000)}\r\n`;
    for (let at = 0; at < 40; at += 1) client.send(piece);
    expect(await client.until('limits.max_body')).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('headers', async () => {
    const client = await rawClient(gateway.url);
    client.send(`GET / HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`);
    expect(await client.closed).toMatch(/^HTTP\/1\.1 431 /);
  });

  it('slow headers and slow bodies', async () => {
    const [head, body] = [await rawClient(gateway.url), await rawClient(gateway.url)];
    head.send('POST /v1/messages HTTP/1.1\r\nhost: localhost\r\n');
    body.send(rawRequest(gateway, hello('m')).slice(0, -5));
    for (const text of await Promise.all([head.closed, body.closed]))
      expect(text).toMatch(/^HTTP\/1\.1 408 /);
  });
});

describe('P4: what is authorised is what is forwarded', () => {
  it.each([
    '{"__proto__":{"model":"n"},"model":"m","messages":[{"role":"user","content":"x","__proto__":{"role":"tool"}}],"constructor":{"prototype":{"x":1}}}',
    '{"messages":[{"role":"user","content":"\\u0022,\\"model\\":\\"n\\""}],"mod\\u0065l":"m","x":{"model":"n","model":"o"}}',
  ])('%s', async (body) => {
    const key = await gateway.newKey({ account: 'e', models: ['m'] });
    const count = await reached(async () => expect((await post('chat', { body, key })).status).toBe(200));
    expect(count).toBe(1);
    expect(upstream.requests.at(-1)?.bytes.toString()).toBe(body);
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });
});

const good = rawRequest({ key: 'KEY' }, hello('m'));
const smuggled = 'GET /v1/models HTTP/1.1\r\nhost: localhost\r\nx-smuggled: 1\r\n\r\n';
const DISAGREEING: [name: string, bytes: string][] = [
  ['a length and chunks', good.replace('\r\n\r\n', '\r\ntransfer-encoding: chunked\r\n\r\n')],
  ['two lengths', good.replace('content-length', 'content-length: 5\r\ncontent-length')],
  ['two lengths in one', good.replace(/content-length: (\d+)/, 'content-length: $1, 5')],
  ['a signed length', good.replace('content-length: ', 'content-length: +')],
  ['a negative length', good.replace('content-length: ', 'content-length: -')],
  ['a length in hexadecimal', good.replace(/content-length: \d+/, 'content-length: 0x40')],
  [
    'chunks that are not the last coding',
    good.replace(/content-length: \d+/, 'transfer-encoding: chunked, identity'),
  ],
  ['chunks in disguise', good.replace(/content-length: \d+/, 'transfer-encoding: xchunked')],
  ['a space before the colon', good.replace('content-length:', 'content-length :')],
  ['a folded header', good.replace('content-length', 'x: y\r\n z\r\ncontent-length')],
  ['a NUL in a header', good.replace('host: localhost', 'host: localhost\r\nx: a\0b')],
  ['a bare CR', good.replace('host: localhost\r\n', 'host: localhost\rx: y\r\n')],
  [
    'a chunk size that is none',
    good.replace(/content-length: \d+\r\n\r\n/, 'transfer-encoding: chunked\r\n\r\n-5\r\n'),
  ],
  [
    'a chunk that is longer than it says',
    good.replace(/content-length: \d+\r\n\r\n/, 'transfer-encoding: chunked\r\n\r\n2\r\n'),
  ],
  ['two hosts', good.replace('host: localhost', 'host: localhost\r\nhost: evil.example')],
];

describe('P5: one request in, one request out', () => {
  it.each(DISAGREEING)('%s: refused, and the connection is over', async (name, bytes) => {
    const count = await reached(async () => {
      const client = await rawClient(gateway.url);
      client.send(bytes.replace('KEY', gateway.key) + smuggled);
      const text = await client.until(/^HTTP\/1\.1 \d+/);
      expect(text).toMatch(/^HTTP\/1\.1 4\d\d /);
      if (name !== 'two hosts') expect((await client.closed).match(/HTTP\/1\.1 /g)).toHaveLength(1);
    });
    expect(count).toBe(0);
  });

  it('requests sent ahead are answered in order', async () => {
    const [late, soon] = [gate(), gate()];
    upstream.play({
      headers: { 'content-type': 'application/json' },
      steps: [late.opened, JSON.stringify(wholeOf('chat', 'one'))],
    });
    const client = await rawClient(gateway.url);
    const before = upstream.requests.length;
    client.send(rawRequest(gateway, hello('m')));
    await expect.poll(() => upstream.requests.length).toBe(before + 1);
    upstream.play({
      headers: { 'content-type': 'application/json' },
      steps: [soon.opened, JSON.stringify(wholeOf('chat', 'two'))],
    });
    client.send(rawRequest(gateway, hello('n')));
    await expect.poll(() => upstream.requests.length).toBe(before + 2);
    soon.open();
    await fetch(`${gateway.url}/health`);
    late.open();
    const text = await client.until('two');
    expect(text.indexOf('one')).toBeLessThan(text.indexOf('two'));
  });

  it('garbage behind a request does not get into its stream', async () => {
    const end = gate();
    upstream.play({ steps: [START.chat + content('chat', 'abc'), end.opened, FINISH.chat + TERMINAL.chat] });
    const client = await rawClient(gateway.url);
    client.send(rawRequest(gateway, hello('m', { stream: true })));
    await client.until('abc');
    client.send('\0garbage\r\n\r\n');
    end.open();
    const text = await client.closed;
    // The stream goes on as it was, or is seen to break: no other head is in it.
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
  });
});

test('P1: after all that, the gateway answers', async () => {
  expect(await ask(gateway, { model: 'm' })).toMatchObject({ status: 200, content: 'hello' });
  expect(gateway.log()).not.toContain('a fault of the gateway');
});
