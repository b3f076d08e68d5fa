// PostgreSQL does what every engine must do, also through PgBouncer in transaction mode.
import { afterAll, describe } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { manualClock } from '../helpers/clock.ts';
import { hasBouncer, startBouncer, type Bouncer } from '../helpers/pgbouncer.ts';
import { createDatabase, settableClock, sharedServer, type TestDatabase } from '../helpers/postgres.ts';
import { storeContract } from './contract.ts';

const clock = manualClock();
interface Used {
  database: TestDatabase;
  setTime: (now: number) => Promise<void>;
  open: boolean;
}
const databases: Used[] = [];

/** Tests share databases, which are emptied: a new one takes 300 ms. */
async function emptyDatabase(): Promise<Used> {
  const unused = databases.find(({ open }) => !open);
  if (unused === undefined) {
    const database = await createDatabase();
    const used = { database, setTime: await settableClock(database), open: true };
    databases.push(used);
    return used;
  }
  unused.open = true;
  const tables = await unused.database.query<{ names: string }>(
    `SELECT string_agg(tablename, ', ') AS names FROM pg_tables
     WHERE schemaname = 'public' AND tablename NOT IN ('migrations', 'secrets')`,
  );
  await unused.database.query(`TRUNCATE ${tables[0]?.names ?? ''} RESTART IDENTITY`);
  return unused;
}

async function open(reach: (url: string) => string): Promise<Store> {
  const used = await emptyDatabase();
  const store = await openStore(reach(used.database.url), { clock });
  return {
    ...store,
    async close() {
      await store.close();
      used.open = false;
    },
  };
}

async function setTime(now: number): Promise<void> {
  for (const used of databases) if (used.open) await used.setTime(now);
  // What is known of an hour is forgotten.
  clock.advance(10_000);
}

storeContract('postgres', () => open((url) => url), setTime);

describe.runIf(hasBouncer)('through PgBouncer', () => {
  let bouncer: Promise<Bouncer> | undefined;
  const through = async (): Promise<Store> => {
    const pool = await (bouncer ??= sharedServer().then(startBouncer));
    return open((url) => pool.through(url));
  };
  storeContract('postgres', through, setTime, 0.4);
  afterAll(async () => (await bouncer)?.stop());
});

afterAll(() => Promise.all(databases.map(({ database }) => database.drop())));
