// The interface between the gateway and its database. It is asynchronous, so that a database server can implement it too.
// Times are milliseconds since the epoch (UTC). Every method rejects with StoreError if the database cannot be reached, is
// damaged, or stays locked for too long.
import type { Cancellation } from '../cancellation.ts';
import type { Permission } from '../canonical/request.ts';
import type { ConversationPart, ConversationQuery } from './conversation-parts.ts';
import type { AdminStore, AuditEntry } from './admin/admin-records.ts';
import type { Account, AccountQuery, Key, KeyPlace, KeyQuery, NewKey } from './admin/key-records.ts';
import type { SignInStore } from './admin/sign-ins.ts';
import type { BrakeStore } from './holds/brakes.ts';
import type { Grant, GrantStore, HoldStore, NoticeStore, Spending } from './holds/holds.ts';
import type { RefusalRow, StoredRefusal } from './holds/refusals.ts';
import type { TokenTotals, UsageRow } from './usage-columns.ts';
import type { WorkRow, WorkStore } from './holds/work.ts';

export type { Account, Key, KeyPlace, NewKey, Permission };

/** A key that replaces another. It has the account, labels, permissions, models and mark of the other, and its lifetime from `createdAt`. */
export type ReplacementKey = Pick<NewKey, 'id' | 'hash' | 'prefix' | 'createdAt'>;

export interface ReplacedKey {
  key: Key;
  /** The key that was replaced, with its new expiry. */
  replaced: Key;
}

/** Where a request stands in the list of all: by its end, and of those that ended at the same time by its row. */
export interface RequestPlace {
  at: number;
  rowId: number;
}

export interface StoredRequest extends UsageRow, RequestPlace {
  /** The account's name. null: the account was removed. */
  account: string | null;
}

export interface RequestWindow {
  /** Requests that ended at this time or later. */
  since?: number | undefined;
  /** Older requests than the one at this place. */
  before?: RequestPlace | undefined;
}

export interface RequestQuery extends RequestWindow {
  /** The request at this place, and newer ones. */
  downTo?: RequestPlace | undefined;
  accountId?: number | undefined;
  keyId?: string | undefined;
  /** The name that the client sent, the model that answered, or `provider/model`. */
  model?: string | undefined;
  provider?: string | undefined;
  endpoint?: string | undefined;
  label?: string | undefined;
  /** Of the client's answer, both included. */
  status?: { from: number; to: number } | undefined;
  /** An error kind. */
  error?: string | undefined;
  /** Only requests that were not fully answered. */
  errors?: boolean | undefined;
  /** The whole id: the index of conversations has its rows in their order. */
  conversation?: string | undefined;
  /** Only requests that read anew what a cache had. */
  missed?: boolean | undefined;
  /** At most so many. */
  limit: number;
}

/** A request's id or its beginning, and when the request ended. */
export interface RequestIdQuery {
  prefix: string;
  from: number;
  until: number;
  limit: number;
  /** Looks at about so many requests, the oldest first (undefined: at all). */
  most?: number;
}

export interface Totals extends TokenTotals {
  /** By account, hour and day: admissions, which survive a crash. By key, model and provider: usage rows. */
  requests: number;
  /** Not fully answered. */
  errors: number;
  /** Answered requests whose usage is unknown. The sums of tokens do not include them. */
  unknown: number;
  /** Requests whose usage is known but whose cost is not. */
  unpriced: number;
  costUsd: number | null;
  /** Answers that read anew what a cache had, and what that cost as far as prices are known. */
  cacheMisses: number;
  cacheMissCostUsd: number;
  /** Requests in each range of the time to the first byte (usage-sums.ts), whatever their end. */
  firstByte: readonly number[];
}

/** What an account used of its limit in one hour. */
export interface HourAdmissions {
  accountId: number;
  /** Its start. */
  hour: number;
  requests: number;
}

export const GROUPINGS = ['account', 'key', 'label', 'model', 'provider', 'hour', 'day'] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** The totals of one group. `group` names it: `{account}`, `{key}`, `{label}`, `{model, provider}`, `{provider}`, `{hour}` or `{day}` (the ISO
 *  time at which it begins, UTC). */
export interface GroupTotals {
  group: Record<string, string | null>;
  totals: Totals;
}

/** The groups of one account. */
export interface AccountTotals {
  accountId: number;
  groups: readonly GroupTotals[];
}

/** A target that requests avoid for now: `cooling` after a rate limit, `failing` while its circuit breaker is open. */
export interface TargetHealth {
  /** `provider/model`. */
  target: string;
  state: 'cooling' | 'failing';
  /** From this time on the target is tried again, and the entry is out of date. */
  until: number;
}

/** Content that an account can request again by its id until it expires. `data` is opaque to the store. */
export interface StoredItem {
  accountId: number;
  id: string;
  at: number;
  /** When it expires. */
  until: number;
  data: Uint8Array;
}

/** What `gateway export` writes: all that belongs to accounts but stored items and refusals. Usage comes last, accounts come first. */
export type StoredRecord =
  | ({ type: 'account' } & Account)
  /** The number of an account that was removed. `dataLeft`, 1: usage of it is still to be deleted. */
  | { type: 'removed_account'; id: number; dataLeft: number }
  /** `hash`: SHA-256 of the key, in hex. */
  | ({ type: 'key'; hash: string } & Omit<Key, 'account' | 'tier' | 'grantedUntil'>)
  /** `hash`: SHA-256 of the token, in hex. `kind`: `access` or `refresh`. */
  | {
      type: 'sign_in_token';
      hash: string;
      keyId: string;
      kind: string;
      createdAt: number;
      expiresAt: number | null;
      spentAt: number | null;
      replayedAt: number | null;
    }
  | ({ type: 'grant' } & Grant)
  /** What was spent in an hour (`kind` 0) or a day (1). */
  | ({ type: 'spending'; accountId: number; kind: number; start: number } & Spending)
  /** What brakes counted of a conversation, and what they stopped. */
  | {
      type: 'brake';
      id: string;
      accountId: number;
      spent: number | null;
      base: number;
      allowed: number | null;
      stopped: string | null;
      stoppedAt: number | null;
      run: string | null;
      runCalls: number | null;
      runForgiven: number | null;
      at: number;
    }
  /** Requests of a prompt. */
  | {
      type: 'brake_prompt';
      conversation: string;
      prompt: string;
      accountId: number;
      requests: number;
      at: number;
    }
  | ({ type: 'work'; accountId: number; at: number } & WorkRow)
  /** Admissions of an hour. */
  | { type: 'hour'; accountId: number; hour: number; requests: number }
  | ({ type: 'usage' } & UsageRow);

/** The maximum bytes of the items of one account, and of all accounts together. */
export interface ItemBounds {
  account: number;
  all: number;
}

/** Who asks to be admitted, as found by `findKey`, which may be older than the database. */
export type AdmissionKey = Pick<Key, 'id' | 'accountId' | 'tier'>;

/** `used`: requests admitted in the hour that begins at `hour`, with this one. `now`: the time that decided the hour. Only
 *  `admitted` counts. `key_ended`: the key is revoked, expired or removed. `tier_changed`: the account has another tier. */
export type AdmissionCount =
  | { outcome: 'admitted' | 'full'; used: number; hour: number; now: number; standings?: undefined }
  | { outcome: 'key_ended' }
  | { outcome: 'tier_changed'; tier: string };

/** Batches of one process, in the order in which it writes them, so that none is written twice. */
export interface Batch {
  /** Differs for each process and start. */
  writer: string;
  /** Ascending. */
  number: number;
}

/** Accounts and their keys. */
export interface KeyStore {
  /** Finds a key by its hash (hex), or the key of a sign-in by an access token, whose expiry it then has. Revoked and expired keys are
   *  found too. Without a promise if the key is known now; never throws. */
  findKey(hash: string): Key | undefined | Promise<Key | undefined>;
  /** Creates the account (with `tier`) if it is new, then the key. Resolves to the stored key. One transaction. */
  createKey(key: NewKey): Promise<Key>;
  /** Oldest first. */
  listKeys(account?: string): Promise<Key[]>;
  /** A page of the keys that the query names, in its order: by time and ID. */
  pageOfKeys(query: KeyQuery): Promise<Key[]>;
  /** The place of the last of `count` keys behind that of the query, whatever their state; it bounds what a search looks at. Resolves
   *  to undefined if there are fewer. */
  passKeys(
    query: Pick<KeyQuery, 'order' | 'accountId' | 'after'>,
    count: number,
  ): Promise<KeyPlace | undefined>;
  findKeyById(id: string): Promise<Key | undefined>;
  /** Sets `revokedAt` if it is null. Resolves to the key, or to undefined if no key has this ID. */
  revokeKey(id: string, at: number): Promise<Key | undefined>;
  /** Sets a later expiry. A revoked key stays revoked. */
  extendKey(id: string, expiresAt: number): Promise<void>;
  /** Creates a key in place of another, which expires at `until` at the latest. Resolves to undefined, and changes nothing, if no
   *  valid key has this ID, or it is a sign-in. One transaction. */
  replaceKey(id: string, by: ReplacementKey, until: number): Promise<ReplacedKey | undefined>;
  /** Deletes the keys of `gateway run` that ended before that time. */
  pruneKeys(before: number): Promise<void>;

  findAccount(name: string): Promise<Account | undefined>;
  /** In the order of their numbers, the oldest first unless the query says otherwise. `keys`: without the ended ones of
   *  `gateway run`. */
  listAccounts(query?: AccountQuery): Promise<(Account & { keys: number })[]>;
  /** As `keys` of `listAccounts`. */
  countKeys(accountId: number): Promise<number>;
  /** `from`: only if this is its tier now. Resolves to undefined if the account does not exist, or has another tier. */
  assignTier(account: string, tier: string, from?: string): Promise<Account | undefined>;
  /** Keys, limits and usage stay with the account. Resolves to undefined if no account has this name, and to `taken`, without a
   *  change, if another has the new name. */
  renameAccount(name: string, to: string): Promise<Account | 'taken' | undefined>;
  /** Deletes the account's keys first, then its items, the account, its counts and usage, in small steps. `prune` completes a
   *  removal that was interrupted after the account was deleted. The account's number is never used again. Resolves to undefined
   *  if no account has this name. */
  removeAccount(name: string): Promise<Account | undefined>;
}

/** Requests counted against the limit of an hour. */
export interface AdmissionStore {
  /** Counts one more request of the key's account in the current hour, if the count is below `limit`, which is the limit of
   *  `key.tier`. Exact for any number of servers on one database; the promise resolves after the commit. `now` is the caller's
   *  time: a database server uses its own, so that the clocks of its clients do not matter. */
  admit(key: AdmissionKey, limit: number, now: number): Promise<AdmissionCount>;
  /** Requests admitted in that hour. */
  used(accountId: number, hour: number): Promise<number>;
  /** Admissions of each hour, oldest first, of one account or of all. Hours without admissions are left out. The window begins at
   *  the start of the hour that contains `since`, as it does for totals, so that both cover the same time. */
  admissionsByHour(accountId: number | undefined, since: number): Promise<HourAdmissions[]>;
}

/** Requests that ended, one by one and summed up. */
export interface UsageStore {
  /** Adds the rows and sets `lastUsedAt` of their keys. One transaction for the batch, which changes nothing if its writer has
   *  written it or a later one. */
  recordUsage(rows: readonly UsageRow[], batch?: Batch): Promise<void>;
  /** A usage row counts in the hour when its request ended, an admission in the hour when it began. */
  totals(accountId: number | undefined, since: number): Promise<Totals>;
  /** The totals of each group, of one account or of all accounts, in one query. `until`: the window ends with the hour before it; a time
   *  within an hour takes in that hour. */
  totalsBy(
    grouping: Grouping,
    accountId: number | undefined,
    since: number,
    until?: number,
  ): Promise<AccountTotals[]>;
  /** Sums of the usage rows of a part of an hour, by account. `requests`: rows. */
  rowTotals(accountId: number | undefined, from: number, to: number): Promise<Map<number, Totals>>;
  /** Newest first. */
  listRequests(query: RequestQuery): Promise<StoredRequest[]>;
  /** The place of the last of `count` requests of the window, the newest first; it bounds what a filter looks at. Resolves to
   *  undefined if there are fewer. */
  passRequests(window: RequestWindow, count: number): Promise<RequestPlace | undefined>;
  /** The conversations that the query names, in no order. */
  conversationParts(query: ConversationQuery): Promise<ConversationPart[]>;
  /** Oldest first. */
  findRequests(query: RequestIdQuery): Promise<StoredRequest[]>;
  /** Deletes usage rows and hourly counts older than `keep` milliseconds, in small steps, so that no request waits. Age is
   *  measured from the newest recorded time if `now` is later, so that a wrong clock deletes nothing; the newest hour stays. */
  prune(now: number, keep: number): Promise<void>;
}

/** Requests that were refused before admission. */
export interface RefusalStore {
  /** Adds the rows, or sets `times` of those that are there. Nothing of an account that was removed. One transaction. */
  recordRefusals(rows: readonly RefusalRow[]): Promise<void>;
  /** Newest first, in the places of one list with `listRequests`. */
  listRefusals(query: RequestQuery): Promise<StoredRefusal[]>;
  /** Oldest first. */
  findRefusals(query: Omit<RequestIdQuery, 'most'>): Promise<StoredRefusal[]>;
}

/** Targets that servers on this database avoid. */
export interface HealthStore {
  /** Stores the targets that a server avoids, and removes those that have recovered. One transaction. */
  publishHealth(unhealthy: readonly TargetHealth[], recovered: readonly string[]): Promise<void>;
  /** Targets that some server on this database avoids at `now`. */
  listHealth(now: number): Promise<TargetHealth[]>;
}

/** Content that accounts can request again. */
export interface ItemStore {
  /** The key of stored items, which all gateways on the database share: 32 bytes. Throws StoreError. */
  itemKey(): Buffer;
  /** Writes items, except those of removed accounts, replaces those with the same id, then deletes the oldest until both bounds
   *  hold. One transaction. */
  storeItems(items: readonly StoredItem[], bounds: ItemBounds): Promise<void>;
  /** The account's items of these ids that have not expired at `now`, in the order of `ids`, up to the one with which their data
   *  has `mostBytes`. */
  findItems(
    accountId: number,
    ids: readonly string[],
    now: number,
    mostBytes?: number,
  ): Promise<StoredItem[]>;
  /** Sets a later expiry. */
  extendItems(accountId: number, ids: readonly string[], until: number): Promise<void>;
  /** Resolves to the number of deleted items. */
  deleteItems(accountId: number, ids: readonly string[]): Promise<number>;
  /** Deletes expired items, in small steps. */
  pruneItems(now: number): Promise<void>;
}

/** The database as a whole. */
export interface Store
  extends
    KeyStore,
    AdmissionStore,
    HoldStore,
    GrantStore,
    BrakeStore,
    NoticeStore,
    WorkStore,
    UsageStore,
    RefusalStore,
    HealthStore,
    ItemStore,
    AdminStore,
    SignInStore {
  /** The name of the database in messages: the file's path, or the URL without its password. */
  readonly location: string;
  /** When the database was made: differs from that of another database at the same location. */
  readonly createdAt: number;
  /** All records as of one moment, in batches, in the order of StoredRecord's types. */
  exportRecords(): AsyncIterable<readonly StoredRecord[]>;
  /** Writes all records in one transaction, then their sums. Resolves to false, without a change, if the database holds a record.
   *  `audit`: of the row that the same transaction writes, with status 200; called after the last batch. */
  importRecords(
    batches: AsyncIterable<readonly StoredRecord[]>,
    audit: () => Promise<AuditEntry>,
  ): Promise<boolean>;
  /** Copies the database, as of one moment, into a file that is empty. Rejects with the reason of the cancellation, and if the engine
   *  has its own program for it. */
  backup(file: string, cancellation: Cancellation): Promise<void>;
  /** Rejects if the database cannot be read now. Does not wait for a lock. */
  ping(): Promise<void>;
  /** Maintenance for a time without requests: in SQLite, a passive checkpoint. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

/** `busy`: another process locks it for too long. `unavailable`: missing, full or not readable. `damaged`: its content is
 *  corrupt. `foreign`: another program's schema, or a newer one. */
export type StoreFault = 'busy' | 'unavailable' | 'damaged' | 'foreign';

export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly kind: StoreFault;
  constructor(kind: StoreFault, message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}
