// How long the database takes, as the metrics show it: of each engine, of what fails, and with all else as the store itself has it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { timeStore } from '../../src/observe/metrics/metrics.ts';
import { written } from '../../src/observe/metrics/exposition.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { manualClock } from '../helpers/clock.ts';
import { createDatabase } from '../helpers/postgres.ts';
import { readMetrics } from '../helpers/prometheus.ts';
import { HOUR, newKey, usageRow } from '../store/support.ts';

const DURATION = 'gateway_database_duration_seconds';
const read = (timed: ReturnType<typeof timeStore>) => readMetrics(written([timed.family()]));

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'gateway-database-series-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

async function database(): Promise<string> {
  const created = await createDatabase();
  onTestFinished(() => created.drop());
  return created.url;
}

it.each([
  ['SQLite', () => join(folder(), 'gateway.db')],
  ['PostgreSQL', database],
])(
  'counts each admission, batch of usage and check: %s',
  async (_, locate: () => string | Promise<string>) => {
    const store = await openStore(await locate());
    onTestFinished(() => store.close());
    const timed = timeStore(store, systemClock);
    expect(written([timed.family()])).toBe('');
    const key = await timed.store.createKey(newKey());
    for (let request = 0; request < 3; request += 1) await timed.store.admit(key, 10, HOUR);
    await timed.store.recordUsage([usageRow({ accountId: key.accountId })]);
    await timed.store.ping();
    const metrics = read(timed);
    const counts = ['admission', 'usage', 'check', 'items'].map((operation) =>
      metrics.value(`${DURATION}_count`, { operation }),
    );
    expect(counts).toEqual([3, 1, 1, undefined]);
    expect(metrics.value(`${DURATION}_sum`, { operation: 'admission' })).toBeGreaterThan(0);
    expect(timed.store.location).toBe(store.location);
  },
);

it('measures until the database answers, also if it fails', async () => {
  const clock = manualClock();
  let createdAt = 1;
  const store = {
    async admit(_: unknown, limit: number) {
      await Promise.resolve();
      clock.advance(limit);
      if (limit > 500) throw new Error('gone');
    },
    get createdAt() {
      return createdAt;
    },
  } as unknown as Store;
  const timed = timeStore(store, clock);
  const key = { id: 'key_one', accountId: 1, tier: 'free' };
  await timed.store.admit(key, 300, HOUR);
  await expect(timed.store.admit(key, 1000, HOUR)).rejects.toThrow('gone');
  const bucket = (le: string) => read(timed).value(`${DURATION}_bucket`, { operation: 'admission', le });
  expect(['0.25', '0.5', '1', '+Inf'].map(bucket)).toEqual([0, 1, 2, 2]);
  // Another file that takes the path of the database has another time.
  createdAt = 2;
  expect(timed.store.createdAt).toBe(2);
});
