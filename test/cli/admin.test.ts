// `gateway admin tokens`: a token is shown once, works until it is revoked, and both have their row in the audit.
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import { createShell, type Shell } from './harness.ts';

interface Created {
  id: string;
  token: string;
}

async function auditOf({ directory }: Shell, file = join(directory, 'gateway.db')) {
  const store = await openStore(file);
  const rows = await store.listAudit(Number.MAX_SAFE_INTEGER, 10);
  await store.close();
  return rows.reverse();
}

it('creates a token, shows it once, and revokes it', async () => {
  const shell = createShell();
  const { id, token } = (await shell.json('admin tokens create --name grafana --expires 90d')) as Created;
  const listed = await shell.run('admin tokens list');
  expect(listed.stdout).toContain(id);
  expect(listed.stdout).not.toContain(token);
  const revoked = await shell.run(`admin tokens revoke ${id}`);
  expect([revoked.code, revoked.stdout]).toEqual([0, `token ${id} is revoked\n`]);
  expect((await shell.run('admin tokens list')).stdout).toContain('revoked');
});

it('has a row in the audit for each token that is created or revoked, with the user, and no secret', async () => {
  const shell = createShell();
  const { id, token } = (await shell.json('admin tokens create --scope write --name backup')) as Created;
  await shell.run(`admin tokens revoke ${id}`);
  const wrong = await shell.run(`admin tokens revoke ${token}`);
  expect(wrong.stderr).toContain('give the ID of the token');
  const rows = await auditOf(shell);
  const actor = `cli ${userInfo().username}`;
  const known = rows.map((row) => [row.actor, row.address, row.action, row.status]);
  expect(known).toEqual([
    [actor, 'local', 'createToken', 201],
    [actor, 'local', 'revokeToken', 200],
    [actor, 'local', 'revokeToken', 404],
  ]);
  expect(rows.map(({ detail }) => JSON.parse(detail) as unknown)).toEqual([
    { scope: 'write', name: 'backup', expires_at: null },
    { id },
    expect.anything(),
  ]);
  for (const { detail } of rows) expect(detail).not.toContain(token);
});

it('has a row in the audit for each change of keys, accounts and tiers, also for one that fails, and no key', async () => {
  const shell = createShell();
  const { id, key } = (await shell.json('keys create --account alice --name ci --models auto')) as {
    id: string;
    key: string;
  };
  const rotated = (await shell.json(`keys rotate ${id} --grace 1h`)) as { id: string; key: string };
  await shell.run(`keys revoke ${rotated.id}`);
  await shell.run(`keys revoke ${key}`);
  await shell.run('tiers assign alice pro');
  await shell.run('accounts rename alice bob');
  await shell.run('accounts rename carol dora');
  await shell.run('accounts remove bob --yes');
  const rows = await auditOf(shell);
  expect(new Set(rows.map(({ actor, address }) => `${actor} ${address}`))).toEqual(
    new Set([`cli ${userInfo().username} local`]),
  );
  const shown = rows.map(({ action, detail, status }) => [action, JSON.parse(detail) as unknown, status]);
  expect(shown).toEqual([
    [
      'createKey',
      {
        account: 'alice',
        tier: 'free',
        name: 'ci',
        permissions: ['chat', 'messages', 'responses', 'embeddings'],
        models: ['auto'],
        expires_at: null,
        made: { id, prefix: key.slice(0, 12) },
      },
      201,
    ],
    [
      'rotateKey',
      { id, grace_seconds: 3600, made: { id: rotated.id, prefix: rotated.key.slice(0, 12) } },
      201,
    ],
    ['revokeKey', { id: rotated.id }, 200],
    ['revokeKey', expect.anything(), 404],
    ['changeAccount', { account: 'alice', tier: 'pro', before: { tier: 'free' } }, 200],
    ['changeAccount', { account: 'alice', new_account: 'bob' }, 200],
    ['changeAccount', { account: 'carol', new_account: 'dora' }, 404],
    ['removeAccount', { account: 'bob' }, 200],
  ]);
  for (const { detail } of rows) expect(detail).not.toMatch(/sk-gw-\w{20}/);
});

it('has a row in the audit for an import, with what it wrote, and none for a file that is refused', async () => {
  const shell = createShell();
  await shell.run('keys create --account alice');
  await shell.run('export all.jsonl');
  const into = join(shell.directory, 'new.db');
  await shell.run('import missing.jsonl --database new.db');
  await shell.run('import all.jsonl --database new.db');
  const rows = await auditOf(shell, into);
  expect(rows).toMatchObject([
    { actor: `cli ${userInfo().username}`, address: 'local', action: 'import', status: 200 },
  ]);
  expect(JSON.parse(rows[0]?.detail ?? '')).toEqual({
    account: 1,
    removed_account: 0,
    key: 1,
    sign_in_token: 0,
    grant: 0,
    spending: 0,
    brake: 0,
    brake_prompt: 0,
    work: 0,
    hour: 0,
    usage: 0,
  });
});
