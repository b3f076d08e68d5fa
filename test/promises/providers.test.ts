// P5, P6, P9, P10 and P16, from the provider's side: what it says can't reach where it should not, nor lead anything astray.
import { describe, expect, it, test } from 'vitest';
import { ask, send } from '../helpers/ask.ts';
import { gateway, PROVIDER_KEY, provider } from '../helpers/gateway.ts';
import { hello, rawClient, rawRequest } from '../helpers/raw-client.ts';
import { isWholeRequest, rawServer } from '../helpers/raw-server.ts';
import { CUT, scriptedProvider } from '../helpers/scripted-provider.ts';
import type { Script } from '../helpers/scripted-provider.ts';
import { content, json, START, streamOf, wholeOf } from '../gateway/wire.ts';

async function place() {
  const upstream = await scriptedProvider();
  const headers = { 'x-team-secret': 'team-secret-value' };
  const server = await gateway({
    config: {
      providers: {
        talks: provider(upstream.url, 'chat', ['m'], { headers }),
        writes: provider(upstream.url, 'messages', ['n'], { headers }),
      },
    },
  });
  return { upstream, server };
}

test('P5: an answer that nobody asked for is given to nobody', async () => {
  let asked = 0;
  const upstream = await rawServer((socket, soFar) => {
    if (!isWholeRequest(soFar)) return;
    asked += 1;
    const stray = asked === 1 ? json(200, wholeOf('chat', 'stray')) : '';
    socket.write(json(200, wholeOf('chat', `answer ${asked}`)) + stray);
  });
  const server = await gateway({ config: { providers: { p: provider(upstream.url, 'chat', ['m']) } } });
  for (const text of ['answer 1', 'answer 2', 'answer 3'])
    expect(await ask(server, { model: 'm' })).toMatchObject({ status: 200, content: text });
});

describe('P6: the destination comes from the configuration only', () => {
  it.each([301, 302, 303, 307, 308])('a redirect with %d is a 502, and not followed', async (status) => {
    const { upstream, server } = await place();
    const elsewhere = await rawServer(() => undefined);
    upstream.playAlways({ status, headers: { location: `${elsewhere.url}/v1` }, body: '' });
    for (const stream of [true, false]) expect((await ask(server, { model: 'm', stream })).status).toBe(502);
    expect(elsewhere.connections).toBe(0);
    expect(upstream.requests).toHaveLength(2);
  });

  it('no header, no field and no form of the path leads elsewhere', async () => {
    const { upstream, server } = await place();
    const elsewhere = await rawServer(() => undefined);
    upstream.playAlways({ body: wholeOf('chat', 'hello') });
    const { url } = elsewhere;
    const headers = {
      'x-forwarded-host': url,
      'x-base-url': url,
      forwarded: `host=${url}`,
      'x-gateway-provider': url,
    };
    const fields = {
      base_url: url,
      api_base: url,
      host: url,
      provider: { base_url: url },
      metadata: { url },
    };
    const image = { type: 'image_url', image_url: { url: `${url}/picture.png` } };
    const messages = [{ role: 'user', content: [image] }];
    expect((await ask(server, { model: 'm', headers, body: { ...fields, messages } })).status).toBe(200);
    for (const model of [url, `${url}/m`, `talks/../${url}`, `talks@${url}`, '//m'])
      expect((await ask(server, { model })).status).toBe(400);
    const client = await rawClient(server.url);
    client.send(rawRequest({ key: server.key, path: `${url}/v1/chat/completions` }, hello('m')));
    expect(await client.until('}')).toMatch(/^HTTP\/1\.1 404 /);
    expect(elsewhere.connections).toBe(0);
    for (const asked of upstream.requests) expect(asked.path).toBe('/v1/chat/completions');
  });
});

describe('P9, P16: what a provider says of itself is scrubbed', () => {
  const secret = `key ${PROVIDER_KEY} and team-secret-value at http://user:pass-word@10.1.2.3:8080/v1 or 127.0.0.1:99`;
  const object = {
    message: secret,
    type: 'api_error',
    param: PROVIDER_KEY,
    code: PROVIDER_KEY,
    details: { seen: { key: [PROVIDER_KEY] } },
  };
  const event = (protocol: 'chat' | 'messages', error: object): string =>
    protocol === 'chat'
      ? `data: ${JSON.stringify({ error })}\n\n`
      : `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`;
  const headers = {
    'content-type': 'application/json',
    'www-authenticate': PROVIDER_KEY,
    'x-debug': PROVIDER_KEY,
  };
  const scripts = (protocol: 'chat' | 'messages'): [string, Script][] => [
    ...[400, 401, 403, 404, 413, 429, 500, 503].map((status): [string, Script] => [
      `status ${status}`,
      { status, headers, body: { error: object } },
    ]),
    ['a text', { status: 500, headers, body: secret }],
    ['a page', { status: 502, headers, body: `<html><title>${secret}</title>` }],
    ['200 with an error', { headers, body: { error: object } }],
    ['first event', { steps: [event(protocol, object)] }],
    ['refusal as first event', { steps: [event(protocol, { ...object, type: 'invalid_request_error' })] }],
    ['later event', { steps: [START[protocol] + content(protocol, 'a'), event(protocol, object)] }],
  ];

  it.each(['chat', 'messages'] as const)('%s', async (protocol) => {
    const { upstream, server } = await place();
    for (const [name, script] of scripts(protocol)) {
      for (const client of ['chat', 'messages'] as const) {
        upstream.play(script);
        const model = protocol === 'chat' ? 'm' : 'n';
        const answer = await ask(server, { protocol: client, model, stream: script.steps !== undefined });
        const all = [answer.text, JSON.stringify([...answer.headers]), server.log()].join();
        expect(answer.error, name).toBeDefined();
        for (const hidden of [PROVIDER_KEY, 'team-secret-value', 'pass-word', '10.1.2.3', '127.0.0.1:99'])
          expect([name, client, all.includes(hidden)]).toEqual([name, client, false]);
      }
    }
    for (const { headers: got } of upstream.requests) expect(got['x-team-secret']).toBe('team-secret-value');
  });

  it('a key goes to its own provider only', async () => {
    const [one, other] = [await scriptedProvider(), await scriptedProvider()];
    one.playAlways({ status: 401, body: { error: { message: 'no' } } });
    other.playAlways({ body: wholeOf('chat', 'hello') });
    const server = await gateway({
      config: {
        providers: {
          one: provider(one.url, 'chat', ['m'], { api_key: 'sk-of-one-0123456789' }),
          other: provider(other.url, 'chat', ['m'], { api_key: 'sk-of-other-0123456789' }),
        },
      },
    });
    expect((await ask(server, { model: 'm' })).status).toBe(200);
    expect(JSON.stringify(one.requests.map(({ headers: got }) => got))).not.toContain('sk-of-other');
    expect(JSON.stringify(other.requests.map(({ headers: got }) => got))).not.toContain('sk-of-one');
  });
});

describe('P10: headers of the connection, cookies and proxies are not forwarded', () => {
  const fromClient = {
    cookie: 'a=b',
    'proxy-authorization': 'Basic eDp5',
    te: 'trailers',
    'x-forwarded-for': '192.0.2.1',
    forwarded: 'for=192.0.2.1',
    origin: 'http://localhost',
    referer: 'http://localhost/',
    'keep-alive': 'timeout=5',
    'x-hop': '1',
  };
  const fromProvider = {
    'set-cookie': 'session=1',
    'keep-alive': 'timeout=77',
    'proxy-authenticate': 'Basic',
    'x-hop': '1',
    server: 'maker/1.0',
    via: '1.1 maker',
    'openai-organization': 'org',
    'anthropic-organization-id': 'org',
    'x-ratelimit-remaining-tokens': '5',
    'anthropic-ratelimit-tokens-remaining': '5',
    'access-control-allow-origin': '*',
    'x-should-retry': 'true',
    'retry-after': '1000',
    trailer: 'x',
  };

  it.each(['chat', 'messages'] as const)('%s', async (protocol) => {
    const { upstream, server } = await place();
    const model = protocol === 'chat' ? 'm' : 'n';
    const json = { 'content-type': 'application/json', ...fromProvider };
    upstream.play({ headers: json, body: wholeOf(protocol, 'a') });
    upstream.play({ headers: fromProvider, steps: [streamOf(protocol, 'a')] });
    upstream.play({ status: 500, headers: json, body: '' });
    for (const stream of [false, true, false]) {
      const client = await rawClient(server.url);
      const lines = Object.entries(fromClient).map(([name, value]) => `${name}: ${value}`);
      const path = protocol === 'chat' ? '/v1/chat/completions' : '/v1/messages';
      const body = { ...hello(model, { stream }), max_tokens: 5 };
      client.send(rawRequest({ key: server.key, path }, body, [...lines, 'connection: close, x-hop']));
      const text = await client.closed;
      const head = text.slice(0, text.indexOf('\r\n\r\n')).toLowerCase();
      for (const name of Object.keys(fromProvider)) expect(head).not.toContain(`\r\n${name}:`);
      expect(upstream.requests.at(-1)?.headers).not.toHaveProperty('transfer-encoding');
      for (const name of Object.keys(fromClient))
        expect(upstream.requests.at(-1)?.headers).not.toHaveProperty(name);
    }
  });
});

test('P16: a provider that breaks in every way is an answer in bounded time', async () => {
  const { upstream, server } = await place();
  upstream.play(
    { steps: [CUT] },
    { body: '' },
    { headers: { 'content-encoding': 'gzip' }, body: Buffer.from([1, 2]) },
  );
  for (let at = 0; at < 3; at += 1) {
    const response = await send(server, { model: 'm' });
    expect(response.status).toBe(502);
    expect(await response.text()).not.toMatch(/\bat .*\(|node:|\.ts:\d|127\.0\.0\.1/);
  }
});

test.each(['constructor', '__proto__', 'toString'])(
  'P16: words that every object knows: %s',
  async (word) => {
    const { upstream, server } = await place();
    for (const error of [
      { message: 'x', code: word },
      { message: 'x', type: word },
    ]) {
      upstream.play({ body: { error } });
      expect(await ask(server, { protocol: 'messages', model: 'm' })).toMatchObject({ status: 502 });
      upstream.play({ steps: [`data: ${JSON.stringify({ error })}\n\n`] });
      expect(await ask(server, { model: 'm', stream: true })).toMatchObject({ status: 502 });
    }
    const choice = { index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: word };
    for (const protocol of ['chat', 'messages'] as const) {
      upstream.play({ body: { ...wholeOf('chat', ''), choices: [choice] } });
      expect(await ask(server, { protocol, model: 'm' })).toMatchObject({ status: 200, content: 'a' });
    }
  },
);
