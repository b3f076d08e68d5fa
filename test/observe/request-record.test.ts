// What is recorded of one request: its attempts, why targets were passed over, what was left out; nothing for a plain one.
import { describe, expect, it } from 'vitest';
import type { AttemptDetail, RequestDetail } from '../../src/accounts/request-json.ts';
import type { Store, StoredRequest } from '../../src/store/store.ts';
import { ask } from '../helpers/ask.ts';
import { gateway, provider, PROVIDER_KEY } from '../helpers/gateway.ts';
import { CUT, scriptedProvider } from '../helpers/scripted-provider.ts';
import { content, errorBody, START, wholeOf } from '../gateway/wire.ts';

interface Recorded extends Omit<StoredRequest, 'detail'> {
  text: string | null;
  detail: RequestDetail;
}

async function recorded(store: Store, requests = 1): Promise<Recorded> {
  let rows: StoredRequest[] = [];
  await expect.poll(async () => (rows = await store.listRequests({ limit: 10 })).length).toBe(requests);
  const [row] = rows;
  if (row === undefined) throw new Error('no row');
  return { ...row, text: row.detail, detail: JSON.parse(row.detail ?? '{}') as RequestDetail };
}

const anyTime = expect.any(Number) as unknown as AttemptDetail['ms'];

it('a plain request has its id and one attempt, and nothing to be noted', async () => {
  const server = await gateway();
  const { headers } = await ask(server, { model: 'sim/echo' });
  const row = await recorded(server.store);
  expect(row).toMatchObject({
    requestId: headers.get('x-request-id'),
    attempts: 1,
    text: null,
    account: 'test',
  });
});

describe('a request with several attempts', () => {
  it('names each target with its failure, then the one that answered', async () => {
    const [first, second] = [await scriptedProvider(), await scriptedProvider()];
    const providers = {
      a: provider(first.url, 'chat', ['m']),
      b: provider(second.url, 'messages', ['m']),
    };
    const server = await gateway({ config: { providers, routes: { r: ['a/m', 'b/m'] } } });
    first.play({ status: 500, body: errorBody('chat', 'server_error', `broke with ${PROVIDER_KEY}`) });
    second.play({ body: wholeOf('messages', 'x') });
    expect((await ask(server, { model: 'r' })).status).toBe(200);
    const { attempts, detail, text } = await recorded(server.store);
    expect(attempts).toBe(2);
    expect(detail.attempts).toEqual([
      {
        target: 'a/m',
        protocol: 'chat',
        status: 500,
        error: 'failed',
        message: 'broke with [redacted]',
        ms: anyTime,
      },
      { target: 'b/m', protocol: 'messages', ms: anyTime },
    ]);
    expect(text).not.toContain(PROVIDER_KEY);
  });

  it('has the message that the client got, each provider’s once, if all failed', async () => {
    const upstream = await scriptedProvider();
    const providers = {
      a: provider(upstream.url, 'chat', ['m']),
      b: provider('http://127.0.0.1:9', 'chat', ['m']),
    };
    const server = await gateway({ config: { providers, routes: { r: ['a/m', 'b/m'] } } });
    upstream.play({ status: 401, body: errorBody('chat', 'invalid_api_key', 'who are you?') });
    const { error } = await ask(server, { model: 'r' });
    const row = await recorded(server.store);
    expect(row).toMatchObject({ status: 502, error: 'upstream', detail: { message: error?.message } });
    expect(row.detail.attempts).toEqual([
      { target: 'a/m', protocol: 'chat', status: 401, error: 'provider_key', ms: anyTime },
      { target: 'b/m', protocol: 'chat', error: 'failed: refused', ms: anyTime },
    ]);
    expect(row.text?.match(/who are you/g)).toHaveLength(1);
  });

  it('names the targets behind the third', async () => {
    const upstream = await scriptedProvider();
    const providers = { a: provider(upstream.url, 'chat', ['1', '2', '3', '4']) };
    const server = await gateway({ config: { providers, routes: { r: ['a/1', 'a/2', 'a/3', 'a/4'] } } });
    upstream.playAlways({ status: 500, body: {} });
    await ask(server, { model: 'r' });
    const { detail } = await recorded(server.store);
    expect(detail.passed_over).toEqual([{ target: 'a/4', why: 'at most three targets are tried' }]);
  });
});

it('a stream that breaks has its message, in the words of the error event', async () => {
  const upstream = await scriptedProvider();
  const server = await gateway({ config: { providers: { a: provider(upstream.url, 'chat', ['m']) } } });
  upstream.play({ steps: [START.chat, content('chat', 'half'), CUT] });
  const { error } = await ask(server, { model: 'a/m', stream: true });
  const row = await recorded(server.store);
  expect(row.status).toBe(200);
  expect(row.error).not.toBeNull();
  expect(row.detail).toEqual({ message: error?.message });
});

describe('a target that was skipped', () => {
  const TOOLS = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];

  async function prepared(models: unknown[]) {
    const upstream = await scriptedProvider();
    upstream.playAlways({ body: wholeOf('chat', 'x') });
    const routes = { r: ['a/1', 'a/2'] };
    const server = await gateway({
      config: { providers: { a: provider(upstream.url, 'chat', models) }, routes },
    });
    return { server, upstream };
  }

  it('because of what it cannot take', async () => {
    const { server } = await prepared([{ id: '1', tools: false }, '2']);
    await ask(server, { model: 'r', body: { tools: TOOLS } });
    const { detail, model } = await recorded(server.store);
    expect(model).toBe('2');
    expect(detail).toEqual({ passed_over: [{ target: 'a/1', why: 'it takes no tools' }] });
  });

  it('because it cools down, not because it stands behind the one that answered', async () => {
    const { server, upstream } = await prepared(['1', '2']);
    upstream.play({ status: 429, headers: { 'retry-after': '30' }, body: {} });
    await ask(server, { model: 'r' });
    await ask(server, { model: 'r', body: { user: 'another' } });
    const { detail, model } = await recorded(server.store, 2);
    expect(model).toBe('2');
    expect(detail).toEqual({
      passed_over: [{ target: 'a/1', why: expect.stringMatching(/^it cools down for \d+ s$/) as string }],
    });
    await ask(server, { model: 'a/1' });
    expect((await recorded(server.store, 3)).text).toBeNull();
  });

  it('because the key may not use it', async () => {
    const { server } = await prepared(['1', '2']);
    await ask({ ...server, key: await server.newKey({ models: ['2'] }) }, { model: 'r' });
    const { detail } = await recorded(server.store);
    expect(detail.passed_over).toEqual([{ target: 'a/1', why: 'the key may not use it' }]);
  });
});

it('what a translation left out or changed is noted, within 2 KB', async () => {
  const upstream = await scriptedProvider();
  upstream.playAlways({ body: wholeOf('messages', 'x') });
  const server = await gateway({ config: { providers: { a: provider(upstream.url, 'messages', ['m']) } } });
  await ask(server, { model: 'a/m', body: { seed: 1 } });
  expect((await recorded(server.store)).detail).toEqual({
    dropped: ['seed'],
    changed: [expect.stringMatching(/^max_completion_tokens: /)],
  });
  const unknown = Object.fromEntries(
    Array.from({ length: 300 }, (_, n) => [`${'member '.repeat(20)}${n}`, n]),
  );
  await ask(server, { model: 'a/m', body: unknown });
  const { detail, text } = await recorded(server.store, 2);
  expect(text?.length).toBeLessThanOrEqual(2048);
  expect(detail.dropped?.at(-1)).toMatch(/^… and \d+ more$/);
});
