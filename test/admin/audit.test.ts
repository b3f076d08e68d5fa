// The audit of the admin API: each write has a row before it happens, and a write without a row does not happen.
import { join, dirname } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { loadDriver, type Db } from '../../src/store/sqlite/driver.ts';
import { manualClock } from '../helpers/clock.ts';
import { gateway, rewrite, type TestGateway } from '../helpers/gateway.ts';
import { call, newToken, openBrowser } from './support.ts';

const ON = { config: { admin: true } };

/** The database file, as another program opens it. */
async function openFile({ file }: TestGateway): Promise<Db> {
  const Database = await loadDriver();
  const db = new Database(join(dirname(file), 'gateway.db'));
  onTestFinished(() => void db.close());
  return db;
}

it('records who changed what, when and from where, and the outcome', async () => {
  const running = await gateway(ON);
  const { id: tokenId, plaintext: token } = await newToken(running);
  const before = Date.now();
  const created = await call(running, '/keys', { method: 'POST', token, body: { account: 'ada' } });
  const keyId = String(created.json['id']);
  const rotated = await call(running, `/keys/${keyId}/rotate`, {
    method: 'POST',
    token,
    body: { grace_seconds: 60 },
  });
  const made = ({ json: { id, key } }: typeof created) => ({ id, prefix: String(key).slice(0, 12) });
  await call(running, `/keys/${keyId}`, { method: 'DELETE', token });
  await call(running, '/accounts/ada', { method: 'PATCH', token, body: { account: 'grace', tier: 'pro' } });
  await call(running, '/accounts/ada', { method: 'DELETE', token });
  const browser = await openBrowser(running);
  const own = { 'x-gateway-csrf': browser.csrf };
  await browser.call('/accounts/grace', { method: 'DELETE', headers: own });
  await browser.call('/admin/session', { method: 'DELETE', headers: own });

  const { json } = await call(running, '/audit', { token });
  const rows = [...(json.data ?? [])].reverse();
  expect(rows.map(({ operation, detail, status }) => [operation, detail, status])).toEqual([
    ['createKey', { account: 'ada', made: made(created) }, 201],
    ['rotateKey', { id: keyId, grace_seconds: 60, made: made(rotated) }, 201],
    ['revokeKey', { id: keyId }, 200],
    ['changeAccount', { account: 'ada', new_account: 'grace', tier: 'pro', before: { tier: 'free' } }, 200],
    ['removeAccount', { account: 'ada' }, 404],
    ['createLink', {}, 201],
    ['openSession', {}, 201],
    ['removeAccount', { account: 'grace' }, 200],
    ['closeSession', {}, 200],
  ]);
  const addresses = rows.map(({ address }) => address);
  expect(addresses).toEqual([
    ...Array<string>(5).fill('127.0.0.1'),
    'local',
    ...Array<string>(3).fill('127.0.0.1'),
  ]);
  const actors = rows.map(({ actor }) => String(actor));
  expect(actors.slice(0, 6)).toEqual([...Array<string>(5).fill(tokenId), 'owner']);
  expect(actors[6]).toMatch(/^ses_/);
  expect(new Set(actors.slice(6)).size).toBe(1);
  for (const { at } of rows) expect(Date.parse(String(at))).toBeGreaterThanOrEqual(before - 1);
});

it.each([
  ['creates no key', 'POST', '/keys', { account: 'mallory' }],
  ['assigns no tier', 'PATCH', '/accounts/test', { tier: 'free' }],
  ['renames no account', 'PATCH', '/accounts/test', { account: 'other' }],
  ['removes no account', 'DELETE', '/accounts/test', undefined],
  ['revokes no key', 'DELETE', '/keys/KEY', undefined],
  ['rotates no key', 'POST', '/keys/KEY/rotate', { grace_seconds: 0 }],
])('%s if the row cannot be written', async (_, method, path, body) => {
  const running = await gateway(ON);
  const { plaintext: token } = await newToken(running);
  const state = async () => ({
    accounts: (await running.store.listAccounts()).map(({ name, tier }) => [name, tier]),
    keys: (await running.store.listKeys()).map(({ id, revokedAt, expiresAt }) => [id, revokedAt, expiresAt]),
  });
  const before = await state();
  (await openFile(running)).exec(
    "CREATE TRIGGER refuse BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no room'); END",
  );
  const filled = path.replace('KEY', String(before.keys[0]?.[0]));
  const answer = await call(running, filled, { method, token, ...(body && { body }) });
  expect(answer.status).toBeGreaterThanOrEqual(500);
  expect(await state()).toEqual(before);
});

it('sends a new key also if the outcome cannot be written, and the row says that it is unknown', async () => {
  const running = await gateway(ON);
  const { plaintext: token } = await newToken(running);
  (await openFile(running)).exec(
    "CREATE TRIGGER refuse BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'no room'); END",
  );
  const created = await call(running, '/keys', { method: 'POST', token, body: { account: 'ada' } });
  expect(created.status).toBe(201);
  expect(created.json['key']).toMatch(/^sk-gw-/);
  const { json } = await call(running, '/audit', { token });
  expect(json.data?.[0]).toMatchObject({ operation: 'createKey', status: null });
  expect(running.log()).toContain('an audit row has no status');
});

it('records that the file turned the API off and on', async () => {
  const clock = manualClock();
  const running = await gateway({ ...ON, clock });
  for (const admin of [false, true]) {
    rewrite(running, clock, { admin });
    const action = admin ? 'turnOn' : 'turnOff';
    await vi.waitFor(
      async () => {
        // Of the second change: it waits for the end of the first.
        clock.advance(1000);
        const [last] = await running.store.listAudit(Number.MAX_SAFE_INTEGER, 1);
        expect(last).toMatchObject({ actor: 'configuration', address: 'local', action, status: 200 });
      },
      { timeout: 10_000, interval: 20 },
    );
  }
});

it('opens a session for the owner without a row, and the log says so: the page shows what is wrong', async () => {
  const running = await gateway(ON);
  (await openFile(running)).exec(
    "CREATE TRIGGER refuse BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no room'); END",
  );
  const browser = await openBrowser(running);
  expect((await browser.call('/tiers')).status).toBe(200);
  expect(running.log()).toContain('an audit row cannot be written');
});

it('is filtered by who, what and when, and a page of a filter is bounded', async () => {
  const running = await gateway(ON);
  const { id: tokenId, plaintext: token } = await newToken(running);
  await call(running, '/keys', { method: 'POST', token, body: { account: 'ada' } });
  const db = await openFile(running);
  const day = 24 * 3_600_000;
  // Three pages of what a filter looks at, of a week and older.
  db.exec(`WITH RECURSIVE rows (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM rows WHERE n < 120000)
    INSERT INTO audit (at, actor, address, action, detail, status)
    SELECT ${Date.now() - 8 * day} + n * 5000, 'adm_other', 'local', 'changeAccount', '{}', 200 FROM rows`);
  await call(running, '/accounts/ada', { method: 'PATCH', token, body: { tier: 'pro' } });

  const walk = async (query: string) => {
    const found: unknown[] = [];
    let pages = 0;
    for (let next: unknown = ''; typeof next === 'string'; pages += 1) {
      const { json, status } = await call(running, `/audit?${query}${next && `&cursor=${next}`}`, { token });
      expect(status).toBe(200);
      found.push(...(json.data ?? []).map(({ operation }) => operation));
      next = json['next'];
    }
    return { found, pages };
  };
  expect(await walk(`actor=${tokenId}`)).toEqual({ found: ['changeAccount', 'createKey'], pages: 3 });
  expect((await walk('operation=createKey')).found).toEqual(['createKey']);
  // Below the last rows of the window, nothing is looked for.
  expect(await walk(`actor=${tokenId}&since=1h`)).toEqual({ found: ['changeAccount'], pages: 1 });
  for (const wrong of ['since=yesterday', 'actor=', 'who=me', 'cursor=nothing'])
    expect((await call(running, `/audit?${wrong}`, { token })).status).toBe(400);
});
