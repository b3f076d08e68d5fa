// Rows that both engines store in the same columns: accounts, keys and tokens of the admin API; and the columns of what is exported.
import { snakeCase } from '../snake-case.ts';
import type { AdminScope, AdminToken } from './admin/admin-records.ts';
import type { Account, Key, NewKey, Permission, StoredRecord } from './store.ts';
import { NO_WORK } from './holds/work.ts';
import { USAGE_COLUMNS } from './usage-columns.ts';

export interface AccountRow {
  id: number;
  name: string;
  tier: string;
  created_at: number;
}

export function toAccount({ id, name, tier, created_at: createdAt }: AccountRow): Account {
  return { id, name, tier, createdAt };
}

export interface KeyRow {
  id: string;
  account_id: number;
  account: string;
  tier: string;
  prefix: string;
  label: string | null;
  usage_label: string | null;
  permissions: string;
  models: string | null;
  /** 1 in SQLite, true in PostgreSQL. */
  native: number | boolean;
  created_at: number;
  last_used_at: number | null;
  expires_at: number | null;
  revoked_at: number | null;
  granted_until: number | null;
  origin: string | null;
}

/** Selects each KeyRow. */
export const KEY = keyUntil('keys.expires_at');

/** Of the key of a sign-in, by an access token: it ends with the token, or before. */
export const KEY_OF_TOKEN = `${keyUntil(
  'CASE WHEN keys.expires_at < sign_in_tokens.expires_at THEN keys.expires_at ELSE sign_in_tokens.expires_at END',
)} JOIN sign_in_tokens ON key_id = keys.id AND kind = 'access'`;

function keyUntil(expiresAt: string): string {
  return `
  SELECT keys.id, account_id, accounts.name AS account, accounts.tier, prefix, label, usage_label, permissions, models, native,
    keys.created_at, last_used_at, ${expiresAt} AS expires_at, keys.revoked_at, origin,
    (SELECT max(until) FROM grants WHERE grants.account_id = keys.account_id AND grants.revoked_at IS NULL) AS granted_until
  FROM keys JOIN accounts ON accounts.id = account_id`;
}

export function toKey(row: KeyRow): Key {
  return {
    id: row.id,
    accountId: row.account_id,
    account: row.account,
    tier: row.tier,
    prefix: row.prefix,
    label: row.label,
    usageLabel: row.usage_label,
    permissions: row.permissions === '' ? [] : (row.permissions.split(',') as Permission[]),
    models: row.models === null ? null : (JSON.parse(row.models) as string[]),
    native: Boolean(row.native),
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    grantedUntil: row.granted_until,
    origin: row.origin,
  };
}

/** The IDs of keys of `gateway run` begin with it; no other ID has a second underscore. */
export const LEASE_ID = 'key_run_';
/** A condition on keys. The character after `_` ends the range. */
export const IS_LEASE = `keys.id >= '${LEASE_ID}' AND keys.id < '${LEASE_ID.slice(0, -1)}\`'`;

/** Whether the key is one of `gateway run` that cannot be used any more. */
export function isEndedLease({ id, revokedAt, expiresAt }: Key, now: number): boolean {
  return id.startsWith(LEASE_ID) && (revokedAt !== null || (expiresAt !== null && expiresAt <= now));
}

/** The values of a new key: id, hash, account, prefix, labels, permissions, models, times, the mark in the engine's form, origin. */
export function keyValues<Flag>(
  key: NewKey,
  flag: (native: boolean) => Flag,
): (string | number | Buffer | null | Flag)[] {
  return [
    key.id,
    Buffer.from(key.hash, 'hex'),
    key.account,
    key.prefix,
    key.label,
    key.usageLabel ?? null,
    key.permissions.join(','),
    key.models === null ? null : JSON.stringify(key.models),
    key.createdAt,
    key.expiresAt,
    flag(key.native ?? false),
    key.origin ?? null,
  ];
}

export interface TokenRow {
  id: string;
  prefix: string;
  label: string | null;
  scope: AdminScope;
  created_at: number;
  last_used_at: number | null;
  expires_at: number | null;
  revoked_at: number | null;
}

/** Selects each TokenRow. */
export const TOKEN =
  'SELECT id, prefix, label, scope, created_at, last_used_at, expires_at, revoked_at FROM admin_tokens';

export function toToken(row: TokenRow): AdminToken {
  return {
    id: row.id,
    prefix: row.prefix,
    label: row.label,
    scope: row.scope,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  };
}

/** The row of a statement that writes or reads exactly one. */
export function existing<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new Error('a row that was just written is not there');
  return row;
}

const columns = (...members: string[]): Record<string, string> =>
  Object.fromEntries(members.map((member) => [member, snakeCase(member)]));

interface Source {
  table: string;
  /** Column of the table by member of the record. */
  columns: Readonly<Record<string, string>>;
}

/** Where the records of an export are stored, in order of writing: accounts before what belongs to them. */
export const SOURCES: Readonly<Record<StoredRecord['type'], Source>> = {
  account: { table: 'accounts', columns: columns('id', 'name', 'tier', 'createdAt') },
  removed_account: { table: 'removed_accounts', columns: columns('id', 'dataLeft') },
  key: {
    table: 'keys',
    columns: columns(
      ...['id', 'accountId', 'hash', 'prefix', 'label', 'usageLabel', 'permissions', 'models'],
      ...['createdAt', 'lastUsedAt', 'expiresAt', 'revokedAt', 'native', 'origin'],
    ),
  },
  sign_in_token: {
    table: 'sign_in_tokens',
    columns: columns('hash', 'keyId', 'kind', 'createdAt', 'expiresAt', 'spentAt', 'replayedAt'),
  },
  grant: {
    table: 'grants',
    columns: columns('id', 'accountId', 'kind', 'amount', 'until', 'createdAt', 'revokedAt'),
  },
  spending: {
    table: 'spending',
    columns: columns(
      ...['accountId', 'kind', 'start', 'tokens', 'fresh', 'cost'],
      ...['estimatedTokens', 'estimatedFresh', 'estimatedCost', 'unpriced'],
    ),
  },
  brake: {
    table: 'brakes',
    columns: columns(
      ...['id', 'accountId', 'spent', 'base', 'allowed', 'stopped', 'stoppedAt'],
      ...['run', 'runCalls', 'runForgiven', 'at'],
    ),
  },
  brake_prompt: {
    table: 'brake_prompts',
    columns: columns('conversation', 'prompt', 'accountId', 'requests', 'at'),
  },
  work: {
    table: 'conversation_work',
    columns: columns(...['accountId', 'conversation', 'series', 'at'], ...Object.keys(NO_WORK)),
  },
  hour: { table: 'hours', columns: columns('accountId', 'hour', 'requests') },
  usage: { table: 'usage', columns: columns(...USAGE_COLUMNS.map(({ member }) => member)) },
};
export const RECORD_TYPES = Object.keys(SOURCES) as StoredRecord['type'][];
