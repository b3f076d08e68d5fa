// Trying a model as a key: through the same line as every request of the key, for its owner alone, and nothing of it is kept.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { PROTOCOL_NAMES } from '../../src/canonical/request.ts';
import { gateway, provider, type GatewayOptions, type TestGateway } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { content, FINISH, START, TERMINAL } from '../gateway/wire.ts';
import { API, call, newToken, openBrowser, openMember } from './support.ts';

const CONFIG = {
  admin: true,
  tiers: {
    small: { requests: '2/hour' },
    measured: { requests: '100/hour', tokens: '1M/day', cost: '5/day' },
  },
};

interface Seen {
  status: number;
  /** Of the events, in their order. */
  names: string[];
  text: string;
  head: Record<string, string>;
  error: { code: string; message: string } | undefined;
  /** As `end` has it. */
  request: Record<string, unknown> | null | undefined;
  json: Record<string, unknown>;
  headers: Headers;
}

interface Tried extends Record<string, unknown> {
  id?: string;
  signal?: AbortSignal;
}

async function start(options: GatewayOptions = {}) {
  const running = await gateway({ ...options, config: { ...CONFIG, ...options.config } });
  const { plaintext: token } = await newToken(running);
  const keyId = async (account = 'test'): Promise<string> =>
    (await running.store.listKeys(account)).at(-1)?.id ?? '';
  return { running, token, keyId };
}

async function tryAs(
  running: TestGateway,
  token: string,
  { id = '', signal, ...body }: Tried,
): Promise<Seen> {
  const response = await fetch(`${running.url}${API}/keys/${id}/try`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim/echo', prompt: 'hello', ...body }),
    signal: signal ?? null,
  });
  const text = await response.text();
  const events = text.split('\n\n').flatMap((frame): [string, Record<string, unknown>][] => {
    const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(frame) ?? [];
    return name === undefined ? [] : [[name, JSON.parse(data ?? '') as Record<string, unknown>]];
  });
  const find = (name: string) => events.find(([each]) => each === name)?.[1];
  return {
    status: response.status,
    headers: response.headers,
    names: events.map(([name]) => name),
    text: events.flatMap(([name, { text: piece }]) => (name === 'text' ? String(piece) : [])).join(''),
    head: Object.fromEntries((find('head')?.['headers'] ?? []) as [string, string][]),
    error: find('error') as Seen['error'],
    request: find('end')?.['request'] as Seen['request'],
    json: response.status === 200 ? {} : (JSON.parse(text) as Record<string, unknown>),
  };
}

it.each(PROTOCOL_NAMES)(
  'streams the answer of %s, its headers, tokens and cost, and is a request like any',
  async (protocol) => {
    const { running, token, keyId } = await start();
    await running.newKey({ account: 'ada', tier: 'measured' });
    const id = await keyId('ada');
    const seen = await tryAs(running, token, { id, protocol, prompt: 'say ünïcode', system: 'be short' });
    expect(seen).toMatchObject({ status: 200, text: 'say ünïcode', error: undefined });
    expect(seen.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(seen.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(seen.head).toMatchObject({
      'x-gateway-provider': 'sim',
      'x-gateway-model': 'echo',
      'x-gateway-attempts': '1',
    });
    expect(seen.head['x-gateway-limits']).toContain('tokens');
    expect([seen.names[0], seen.names.at(-1)]).toEqual(['head', 'end']);
    expect(seen.request).toMatchObject({
      ...{ id: seen.headers.get('x-request-id'), account: 'ada', key: id, endpoint: protocol },
      ...{ model_asked: 'sim/echo', status: 200, stream: true, error: null, cost_usd: 0, label: 'dashboard' },
    });
    expect(seen.request?.['output_tokens']).toBeGreaterThan(0);

    await vi.waitFor(
      async () => {
        const { json } = await call(running, '/requests?account=ada', { token });
        expect(json.data).toEqual([seen.request]);
      },
      { timeout: 10_000 },
    );
    const [usage] = (await call(running, '/usage?account=ada', { token })).json.data ?? [];
    expect(usage).toMatchObject({ used: 1, remaining: 99 });
    const limits = await running.store.standings(
      (await running.store.findAccount('ada'))?.id ?? 0,
      [{ kind: 'tokens', per: 'day', most: 1e6 }],
      Date.now(),
    );
    expect(limits[0]).toMatchObject({ held: 0 });
    expect(limits[0]?.spent).toBeGreaterThan(0);
  },
);

it('is refused as requests of the key are: by its limit, its models and its permissions', async () => {
  const { running, token, keyId } = await start();
  await running.newKey({ account: 'ada', tier: 'small' });
  const ada = await keyId('ada');
  for (const turn of [1, 2])
    expect([turn, (await tryAs(running, token, { id: ada })).status]).toEqual([turn, 200]);
  const limited = await tryAs(running, token, { id: ada });
  expect(limited).toMatchObject({ status: 429, json: { code: 'rate_limited', status: 429 } });
  expect(limited.headers.get('retry-after')).toMatch(/^\d+$/);

  await running.newKey({ account: 'bob', models: ['sim/slow'], permissions: ['messages'] });
  const bob = await keyId('bob');
  expect((await tryAs(running, token, { id: bob })).status).toBe(403);
  expect(await tryAs(running, token, { id: bob, model: 'sim/slow', protocol: 'chat' })).toMatchObject({
    ...{ status: 403, json: { code: 'forbidden_permission' } },
  });
  // Without a protocol, that of its permission.
  const seen = await tryAs(running, token, { id: bob, model: 'sim/slow' });
  expect(seen).toMatchObject({ status: 200, text: 'one two three four five six seven eight nine ten' });
  expect(seen.request).toMatchObject({ endpoint: 'messages' });
  expect((await tryAs(running, token, { id: bob, model: 'nothing' })).json['code']).toBe('model_not_found');
});

it('is for the owner alone, with the second value of the session', async () => {
  const { running, token, keyId } = await start();
  const id = await keyId();
  const path = `/keys/${id}/try`;
  const asked = { method: 'POST', body: { model: 'sim/echo', prompt: 'x' } };
  const { plaintext: reader } = await newToken(running, 'read');
  expect((await call(running, path, { ...asked, token: reader })).status).toBe(403);
  expect((await call(running, path, { ...asked, token: running.key })).status).toBe(401);
  const member = await openMember(running, running.key);
  const headers = { 'x-gateway-csrf': member.csrf };
  expect((await member.call(path, { ...asked, headers })).status).toBe(403);
  const owner = await openBrowser(running);
  expect((await owner.call(path, asked)).json.code).toBe('csrf');
  expect((await owner.call(path, { ...asked, headers: { 'x-gateway-csrf': owner.csrf } })).status).toBe(200);
  expect((await tryAs(running, token, { id: 'key_nothing' })).json['code']).toBe('unknown_key');
  await running.store.revokeKey(id, Date.now());
  expect((await tryAs(running, token, { id })).json['code']).toBe('key_not_valid');
  for (const wrong of [
    { prompt: '' },
    { prompt: 'x'.repeat(8001) },
    { protocol: 'ollama' },
    { stream: false },
  ])
    expect((await tryAs(running, token, { id, ...wrong })).status).toBe(400);
});

it('keeps neither prompt nor answer: in the database, the audit and the log, by any protocol', async () => {
  const upstream = await scriptedProvider();
  const { running, token, keyId } = await start({
    config: { providers: { p: provider(`${upstream.url}/v1`, 'messages', ['m']), sim: {} } },
  });
  const id = await keyId();
  for (const protocol of PROTOCOL_NAMES) {
    upstream.play({
      headers: { 'content-type': 'text/event-stream' },
      steps: [START.messages, content('messages', 'MARKanswer'), FINISH.messages, TERMINAL.messages],
    });
    const prompts = { prompt: 'MARKprompt', system: 'MARKsystem' };
    const seen = await tryAs(running, token, { id, protocol, model: 'p/m', ...prompts });
    expect(seen).toMatchObject({ status: 200, text: 'MARKanswer' });
    expect(JSON.stringify(seen.request)).not.toContain('MARK');
  }
  expect(upstream.requests.map(({ headers }) => headers['cookie'] ?? headers['x-gateway-label'])).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(JSON.stringify(upstream.requests[0]?.json)).toContain('MARKprompt');
  const rows = (await call(running, '/audit?operation=tryKey', { token })).json.data ?? [];
  expect(rows).toHaveLength(3);
  expect(rows[0]).toMatchObject({
    ...{ operation: 'tryKey', status: 200, detail: { id, model: 'p/m', protocol: 'responses' } },
  });
  await running.stop();
  expect(running.log()).not.toContain('MARK');
  const folder = dirname(running.file);
  for (const name of ['gateway.db', 'gateway.db-wal']) {
    if (existsSync(join(folder, name))) expect(readFileSync(join(folder, name)).includes('MARK')).toBe(false);
  }
});

it('ends with its connection: the provider is left at once, and the row says so', async () => {
  const upstream = await scriptedProvider();
  const { running, token, keyId } = await start({
    config: { providers: { p: provider(`${upstream.url}/v1`, 'chat', ['m']), sim: {} } },
  });
  upstream.play({
    headers: { 'content-type': 'text/event-stream' },
    steps: [START.chat, content('chat', 'one'), new Promise(() => undefined)],
  });
  const leaving = new AbortController();
  const tried = tryAs(running, token, { id: await keyId(), model: 'p/m', signal: leaving.signal });
  const asked = await upstream.next();
  leaving.abort();
  await expect(tried).rejects.toThrow();
  expect(await asked.left).toBe(true);
  await vi.waitFor(
    async () => {
      const { json } = await call(running, '/requests', { token });
      expect(json.data).toMatchObject([{ status: 499, error: 'client_closed', model_asked: 'p/m' }]);
    },
    { timeout: 10_000 },
  );
});

it.each(['sim/cut', 'sim/error-500'])('says why there is no whole answer: %s', async (model) => {
  const { running, token, keyId } = await start();
  const seen = await tryAs(running, token, { id: await keyId(), model });
  if (model === 'sim/cut') {
    expect(seen).toMatchObject({ status: 200, text: expect.stringContaining('one two') as string });
    expect(seen.names.filter((name) => name === 'error')).toHaveLength(1);
    expect(seen.names.slice(-2)).toEqual(['error', 'end']);
    expect(seen.request?.['error']).not.toBeNull();
  } else expect(seen.status).toBeGreaterThanOrEqual(500);
});
