// The Store on a PostgreSQL server, which several machines share: connects the interface with the statements of each area. The
// server's clock decides the hour, so that the clocks of the machines do not matter.
import type { Clock } from '../../clock.ts';
import type { Store, TargetHealth } from '../store.ts';
import { createPages } from './admin/pages.ts';
import { createAccounts, removeLeftData } from './accounts.ts';
import { createAdmin } from './admin/admin.ts';
import { loadedLater } from '../admin/sign-ins.ts';
import { createAdmissions, createKeys } from './access.ts';
import { createChanges } from './changes.ts';
import { connect, loadDriver, type Connection } from './connection.ts';
import { createBrakes } from './holds/brakes.ts';
import { createGrants } from './holds/grants.ts';
import { createNotices } from './holds/notices.ts';
import { createHolds } from './holds/holds.ts';
import { createItems } from './items.ts';
import { migrate, type Identity } from './migrations.ts';
import { createRefusals } from './usage/refusals.ts';
import { createRequests } from './usage/requests.ts';
import { createUsage } from './usage/rows.ts';
import { workLater } from '../holds/work.ts';
import { backup, exportRecords, importRecords } from './transfer.ts';
import { readUrl } from './url.ts';

const USED = { text: 'SELECT requests FROM hours WHERE account_id = $1 AND hour = $2' };
const PING = { urgent: true, text: 'SELECT 1' };
const SET_HEALTH = {
  text: `INSERT INTO health (target, state, until) SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[]) AS h (target) ORDER BY target
    ON CONFLICT (target) DO UPDATE SET state = excluded.state, until = excluded.until`,
};
const REMOVE_HEALTH = { text: 'DELETE FROM health WHERE target = ANY ($1)' };
const LIST_HEALTH = { text: 'SELECT target, state, until FROM health WHERE until > $1 ORDER BY target' };

/** Bytes. A row of an index holds 2,700; a client may choose a longer model name, whose health is not published. */
const MOST_TARGET = 1000;

export async function openPostgres(url: string, clock: Clock): Promise<Store> {
  const server = readUrl(url);
  const connection = await connect(await loadDriver(), server);
  try {
    return createStore(connection, await migrate(connection, clock.now()), clock);
  } catch (error) {
    await connection.close();
    throw error;
  }
}

function createStore(connection: Connection, { itemKey, createdAt }: Identity, clock: Clock): Store {
  const changes = createChanges(connection, clock);
  const admissions = createAdmissions(connection, changes, clock);
  const holds = createHolds(connection, changes, clock);
  const usage = createUsage(connection);
  let pinging: Promise<void> | undefined;
  return {
    location: connection.server.location,
    createdAt,
    itemKey: () => itemKey,
    admit(key, limit) {
      changes.listen();
      return admissions.admit(key, limit);
    },
    used: async (accountId, hour) =>
      (await connection.read<{ requests: number }>(USED, accountId, hour))[0]?.requests ?? 0,
    ...holds.store,
    ...createGrants(connection, changes),
    ...createBrakes(connection),
    ...createNotices(connection),
    ...createKeys(connection, changes, clock),
    ...createAccounts(connection, changes),
    ...createPages(connection),
    ...usage,
    ...createRequests(connection),
    async publishHealth(targets, recovered) {
      const unhealthy = targets.filter(({ target }) => Buffer.byteLength(target) <= MOST_TARGET);
      await connection.transaction(async (session) => {
        await session.run(REMOVE_HEALTH, recovered);
        await session.run(
          SET_HEALTH,
          unhealthy.map(({ target }) => target),
          unhealthy.map(({ state }) => state),
          unhealthy.map(({ until }) => until),
        );
      });
    },
    listHealth: (now) => connection.read<TargetHealth>(LIST_HEALTH, now),
    async prune(now, keep) {
      await removeLeftData(connection);
      await usage.prune(now, keep);
    },
    ...createItems(connection),
    ...createAdmin(connection),
    ...loadedLater(async () => (await import('./admin/sign-ins.ts')).createSignIns(connection, changes)),
    ...workLater(async () => (await import('./holds/work.ts')).createWork(connection)),
    ...createRefusals(connection),
    exportRecords: () => exportRecords(connection),
    importRecords: (batches, audit) => importRecords(connection, batches, audit),
    backup: () => backup(connection),
    // One at a time: a server that does not answer must not take every connection.
    ping: () =>
      (pinging ??= connection
        .run(PING)
        .then(() => undefined)
        .finally(() => (pinging = undefined))),
    idle: () => Promise.resolve(),
    async close() {
      await holds.close();
      await changes.close();
      await connection.close();
    },
  };
}
