// What a database holds of accounts and of their keys.
import type { Permission } from '../../canonical/request.ts';

export interface Account {
  id: number;
  name: string;
  tier: string;
  createdAt: number;
}

/** A key without its plaintext: the database stores only its SHA-256 and its first characters. */
export interface Key {
  /** The ID that the CLI prints and accepts: `key_` and base62. */
  id: string;
  accountId: number;
  account: string;
  /** The account's tier at the time of reading. */
  tier: string;
  /** The first characters of the plaintext, so that a person recognises the key. */
  prefix: string;
  label: string | null;
  /** The label of its requests that have none of their own. */
  usageLabel: string | null;
  permissions: Permission[];
  /** null: every model. */
  models: string[] | null;
  /** Its client shows the account's limits on its own screen: a Claude Code that takes this gateway for one of its vendor's kind. */
  native: boolean;
  createdAt: number;
  lastUsedAt: number | null;
  expiresAt: number | null;
  revokedAt: number | null;
  /** When the last grant of the account ends; null: it has none. */
  grantedUntil: number | null;
  /** Of a sign-in: its client and where it came from. null: the key was not made by one. */
  origin: string | null;
}

export interface NewKey {
  id: string;
  /** SHA-256 of the key, in hex. */
  hash: string;
  prefix: string;
  account: string;
  /** The tier of the account, if the account does not exist yet. */
  tier: string;
  label: string | null;
  usageLabel?: string | null;
  permissions: Permission[];
  models: string[] | null;
  native?: boolean;
  createdAt: number;
  expiresAt: number | null;
  origin?: string;
}

/** Where a key stands in a list. */
export type KeyPlace = Pick<Key, 'createdAt' | 'id'>;

export const KEY_STATES = ['valid', 'ended', 'all'] as const;
type KeyState = (typeof KEY_STATES)[number];
export const LIST_ORDERS = ['newest', 'oldest'] as const;
type ListOrder = (typeof LIST_ORDERS)[number];

export interface KeyQuery {
  state: KeyState;
  order: ListOrder;
  accountId?: number | undefined;
  /** A part of the key's name, of its first characters, of its ID or of its account's name, in any case of the letters a to z. */
  find?: string | undefined;
  /** Keys behind this one, in that order. */
  after?: KeyPlace | undefined;
  /** The last key that is looked at. */
  last?: KeyPlace | undefined;
  /** Decides which keys have expired. */
  now: number;
  /** At most so many. */
  most: number;
}

export interface AccountQuery {
  order?: ListOrder;
  /** A part of the name, as of keys. */
  find?: string | undefined;
  /** Accounts behind the one of this number, in that order. */
  after?: number | undefined;
  most?: number | undefined;
}
