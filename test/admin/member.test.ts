// A member's session: made from a key, it reads its own account and nothing else, and ends with its key. Every path of the API is tried.
import { expect, it, vi } from 'vitest';
import { systemClock, type Clock } from '../../src/clock.ts';
import { manualClock } from '../helpers/clock.ts';
import { ask } from '../helpers/ask.ts';
import { gateway, rewrite, type TestGateway } from '../helpers/gateway.ts';
import { call, newToken, openBrowser, openMember, type Answer } from './support.ts';

const ON = { config: { admin: true, tiers: { small: { requests: '50/hour', tokens: '1M/day' } } } };

interface Person {
  account: string;
  key: string;
  keyId: string;
  requestId: string;
}

/** An account with a key and one request. */
async function person(running: TestGateway, account: string): Promise<Person> {
  const key = await running.newKey({ account, tier: 'small' });
  const [stored] = await running.store.listKeys(account);
  const answered = await ask({ ...running, key }, { model: 'sim/echo' });
  expect(answered.status).toBe(200);
  return { account, key, keyId: stored?.id ?? '', requestId: answered.headers.get('x-request-id') ?? '' };
}

async function pair(
  clock: Clock = systemClock,
): Promise<{ running: TestGateway; ada: Person; bob: Person; token: string }> {
  const running = await gateway({ ...ON, clock });
  const [ada, bob] = [await person(running, 'ada'), await person(running, 'bob')];
  const { plaintext: token } = await newToken(running);
  await vi.waitFor(
    async () => expect((await call(running, '/requests', { token })).json.data).toHaveLength(2),
    { timeout: 10_000 },
  );
  return { running, ada, bob, token };
}

interface Described {
  path: string;
  method: string;
  id: string;
  isPublic: boolean;
  audience: 'owner' | 'member' | 'both';
}

async function describedBy(running: TestGateway, token: string): Promise<Described[]> {
  const { json } = await call(running, '/openapi.json', { token });
  type Row = { operationId: string; security?: Record<string, unknown>[] };
  const paths = json['paths'] as Record<string, Record<string, Row>>;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId: id, security }]) => {
      const ways = security?.flatMap(Object.keys) ?? [];
      const both = ways.includes('session') && ways.includes('member');
      const audience = both ? 'both' : ways.includes('member') ? 'member' : 'owner';
      return { path, method: method.toUpperCase(), id, isPublic: security?.length === 0, audience };
    }),
  );
}

/** What each operation needs, so that a right caller would be answered: of bob. */
const BODIES: Readonly<Record<string, object>> = {
  changeAccount: { tier: 'pro' },
  createKey: { account: 'bob' },
  rotateKey: { grace_seconds: 0 },
  approveSignIn: { code: 'BCDF-GHJK', account: 'bob' },
  denySignIn: { code: 'BCDF-GHJK' },
};

it('reaches nothing of another account by any path and method of the API, with its session or its key', async () => {
  // Wrong credentials are slowed down, which would hide a path that takes them.
  let ahead = 0;
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + ahead };
  const { running, ada, bob, token } = await pair(clock);
  const member = await openMember(running, ada.key);
  const operations = (await describedBy(running, token)).filter(({ isPublic }) => !isPublic);
  expect(operations.length).toBeGreaterThan(25);
  const before = await stateOf(running);

  const fill = (path: string): string =>
    path
      .replace('{account}', 'bob')
      .replace('{id}', path.includes('/requests/') ? bob.requestId : bob.keyId)
      .replace(/\{\w+\}/g, bob.keyId);
  const secrets = ['bob', bob.keyId, bob.requestId, bob.key.slice(0, 12)];
  const seen: Record<string, number> = {};
  for (const { path, method, id, audience } of operations) {
    if (id === 'closeSession') continue;
    const asked = { method, ...(method !== 'GET' && { body: BODIES[id] ?? {} }) };
    const csrf = { 'x-gateway-csrf': member.csrf };
    const answer = await member.call(fill(path), { ...asked, headers: csrf });
    const allowed = audience === 'owner' ? [403] : audience === 'both' ? [200] : [200, 404];
    expect([id, allowed]).toEqual([id, expect.arrayContaining([answer.status]) as number[]]);
    expectSilence(answer, audience === 'owner' ? [] : secrets);
    seen[audience] = (seen[audience] ?? 0) + 1;
    const byKey: Record<string, string>[] = [
      { authorization: `Bearer ${ada.key}` },
      { 'x-api-key': ada.key },
      { cookie: `gateway_admin=${ada.key}` },
    ];
    for (const headers of byKey) {
      ahead += 6000;
      const refused = await call(running, fill(path), { ...asked, headers });
      expect([id, refused.status]).toEqual([id, 401]);
    }
  }
  expect(seen['owner']).toBeGreaterThan(15);
  expect(seen['member']).toBeGreaterThan(4);
  expect(await stateOf(running)).toEqual(before);
});

/** A refusal names nothing either. */
function expectSilence({ text }: Answer, secrets: readonly string[]): void {
  for (const secret of secrets) expect(text).not.toContain(secret);
}

const stateOf = async ({ store }: TestGateway) => ({
  accounts: (await store.listAccounts()).map(({ name, tier, keys }) => [name, tier, keys]),
  keys: (await store.listKeys()).map(({ id, revokedAt, expiresAt }) => [id, revokedAt, expiresAt]),
});

it('is refused by every method that a path does not have, and by every path that there is not', async () => {
  const { running, ada, token } = await pair();
  const member = await openMember(running, ada.key);
  const described = await describedBy(running, token);
  for (const path of new Set(described.map((row) => row.path))) {
    const known = described.filter((row) => row.path === path).map(({ method }) => method);
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      if (known.includes(method)) continue;
      const headers = { 'x-gateway-csrf': member.csrf };
      const { status } = await member.call(path.replace(/\{\w+\}/g, 'bob'), { method, headers });
      expect([method, path, [401, 403, 404, 405].includes(status)]).toEqual([method, path, true]);
    }
  }
  for (const path of ['/me/keys', '/me/accounts/bob', '/me/audit', '/me/events', '/me/../accounts', '/ME'])
    expect((await member.call(path)).status).toBe(path === '/me/../accounts' ? 403 : 404);
});

it('reaches nothing of another account by a parameter, a cursor or a header', async () => {
  const { running, ada, bob, token } = await pair();
  const member = await openMember(running, ada.key);
  const secrets = ['bob', bob.keyId, bob.requestId, bob.key.slice(0, 12)];
  const described = (await describedBy(running, token)).filter(({ audience }) => audience !== 'owner');
  const paths = described.filter(({ method, path }) => method === 'GET' && !path.includes('{'));
  const owners = ['/requests?limit=1', '/limits?limit=1', '/accounts?limit=1', '/models?limit=1'];
  const cursors = await Promise.all(
    owners.map(async (path) => String((await call(running, path, { token })).json['next'])),
  );
  expect(cursors.filter((cursor) => cursor !== 'null').length).toBeGreaterThan(2);
  const queries = [
    ...['account=bob', 'account=', 'account=ada&account=bob', 'account[]=bob', 'ACCOUNT=bob', 'q=bob'],
    ...[`key=${bob.keyId}`, `conversation=${bob.requestId}`, 'by=account', 'by=key', 'model=sim%2Fecho'],
    ...['format=csv', 'format=csv&by=account', 'format=csv&account=bob', 'since=0', 'until=2999-01-01'],
    ...['order=fullest', 'errors=false&provider=sim', `request=${bob.requestId}`, 'state=all', 'limit=1000'],
    ...cursors.map((cursor) => `cursor=${cursor}`),
  ];
  const headers = {
    'last-event-id': bob.requestId,
    'if-none-match': '*',
    'x-http-method-override': 'DELETE',
    'x-account': 'bob',
    range: 'bytes=0-10',
    accept: 'text/csv',
  };
  const seen = new Set<number>();
  for (const { path } of paths) {
    const asked = [...queries.map((query) => ({ query, headers: {} })), { query: '', headers }];
    const answers = await Promise.all(
      asked.map(({ query, headers }) => member.call(`${path}?${query}`, { headers })),
    );
    for (const [at, answer] of answers.entries()) {
      const query = asked[at]?.query;
      expect([path, query, [200, 304, 400, 404, 429].includes(answer.status)]).toEqual([path, query, true]);
      // A refusal names what was asked for.
      expectSilence(answer, answer.status === 200 ? secrets : secrets.slice(1));
      expect(JSON.stringify([...answer.headers])).not.toMatch(/bob|\/admin\/api\/v1\/accounts/);
      seen.add(answer.status);
    }
  }
  expect([...seen]).toEqual(expect.arrayContaining([200, 400]));
  // A name of somebody and one of nobody, an id of somebody and one of nobody: no difference.
  for (const [theirs, nobodys] of [
    [`/me/requests/${bob.requestId}`, `/me/requests/${bob.requestId.slice(0, -4)}0000`],
    [`/me/requests?key=${bob.keyId}`, '/me/requests?key=key_000000000000'],
    ['/me/requests?account=bob', '/me/requests?account=eve'],
    ['/accounts/bob', '/accounts/eve'],
    [`/keys/${bob.keyId}`, '/keys/key_000000000000'],
    [`/requests/${bob.requestId}`, '/requests/req_nothing'],
    ['/search?q=bob', '/search?q=eve'],
    ['/events?account=bob', '/events'],
  ] as const) {
    const [found, none] = [await member.call(theirs), await member.call(nobodys)];
    expect([theirs, found.status, plain(found)]).toEqual([theirs, none.status, plain(none)]);
    expect(headerNames(found)).toEqual(headerNames(none));
  }
});

/** Without what differs for each request. */
const plain = ({ text }: Answer): string => text.replace(/req_\w+/g, 'req');
const headerNames = ({ headers }: Answer): string[] => [...headers.keys()].sort();

it('is not let in by the address of the owner, nor does it learn who made one', async () => {
  const { running, ada } = await pair();
  const member = await openMember(running, ada.key);
  const address = new URL(await running.adminLink('open_url'));
  const wrong = await member.call(`/admin/open/${'x'.repeat(22)}`);
  expect([wrong.status, wrong.headers.get('location')]).toEqual([303, '/admin/#link=used']);
  expect((await member.call('/admin/link', { method: 'POST', body: {} })).status).not.toBe(200);
  // It is still the owner's.
  const { headers } = await call(running, address.pathname);
  expect(headers.get('location')).toMatch(/#link=sk-gwl-/);
});

it('reads its own limits, usage, requests and models', async () => {
  const { running, ada, bob } = await pair();
  const member = await openMember(running, ada.key);
  const me = (await member.call('/me')).json;
  expect(me).toMatchObject({ account: 'ada', tier: 'small', key: { id: ada.keyId }, grants: [] });
  expect(me['limits']).toMatchObject([
    { kind: 'requests', per: 'hour', limit: 50, spent: 1, left: 49 },
    { kind: 'tokens', per: 'day', limit: 1e6 },
  ]);
  expect(JSON.stringify(me)).not.toContain(ada.key);

  const usage = (await member.call('/me/usage?by=account')).json.data;
  expect(usage?.map(({ account }) => account)).toEqual(['ada']);
  expect(usage?.[0]?.['by']).toMatchObject([{ account: 'ada', totals: { requests: 1 } }]);
  const summary = (await member.call('/me/usage/summary?by=account')).json;
  expect(summary['totals']).toMatchObject({ requests: 1 });
  expect(JSON.stringify(summary)).not.toContain('bob');
  expect((await member.call('/me/requests')).json.data?.map(({ id }) => id)).toEqual([ada.requestId]);
  expect((await member.call(`/me/requests/${ada.requestId}`)).json).toMatchObject({ account: 'ada' });
  expect((await member.call(`/me/requests/${bob.requestId}`)).json).toMatchObject({ status: 404 });
  // The account is not a parameter.
  for (const path of ['/me/usage?account=bob', '/me/usage/summary?account=bob', '/me/requests?account=bob'])
    expect((await member.call(path)).status).toBe(400);
});

it('lists the models of its key alone', async () => {
  const running = await gateway(ON);
  const member = await openMember(running, await running.newKey({ account: 'ada', models: ['sim/echo'] }));
  const names = (await member.call('/me/models')).json.data?.map(({ name }) => name);
  expect(names).toEqual(['auto', 'sim/echo']);
});

it('stays with the account when it is renamed, and is not of another that takes the old name', async () => {
  const { running, ada, bob, token } = await pair();
  const member = await openMember(running, ada.key);
  await call(running, '/accounts/ada', { method: 'PATCH', token, body: { account: 'eve' } });
  await call(running, '/accounts/bob', { method: 'PATCH', token, body: { account: 'ada' } });
  expect((await member.call('/me')).json).toMatchObject({ account: 'eve' });
  expect((await member.call('/me/requests')).json.data?.map(({ id }) => id)).toEqual([ada.requestId]);
  expect((await member.call(`/me/requests/${bob.requestId}`)).status).toBe(404);
});

it.each(['revoked', 'removed', 'expired'])('ends at once when its key is %s', async (how) => {
  const clock = manualClock();
  const running = await gateway({ ...ON, clock });
  const soon = how === 'expired' ? clock.now() + 60_000 : null;
  const member = await openMember(running, await running.newKey({ account: 'ada', expiresAt: soon }));
  expect((await member.call('/me')).status).toBe(200);
  const [key] = await running.store.listKeys('ada');
  if (how === 'revoked') await running.store.revokeKey(key?.id ?? '', clock.now());
  else if (how === 'removed') await running.store.removeAccount('ada');
  else clock.advance(60_001);
  const after = await member.call('/me');
  expect([after.status, after.json.code]).toEqual([401, 'unauthenticated']);
  expect((await member.call('/admin/session')).status).toBe(401);
});

it('ends after 12 hours without use, by its own wish, and with the page', async () => {
  const clock = manualClock();
  const running = await gateway({ ...ON, clock });
  const key = await running.newKey({ account: 'ada' });
  const [left, idle] = [await openMember(running, key), await openMember(running, key)];
  const headers = { 'x-gateway-csrf': left.csrf };
  expect((await left.call('/admin/session', { method: 'DELETE' })).status).toBe(403);
  expect((await left.call('/admin/session', { method: 'DELETE', headers })).status).toBe(200);
  expect((await left.call('/me')).status).toBe(401);
  clock.advance(12 * 3_600_000 - 1);
  expect((await idle.call('/me')).status).toBe(200);
  clock.advance(12 * 3_600_000);
  expect((await idle.call('/me')).status).toBe(401);

  const last = await openMember(running, key);
  rewrite(running, clock, { admin: false });
  await vi.waitFor(
    async () => {
      clock.advance(1000);
      expect((await last.call('/me')).status).toBe(404);
    },
    { timeout: 10_000, interval: 20 },
  );
});

it('is not opened where the file does not turn the page on, also while a link of its owner does', async () => {
  const running = await gateway();
  const key = await running.newKey({ account: 'ada' });
  const sign = () => call(running, '/admin/session/member', { method: 'POST', body: { key } });
  expect((await sign()).status).toBe(404);
  await openBrowser(running);
  const refused = await sign();
  expect([refused.status, refused.json.code]).toEqual([404, 'member_sign_in_off']);
  expect(refused.headers.get('set-cookie')).toBeNull();
});

it('is refused to wrong keys, which are slowed down, and to pages of another origin', async () => {
  const running = await gateway(ON);
  const key = await running.newKey({ account: 'ada' });
  const sign = (given: string, headers: Record<string, string> = {}) =>
    call(running, '/admin/session/member', { method: 'POST', body: { key: given }, headers });
  expect((await sign(key, { origin: 'https://evil.example' })).status).toBe(403);
  const statuses: number[] = [];
  for (let turn = 0; turn < 12; turn += 1) statuses.push((await sign(`sk-gw-${'x'.repeat(43)}`)).status);
  expect(statuses.slice(0, 10)).toEqual(Array<number>(10).fill(401));
  expect(statuses.slice(10)).toEqual([429, 429]);
  expect((await sign('sk-other')).status).toBe(429);
  // Whoever has the right one is not locked out by others.
  expect((await sign(key)).status).toBe(201);
});

it('leaves the key in no log, no audit row and no cookie', async () => {
  const running = await gateway(ON);
  const key = await running.newKey({ account: 'ada' });
  const { cookie } = await openMember(running, key);
  await call(running, `/me?key=${key}`, { headers: { cookie } });
  const { plaintext: token } = await newToken(running);
  const rows = (await call(running, '/audit', { token })).json.data ?? [];
  const [stored] = await running.store.listKeys('ada');
  expect(rows[0]).toMatchObject({
    ...{ operation: 'openMemberSession', status: 201, address: '127.0.0.1' },
    detail: { account: 'ada', key: stored?.id },
  });
  expect(rows[0]?.['actor']).toMatch(/^ses_/);
  const secret = key.slice('sk-gw-'.length);
  for (const text of [running.log(), JSON.stringify(rows), cookie]) expect(text).not.toContain(secret);
});

it('never ends a session of the owner, however many there are, and a key has eight', async () => {
  const running = await gateway(ON);
  const owner = await openBrowser(running);
  const key = await running.newKey({ account: 'ada' });
  const first = await openMember(running, key);
  const second = await openMember(running, key);
  for (let turn = 0; turn < 7; turn += 1) await openMember(running, key);
  expect((await first.call('/me')).status).toBe(401);
  expect((await second.call('/me')).status).toBe(200);
  for (let turn = 0; turn < 80; turn += 1) await openMember(running, key);
  expect((await owner.call('/accounts')).status).toBe(200);
  expect((await owner.call('/me')).status).toBe(403);
});
