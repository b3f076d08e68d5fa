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

async function auditOf({ directory }: Shell) {
  const store = await openStore(join(directory, 'gateway.db'));
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
