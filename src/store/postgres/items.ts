// Items that an account can request again: written in batches and bounded in bytes, with the oldest deleted first. Batches of
// several machines are written one after the other, so that their bounds are exact.
import type { ItemBounds, StoredItem } from '../store.ts';
import type { Connection, Session } from './connection.ts';
import { LOCKS } from './migrations.ts';

const DELETE_STEP = 200;
/** Large rows take longer to delete. */
const DELETE_BYTES = 2 * 1024 * 1024;
/** Bytes of a row besides its data: ids, times, and the overhead of the row and its index entries. */
const ROW_BYTES = 200;

interface ItemRow {
  account_id: number;
  id: string;
  at: number;
  until: number;
  data: Buffer;
}

const LOCK = {
  text: `SELECT pg_advisory_xact_lock(${LOCKS.items}), set_config('synchronous_commit', 'off', true)`,
};
const WRITE = {
  text: `
    INSERT INTO items (account_id, id, at, until, bytes, data)
    SELECT n.account_id, n.id, at, until, length(data) + ${ROW_BYTES}, data
    FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bytea[]) AS n (account_id, id, at, until, data)
      JOIN accounts ON accounts.id = n.account_id
    ON CONFLICT (account_id, id) DO UPDATE
      SET at = excluded.at, until = excluded.until, bytes = excluded.bytes, data = excluded.data`,
};
const BYTES_OF = { text: 'SELECT coalesce(sum(bytes), 0)::bigint AS bytes FROM items WHERE account_id = $1' };
const BYTES_OF_ALL = { text: 'SELECT coalesce(sum(bytes), 0)::bigint AS bytes FROM items' };
const oldest = (filter: string): string => `
  DELETE FROM items USING (
    SELECT account_id, id FROM (
      SELECT account_id, id, sum(bytes) OVER (ORDER BY at, id, account_id) - bytes AS before FROM items ${filter}
    ) AS aged WHERE before < $1
  ) AS old WHERE items.account_id = old.account_id AND items.id = old.id`;
const FREE_OF = { text: oldest('WHERE account_id = $2') };
const FREE_OF_ALL = { text: oldest('') };
const FIND = {
  name: 'find-items',
  urgent: true,
  text: `
    SELECT account_id, id, at, until, data FROM (
      SELECT items.*, place, sum(length(data)) OVER (ORDER BY place) - length(data) AS before
      FROM unnest($2::text[]) WITH ORDINALITY AS wanted (id, place)
        JOIN items ON account_id = $1 AND items.id = wanted.id AND until > $3
    ) AS found WHERE before < $4 ORDER BY place`,
};
const EXTEND = { text: 'UPDATE items SET until = $3 WHERE account_id = $1 AND id = ANY ($2) AND until < $3' };
const REMOVE = { text: 'DELETE FROM items WHERE account_id = $1 AND id = ANY ($2)' };
const PRUNE = {
  text: `
    DELETE FROM items WHERE ctid = ANY (ARRAY(
      SELECT row FROM (
        SELECT row, sum(bytes) OVER (ROWS UNBOUNDED PRECEDING) - bytes AS before
        FROM (SELECT ctid AS row, bytes FROM items WHERE until <= $1 LIMIT ${DELETE_STEP}) AS expired
      ) AS aged WHERE before < ${DELETE_BYTES}))`,
};

export function createItems(connection: Connection) {
  return {
    async storeItems(items: readonly StoredItem[], bounds: ItemBounds): Promise<void> {
      const latest = [...new Map(items.map((item) => [`${item.accountId} ${item.id}`, item])).values()];
      if (latest.length === 0) return;
      await connection.transaction(async (session) => {
        await session.run(LOCK);
        await session.run(
          WRITE,
          latest.map(({ accountId }) => accountId),
          latest.map(({ id }) => id),
          latest.map(({ at }) => at),
          latest.map(({ until }) => until),
          latest.map(({ data }) => Buffer.from(data)),
        );
        for (const account of new Set(latest.map(({ accountId }) => accountId))) {
          const excess = (await bytes(session, account)) - bounds.account;
          if (excess > 0) await session.run(FREE_OF, excess, account);
        }
        const excess = (await bytes(session)) - bounds.all;
        if (excess > 0) await session.run(FREE_OF_ALL, excess);
      });
    },
    findItems: async (
      accountId: number,
      ids: readonly string[],
      now: number,
      mostBytes = Number.MAX_SAFE_INTEGER,
    ): Promise<StoredItem[]> =>
      (await connection.read<ItemRow>(FIND, accountId, ids, now, mostBytes)).map(toItem),
    async extendItems(accountId: number, ids: readonly string[], until: number): Promise<void> {
      await connection.run(EXTEND, accountId, ids, until);
    },
    deleteItems: async (accountId: number, ids: readonly string[]): Promise<number> =>
      (await connection.run(REMOVE, accountId, ids)).changes,
    /** Deletes expired items in steps. */
    async pruneItems(now: number): Promise<void> {
      while ((await connection.run(PRUNE, now)).changes > 0);
    },
  };
}

async function bytes(session: Session, account?: number): Promise<number> {
  const values = account === undefined ? [] : [account];
  const { rows } = await session.run<{ bytes: number }>(
    account === undefined ? BYTES_OF_ALL : BYTES_OF,
    ...values,
  );
  return rows[0]?.bytes ?? 0;
}

function toItem({ account_id: accountId, id, at, until, data }: ItemRow): StoredItem {
  return { accountId, id, at, until, data };
}
