// Folders and databases that go away with their test, and rows to store.
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import { StoreError, type AdmissionKey, type NewKey, type Store } from '../../src/store/store.ts';
import type { UsageRow } from '../../src/store/usage-columns.ts';

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

export const HOUR = Date.parse('2026-11-21T14:00:00Z');

export function newKey(change: Partial<NewKey> = {}): NewKey {
  const id = change.id ?? 'key_one';
  return {
    id,
    hash: createHash('sha256').update(id).digest('hex'),
    prefix: 'sk-gw-abc',
    account: 'alice',
    tier: 'free',
    label: null,
    permissions: ['chat', 'messages'],
    models: null,
    createdAt: HOUR,
    expiresAt: null,
    ...change,
  };
}

/** The columns of a row whose client says nothing of itself. */
export const UNNAMED = {
  conversation: null,
  agent: null,
  parentAgent: null,
  agentType: null,
  class: null,
  prompt: null,
  label: null,
  client: null,
  cacheMiss: null,
  cacheMissDetail: null,
  cacheMissTokens: null,
  cacheMissCostUsd: null,
} satisfies Partial<UsageRow>;

export function usageRow(change: Partial<UsageRow> = {}): UsageRow {
  return {
    at: HOUR + 1,
    accountId: 1,
    keyId: 'key_one',
    endpoint: 'chat',
    modelAsked: 'auto',
    provider: 'sim',
    model: 'echo',
    status: 200,
    streamed: true,
    input: 100,
    cacheRead: 10,
    cacheWrite: 5,
    output: 20,
    reasoning: 7,
    costUsd: 0.5,
    firstByteMs: 1.5,
    durationMs: 2.25,
    error: null,
    requestId: null,
    attempts: null,
    detail: null,
    ...UNNAMED,
    settled: false,
    ...change,
  };
}

/** The members of a usage row that are null if a provider reported nothing. */
export const NOTHING_KNOWN = {
  input: null,
  cacheRead: null,
  cacheWrite: null,
  output: null,
  reasoning: null,
  costUsd: null,
};

/** What the tests of each subject get from the contract of an engine. */
export interface Contract {
  /** A store on a new, empty database. */
  open: () => Promise<Store>;
  /** The one of the test that runs. */
  store: () => Store;
  accountId: (account?: string) => Promise<number>;
  /** The new count of the hour that holds `now`; undefined: nothing was counted. */
  admit: (account: number, now: number, limit: number) => Promise<number | undefined>;
  /** Of the random cases. */
  share: number;
}
