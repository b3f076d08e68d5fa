// Rows of codes of sign-ins, which both engines store in the same columns, and what becomes of a code that is polled.
import type { NewKey } from './key-records.ts';
import {
  CODE_STATES,
  POLL_TOLERANCE_MS,
  SLOWER_S,
  SLOWEST_S,
  type PolledCode,
  type SignInCode,
  type SignInKey,
} from './sign-ins.ts';

/** A code of a sign-in, with the account that it was approved for. */
export interface CodeRow {
  hash: Buffer;
  sealed: Buffer;
  user_agent: string;
  address: string;
  created_at: number;
  expires_at: number;
  state: number;
  polled_at: number | null;
  interval: number;
  account: string | null;
  ends_at: number | null;
}

/** Selects each CodeRow. */
export const CODE = `
  SELECT hash, sealed, user_agent, address, sign_in_codes.created_at, expires_at, state, polled_at, interval,
    accounts.name AS account, ends_at
  FROM sign_in_codes LEFT JOIN accounts ON accounts.id = account_id`;

export function toCode(row: CodeRow): SignInCode {
  return {
    hash: row.hash.toString('hex'),
    sealed: row.sealed,
    userAgent: row.user_agent,
    address: row.address,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}

/** The key of an approved code. Its own hash is of no token: that of the code, which is used now. */
export function keyOfCode(row: CodeRow, account: string, { id, permissions }: SignInKey, at: number): NewKey {
  return {
    id,
    hash: row.hash.toString('hex'),
    prefix: '',
    account,
    tier: '',
    label: null,
    permissions: [...permissions],
    models: null,
    native: true,
    createdAt: at,
    expiresAt: row.ends_at,
    origin: `${row.user_agent} from ${row.address}`,
  };
}

/** What becomes of a code that is polled now, and the seconds that its client then has to wait. */
export function polled(row: CodeRow, now: number): { outcome: PolledCode; interval: number } {
  const { interval, polled_at: before } = row;
  if (before !== null && now - before < interval * 1000 - POLL_TOLERANCE_MS)
    return { outcome: 'slow_down', interval: Math.min(interval + SLOWER_S, SLOWEST_S) };
  return { outcome: POLLED[row.state] ?? 'unknown', interval };
}

const POLLED: Readonly<Record<number, PolledCode>> = {
  [CODE_STATES.pending]: 'pending',
  [CODE_STATES.approved]: 'approved',
  [CODE_STATES.denied]: 'denied',
};
