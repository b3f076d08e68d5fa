// Who is let in, by which header, and that a refusal tells nothing of why.
import { beforeEach, describe, expect, it } from 'vitest';
import { authenticate as authenticateWith, type Endpoint } from '../../src/accounts/access.ts';
import { GatewayError } from '../../src/errors.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { LIST_KEY_HEADERS } from '../../src/protocols/shared/model-list.ts';
import type { Key, Store } from '../../src/store/store.ts';
import { makeKey, NOW, refusalOf, temporaryStore } from './support.ts';

/** With the headers that the endpoint reads keys from. */
async function authenticate(
  request: Omit<Parameters<typeof authenticateWith>[0], 'keyHeaders'>,
  store: Store,
  now: number,
): Promise<Key> {
  const { endpoint } = request;
  const keyHeaders =
    endpoint === 'list'
      ? LIST_KEY_HEADERS
      : protocols[endpoint === 'embeddings' ? 'chat' : endpoint].client.keyHeaders;
  return authenticateWith({ ...request, keyHeaders }, store, now);
}

const WRONG = `sk-gw-${'x'.repeat(43)}`;

describe('which header counts', () => {
  type Headers = Record<string, string | string[] | undefined>;
  const bearer = (text: string): Headers => ({ authorization: `Bearer ${text}` });
  const xApiKey = (text: string): Headers => ({ 'x-api-key': text });

  const cases: [why: string, headers: (key: string) => Headers, letIn: Partial<Record<Endpoint, boolean>>][] =
    [
      ['a bearer token', bearer, { chat: true, messages: true, list: true }],
      ['x-api-key', xApiKey, { chat: true, messages: true, list: true }],
      [
        'the same key in both',
        (key) => ({ ...bearer(key), ...xApiKey(key) }),
        { chat: true, messages: true, list: true },
      ],
      [
        'a wrong x-api-key beside it',
        (key) => ({ ...bearer(key), ...xApiKey(WRONG) }),
        { chat: true, messages: false, list: false },
      ],
      [
        'a wrong bearer beside it',
        (key) => ({ ...bearer(WRONG), ...xApiKey(key) }),
        { chat: false, messages: true, list: true },
      ],
      [
        'an empty x-api-key beside it',
        (key) => ({ ...bearer(key), ...xApiKey('') }),
        { chat: true, messages: true, list: true },
      ],
      [
        'an empty bearer beside it',
        (key) => ({ ...bearer(''), ...xApiKey(key) }),
        { chat: true, messages: true, list: true },
      ],
      [
        'a bearer without a token beside it',
        (key) => ({ authorization: 'Bearer', ...xApiKey(key) }),
        { chat: true },
      ],
      [
        'another scheme beside it',
        (key) => ({ authorization: 'Basic YTpi', ...xApiKey(key) }),
        { chat: false, messages: true },
      ],
      [
        'a scheme in other letters, with more space',
        (key) => ({ authorization: `  bEARER   ${key}  ` }),
        { chat: true },
      ],
      ['no scheme', (key) => ({ authorization: key }), { chat: false, messages: false }],
      ['another scheme', (key) => ({ authorization: `Token ${key}` }), { chat: false }],
      ['the scheme twice', (key) => bearer(`Bearer ${key}`), { chat: false }],
      ['two keys in one header', (key) => xApiKey(`${key}, ${key}`), { messages: false }],
      ['a header given twice', (key) => ({ 'x-api-key': [key, WRONG] }), { messages: false }],
      ['a key with a word behind it', (key) => bearer(`${key} x`), { chat: false }],
      ['another header', (key) => ({ 'api-key': key }), { chat: false, messages: false, list: false }],
    ];
  const rows = cases.flatMap(([why, headers, letIn]) =>
    Object.entries(letIn).map(([endpoint, expected]) => ({
      why,
      endpoint: endpoint as Endpoint,
      headers,
      expected,
    })),
  );

  it.each(rows)('$endpoint, $why: $expected', async ({ endpoint, headers, expected }) => {
    const store = await temporaryStore();
    const { key, plaintext } = await makeKey(store);
    const attempt = authenticate({ headers: headers(plaintext), endpoint }, store, NOW);
    if (expected) expect(await attempt).toEqual(key);
    else expect(await refusalOf(attempt)).toMatchObject({ kind: 'unauthenticated', status: 401 });
  });
});

describe('a key that does not count', () => {
  let store: Store;
  beforeEach(async () => {
    store = await temporaryStore();
  });
  const ask = (plaintext: string, now = NOW): Promise<unknown> =>
    authenticate({ headers: { 'x-api-key': plaintext }, endpoint: 'messages' }, store, now);

  it.each(['sk-ant-api03-abcdef', 'malformed', 'Bearer'])(
    'that is not of the gateway (%s) is named as such: a key of a provider is often in the way',
    async (foreign) => {
      const refusal = await refusalOf(ask(foreign));
      expect(refusal).toMatchObject({ kind: 'unauthenticated', status: 401 });
      expect(refusal.message).toContain('does not begin with sk-gw-');
      expect(refusal.message).toMatch(/provider's key set in the client's environment .*ANTHROPIC_API_KEY/);
      expect(refusal.message).not.toContain(foreign);
    },
  );

  it('gets the same refusal whether malformed, unknown, nearly right, expired or revoked, and is never repeated', async () => {
    const expired = await makeKey(store, { expiresAt: NOW });
    const revoked = await makeKey(store);
    await store.revokeKey(revoked.key.id, NOW);
    const valid = await makeKey(store);
    const last = valid.plaintext.at(-1) === 'a' ? 'b' : 'a';
    const sent = [
      'sk-gw-malformed',
      WRONG,
      valid.plaintext.slice(0, -1) + last,
      expired.plaintext,
      revoked.plaintext,
    ];
    const refusals = await Promise.all(sent.map((plaintext) => refusalOf(ask(plaintext))));
    expect(new Set(refusals.map(({ kind, message }) => `${kind} ${message}`)).size).toBe(1);
    expect(refusals[0]).toMatchObject({ status: 401, options: {} });
    for (const [index, { message }] of refusals.entries()) expect(message).not.toContain(sent[index]);
  });

  it('says how a key is sent where none was', async () => {
    const { message } = await refusalOf(authenticate({ headers: {}, endpoint: 'chat' }, store, NOW));
    expect(message).toMatch(/Authorization: Bearer .*x-api-key/);
  });

  it('counts until the moment in which it expires, and no longer', async () => {
    const { key, plaintext } = await makeKey(store, { expiresAt: NOW + 1 });
    expect(await ask(plaintext)).toEqual(key);
    expect((await refusalOf(ask(plaintext, NOW + 1))).status).toBe(401);
  });

  it('is refused from the moment in which it is revoked', async () => {
    const { key, plaintext } = await makeKey(store);
    await ask(plaintext);
    await store.revokeKey(key.id, NOW);
    expect((await refusalOf(ask(plaintext))).status).toBe(401);
  });
});

describe('permissions', () => {
  it.each([
    [['chat'], { chat: true, messages: false, list: true }],
    [['messages'], { chat: false, messages: true, list: true }],
    [['chat', 'messages'], { chat: true, messages: true, list: true }],
  ] as const)('of %s', async (permissions, letIn) => {
    const store = await temporaryStore();
    const { plaintext } = await makeKey(store, { permissions: [...permissions] });
    for (const endpoint of ['chat', 'messages', 'list'] as const) {
      const attempt = authenticate({ headers: { 'x-api-key': plaintext }, endpoint }, store, NOW);
      if (letIn[endpoint]) await attempt;
      else {
        const refusal = await refusalOf(attempt);
        expect(refusal).toMatchObject({ kind: 'forbidden_permission', status: 403 });
        expect(refusal.message).toContain(endpoint);
      }
    }
  });

  it('of a revoked key are not shown', async () => {
    const store = await temporaryStore();
    const { key, plaintext } = await makeKey(store, { permissions: ['chat'] });
    await store.revokeKey(key.id, NOW);
    const attempt = authenticate({ headers: { 'x-api-key': plaintext }, endpoint: 'messages' }, store, NOW);
    expect((await refusalOf(attempt)).status).toBe(401);
  });
});

it('is a 503 to be tried again where the database is away, without a word of where it lies', async () => {
  const store = await temporaryStore();
  const { plaintext } = await makeKey(store);
  await store.close();
  const refusal = await refusalOf(
    authenticate({ headers: { 'x-api-key': plaintext }, endpoint: 'chat' }, store, NOW),
  );
  expect(refusal).toBeInstanceOf(GatewayError);
  expect(refusal).toMatchObject({ kind: 'unavailable', status: 503, options: { retryAfter: 1 } });
  expect(refusal.message).not.toContain(store.location);
});

describe('the mark of a client that shows limits', () => {
  it('stands at the key, or comes with a request, and is not kept for the next one', async () => {
    const store = await temporaryStore();
    const [plain, marked] = [await makeKey(store), await makeKey(store, { native: true })];
    const native = async (plaintext: string, more: Record<string, string> = {}): Promise<boolean> => {
      const headers = { authorization: `Bearer ${plaintext}`, ...more };
      return (await authenticate({ headers, endpoint: 'messages' }, store, NOW)).native;
    };
    expect(await native(marked.plaintext)).toBe(true);
    expect(await native(plain.plaintext, { 'x-gateway-native': '1' })).toBe(true);
    expect(await native(plain.plaintext)).toBe(false);
    expect(await native(plain.plaintext, { 'x-gateway-native': 'yes' })).toBe(false);
  });
});
