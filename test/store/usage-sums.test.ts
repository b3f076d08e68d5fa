// Sums by hour and day: they equal the rows, those from before the sums existed too, and a report reads little else.
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { readUsage } from '../../src/accounts/usage-report.ts';
import { HOUR_MS } from '../../src/clock.ts';
import { loadDriver } from '../../src/store/sqlite/driver.ts';
import { migrate, MIGRATIONS } from '../../src/store/sqlite/migrations.ts';
import { GROUPINGS, type Store } from '../../src/store/store.ts';
import type { UsageRow } from '../../src/store/usage-columns.ts';
import { HOUR, newKey, usageRow, admit, opened, temporaryFile } from './support.ts';
import { byName, groupedTotals, plainSums, usageRows } from './plain-sums.ts';

const Database = await loadDriver();

const ROWS: readonly UsageRow[] = [
  usageRow(),
  usageRow({ at: HOUR + 2, costUsd: null }),
  usageRow({ at: HOUR + HOUR_MS, model: 'slow', cacheRead: null, costUsd: 0.25 }),
  usageRow({ at: HOUR + HOUR_MS + 1, input: null, costUsd: null }),
  usageRow({ at: HOUR + HOUR_MS + 2, output: null, costUsd: null, error: 'upstream' }),
  usageRow({ provider: null, model: null, input: null, output: null, costUsd: null, error: 'upstream' }),
  usageRow({ accountId: 2, keyId: 'key_two' }),
];

async function report(store: Store): Promise<unknown> {
  const groups = await Promise.all(GROUPINGS.map((by) => groupedTotals(store, by, undefined, HOUR)));
  return [await store.totals(undefined, HOUR), await store.totals(1, HOUR + HOUR_MS), ...groups];
}

/** A database as the release before the sums left it, with these rows. */
async function oldDatabase(rows: readonly UsageRow[]): Promise<string> {
  const file = temporaryFile();
  const current = temporaryFile();
  const source = await opened(current);
  await source.recordUsage(rows);
  const db = new Database(file);
  migrate(db, file, 1, MIGRATIONS.slice(0, 3));
  db.prepare('ATTACH ? AS source').run(current);
  const columns = (db.pragma('table_info(usage)') as { name: string }[]).map(({ name }) => name).join(', ');
  db.exec(`INSERT INTO main.usage (${columns}) SELECT ${columns} FROM source.usage`);
  db.close();
  return file;
}

function count(file: string, table: string): unknown {
  const db = new Database(file, { readonly: true });
  try {
    return db.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
  } finally {
    db.close();
  }
}

it('rows from before the sums are in every report, before, while and after they are summed up', async () => {
  const many = Array.from({ length: 4500 }, (_, n) => usageRow({ at: HOUR + n, model: `m${n % 3}` }));
  const rows = [...ROWS, ...many];
  const fresh = await opened(temporaryFile());
  await fresh.recordUsage([...rows, ...ROWS]);
  const expected = await report(fresh);

  const file = await oldDatabase(rows);
  const store = await opened(file);
  // The start did not read them.
  expect(count(file, 'usage_sums')).toBe(0);
  await store.recordUsage(ROWS);
  expect(await report(store)).toEqual(expected);
  const pruned = store.prune(HOUR, 90 * 24 * HOUR_MS);
  await vi.waitFor(() => expect(count(file, 'usage_sums')).toBeGreaterThan(7), { timeout: 10_000 });
  expect(await report(store)).toEqual(expected);
  await pruned;
  expect(await report(store)).toEqual(expected);
  expect(await (await opened(file)).totals(undefined, HOUR)).toEqual((expected as unknown[])[0]);
});

it('sums of a gateway that knew no labels are those of requests without one', async () => {
  const file = temporaryFile();
  const current = temporaryFile();
  const source = await opened(current);
  await source.recordUsage(ROWS);
  await source.prune(HOUR, 90 * 24 * HOUR_MS);
  const db = new Database(file);
  migrate(db, file, 1, MIGRATIONS.slice(0, 11));
  db.prepare('ATTACH ? AS source').run(current);
  const columns = (db.pragma('table_info(usage_sums)') as { name: string }[])
    .map(({ name }) => name)
    .join(', ');
  db.exec(
    `INSERT INTO main.usage_sums (${columns}) SELECT ${columns} FROM source.usage_sums WHERE kind NOT IN (4, 14)`,
  );
  db.close();
  const store = await opened(file);
  expect(await groupedTotals(store, 'label', undefined, HOUR)).toEqual(
    await groupedTotals(source, 'label', undefined, HOUR),
  );
});

it('rows that an older gateway adds meanwhile are summed up too', async () => {
  const file = temporaryFile();
  const store = await opened(file);
  await store.recordUsage([usageRow()]);
  const older = new Database(file);
  older.exec('CREATE TEMP TABLE more AS SELECT * FROM usage; UPDATE more SET id = NULL');
  older.exec('INSERT INTO usage SELECT * FROM more');
  await store.prune(HOUR, 0);
  older.exec('INSERT INTO usage SELECT * FROM more');
  older.close();
  expect(await store.totals(1, HOUR)).toMatchObject({ inputTokens: 345, costUsd: 1.5 });
});

it('rows that get the number of a deleted row are in every report', async () => {
  const file = temporaryFile();
  const store = await opened(file);
  await store.createKey(newKey());
  await store.recordUsage([usageRow(), usageRow()]);
  await store.prune(HOUR, HOUR_MS);
  await store.recordUsage([usageRow()]);
  const older = new Database(file);
  older.exec('DELETE FROM usage WHERE id > 1');
  older.close();
  await store.recordUsage([usageRow({ accountId: 2 })]);
  expect(await store.totals(2, HOUR)).toMatchObject({ outputTokens: 20 });
  await store.removeAccount('alice');
  await store.recordUsage([usageRow({ accountId: 2 })]);
  expect(await store.totals(2, HOUR)).toMatchObject({ outputTokens: 40 });
});

it('a report reads as many sums as there are hours, keys and models, however many requests there were', async () => {
  const file = temporaryFile();
  const store = await opened(file);
  for (let hour = 0; hour < 3; hour += 1) {
    await store.recordUsage(
      Array.from({ length: 2000 }, (_, n) => usageRow({ at: HOUR + hour * HOUR_MS + n, model: `m${n % 2}` })),
    );
  }
  expect(count(file, 'usage')).toBe(6000);
  // By account, by key, by label and by two models, in three hours and one day.
  expect(count(file, 'usage_sums')).toBe(5 * (3 + 1));
  const waiting = new Database(file, { readonly: true });
  expect(
    waiting.prepare('SELECT max(usage.id) - usage_summed.id FROM usage, usage_summed').pluck().get(),
  ).toBe(0);
  waiting.close();
});

it.each([undefined, ...GROUPINGS])(
  'usage by %s asks the database as often for 1 account as for 40',
  async (by) => {
    const store = await opened(temporaryFile());
    const asked = async (): Promise<number> => {
      let calls = 0;
      const counting = new Proxy(store, {
        get(target, name, receiver) {
          calls += 1;
          return Reflect.get(target, name, receiver) as unknown;
        },
      });
      const accounts = await store.listAccounts();
      const describe = await readUsage({ since: HOUR, now: HOUR + 1, by, only: undefined }, counting);
      for (const account of accounts) expect(describe(account, 10).used).toBe(1);
      return calls;
    };
    const add = async (name: string): Promise<void> => {
      const { accountId } = await store.createKey(newKey({ id: `key_${name}`, account: name }));
      await admit(store, accountId, HOUR, 10);
    };
    await add('first');
    const once = await asked();
    for (let n = 1; n < 40; n += 1) await add(`account ${n}`);
    expect(await asked()).toBe(once);
  },
);

it('reports equal the rows while two processes write, one of them starts again, and both prune', async () => {
  const step = fc.record({
    batch: usageRows(HOUR, usageRow()),
    by: fc.constantFrom(0, 1),
    then: fc.constantFrom('prune', 'restart', ''),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 6 }), async (todo) => {
      const file = temporaryFile();
      const stores = [await opened(file), await opened(file)];
      const rows: UsageRow[] = [];
      for (const { batch, by, then } of todo) {
        const store = stores[by];
        if (store === undefined) continue;
        await store.recordUsage(batch);
        rows.push(...batch);
        if (then === 'prune') await Promise.all(stores.map((each) => each.prune(HOUR, 1000 * HOUR_MS)));
        if (then === 'restart') {
          await store.close();
          stores[by] = await opened(file);
        }
        for (const reader of stores) {
          for (const grouping of GROUPINGS) {
            const found = await groupedTotals(reader, grouping, undefined, HOUR - 20 * HOUR_MS);
            // Accounts without an entry have no name.
            const expected = plainSums(rows, grouping, HOUR - 20 * HOUR_MS);
            if (grouping !== 'account') expect(byName(found)).toEqual(byName(expected));
          }
        }
      }
      await Promise.all(stores.map((each) => each.close()));
    }),
    { numRuns: 4 },
  );
});
