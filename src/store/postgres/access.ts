// What every request asks of the database: whose its key is, and whether the limit of its account's hour has room; and how keys are
// made and changed. Found keys are cached until a change is announced, for a second where changes are not announced; an admission
// finds out about a change in any case.
import { type Clock, HOUR_MS } from '../../clock.ts';
import { existing, IS_LEASE, KEY, KEY_OF_TOKEN, keyValues, toKey, type KeyRow } from '../rows.ts';
import {
  type Key,
  type NewKey,
  type ReplacedKey,
  type ReplacementKey,
  StoreError,
  type AdmissionCount,
  type AdmissionKey,
} from '../store.ts';
import type { Changes } from './changes.ts';
import type { Connection, Session } from './connection.ts';
import type { TextRow } from './held-client.ts';

const BY_HASH = { name: 'find-key', urgent: true, text: `${KEY} WHERE keys.hash = $1` };
const OF_TOKEN = `${KEY_OF_TOKEN} WHERE sign_in_tokens.hash = $1`;
const BY_TOKEN = { name: 'find-key-of-token', urgent: true, text: OF_TOKEN };
const BY_ID = { text: `${KEY} WHERE keys.id = $1` };
const ALL = { text: `${KEY} ORDER BY keys.created_at, keys.number` };
const OF_ACCOUNT = { text: `${KEY} WHERE accounts.name = $1 ORDER BY keys.created_at, keys.number` };
/** Name, tier and time. */
export const ADD_ACCOUNT = {
  text: `INSERT INTO accounts (name, tier, created_at) SELECT $1, $2, $3
    WHERE NOT EXISTS (SELECT 1 FROM accounts WHERE name = $1) ON CONFLICT (name) DO NOTHING`,
};
/** `keyValues`. */
export const ADD_KEY = {
  text: `INSERT INTO keys (id, hash, account_id, prefix, label, usage_label, permissions, models, created_at, expires_at, native, origin)
    VALUES ($1, $2, (SELECT id FROM accounts WHERE name = $3), $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
};
const REVOKE = { text: 'UPDATE keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL' };
const EXTEND = { text: 'UPDATE keys SET expires_at = $2 WHERE id = $1' };
const PRUNE = { text: `DELETE FROM keys WHERE ${IS_LEASE} AND coalesce(revoked_at, expires_at) < $1` };
const LOCK = { text: 'SELECT 1 FROM keys WHERE id = $1 FOR UPDATE' };
const COPY = {
  text: `INSERT INTO keys (id, hash, account_id, prefix, label, usage_label, permissions, models, created_at, expires_at, native)
    SELECT $1, $2, account_id, $3, label, usage_label, permissions, models, $4::bigint, expires_at - created_at + $4::bigint, native
    FROM keys WHERE id = $5`,
};
const END_BY = {
  text: 'UPDATE keys SET expires_at = $2 WHERE id = $1 AND (expires_at IS NULL OR expires_at > $2)',
};

/** The cache is emptied when it holds this many keys. */
const MAX_CACHED = 10_000;

export function createKeys(connection: Connection, changes: Changes, clock: Clock) {
  const cached = new Map<string, { key: Key; at: number }>();
  changes.onChange(() => cached.clear());

  async function byId(session: Session, id: string): Promise<Key | undefined> {
    const [row] = (await session.run<KeyRow>(BY_ID, id)).rows;
    return row === undefined ? undefined : toKey(row);
  }

  return {
    async findKey(hash: string): Promise<Key | undefined> {
      const found = cached.get(hash);
      const now = clock.monotonic();
      if (found !== undefined && now - found.at < changes.validMs) return found.key;
      const version = changes.version;
      const bytes = Buffer.from(hash, 'hex');
      let [row] = await connection.read<KeyRow>(BY_HASH, bytes);
      row ??= (await connection.read<KeyRow>(BY_TOKEN, bytes))[0];
      cached.delete(hash);
      if (row === undefined) return undefined;
      const key = toKey(row);
      if (cached.size >= MAX_CACHED) cached.clear();
      // A change that came while the key was read may be newer than what was read.
      if (version === changes.version) cached.set(hash, { key, at: now });
      return key;
    },
    createKey: (key: NewKey): Promise<Key> =>
      connection.transaction(async (session) => {
        await session.run(ADD_ACCOUNT, key.account, key.tier, key.createdAt);
        await session.run(ADD_KEY, ...keyValues(key, Boolean));
        return existing(await byId(session, key.id));
      }),
    listKeys: async (account?: string): Promise<Key[]> =>
      (account === undefined
        ? await connection.read<KeyRow>(ALL)
        : await connection.read<KeyRow>(OF_ACCOUNT, account)
      ).map(toKey),
    findKeyById: (id: string): Promise<Key | undefined> => byId(connection, id),
    async revokeKey(id: string, at: number): Promise<Key | undefined> {
      await connection.run(REVOKE, id, at);
      changes.changed();
      return byId(connection, id);
    },
    async replaceKey(id: string, by: ReplacementKey, until: number): Promise<ReplacedKey | undefined> {
      const replaced = await connection.transaction(async (session) => {
        await session.run(LOCK, id);
        const old = await byId(session, id);
        if (old === undefined || old.revokedAt !== null || old.origin !== null) return undefined;
        if (old.expiresAt !== null && old.expiresAt <= by.createdAt) return undefined;
        await session.run(COPY, by.id, Buffer.from(by.hash, 'hex'), by.prefix, by.createdAt, id);
        await session.run(END_BY, id, until);
        return { key: existing(await byId(session, by.id)), replaced: existing(await byId(session, id)) };
      });
      changes.changed();
      return replaced;
    },
    async pruneKeys(before: number): Promise<void> {
      if ((await connection.run(PRUNE, before)).changes > 0) changes.changed();
    },
    async extendKey(id: string, expiresAt: number): Promise<void> {
      await connection.run(EXTEND, id, expiresAt);
      changes.changed();
    },
  };
}

/** Beyond this number, requests are refused at once: the database is too slow for them. */
const MAX_WAITING = 10_000;
/** A request that waited so long for its turn is refused. */
const MAX_WAIT_MS = 2000;
const MAX_ACCOUNTS = 1000;
/** The number that means: no limit. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;

interface Pending {
  key: AdmissionKey;
  limit: number;
  at: number;
  resolve: (count: AdmissionCount) => void;
  reject: (error: unknown) => void;
}

/** An account whose limit was reached when this process counted last. */
interface Full {
  tier: string;
  limit: number;
  used: number;
  hour: number;
  /** The server's time minus the time of the monotonic clock. */
  ahead: number;
  readAt: number;
}

/** A row of the statement's answer. */
interface Counted {
  key: string | null;
  tier: string | null;
  valid: boolean;
  before: number | null;
  after: number | null;
  now: number;
}

/**
 * Parameters for each key: how many requests are wanted, and the limit of its account's tier as this process knows it. Accounts are counted
 * in the order of their numbers, so that no two machines wait for each other. `greatest`: a limit that is lowered takes no count
 * back. The commit is waited for even where the server is set not to.
 */
const ADMIT = {
  name: 'admit',
  text: `
    WITH time AS MATERIALIZED (
      SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now,
        CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END
    ),
    asked AS MATERIALIZED (
      SELECT a.key, a.wanted, a.most, keys.account_id, accounts.tier, accounts.tier = a.tier AS same_tier,
        revoked_at IS NULL AND (expires_at IS NULL OR expires_at > time.now) AS valid
      FROM time, unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS a (key, tier, most, wanted)
        JOIN keys ON keys.id = a.key JOIN accounts ON accounts.id = keys.account_id
    ),
    counted AS (
      INSERT INTO hours AS c (account_id, hour, prev, requests, wanted, most)
      SELECT account_id, now - now % ${HOUR_MS}, 0, least(sum(wanted), min(most)), sum(wanted), min(most)
      FROM asked, time WHERE valid AND same_tier GROUP BY account_id, now ORDER BY account_id
      ON CONFLICT (account_id, hour) DO UPDATE SET prev = c.requests, wanted = excluded.wanted, most = excluded.most,
        requests = greatest(c.requests, least(c.requests + excluded.wanted, excluded.most))
      RETURNING account_id, prev, requests
    )
    SELECT asked.key, asked.tier, asked.valid, counted.prev AS before, counted.requests AS after, time.now
    FROM time LEFT JOIN asked ON true LEFT JOIN counted ON counted.account_id = asked.account_id AND valid AND same_tier`,
};

/**
 * Counts requests against their account's limit of the hour. One statement is in flight; requests that arrive meanwhile gather by
 * account and go with the next one (docs/decisions/0018). No promise resolves before the server has committed.
 */
interface Admissions {
  admit(key: AdmissionKey, limit: number): Promise<AdmissionCount>;
}

export function createAdmissions(connection: Connection, changes: Changes, clock: Clock): Admissions {
  return new BatchedAdmissions(connection, changes, clock);
}

class BatchedAdmissions implements Admissions {
  readonly #connection: Connection;
  readonly #changes: Changes;
  readonly #clock: Clock;
  /** By account, in order of arrival. */
  readonly #waiting = new Map<number, Pending[]>();
  readonly #full = new Map<number, Full>();
  readonly #statement: ReturnType<Connection['hold']>;
  #count = 0;
  #busy = false;

  constructor(connection: Connection, changes: Changes, clock: Clock) {
    this.#connection = connection;
    this.#changes = changes;
    this.#clock = clock;
    this.#statement = connection.hold(ADMIT);
    changes.onChange(() => this.#full.clear());
  }

  admit(key: AdmissionKey, limit: number): Promise<AdmissionCount> {
    const known = this.#knownFull(key, limit);
    if (known !== undefined) return Promise.resolve(known);
    if (this.#connection.closed) return Promise.reject(this.#closed());
    if (this.#count >= MAX_WAITING) return Promise.reject(this.#tooSlow());
    return new Promise((resolve, reject) => {
      const pending = { key, limit, at: this.#clock.monotonic(), resolve, reject };
      const queue = this.#waiting.get(key.accountId);
      if (queue === undefined) this.#waiting.set(key.accountId, [pending]);
      else queue.push(pending);
      this.#count += 1;
      // Requests of one turn of the event loop go together.
      if (!this.#busy) {
        this.#busy = true;
        setImmediate(() => void this.#work());
      }
    });
  }

  /** The next batch: of each account the first requests with one tier and limit. */
  #take(): Pending[][] {
    const batch: Pending[][] = [];
    for (const [account, queue] of [...this.#waiting]) {
      const [first] = queue;
      if (first === undefined || batch.length === MAX_ACCOUNTS) break;
      const other = queue.findIndex(({ key, limit }) => key.tier !== first.key.tier || limit !== first.limit);
      const taken = other === -1 ? queue : queue.splice(0, other);
      // An account that has more goes to the end.
      this.#waiting.delete(account);
      if (other !== -1) this.#waiting.set(account, queue);
      this.#count -= taken.length;
      batch.push(taken);
    }
    return batch;
  }

  async #work(): Promise<void> {
    this.#busy = true;
    while (this.#count > 0) {
      const batch = this.#take()
        .map((group) => this.#dropOld(group))
        .filter((group) => group.length > 0);
      if (batch.length > 0) await this.#send(batch);
      if (this.#count > 0) await turnOfEventLoop();
    }
    this.#busy = false;
  }

  #dropOld(group: Pending[]): Pending[] {
    const oldest = this.#clock.monotonic() - MAX_WAIT_MS;
    return group.filter(({ at, reject }) => {
      if (at >= oldest) return true;
      reject(this.#tooSlow());
      return false;
    });
  }

  async #send(batch: readonly Pending[][]): Promise<void> {
    const keys = countByKey(batch);
    const { version } = this.#changes;
    try {
      const answer = await this.#statement.run([
        arrayLiteral(keys.map(({ first }) => first.key.id)),
        arrayLiteral(keys.map(({ first }) => first.key.tier)),
        arrayLiteral(keys.map(({ first }) => Math.min(first.limit, NO_LIMIT))),
        arrayLiteral(keys.map(({ wanted }) => wanted)),
      ]);
      const rows = answer.map(toCounted);
      const byKey = new Map(rows.map((row) => [row.key, row]));
      const now = rows[0]?.now ?? 0;
      for (const group of batch) this.#grant(group, byKey, { now, isNew: version === this.#changes.version });
    } catch (error) {
      for (const { reject } of batch.flat()) reject(error);
    }
  }

  #grant(
    group: readonly Pending[],
    rows: ReadonlyMap<string | null, Counted>,
    { now, isNew }: { now: number; isNew: boolean },
  ): void {
    let used: number | undefined;
    const hour = now - (now % HOUR_MS);
    for (const { key, limit, resolve } of group) {
      const row = rows.get(key.id);
      if (row === undefined || !row.valid || row.tier === null) resolve({ outcome: 'key_ended' });
      else if (row.before === null || row.after === null)
        resolve({ outcome: 'tier_changed', tier: row.tier });
      else {
        used ??= row.before;
        if (used < row.after) resolve({ outcome: 'admitted', used: ++used, hour, now });
        else {
          resolve({ outcome: 'full', used: row.after, hour, now });
          const readAt = this.#clock.monotonic();
          const entry = { tier: key.tier, limit, used: row.after, hour, ahead: now - readAt, readAt };
          if (isNew) this.#full.set(key.accountId, entry);
        }
      }
    }
  }

  /** The answer without a statement, if this process knows it. */
  #knownFull({ accountId, tier }: AdmissionKey, limit: number): AdmissionCount | undefined {
    const found = this.#full.get(accountId);
    if (found === undefined) return undefined;
    const at = this.#clock.monotonic();
    const now = Math.floor(at + found.ahead);
    const isValid = now < found.hour + HOUR_MS && at - found.readAt < this.#changes.validMs;
    if (isValid && found.tier === tier && found.limit === limit) {
      return { outcome: 'full', used: found.used, hour: found.hour, now };
    }
    this.#full.delete(accountId);
    return undefined;
  }

  #tooSlow(): StoreError {
    const { location } = this.#connection.server;
    return new StoreError(
      'busy',
      `the database ${location} is too slow: requests waited ${MAX_WAIT_MS} ms for it`,
    );
  }

  #closed(): StoreError {
    return new StoreError('unavailable', `the database ${this.#connection.server.location} was closed`);
  }
}

/** Resolves after the sockets are read: other requests may have arrived with the reply. */
function turnOfEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** One entry for each key of a batch; the keys of an account have the same tier and limit. */
function countByKey(batch: readonly Pending[][]): { first: Pending; wanted: number }[] {
  const byKey = new Map<string, { first: Pending; wanted: number }>();
  for (const pending of batch.flat()) {
    const entry = byKey.get(pending.key.id);
    if (entry === undefined) byKey.set(pending.key.id, { first: pending, wanted: 1 });
    else entry.wanted += 1;
  }
  return [...byKey.values()];
}

/** https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO */
function arrayLiteral(items: readonly (string | number)[]): string {
  const written = items.map((item) =>
    typeof item === 'number' ? item : `"${item.replace(/[\\"]/g, '\\$&')}"`,
  );
  return `{${written.join(',')}}`;
}

const numberOf = (text: string | null | undefined): number | null => (text == null ? null : Number(text));

function toCounted([key = null, tier = null, valid, before, after, now]: TextRow): Counted {
  return {
    key,
    tier,
    valid: valid === 't',
    before: numberOf(before),
    after: numberOf(after),
    now: Number(now),
  };
}
