// What no retry cures says so: without `x-should-retry: false` Claude Code repeats a 401 for three minutes, and Codex a 502 thirty times.
import { describe, expect, it } from 'vitest';
import { ask } from '../helpers/ask.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { errorBody, wholeOf } from '../gateway/wire.ts';
import { rawClient } from '../helpers/raw-client.ts';

const ENDPOINTS = [
  ['POST', '/v1/chat/completions'],
  ['POST', '/v1/messages?beta=true'],
  ['POST', '/v1/messages/count_tokens'],
  ['POST', '/v1/responses'],
  ['POST', '/v1/responses/input_tokens'],
  ['POST', '/v1/responses/compact'],
  ['GET', '/v1/responses/resp_1'],
  ['DELETE', '/v1/responses/resp_1'],
  ['GET', '/v1/responses/resp_1/input_items'],
  ['GET', '/v1/models'],
  ['GET', '/v1/models/m'],
  ['GET', '/admin/api/v1/accounts'],
] as const;

const retry = ({ headers }: { headers: Headers }): string | null => headers.get('x-should-retry');

describe('P7: a key that opens nothing is not tried again', () => {
  it.each(ENDPOINTS)('a 401 of %s %s', async (method, path) => {
    const server = await gateway({ config: { admin: true } });
    const wrong: Record<string, string>[] = [
      {},
      { authorization: 'Bearer sk-gw-nobody' },
      { 'x-api-key': 'sk-gw-nobody' },
    ];
    for (const headers of wrong) {
      const response = await fetch(server.url + path, { method, headers });
      expect([response.status, retry(response)]).toEqual([401, 'false']);
    }
  });

  it.each(['chat', 'messages', 'responses'] as const)(
    'a 403 of %s, for the endpoint or for the model',
    async (protocol) => {
      const server = await gateway();
      const shut = await server.newKey({
        account: 'shut',
        permissions: protocol === 'chat' ? ['messages'] : ['chat'],
      });
      const other = await server.newKey({ account: 'other', models: ['sim/slow'] });
      for (const key of [shut, other]) {
        const seen = await ask({ url: server.url, key }, { protocol, model: 'sim/echo' });
        expect([seen.status, retry(seen)]).toEqual([403, 'false']);
      }
    },
  );

  it('a 403 for a foreign Host', async () => {
    const server = await gateway();
    const client = await rawClient(server.url);
    client.send('GET /v1/models HTTP/1.1\r\nhost: evil.example\r\n\r\n');
    expect(await client.until(/\}\}?$/)).toMatch(/^HTTP\/1\.1 403 [^]*x-should-retry: false\r\n/);
  });

  it('any other error of a client may be tried again as before', async () => {
    const server = await gateway();
    for (const path of ['/v1/nothing', '/v1/models/nothing']) {
      const response = await fetch(server.url + path, { headers: { authorization: `Bearer ${server.key}` } });
      expect([response.status, retry(response)]).toEqual([404, null]);
    }
  });
});

const USED_UP = { error: { message: 'You exceeded your current quota.', code: 'insufficient_quota' } };

describe.each(['chat', 'messages', 'responses'] as const)(
  "a provider of %s that refuses the gateway's account",
  (speaks) => {
    it.each([
      [401, errorBody(speaks, 'authentication_error')],
      [402, errorBody(speaks, 'billing_error')],
      [403, errorBody(speaks, 'permission_error')],
      [429, USED_UP],
      [200, USED_UP],
    ])(
      'with status %i is a used-up quota for responses clients, and a 502 for others',
      async (status, body) => {
        const upstream = await scriptedProvider();
        const server = await gateway({
          config: { providers: { p: provider(`${upstream.url}/v1`, speaks, ['m']) } },
        });
        for (const stream of [false, true]) {
          for (const protocol of ['chat', 'messages', 'responses'] as const) {
            upstream.play({ status, body });
            const seen = await ask(server, { protocol, model: 'm', stream });
            const isCodex = protocol === 'responses';
            expect([protocol, seen.status, retry(seen)]).toEqual([protocol, isCodex ? 429 : 502, 'false']);
            expect(seen.headers.has('retry-after') || seen.headers.has('retry-after-ms')).toBe(false);
            if (isCodex)
              expect(seen.error).toMatchObject({ type: 'insufficient_quota', code: 'insufficient_quota' });
          }
        }
      },
    );
  },
);

describe('towards responses clients', () => {
  it('a stream that was opened before ends with the code at which Codex stops', async () => {
    const upstream = await scriptedProvider();
    const server = await gateway({ config: { providers: { p: provider(upstream.url, 'chat', ['m']) } } });
    const hello = JSON.stringify({ choices: [{ index: 0, delta: { content: 'half' } }] });
    upstream.play({ steps: [`data: ${hello}\n\ndata: ${JSON.stringify(USED_UP)}\n\n`] });
    const { status, frames, content } = await ask(server, {
      protocol: 'responses',
      model: 'm',
      stream: true,
    });
    expect([status, content]).toEqual([200, 'half']);
    const failed = frames.find(({ event }) => event === 'response.failed');
    expect(JSON.parse(failed?.data ?? '{}')).toMatchObject({
      response: { status: 'failed', error: { code: 'insufficient_quota' } },
    });
    const error = frames.find(({ event }) => event === 'error');
    expect(JSON.parse(error?.data ?? '{}')).toMatchObject({ code: 'insufficient_quota' });
  });

  it('a failure beside a refused key may be over soon: a 502 that may be tried again', async () => {
    const [refusing, failing] = [await scriptedProvider(), await scriptedProvider()];
    refusing.playAlways({ status: 401, body: errorBody('chat', 'authentication_error') });
    failing.playAlways({ status: 500, body: errorBody('chat', 'api_error') });
    const server = await gateway({
      config: {
        providers: { a: provider(refusing.url, 'chat', ['m']), b: provider(failing.url, 'chat', ['m']) },
      },
    });
    const seen = await ask(server, { protocol: 'responses', model: 'm' });
    expect([seen.status, retry(seen)]).toEqual([502, null]);
    failing.playAlways({ body: wholeOf('chat', 'hello') });
    expect((await ask(server, { protocol: 'responses', model: 'm' })).status).toBe(200);
  });
});
