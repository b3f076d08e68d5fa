// What Claude Code relies on at a gateway: the sentence of a size limit, safeguards, the vendor's own headers, and tags.
import { expect, describe, it } from 'vitest';
import { ask, type Question, type Seen } from '../helpers/ask.ts';
import { gateway, provider, type TestGateway } from '../helpers/gateway.ts';
import { scriptedProvider, type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { errorBody, errorEvent, START, wholeOf } from './wire.ts';

interface Place {
  to: TestGateway;
  /** Speaks messages, without being the vendor's own. */
  other: ScriptedProvider;
  vendor: ScriptedProvider;
  chat: ScriptedProvider;
}

async function place(config: object = {}): Promise<Place> {
  const [other, vendor, chat] = [
    await scriptedProvider(),
    await scriptedProvider(),
    await scriptedProvider(),
  ];
  for (const one of [other, vendor]) one.playAlways({ body: wholeOf('messages', 'hello') });
  chat.playAlways({ body: wholeOf('chat', 'hello') });
  const providers = {
    other: provider(`${other.url}/v1`, 'messages', ['o']),
    // The preset, at another address.
    anthropic: { base_url: `${vendor.url}/v1`, api_key: 'sk-provider', models: ['a'] },
    chat: provider(`${chat.url}/v1`, 'chat', ['c']),
  };
  const routes = { both: ['chat/c', 'other/o'], mixed: ['chat/c'] };
  return { to: await gateway({ config: { providers, routes, ...config } }), other, vendor, chat };
}

const send = ({ to }: Place, model: string, more: Omit<Question, 'model'> = {}): Promise<Seen> =>
  ask(to, { protocol: 'messages', model, ...more });

describe('a size limit', () => {
  it.each([
    ['a status', { status: 400, body: errorBody('messages', 'invalid_request_error', 'Input is too long.') }],
    ['an error inside a 200', { body: errorBody('messages', 'api_error', 'Input is too long.') }],
  ])("keeps the vendors' sentence alone, of %s", async (_, script) => {
    const at = await place();
    at.other.play(script, script);
    for (const stream of [false, true]) {
      const seen = await send(at, 'o', { stream });
      expect([seen.status, seen.error?.type, seen.error?.message]).toEqual([
        400,
        'invalid_request_error',
        'Input is too long.',
      ]);
    }
  });

  it('keeps it where the window is known, on another protocol, and in the middle of a stream', async () => {
    const at = await place();
    const message = 'Input is too long.';
    at.vendor.play({ status: 400, body: errorBody('messages', 'invalid_request_error', message) });
    at.chat.play({ status: 413, body: errorBody('chat', 'invalid_request_error', message) });
    expect((await send(at, 'a')).error?.message).toBe(message);
    expect((await send(at, 'c')).error?.message).toBe(message);
    const half = START.chat + errorEvent('chat', 'api_error').replace('the provider says so', message);
    at.chat.play({ steps: [START.chat.replace('"content":""', '"content":"half"') + half] });
    const cut = await send(at, 'c', { stream: true });
    expect([cut.status, cut.content, cut.error?.message]).toEqual([200, 'half', message]);
  });

  it('in more words is told in those that agents look for', async () => {
    const at = await place();
    const message = 'Input is too long for requested model.';
    at.other.play({ status: 400, body: errorBody('messages', 'invalid_request_error', message) });
    expect((await send(at, 'o')).error?.message).toBe(`prompt is too long: ${message}`);
  });
});

describe('safeguards', () => {
  const BETA = 'dangerous-tool-use-2026-09-03';
  const safeguards = [{ type: 'dangerous_tool_use' }];
  const guarded = { body: { safeguards }, headers: { 'anthropic-beta': BETA } };

  it('reach a messages provider, and their results come back', async () => {
    const at = await place();
    const results = [{ type: 'dangerous_tool_use', verdict: 'safe' }];
    at.other.play({ body: { ...wholeOf('messages', 'hello'), safeguard_results: results } });
    const seen = await send(at, 'o', guarded);
    expect(seen.json?.safeguard_results).toEqual(results);
    const [asked] = at.other.requests;
    expect(asked?.json.safeguards).toEqual(safeguards);
    expect(asked?.headers['anthropic-beta']).toBe(BETA);
  });

  it('are a 400 that names them where no target takes them, before the request counts', async () => {
    const at = await place();
    for (const model of ['c', 'mixed']) {
      const seen = await send(at, model, guarded);
      expect([seen.status, seen.error?.type]).toEqual([400, 'invalid_request_error']);
      expect(seen.error?.message).toContain('safeguards');
      expect(seen.headers.has('anthropic-ratelimit-requests-remaining')).toBe(false);
    }
    expect(at.chat.requests).toHaveLength(0);
    expect((await send(at, 'c')).headers.get('anthropic-ratelimit-requests-remaining')).toBe('299');
  });

  it('are answered by a target of the route that takes them', async () => {
    const at = await place();
    expect((await send(at, 'both')).headers.get('x-gateway-provider')).toBe('chat');
    expect((await send(at, 'both', guarded)).headers.get('x-gateway-provider')).toBe('other');
  });

  it('that ask for nothing are no loss', async () => {
    const at = await place({ strict: true });
    expect((await send(at, 'c', { body: { safeguards: [] } })).status).toBe(200);
    expect((await send(at, 'c', { body: { safeguards: null } })).status).toBe(200);
  });
});

describe("the vendor's own headers", () => {
  const NEW = { 'anthropic-next-year': 'x', 'anthropic-client-platform': 'desktop' };
  const SECRET = {
    'anthropic-api-key': 's',
    'anthropic-auth-token': 's',
    'anthropic-client-secret': 's',
    'anthropic-workspace-id': 'sk-gw-0123456789012345678901234567890123456789',
  };

  it('reach a messages provider, all but credentials', async () => {
    const at = await place();
    for (const [model, one] of [
      ['o', at.other],
      ['a', at.vendor],
    ] as const) {
      expect((await send(at, model, { headers: { ...NEW, ...SECRET } })).status).toBe(200);
      const headers = one.requests[0]?.headers ?? {};
      expect(headers).toMatchObject(NEW);
      for (const name of Object.keys(SECRET)) expect(headers).not.toHaveProperty(name);
    }
  });

  it('reach it for a count too, and no provider of another protocol', async () => {
    const at = await place();
    at.other.play({ body: { input_tokens: 3 } });
    const count = await fetch(`${at.to.url}/v1/messages/count_tokens`, {
      method: 'POST',
      headers: { 'x-api-key': at.to.key, 'content-type': 'application/json', ...NEW },
      body: JSON.stringify({ model: 'o', messages: [{ role: 'user', content: 'hi' }] }),
    });
    expect(await count.json()).toEqual({ input_tokens: 3 });
    expect(at.other.requests[0]?.headers).toMatchObject(NEW);
    await send(at, 'c', { headers: NEW });
    expect(
      Object.keys(at.chat.requests[0]?.headers ?? {}).filter((name) => name.startsWith('anthropic-')),
    ).toEqual([]);
  });

  it('stand behind those that the configuration sets for the provider', async () => {
    const one = await scriptedProvider();
    one.playAlways({ body: wholeOf('messages', 'hello') });
    const set = provider(`${one.url}/v1`, 'messages', ['m'], { headers: { 'Anthropic-Next-Year': 'ours' } });
    const to = await gateway({ config: { providers: { set } } });
    await ask(to, { protocol: 'messages', model: 'm', headers: NEW });
    expect(one.requests[0]?.headers).toMatchObject({ ...NEW, 'anthropic-next-year': 'ours' });
  });
});

describe('tags', () => {
  const TAGS_BETA = 'request-tags-2026-08-21';
  const tagged = (beta: string): Omit<Question, 'model'> => ({
    body: { tags: { team: 'a' }, metadata: { user_id: 'u' } },
    headers: { 'anthropic-beta': beta },
  });

  it('and their beta reach the preset of their vendor', async () => {
    const at = await place();
    expect((await send(at, 'a', tagged(`x-1,${TAGS_BETA}`))).status).toBe(200);
    expect(at.vendor.requests[0]?.json.tags).toEqual({ team: 'a' });
    expect(at.vendor.requests[0]?.headers['anthropic-beta']).toBe(`x-1,${TAGS_BETA}`);
  });

  it.each([
    [`x-1, ${TAGS_BETA},y-2`, 'x-1,y-2'],
    [TAGS_BETA, undefined],
  ])('reach no other messages provider; of the betas %s, %s remains', async (beta, left) => {
    const at = await place({ strict: true });
    const seen = await send(at, 'o', tagged(beta));
    expect([seen.status, seen.headers.get('x-gateway-dropped')]).toEqual([200, null]);
    const [asked] = at.other.requests;
    expect(asked?.json).toEqual({
      model: 'o',
      messages: [{ role: 'user', content: 'hello' }],
      max_tokens: 100,
      metadata: { user_id: 'u' },
    });
    expect(asked?.headers['anthropic-beta']).toBe(left);
  });

  it.each([
    '{"tags":{"a":1},"model":"o","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}',
    '{"model":"other/o" , "tags" : [1] , "max_tokens":9,"messages":[{"role":"user","content":"hi"}]}',
    '{"model":"o","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"tags":"x"}',
  ])('are cut out wherever they stand: %s', async (body) => {
    const at = await place();
    const headers = { 'x-api-key': at.to.key, 'content-type': 'application/json' };
    const response = await fetch(`${at.to.url}/v1/messages`, { method: 'POST', headers, body });
    expect(response.status).toBe(200);
    expect(at.other.requests[0]?.json).toEqual({
      model: 'o',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'hi' }],
    });
  });

  it('are no loss towards a provider of another protocol', async () => {
    const at = await place({ strict: true });
    expect((await send(at, 'c', tagged(TAGS_BETA))).status).toBe(200);
    expect(at.chat.requests[0]?.json).not.toHaveProperty('tags');
  });
});
