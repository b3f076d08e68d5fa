// Rows as SQLite has them, and the values that the rest of the program sees.
import type { Account, Key, Permission, Totals } from '../store.ts';

export interface AccountRow {
  id: number;
  name: string;
  tier: string;
  created_at: number;
}

export interface KeyRow {
  id: string;
  account_id: number;
  account: string;
  tier: string;
  prefix: string;
  label: string | null;
  permissions: string;
  models: string | null;
  created_at: number;
  last_used_at: number | null;
  expires_at: number | null;
  revoked_at: number | null;
}

export interface TotalsRow {
  requests: number;
  errors: number;
  unknown: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
}

export function accountOf(row: AccountRow): Account {
  return { id: row.id, name: row.name, tier: row.tier, createdAt: row.created_at };
}

export function keyOf(row: KeyRow): Key {
  return {
    id: row.id,
    accountId: row.account_id,
    account: row.account,
    tier: row.tier,
    prefix: row.prefix,
    label: row.label,
    permissions: row.permissions.split(',') as Permission[],
    models: row.models === null ? null : (JSON.parse(row.models) as string[]),
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  };
}

export function totalsOf(row: TotalsRow): Totals {
  return {
    requests: row.requests,
    errors: row.errors,
    unknown: row.unknown,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    costUsd: row.cost_usd,
  };
}
