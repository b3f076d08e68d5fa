// The database as the gateway sees it. Asynchronous, so that an engine on the network fits; times are milliseconds since
// the epoch (UTC). Every method rejects with StoreError where the database cannot be reached, is damaged or is busy too long.
import type { ProtocolName } from '../canonical/request.ts';

export type Permission = ProtocolName;

export interface Account {
  id: number;
  name: string;
  tier: string;
  createdAt: number;
}

/** A key without its plaintext: only its SHA-256 and the visible beginning are kept. */
export interface Key {
  /** What the CLI shows and takes: `key_` and base62. */
  id: string;
  accountId: number;
  account: string;
  /** The account's tier at the time of reading. */
  tier: string;
  /** The first characters, to recognise it by. */
  prefix: string;
  label: string | null;
  permissions: Permission[];
  /** null: every model. */
  models: string[] | null;
  createdAt: number;
  lastUsedAt: number | null;
  expiresAt: number | null;
  revokedAt: number | null;
}

export interface NewKey {
  id: string;
  /** SHA-256 of the key, in hex. */
  hash: string;
  prefix: string;
  account: string;
  /** For an account that does not exist yet. */
  tier: string;
  label: string | null;
  permissions: Permission[];
  models: string[] | null;
  createdAt: number;
  expiresAt: number | null;
}

/** How an admitted request ended. `error` null: it was fully answered. */
export interface UsageRow {
  at: number;
  accountId: number;
  keyId: string;
  endpoint: ProtocolName;
  modelAsked: string;
  /** null: no target was reached. */
  provider: string | null;
  /** The client's name for the model that answered. */
  model: string | null;
  status: number;
  streamed: boolean;
  /** Tokens; null: unknown, never 0 for it. */
  input: number | null;
  cacheRead: number | null;
  cacheWrite: number | null;
  output: number | null;
  reasoning: number | null;
  costUsd: number | null;
  /** Milliseconds. */
  firstByteMs: number | null;
  durationMs: number;
  /** An error kind, `client_closed`, `truncated`, …; null where fully answered. */
  error: string | null;
}

export interface Totals {
  /** Admissions, where the grouping is by account and hour alone: a crash loses none of them. By key and by model: usage rows. */
  requests: number;
  /** Not fully answered. */
  errors: number;
  /** Answered requests whose usage is unknown: left out of the sums. */
  unknown: number;
  /** Requests whose usage is known and whose cost is not. */
  unpriced: number;
  inputTokens: number;
  outputTokens: number;
  costUsd: number | null;
}

export type Grouping = 'account' | 'key' | 'model' | 'hour';

/** Of one account. `group` holds the names of the grouping: `{account}`, `{key}`, `{model, provider}` or `{hour}` (ISO time). */
export interface GroupedTotals {
  accountId: number;
  group: Record<string, string | null>;
  totals: Totals;
}

/** A target that is out of turn: `cooling` after a rate limit, `failing` while its breaker is open. */
export interface TargetHealth {
  /** `provider/model`. */
  target: string;
  state: 'cooling' | 'failing';
  /** When it is due again, or this is too old to be believed. */
  until: number;
}

/** What an account may ask for again for a while, under an id of its own. `data` is opaque to the store. */
export interface StoredItem {
  accountId: number;
  id: string;
  at: number;
  /** When it expires. */
  until: number;
  data: Uint8Array;
}

/** Bytes of items, of one account and of all together. */
export interface ItemBounds {
  account: number;
  all: number;
}

export interface Store {
  /** What the user is told it is: the file's path, or the URL without its secret. */
  readonly location: string;

  /** Counts one more request of the account in the hour that begins at `hour`, if it is below `limit`: exact over any number
   *  of servers on one database, and committed when it is told. Gives the count with this one, or undefined where the limit
   *  is reached (nothing changed then). */
  admit(accountId: number, hour: number, limit: number): Promise<number | undefined>;
  /** Requests admitted in that hour. */
  used(accountId: number, hour: number): Promise<number>;

  /** Looks a key up by its hash (hex), revoked and expired ones too. */
  findKey(hash: string): Promise<Key | undefined>;
  /** Creates the account (with `tier`) if it is new, then the key; gives the key as stored. One transaction. */
  createKey(key: NewKey): Promise<Key>;
  /** Oldest first. */
  listKeys(account?: string): Promise<Key[]>;
  /** Sets `revokedAt` if it is not set; gives the key, or undefined where there is none of that id. */
  revokeKey(id: string, at: number): Promise<Key | undefined>;

  findAccount(name: string): Promise<Account | undefined>;
  listAccounts(): Promise<(Account & { keys: number })[]>;
  /** undefined: no such account. */
  assignTier(account: string, tier: string): Promise<Account | undefined>;

  /** Remembers the rows, and when their keys were last used. One transaction for the batch. */
  recordUsage(rows: readonly UsageRow[]): Promise<void>;
  /** Admissions of each hour, oldest first, hours without any left out; of one account or of all. Here and in the totals
   *  the window begins with the whole hour that holds `since`, so that both are of the same time. */
  admissionsByHour(
    accountId: number | undefined,
    since: number,
  ): Promise<{ accountId: number; hour: number; requests: number }[]>;
  /** A usage row counts for the hour in which its request ended, an admission for the one in which it began. */
  totals(accountId: number | undefined, since: number): Promise<Totals>;
  /** Of one account or of all, each for itself: one look, however many there are. */
  totalsBy(grouping: Grouping, accountId: number | undefined, since: number): Promise<GroupedTotals[]>;
  /** What a server has learnt: targets out of turn, and those that are well again. One transaction. */
  publishHealth(outOfTurn: readonly TargetHealth[], well: readonly string[]): Promise<void>;
  /** Those still out of turn at `now`, over all servers on this database. */
  listHealth(now: number): Promise<TargetHealth[]>;
  /** Deletes usage rows and hourly counts older than `keep` milliseconds, in small steps, so that nobody waits. A clock
   *  that is ahead of the newest of them is not believed, and the newest hour stays. */
  prune(now: number, keep: number): Promise<void>;
  /** Writes items, in place of those with the same id, then deletes the oldest above a bound. One transaction. */
  storeItems(items: readonly StoredItem[], bounds: ItemBounds): Promise<void>;
  /** The account's items of these ids that have not expired at `now`, in the order of `ids`. */
  findItems(accountId: number, ids: readonly string[], now: number): Promise<StoredItem[]>;
  /** Sets a later expiry. */
  extendItems(accountId: number, ids: readonly string[], until: number): Promise<void>;
  /** Gives the number of items that were deleted. */
  deleteItems(accountId: number, ids: readonly string[]): Promise<number>;
  /** Deletes expired items, in small steps. */
  pruneItems(now: number): Promise<void>;
  /** Rejects where the database cannot be read now; does not wait for a lock. */
  ping(): Promise<void>;
  /** Housekeeping while nobody waits: SQLite's passive checkpoint. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

/** What commands that only read need of it. */
export type StoreReader = Pick<
  Store,
  'findAccount' | 'listAccounts' | 'listKeys' | 'admissionsByHour' | 'totalsBy'
>;

/** A database that is not there yet. */
export const NO_STORE: StoreReader = {
  findAccount: () => Promise.resolve(undefined),
  listAccounts: () => Promise.resolve([]),
  listKeys: () => Promise.resolve([]),
  admissionsByHour: () => Promise.resolve([]),
  totalsBy: () => Promise.resolve([]),
};

/** `busy`: locked by another process for too long; `unavailable`: gone, full, not readable; `damaged`: its content is broken;
 *  `foreign`: not our schema, or a newer one. */
export type StoreFault = 'busy' | 'unavailable' | 'damaged' | 'foreign';

export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly kind: StoreFault;
  constructor(kind: StoreFault, message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}
