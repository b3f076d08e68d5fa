// Paths, methods and version headers: what was meant is said, and what means something to a provider goes on to it.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ask } from '../helpers/ask.ts';
import { provider, startGateway } from '../helpers/gateway.ts';
import type { TestGateway } from '../helpers/gateway.ts';
import { startScriptedProvider } from '../helpers/scripted-provider.ts';
import type { ScriptedProvider } from '../helpers/scripted-provider.ts';
import { wholeOf } from '../gateway/wire.ts';

let chat: ScriptedProvider;
let messages: ScriptedProvider;
let gateway: TestGateway;

beforeAll(async () => {
  chat = await startScriptedProvider();
  messages = await startScriptedProvider();
  chat.playAlways({ body: wholeOf('chat', 'hello') });
  messages.playAlways({ body: wholeOf('messages', 'hello') });
  gateway = await startGateway({
    config: {
      providers: {
        talks: provider(chat.url, 'chat', ['m']),
        writes: provider(messages.url, 'messages', ['n']),
      },
      tiers: { enterprise: 10_000 },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([chat.close(), messages.close()]);
});
afterEach(() => {
  chat.requests.length = 0;
  messages.requests.length = 0;
});

const request = (method: string, path: string): Promise<Response> => fetch(gateway.url + path, { method });

describe('a path that is nearly right is a 404 that says the right base URL', () => {
  it.each([
    ['POST', '/chat/completions'],
    ['POST', '/messages'],
    ['POST', '/messages/count_tokens'],
    ['GET', '/models'],
    ['GET', '/models/m'],
  ])('without /v1: %s %s', async (method, path) => {
    const response = await request(method, path);
    expect(response.status).toBe(404);
    expect(await response.text()).toContain(`set the client's base URL to ${gateway.url}/v1`);
  });

  it.each([
    ['POST', '/v1/v1/chat/completions'],
    ['POST', '/v1/v1/messages'],
    ['GET', '/v1/v1/models'],
    ['GET', '/v1/v1/models/m'],
  ])('with it twice: %s %s', async (method, path) => {
    const response = await request(method, path);
    expect(response.status).toBe(404);
    expect(await response.text()).toMatch(
      new RegExp(`has /v1 twice; set the client's base URL to ${gateway.url}["\\s]`),
    );
  });

  it.each([
    ['POST', '/openai/v1/chat/completions'],
    ['POST', '/v2/messages'],
    ['GET', '/nonsense'],
  ])('of any other kind: %s %s', async (method, path) => {
    const response = await request(method, path);
    expect(response.status).toBe(404);
    expect(await response.text()).toContain(
      `base URL: ${gateway.url}/v1, for most messages clients ${gateway.url}`,
    );
  });
});

describe('another method is a 405 that says which', () => {
  it.each([
    ['GET', '/v1/chat/completions', 'POST'],
    ['DELETE', '/v1/messages', 'POST'],
    ['PUT', '/v1/messages/count_tokens', 'POST'],
    ['POST', '/v1/models', 'GET, HEAD'],
    ['DELETE', '/v1/models/m', 'GET, HEAD'],
    ['POST', '/health', 'GET, HEAD'],
  ])('%s %s', async (method, path, allow) => {
    const response = await request(method, path);
    expect([response.status, response.headers.get('allow')]).toEqual([405, allow]);
  });
});

describe('whoever looks whether anybody is there gets a 200, without a key', () => {
  it.each([
    ['GET', '/'],
    ['HEAD', '/'],
    ['GET', '/api/hello'],
    ['HEAD', '/api/hello'],
  ])('%s %s', async (method, path) => {
    const response = await request(method, path);
    expect(response.status).toBe(200);
    expect((await response.text()).includes('gateway')).toBe(method === 'GET');
  });
});

/** What the provider of that model was asked. */
async function reached(model: 'm' | 'n', path: string, headers: Record<string, string> = {}) {
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${gateway.key}`, ...headers },
    body: JSON.stringify({ model, max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }),
  });
  expect(response.status, await response.text()).toBe(200);
  const [asked] = (model === 'm' ? chat : messages).requests;
  return {
    path: asked?.path,
    version: asked?.headers['anthropic-version'],
    beta: asked?.headers['anthropic-beta'],
  };
}

describe('the query', () => {
  it.each([
    ['n', '/v1/messages?beta=true', '/v1/messages?beta=true'],
    ['n', '/v1/messages/count_tokens?beta=true', '/v1/messages/count_tokens?beta=true'],
    ['n', '/v1/messages?beta=true&key=secret', '/v1/messages'],
    ['n', '/v1/messages?x=1', '/v1/messages'],
    ['n', '/v1/chat/completions?beta=true', '/v1/messages'],
    ['m', '/v1/messages?beta=true', '/v1/chat/completions'],
    ['m', '/v1/chat/completions?beta=true', '/v1/chat/completions'],
  ] as const)('of a request for %s at %s: the provider is asked at %s', async (model, path, at) => {
    expect((await reached(model, path)).path).toBe(at);
  });
});

describe('the betas', () => {
  it.each<[string, 'm' | 'n', string, string | undefined]>([
    ['go on to a provider of their protocol', 'n', '/v1/messages', 'a-1,b-2'],
    ['are not for a translated call', 'n', '/v1/chat/completions', undefined],
    ['mean nothing to a chat provider', 'm', '/v1/messages', undefined],
    ['mean nothing to a chat provider of a chat client', 'm', '/v1/chat/completions', undefined],
  ])('%s', async (_, model, path, beta) => {
    expect((await reached(model, path, { 'anthropic-beta': 'a-1,b-2' })).beta).toBe(beta);
  });
});

describe('the version', () => {
  const NEW = '2026-10-21';
  it.each<[string, 'm' | 'n', string, Record<string, string>, string | undefined]>([
    ['of the client goes on', 'n', '/v1/messages', { 'anthropic-version': NEW }, NEW],
    ['by its other name too', 'n', '/v1/messages', { 'provider-version': NEW }, NEW],
    ['given twice', 'n', '/v1/messages', { 'anthropic-version': NEW, 'provider-version': NEW }, NEW],
    ['for a count', 'n', '/v1/messages/count_tokens', { 'anthropic-version': NEW }, NEW],
    ['left out', 'n', '/v1/messages', {}, '2023-06-01'],
    ['left empty', 'n', '/v1/messages', { 'anthropic-version': '' }, '2023-06-01'],
    ['of a leap day', 'n', '/v1/messages', { 'anthropic-version': '2024-02-29' }, '2024-02-29'],
    ['of a chat client stays here', 'n', '/v1/chat/completions', { 'anthropic-version': NEW }, '2023-06-01'],
    ['means nothing to a chat provider', 'm', '/v1/messages', { 'anthropic-version': NEW }, undefined],
  ])('%s', async (_, model, path, headers, version) => {
    expect((await reached(model, path, headers)).version).toBe(version);
  });

  it.each<[string, Record<string, string>, string]>([
    ['a word', { 'anthropic-version': 'latest' }, 'anthropic-version'],
    ['a day that no year has', { 'anthropic-version': '2026-02-30' }, 'anthropic-version'],
    ['a day of some years', { 'anthropic-version': '2026-02-29' }, 'anthropic-version'],
    ['another form', { 'anthropic-version': '2026-6-1' }, 'anthropic-version'],
    ['a word in the other header', { 'provider-version': 'latest' }, 'provider-version'],
    [
      'two that differ',
      { 'anthropic-version': '2023-06-01', 'provider-version': '2026-10-21' },
      'anthropic-version and provider-version differ',
    ],
  ])('is refused where it is %s', async (_, headers, named) => {
    for (const model of ['m', 'n']) {
      const { status, error } = await ask(gateway, { protocol: 'messages', model, headers });
      expect([status, error?.type]).toEqual([400, 'invalid_request_error']);
      expect(error?.message).toContain(named);
    }
    expect([...chat.requests, ...messages.requests]).toEqual([]);
  });
});
