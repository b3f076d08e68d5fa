// The audit of the admin API: each write has a row before it happens, and a write without a row does not happen.
import { join, dirname } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { gateway, type TestGateway } from '../helpers/gateway.ts';
import { call, newToken, openBrowser } from './support.ts';

const ON = { config: { admin: true } };

/** The database file, as another program opens it. */
function openFile({ file }: TestGateway): Database.Database {
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
  await call(running, `/keys/${keyId}/rotate`, { method: 'POST', token, body: { grace_seconds: 60 } });
  await call(running, `/keys/${keyId}`, { method: 'DELETE', token });
  await call(running, '/accounts/ada', { method: 'PATCH', token, body: { account: 'grace', tier: 'pro' } });
  await call(running, '/accounts/ada', { method: 'DELETE', token });
  const browser = await openBrowser(running);
  await browser.call('/accounts/grace', { method: 'DELETE', headers: { 'x-gateway-csrf': browser.csrf } });

  const { json } = await call(running, '/audit', { token });
  const rows = [...(json.data ?? [])].reverse();
  expect(rows.map(({ operation, detail, status }) => [operation, detail, status])).toEqual([
    ['createKey', { account: 'ada' }, 201],
    ['rotateKey', { id: keyId, grace_seconds: 60 }, 201],
    ['revokeKey', { id: keyId }, 200],
    ['changeAccount', { account: 'grace', tier: 'pro' }, 200],
    ['removeAccount', { account: 'ada' }, 404],
    ['removeAccount', { account: 'grace' }, 200],
  ]);
  expect(new Set(rows.map(({ address }) => address))).toEqual(new Set(['127.0.0.1']));
  expect(rows.slice(0, 5).map(({ actor }) => actor)).toEqual(Array(5).fill(tokenId));
  expect(rows[5]?.['actor']).toMatch(/^ses_/);
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
  openFile(running).exec(
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
  openFile(running).exec(
    "CREATE TRIGGER refuse BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'no room'); END",
  );
  const created = await call(running, '/keys', { method: 'POST', token, body: { account: 'ada' } });
  expect(created.status).toBe(201);
  expect(created.json['key']).toMatch(/^sk-gw-/);
  const { json } = await call(running, '/audit', { token });
  expect(json.data?.[0]).toMatchObject({ operation: 'createKey', status: null });
  expect(running.log()).toContain('an audit row has no status');
});
