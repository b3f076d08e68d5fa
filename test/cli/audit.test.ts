// `gateway audit`: who changed what, when and from where, for people and as JSON; and that no change is without words.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { OPERATIONS } from '../../src/admin/site.ts';
import { openStore } from '../../src/store/open.ts';
import { auditWords } from '../../src/store/admin/audit-words.ts';
import { readSources } from '../helpers/sources.ts';
import { createShell, NOW, type Shell } from './harness.ts';

const MINUTE = 60_000;

/** Changes of the last days, by a command, by a token and by a session, of which one did not end. */
async function changedShell(): Promise<Shell> {
  const shell = createShell();
  expect(await shell.run('keys create --account ada --name laptop')).toMatchObject({ code: 0 });
  const store = await openStore(join(shell.directory, 'gateway.db'));
  const add = async (minutesAgo: number, actor: string, action: string, detail: object, status?: number) => {
    const id = await store.beginAudit({
      ...{ at: NOW - minutesAgo * MINUTE, actor, address: '127.0.0.1', action },
      detail: JSON.stringify(detail),
    });
    if (status !== undefined) await store.endAudit(id, status);
  };
  await add(3 * 24 * 60, 'adm_old', 'removeAccount', { account: 'bob' }, 200);
  await add(90, 'adm_one', 'changeAccount', { account: 'ada', tier: 'pro' }, 200);
  await add(60, 'adm_one', 'changeAccount', { account: 'ada', new_account: 'eve\u001b[2J' }, 409);
  await add(5, 'ses_two', 'revokeKey', { id: 'key_x' });
  await store.close();
  return shell;
}

const rowsOf = async (shell: Shell, line: string) =>
  (await shell.json(line)) as { operation: string; actor: string; status: number | null }[];

it('prints the rows of the window as the admin API gives them, the newest first', async () => {
  const shell = await changedShell();
  const rows = await rowsOf(shell, 'audit --json');
  expect(rows.map(({ operation, status }) => [operation, status])).toEqual([
    ['revokeKey', null],
    ['changeAccount', 409],
    ['changeAccount', 200],
    ['createKey', 201],
  ]);
  expect(rows[2]).toEqual({
    ...{ id: 3, at: '2026-11-21T12:55:30.000Z', actor: 'adm_one', address: '127.0.0.1' },
    ...{ operation: 'changeAccount', detail: { account: 'ada', tier: 'pro' }, names: {}, status: 200 },
  });
  expect(rows[3]?.actor).toMatch(/^cli ./);
  expect(JSON.stringify(rows)).not.toMatch(/sk-gw-\w{7}/);
});

it.each([
  ['--since 7d', ['revokeKey', 'changeAccount', 'changeAccount', 'removeAccount', 'createKey']],
  ['--since 65m', ['revokeKey', 'changeAccount', 'createKey']],
  ['--actor adm_one', ['changeAccount', 'changeAccount']],
  ['--operation revokeKey', ['revokeKey']],
  ['--limit 1', ['revokeKey']],
  ['--actor nobody', []],
])('%s', async (options, operations) => {
  const shell = await changedShell();
  const rows = await rowsOf(shell, `audit --json ${options}`);
  expect(rows.map(({ operation }) => operation)).toEqual(operations);
});

it('says to a person what was done, by whom and from where, the newest last, on a terminal of any width', async () => {
  const shell = await changedShell();
  const { stdout } = await shell.run('audit');
  const lines = stdout.trimEnd().split('\n');
  expect(lines[0]).toMatch(/^TIME \(UTC\) +WHO +WHAT +FROM +RESULT$/);
  expect(lines[1]).toMatch(
    /^2026-11-21 14:25:30 +cli \S.* +created a key for ada named laptop \(sk-gw-\w+…\) +local +done$/,
  );
  expect(lines[2]).toContain('assigned tier pro to ada');
  expect(lines[3]).toContain('renamed account ada to eve\\u001b[2J');
  expect(lines[3]).toMatch(/refused \(409\)$/);
  expect(lines[4]).toMatch(/^2026-11-21 14:20:30 +ses_two +revoked key key_x +127\.0\.0\.1 +not ended$/);
  for (const columns of [40, 80, 200]) {
    const narrow = await shell.run('audit', { columns, env: { NO_COLOR: '1' } });
    expect(narrow.stdout.split('\n').filter((line) => line.length > columns)).toEqual([]);
  }
  expect((await shell.run('audit --actor nobody')).stdout).toBe('Nothing was changed in this window.\n');
});

it('names keys and tokens: who did it, and what was done to which key', async () => {
  const shell = createShell();
  for (const options of ['--account ada --name laptop', '--account bob'])
    expect(await shell.run(`keys create ${options}`)).toMatchObject({ code: 0 });
  expect(await shell.run('admin tokens create --name ci')).toMatchObject({ code: 0 });
  const store = await openStore(join(shell.directory, 'gateway.db'));
  const [laptop, other] = await store.listKeys();
  const [token] = await store.listAdminTokens();
  const add = async (actor: string, action: string, detail: object) =>
    store.endAudit(
      await store.beginAudit({
        ...{ at: NOW, actor, address: '127.0.0.1', action },
        detail: JSON.stringify(detail),
      }),
      200,
    );
  await add(token?.id ?? '', 'revokeKey', { id: laptop?.id });
  await add(token?.id ?? '', 'rotateKey', { id: other?.id });
  await add('ses_1', 'openMemberSession', { account: 'ada', key: laptop?.id });
  await add(laptop?.id ?? '', 'signOut', { account: 'ada' });
  await add('ses_1', 'revokeKey', { id: 'key_gone' });
  await add('ses_1', 'revokeKey', { id: 'constructor' });
  await store.close();
  const { stdout } = await shell.run('audit');
  const lines = stdout.trimEnd().split('\n').slice(-6);
  const [named, unnamed] = [`laptop of ada (${laptop?.prefix}…)`, `${other?.prefix}… of bob`];
  expect(lines[0]).toContain(`${token?.id} ci`);
  expect(lines[0]).toContain(`revoked key ${named}`);
  expect(lines[1]).toContain(`replaced key ${unnamed}`);
  expect(lines[2]).toContain(`signed in to the dashboard as ada with key ${named}`);
  expect(lines[3]).toContain(`${laptop?.id} ${named}`);
  expect(lines[4]).toContain('revoked key key_gone');
  expect(lines[5]).toContain('revoked key constructor');
  const rows = (await shell.json('audit --limit 6')) as { names: object }[];
  expect(rows.at(-1)?.names).toEqual({ [token?.id ?? '']: 'ci', [laptop?.id ?? '']: named });
  expect(rows[1]?.names).toEqual({});
});

it('every change that is recorded anywhere has words', () => {
  const named = readSources().flatMap(({ text }) =>
    [...text.matchAll(/\baction: '(\w+)'/g)].map(([, name = '']) => name),
  );
  const changes = OPERATIONS.filter(({ scope, public: isPublic }) => scope === 'write' && !isPublic);
  const all = [...new Set([...named, ...changes.map(({ id }) => id)])];
  expect(all.length).toBeGreaterThan(15);
  expect(all.filter((name) => auditWords(name, {}) === name)).toEqual([]);
  expect(auditWords('constructor', {})).toBe('constructor');
});
