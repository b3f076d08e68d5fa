// All of a database, from SQLite to PostgreSQL and back: nothing is missing, nothing is twice, and the keys are valid there.
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createKey, hashKey } from '../../src/accounts/access.ts';
import { createIds } from '../../src/ids.ts';
import { openStore } from '../../src/store/open.ts';
import { GROUPINGS, type Store } from '../../src/store/store.ts';
import { groupedTotals } from './plain-sums.ts';
import { createShell } from '../cli/harness.ts';
import { temporaryDatabase } from '../helpers/postgres.ts';
import { HOUR, usageRow } from './support.ts';

const ROWS = 2500;

/** Resolves to the plaintexts of its keys. */
async function fill(store: Store): Promise<string[]> {
  const deps = {
    store,
    clock: { now: () => HOUR, monotonic: () => 0, after: () => () => undefined },
    ids: createIds(),
  };
  const spec = { tier: 'free', label: null, models: null, permissions: ['chat' as const], expiresAt: null };
  const made = [
    await createKey(deps, { ...spec, account: 'alice', label: 'Zoë & "Co"', models: ['auto', 'p/*'] }),
    await createKey(deps, { ...spec, account: 'Ünïcode 日本', tier: 'pro', expiresAt: HOUR + 86_400_000 }),
    await createKey(deps, { ...spec, account: 'alice' }),
  ];
  const [first, second, third] = made.map(({ key }) => key);
  if (first === undefined || second === undefined || third === undefined) throw new Error('there is no key');
  await store.revokeKey(third.id, HOUR + 5);
  for (let n = 0; n < 3; n += 1) await store.admit(first, 10, HOUR);
  await store.admit(second, 10, HOUR + 3_600_000);
  await store.recordUsage(
    Array.from({ length: ROWS }, (_, n) => {
      const { id: keyId, accountId } = n % 3 === 0 ? second : first;
      const unknown = {
        input: null,
        output: null,
        costUsd: null,
        firstByteMs: null,
        error: 'upstream',
        status: 502,
      };
      return usageRow({
        ...{ at: HOUR + n * 97_000, keyId, accountId, requestId: `req_${n}`, attempts: (n % 4) + 1 },
        ...{ model: n % 5 === 0 ? null : `m${n % 7} "日本"`, detail: n % 11 === 0 ? '{"a":"\\n"}' : null },
        ...{
          conversation: `conv_${n % 4}`,
          agent: n % 2 === 0 ? null : 'a1',
          label: n % 3 === 0 ? 'pr-1' : null,
        },
        ...(n % 17 === 0 && { cacheMiss: 'tools', cacheMissTokens: 5000, cacheMissCostUsd: 0.25 }),
        ...(n % 13 === 0 && unknown),
      });
    }),
  );
  return made.map(({ plaintext }) => plaintext);
}

/** Everything that a user can see of a database. */
async function seen(database: string, plaintexts: readonly string[]): Promise<object> {
  const store = await openStore(database);
  try {
    const reports = await Promise.all(GROUPINGS.map((group) => groupedTotals(store, group, undefined, 0)));
    return {
      accounts: await store.listAccounts(),
      keys: await store.listKeys(),
      found: await Promise.all(plaintexts.map(async (plaintext) => store.findKey(hashKey(plaintext)))),
      hours: await store.admissionsByHour(undefined, 0),
      totals: await store.totals(undefined, 0),
      reports,
      requests: await store.listRequests({ limit: 2 * ROWS }),
    };
  } finally {
    await store.close();
  }
}

const records = async (file: string): Promise<string[]> => {
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  // The first line has the time of the export.
  return lines.slice(1).sort();
};

test('an export of SQLite imported into PostgreSQL, and its export imported into SQLite, are the same database', async () => {
  const shell = createShell();
  const at = (name: string): string => join(shell.directory, name);
  const store = await openStore(at('gateway.db'));
  const plaintexts = await fill(store);
  await store.close();
  const original = await seen(at('gateway.db'), plaintexts);
  expect(original).toMatchObject({
    totals: { requests: 4 },
    found: plaintexts.map((): unknown => expect.anything()),
  });

  const { url } = await temporaryDatabase();
  const counts = `2 accounts, 3 keys, 2 hourly counts, 2,500 requests`;
  expect((await shell.run('export first.jsonl')).stdout).toContain(counts);
  expect((await shell.run(['import', 'first.jsonl', '--database', url])).stdout).toBe(`imported ${counts}\n`);
  expect(await seen(url, plaintexts)).toEqual(original);

  expect((await shell.run(['export', 'second.jsonl', '--database', url])).stdout).toContain(counts);
  expect((await shell.run('import second.jsonl --database back.db')).stdout).toBe(`imported ${counts}\n`);
  expect(await seen(at('back.db'), plaintexts)).toEqual(original);
  expect(await records(at('second.jsonl'))).toEqual(await records(at('first.jsonl')));
}, 60_000);

test('backup of PostgreSQL advises the command of the documentation, which leaves the key of stored answers out', async () => {
  const shell = createShell();
  const { url } = await temporaryDatabase();
  const { code, stdout, stderr } = await shell.run(['backup', 'copy.dump', '--database', url]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  const documentation = readFileSync(new URL('../../docs/postgres.md', import.meta.url), 'utf8');
  const [, options = '?'] = /^pg_dump (.*) --file=/m.exec(documentation) ?? [];
  expect(options).toContain('--exclude-table-data=secrets');
  expect(stderr).toContain(`pg_dump ${options} --file=FILE postgres`);
  expect(stderr).toContain('docs/postgres.md');
  expect(readdirSync(shell.directory).filter((name) => name.startsWith('copy'))).toEqual([]);
});
