// Accounts on a real database of their own.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createKey, type KeySpec } from '../../src/accounts/access.ts';
import type { Clock } from '../../src/clock.ts';
import { GatewayError } from '../../src/errors.ts';
import { createIds } from '../../src/ids.ts';
import { openStore } from '../../src/store/open.ts';
import type { Key, Store } from '../../src/store/store.ts';
import { manualClock } from '../helpers/clock.ts';

export const NOW = Date.parse('2026-11-21T14:25:30.000Z');

export async function temporaryStore(): Promise<Store> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-accounts-'));
  const store = await openStore(join(folder, 'gateway.db'));
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return store;
}

export function makeKey(
  store: Store,
  change: Partial<KeySpec> = {},
  clock: Clock = manualClock(NOW),
): Promise<{ key: Key; plaintext: string }> {
  const spec = { account: 'alice', tier: 'free', label: null, models: null, expiresAt: null };
  return createKey(
    { store, clock, ids: createIds() },
    { ...spec, permissions: ['chat', 'messages'], ...change },
  );
}

export async function refusalOf(promise: Promise<unknown>): Promise<GatewayError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof GatewayError) return error;
  throw new Error(`expected a GatewayError, got ${String(error)}`);
}
