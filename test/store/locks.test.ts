// Another program keeps the database locked: what needs the lock waits for it, and nothing else does.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { loadDriver } from '../../src/store/sqlite/driver.ts';
import { manualClock } from '../helpers/clock.ts';
import { HOUR, newKey, usageRow, admit, faultOf, opened, temporaryFile } from './support.ts';

// The same copy of SQLite as the store's: two copies in one process don't see each other's locks.
const Database = await loadDriver();

/** Locked until the returned function is called. */
function lock(file: string): () => void {
  const holder = new Database(file);
  holder.exec('BEGIN IMMEDIATE');
  onTestFinished(() => void holder.close());
  return () => holder.exec('COMMIT');
}

async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await nextTurn();
}

it('writes wait for the lock while the process goes on, and happen once when it is gone', async () => {
  const file = temporaryFile();
  // Its time stands still: nothing is given up.
  const store = await opened(file, { clock: manualClock() });
  const unlock = lock(file);
  let settled = 0;
  const admissions = [admit(store, 1, HOUR, 10), admit(store, 1, HOUR, 10)];
  const writes = [...admissions, store.createKey(newKey()), store.recordUsage([usageRow()])].map((write) =>
    write.finally(() => (settled += 1)),
  );
  await turns(100);
  // Readers are not held up by a writer, nor by writers that wait.
  expect(await store.used(1, HOUR)).toBe(0);
  expect(await store.findKey(newKey().hash)).toBeUndefined();
  admissions.push(admit(store, 1, HOUR, 10));
  expect(settled).toBe(0);
  unlock();
  await Promise.all(writes);
  expect((await Promise.all(admissions)).sort()).toEqual([1, 2, 3]);
  expect(await store.used(1, HOUR)).toBe(3);
  expect(await store.listKeys()).toHaveLength(1);
});

it('writes are given up after two seconds, each for itself, and change nothing later', async () => {
  const file = temporaryFile();
  const clock = manualClock();
  const store = await opened(file, { clock });
  const unlock = lock(file);
  const first = faultOf(admit(store, 1, HOUR, 10));
  await nextTurn();
  clock.advance(1500);
  const second = admit(store, 1, HOUR, 10);
  await nextTurn();
  clock.advance(500);
  expect(await first).toMatchObject({
    kind: 'busy',
    message: expect.stringContaining('another process keeps it locked') as string,
  });
  unlock();
  expect(await second).toBe(1);
  expect(await store.used(1, HOUR)).toBe(1);
});

it('a store that is closed does not leave them waiting', async () => {
  const file = temporaryFile();
  const store = await opened(file, { clock: manualClock() });
  lock(file);
  const waiting = faultOf(store.recordUsage([usageRow()]));
  await store.close();
  expect(await waiting).toMatchObject({ kind: 'unavailable' });
});
