// What every request asks of the database: whose its key is, and whether the limit of its account's hour has room; and how keys are
// made and changed. Found keys are cached until another process may have written (docs/decisions/0006).
import { existing, IS_LEASE, KEY, KEY_OF_TOKEN, keyValues, toKey, type KeyRow } from '../rows.ts';
import type {
  Key,
  NewKey,
  ReplacedKey,
  ReplacementKey,
  AdmissionCount,
  AdmissionKey,
  KeyStore,
} from '../store.ts';
import { preparePages } from './admin/pages.ts';
import type { Connection } from './connection.ts';
import type { Db } from './driver.ts';
import { HOUR_MS } from '../../clock.ts';

/** Name, tier and time. */
export const ADD_ACCOUNT = `
  INSERT INTO accounts (id, name, tier, created_at)
  VALUES ((SELECT coalesce(max(id), 0) + 1 FROM (SELECT id FROM accounts UNION ALL SELECT id FROM removed_accounts)), ?, ?, ?)
  ON CONFLICT (name) DO NOTHING`;

/** `keyValues`. */
export const ADD_KEY = `
  INSERT INTO keys (id, hash, account_id, prefix, label, usage_label, permissions, models, created_at, expires_at, native, origin)
  VALUES (?, ?, (SELECT id FROM accounts WHERE name = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export function prepareKeys(db: Db) {
  const findById = db.prepare<[string], KeyRow>(`${KEY} WHERE keys.id = ?`);
  const addAccount = db.prepare(ADD_ACCOUNT);
  const addKey = db.prepare(ADD_KEY);
  const revoke = db.prepare('UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL');
  const extend = db.prepare('UPDATE keys SET expires_at = ? WHERE id = ?');
  const touch = db.prepare(
    'UPDATE keys SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)',
  );
  const create = db.transaction((key: NewKey): KeyRow => {
    addAccount.run(key.account, key.tier, key.createdAt);
    addKey.run(...keyValues(key, Number));
    return existing(findById.get(key.id));
  });
  const revokeFound = db.transaction((id: string, at: number): KeyRow | undefined => {
    revoke.run(at, id);
    return findById.get(id);
  });
  const listKeys = db.prepare<[], KeyRow>(`${KEY} ORDER BY keys.created_at, keys.rowid`);
  const listKeysOf = db.prepare<[string], KeyRow>(
    `${KEY} WHERE accounts.name = ? ORDER BY keys.created_at, keys.rowid`,
  );
  const prune = db.prepare<[before: number, most: number]>(
    `DELETE FROM keys WHERE id IN
       (SELECT id FROM keys WHERE ${IS_LEASE} AND coalesce(revoked_at, expires_at) < ? LIMIT ?)`,
  );
  const replace = prepareReplace(db, findById);
  const { find, forget } = prepareFind(db);
  const pages = preparePages(db);
  return {
    findKey: find,
    forgetKeys: forget,
    listKeys: (account?: string): Key[] =>
      (account === undefined ? listKeys.all() : listKeysOf.all(account)).map(toKey),
    findKeyById(id: string): Key | undefined {
      const row = findById.get(id);
      return row === undefined ? undefined : toKey(row);
    },
    pages,
    // `immediate` takes the write lock at the start: a transaction that reads first would fail instead of waiting.
    createKey: (key: NewKey): Key => toKey(create.immediate(key)),
    revokeKey(id: string, at: number): Key | undefined {
      forget();
      const row = revokeFound.immediate(id, at);
      return row === undefined ? undefined : toKey(row);
    },
    replaceKey(id: string, by: ReplacementKey, until: number): ReplacedKey | undefined {
      forget();
      return replace.immediate(id, by, until);
    },
    extendKey(id: string, expiresAt: number): void {
      forget();
      extend.run(expiresAt, id);
    },
    /** Returns whether there may be more. */
    pruneKeys(before: number, most: number): boolean {
      forget();
      return prune.run(before, most).changes === most;
    },
    touchKey: (id: string, at: number): void => {
      forget();
      touch.run(at, id, at);
    },
  };
}

type Keys = Pick<
  KeyStore,
  | 'findKey'
  | 'createKey'
  | 'listKeys'
  | 'pageOfKeys'
  | 'passKeys'
  | 'findKeyById'
  | 'revokeKey'
  | 'replaceKey'
  | 'extendKey'
>;

export function keysOf({
  run,
  runNow,
}: Pick<Connection<ReturnType<typeof prepareKeys>>, 'run' | 'runNow'>): Keys {
  return {
    findKey: (hash) => runNow((sql) => sql.findKey(hash)),
    createKey: (key) => run((sql) => sql.createKey(key)),
    listKeys: (account) => run((sql) => sql.listKeys(account)),
    pageOfKeys: (query) => run(({ pages }) => pages.keys(query)),
    passKeys: (query, count) => run(({ pages }) => pages.passed(query, count)),
    findKeyById: (id) => run((sql) => sql.findKeyById(id)),
    revokeKey: (id, at) => run((sql) => sql.revokeKey(id, at)),
    replaceKey: (id, by, until) => run((sql) => sql.replaceKey(id, by, until)),
    extendKey: (id, expiresAt) => run((sql) => sql.extendKey(id, expiresAt)),
  };
}

function prepareReplace(db: Db, findById: { get(id: string): KeyRow | undefined }) {
  const copy = db.prepare<[string, Buffer, string, number, number, string]>(
    `INSERT INTO keys (id, hash, account_id, prefix, label, usage_label, permissions, models, created_at, expires_at, native)
     SELECT ?, ?, account_id, ?, label, usage_label, permissions, models, ?, expires_at - created_at + ?, native FROM keys WHERE id = ?`,
  );
  const endBy = db.prepare(
    'UPDATE keys SET expires_at = ? WHERE id = ? AND (expires_at IS NULL OR expires_at > ?)',
  );
  return db.transaction((id: string, by: ReplacementKey, until: number): ReplacedKey | undefined => {
    const old = findById.get(id);
    if (old === undefined || old.revoked_at !== null || old.origin !== null) return undefined;
    if (old.expires_at !== null && old.expires_at <= by.createdAt) return undefined;
    copy.run(by.id, Buffer.from(by.hash, 'hex'), by.prefix, by.createdAt, by.createdAt, id);
    endBy.run(until, id, until);
    return { key: toKey(existing(findById.get(by.id))), replaced: toKey(existing(findById.get(id))) };
  });
}

/** The cache is emptied when it holds this many keys. */
const MAX_CACHED = 10_000;

/**
 * Caches keys by hash. `PRAGMA data_version` changes when another connection commits
 * (https://www.sqlite.org/pragma.html#pragma_data_version); it is read once in a turn of the event loop, and a change empties
 * the cache. This connection's own writes to keys and accounts must call `forget`.
 */
function prepareFind(db: Db) {
  const read = db.prepare<[Buffer], KeyRow>(`${KEY} WHERE keys.hash = ?`);
  const byToken = () => db.prepare<[Buffer], KeyRow>(`${KEY_OF_TOKEN} WHERE sign_in_tokens.hash = ?`);
  let readToken: ReturnType<typeof byToken> | undefined;
  const dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck();
  const cached = new Map<string, Key>();
  let version: number | undefined;
  let checked = false;

  function checkVersion(): void {
    const current = dataVersion.get();
    if (current !== version || cached.size >= MAX_CACHED) cached.clear();
    version = current;
    checked = true;
    setImmediate(() => (checked = false));
  }

  return {
    find: (hash: string): Key | undefined => {
      if (!checked) checkVersion();
      let key = cached.get(hash);
      if (key !== undefined) return key;
      const bytes = Buffer.from(hash, 'hex');
      const row = read.get(bytes) ?? (readToken ??= byToken()).get(bytes);
      if (row === undefined) return undefined;
      cached.set(hash, (key = toKey(row)));
      return key;
    },
    forget: () => cached.clear(),
  };
}

interface PendingAdmission {
  accountId: number;
  limit: number;
  now: number;
  resolve: (count: AdmissionCount) => void;
  reject: (error: unknown) => void;
}

type AdmissionStatements = ReturnType<typeof prepareAdmissions>;

export function prepareAdmissions(db: Db) {
  const used = db
    .prepare<[accountId: number, hour: number], number>(
      'SELECT requests FROM hours WHERE account_id = ? AND hour = ?',
    )
    .pluck();
  // Two statements are faster than one with RETURNING, which makes SQLite open a temporary table for the row.
  const set = db.prepare<[accountId: number, hour: number, requests: number]>(
    `INSERT INTO hours (account_id, hour, requests) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET requests = excluded.requests`,
  );

  /** Requests of the same account and hour share one read and one write. */
  const countAll = db.transaction((pending: readonly PendingAdmission[]): AdmissionCount[] => {
    const tallies = new Map<string, Tally>();
    const tallyOf = (accountId: number, hour: number): Tally => {
      const name = `${accountId} ${hour}`;
      const known = tallies.get(name);
      if (known !== undefined) return known;
      const before = used.get(accountId, hour) ?? 0;
      const tally = { accountId, hour, before, now: before };
      tallies.set(name, tally);
      return tally;
    };
    const counts = pending.map(({ accountId, limit, now }): AdmissionCount => {
      const hour = now - (now % HOUR_MS);
      const tally = tallyOf(accountId, hour);
      if (tally.now >= limit) return { outcome: 'full', used: tally.now, hour, now };
      return { outcome: 'admitted', used: ++tally.now, hour, now };
    });
    for (const { accountId, hour, before, now } of tallies.values()) {
      if (now > before) set.run(accountId, hour, now);
    }
    return counts;
  });

  return {
    used,
    // `immediate` takes the write lock at the start: a transaction that reads first would fail instead of waiting.
    countAdmissions: (pending: readonly PendingAdmission[]) => countAll.immediate(pending),
  };
}

interface Tally {
  accountId: number;
  hour: number;
  before: number;
  now: number;
}

/**
 * Counts requests against their account's limit of the hour. Requests of one tick of the event loop are counted in one transaction,
 * because the commit costs most (docs/decisions/0005). No promise resolves before the commit.
 */
interface Admissions {
  admit: (key: AdmissionKey, limit: number, now: number) => Promise<AdmissionCount>;
  /** Counts the pending requests now. */
  flush(): Promise<void>;
}

export function createAdmissions(connection: Pick<Connection<AdmissionStatements>, 'runNow'>): Admissions {
  let pending: PendingAdmission[] = [];

  async function flush(): Promise<void> {
    const batch = pending;
    if (batch.length === 0) return;
    pending = [];
    try {
      const counting = connection.runNow((sql) => sql.countAdmissions(batch));
      const counts = counting instanceof Promise ? await counting : counting;
      for (const [index, count] of counts.entries()) batch[index]?.resolve(count);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  return {
    // The key is as found in this turn of the event loop (docs/decisions/0006), so it is not read again.
    admit: ({ accountId }, limit, now) =>
      new Promise((resolve, reject) => {
        const length = pending.push({ accountId, limit, now, resolve, reject });
        if (length === 1) process.nextTick(() => void flush());
      }),
    flush,
  };
}
