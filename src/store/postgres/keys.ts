// Keys of accounts. Every request looks up its key by hash. Found keys are cached until a change is announced, for a second where
// changes are not announced; an admission finds out about a change in any case.
import type { Clock } from '../../clock.ts';
import { existing, KEY, keyValues, toKey, type KeyRow } from '../rows.ts';
import type { Key, NewKey, ReplacedKey, ReplacementKey } from '../store.ts';
import type { Changes } from './changes.ts';
import type { Connection, Session } from './connection.ts';

const BY_HASH = { name: 'find-key', urgent: true, text: `${KEY} WHERE hash = $1` };
const BY_ID = { text: `${KEY} WHERE keys.id = $1` };
const ALL = { text: `${KEY} ORDER BY keys.created_at, keys.number` };
const OF_ACCOUNT = { text: `${KEY} WHERE accounts.name = $1 ORDER BY keys.created_at, keys.number` };
const ADD_ACCOUNT = {
  text: `INSERT INTO accounts (name, tier, created_at) SELECT $1, $2, $3
    WHERE NOT EXISTS (SELECT 1 FROM accounts WHERE name = $1) ON CONFLICT (name) DO NOTHING`,
};
const ADD_KEY = {
  text: `INSERT INTO keys (id, hash, account_id, prefix, label, permissions, models, created_at, expires_at)
    VALUES ($1, $2, (SELECT id FROM accounts WHERE name = $3), $4, $5, $6, $7, $8, $9)`,
};
const REVOKE = { text: 'UPDATE keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL' };
const EXTEND = { text: 'UPDATE keys SET expires_at = $2 WHERE id = $1' };
const LOCK = { text: 'SELECT 1 FROM keys WHERE id = $1 FOR UPDATE' };
const COPY = {
  text: `INSERT INTO keys (id, hash, account_id, prefix, label, permissions, models, created_at, expires_at)
    SELECT $1, $2, account_id, $3, label, permissions, models, $4::bigint, expires_at - created_at + $4::bigint
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
      const [row] = await connection.read<KeyRow>(BY_HASH, Buffer.from(hash, 'hex'));
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
        await session.run(ADD_KEY, ...keyValues(key));
        return existing(await byId(session, key.id));
      }),
    listKeys: async (account?: string): Promise<Key[]> =>
      (account === undefined
        ? await connection.read<KeyRow>(ALL)
        : await connection.read<KeyRow>(OF_ACCOUNT, account)
      ).map(toKey),
    async revokeKey(id: string, at: number): Promise<Key | undefined> {
      await connection.run(REVOKE, id, at);
      changes.changed();
      return byId(connection, id);
    },
    async replaceKey(id: string, by: ReplacementKey, until: number): Promise<ReplacedKey | undefined> {
      const replaced = await connection.transaction(async (session) => {
        await session.run(LOCK, id);
        const old = await byId(session, id);
        if (old === undefined || old.revokedAt !== null) return undefined;
        if (old.expiresAt !== null && old.expiresAt <= by.createdAt) return undefined;
        await session.run(COPY, by.id, Buffer.from(by.hash, 'hex'), by.prefix, by.createdAt, id);
        await session.run(END_BY, id, until);
        return { key: existing(await byId(session, by.id)), replaced: existing(await byId(session, id)) };
      });
      changes.changed();
      return replaced;
    },
    async extendKey(id: string, expiresAt: number): Promise<void> {
      await connection.run(EXTEND, id, expiresAt);
      changes.changed();
    },
  };
}
