// Folders and databases that go away with their test.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import { StoreError, type AdmissionKey, type Store } from '../../src/store/store.ts';

export function temporaryFile(name = 'gateway.db'): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-store-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, name);
}

/** Closed when the test ends, before its folder is removed. */
export async function opened(file: string, options?: Parameters<typeof openStore>[1]): Promise<Store> {
  const store = await openStore(file, options);
  onTestFinished(() => store.close());
  return store;
}

/** Tries again: on a machine with much other work a connection may take longer than a gateway waits for it. */
export async function openedSoon(url: string, options?: Parameters<typeof openStore>[1]): Promise<Store> {
  for (let left = 5; ; left -= 1) {
    try {
      return await openStore(url, options);
    } catch (error) {
      if (left === 0 || !(error instanceof StoreError) || !error.message.includes('in time')) throw error;
    }
  }
}

export async function faultOf(promise: Promise<unknown>): Promise<StoreError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof StoreError) return error;
  throw new Error(`expected a StoreError, got ${String(error)}`);
}

/** Every file of the folder, byte for byte. */
export function contentsOf(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder).map((name) => [name, readFileSync(join(folder, name)).toString('latin1')]),
  );
}

/** A key of the account, for admissions. */
export function keyOf(accountId: number): AdmissionKey {
  return { id: 'key_one', accountId, tier: 'free' };
}

/** The new count of the hour that holds `now`; undefined: the limit is reached. */
export async function admit(
  store: Store,
  accountId: number,
  now: number,
  limit: number,
): Promise<number | undefined> {
  const count = await store.admit(keyOf(accountId), limit, now);
  return count.outcome === 'admitted' ? count.used : undefined;
}
