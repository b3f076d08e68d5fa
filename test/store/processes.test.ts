// Several processes on one database, and processes that die: real ones.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'rolldown';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import { loadDriver } from '../../src/store/sqlite/driver.ts';
import type { AdmissionKey } from '../../src/store/store.ts';
import { manualClock } from '../helpers/clock.ts';
import { gateway } from '../helpers/gateway.ts';
import { settableClock, temporaryDatabase } from '../helpers/postgres.ts';
import { HOUR, newKey, admit, contentsOf, faultOf, opened, openedSoon, temporaryFile } from './support.ts';

/** Usage rows. */
const BACKLOG = 60_000;
// The same copy of SQLite as the store's.
const Database = await loadDriver();

const CHILD = fileURLToPath(new URL('child.mjs', import.meta.url));

// Compiled beside the packages, where its own imports are found.
const folder = mkdtempSync(fileURLToPath(new URL('../../node_modules/.store-', import.meta.url)));
const compiled = pathToFileURL(join(folder, 'open.mjs')).href;
beforeAll(async () => {
  await build({
    input: { open: fileURLToPath(new URL('../../src/store/open.ts', import.meta.url)) },
    platform: 'node',
    external: ['better-sqlite3', 'better-sqlite3-napi', 'pg'],
    output: { dir: folder, entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs' },
  });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Child {
  process: ChildProcess;
  /** What it said so far. */
  said: unknown[];
  /** The first thing that it says, as soon as it does. */
  first: Promise<unknown>;
  /** Its exit code, or the signal that ended it. */
  ended: Promise<number | string>;
  stderr: () => string;
}

function start(
  args: (string | number)[],
  wrap: (command: string[]) => string[] = (command) => command,
): Child {
  const [program = '', ...rest] = wrap([process.execPath, CHILD, compiled, ...args.map(String)]);
  const child = spawn(program, rest, { stdio: ['pipe', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said: unknown[] = [];
  let stderr = '';
  child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
  const lines = createInterface(child.stdout);
  lines.on('line', (line) => said.push(JSON.parse(line)));
  const first = once(lines, 'line').then(([line]) => JSON.parse(String(line)) as unknown);
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  return { process: child, said, first, ended, stderr: () => stderr };
}

describe('several processes', () => {
  it('admit exactly 10 of 200 concurrent requests', async () => {
    const file = temporaryFile();
    const children = [start(['admit', file, 100, 10]), start(['admit', file, 100, 10])];
    await Promise.all(children.map(({ first }) => first));
    for (const child of children) child.process.stdin?.end('go');
    await Promise.all(children.map(({ ended }) => ended));
    const admitted = children.flatMap(({ said }) => said[1] as number[]);
    expect(admitted.sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(await (await opened(file)).used(1, 0)).toBe(10);
  });

  it('make a new database together', async () => {
    const file = temporaryFile('new/gateway.db');
    const at = Date.now() + 700;
    const children = Array.from({ length: 4 }, () => start(['open', file, at]));
    expect(
      await Promise.all(children.map(({ ended }) => ended)),
      children.map((c) => c.stderr()).join(''),
    ).toEqual([0, 0, 0, 0]);
    expect(await (await opened(file)).used(1, 0)).toBe(4);
  });

  it('P42: requests go on while another process adds a backlog to the sums and deletes it', async () => {
    const file = temporaryFile();
    const store = await opened(file);
    await store.createKey(newKey());
    const db = new Database(file);
    db.exec(`INSERT INTO usage (at, account_id, key_id, endpoint, model_asked, provider, model, status, streamed, input, output, duration_ms)
      WITH RECURSIVE turn (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM turn WHERE i < ${BACKLOG})
      SELECT ${HOUR} - i % 50 * 3600000, 1, 'key_one', 'chat', 'auto', 'sim', 'm' || i % 100, 200, 0, 1, 1, 1 FROM turn`);
    db.close();
    const pruning = start(['prune', file, HOUR, 2 * 3_600_000]);
    await pruning.first;
    const waits: number[] = [];
    // In the hour of the pruning: it deletes the counts of hours that have passed.
    while (pruning.said.length < 2) {
      const began = performance.now();
      expect(await admit(store, 1, HOUR, 1e9)).toBe(waits.length + 1);
      waits.push(performance.now() - began);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(await pruning.ended, pruning.stderr()).toBe(0);
    expect(waits.length).toBeGreaterThan(50);
    // A busy machine may stop this process or that one now and then.
    const sorted = waits.sort((a, b) => a - b);
    expect(sorted[Math.floor(sorted.length * 0.9)]).toBeLessThan(100);
    expect((await store.listRequests({ limit: BACKLOG, since: 0 })).length).toBeLessThan(BACKLOG / 10);
  });

  it('write and serve side by side without an error', async () => {
    const file = temporaryFile();
    const store = await opened(file);
    const writers = ['a', 'b', 'c'].map((name) => start(['write', file, name, 8]));
    let serving = true;
    const ended = Promise.all(writers.map((writer) => writer.ended)).then((codes) => {
      serving = false;
      return codes;
    });
    let served = 0;
    while (serving) {
      expect(await admit(store, 1, 0, 1e9)).toBe(++served);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await ended, writers.map((writer) => writer.stderr()).join('')).toEqual([0, 0, 0]);
    expect(await store.listKeys()).toHaveLength(24);
    expect(await store.listAccounts()).toHaveLength(8);
  });
});

/** A month's window may turn between two requests of a test: the sums of all time are compared. */
const MONTH = { kind: 'cost', per: 'month', most: 1000 } as const;

// GATEWAY_TEST_ROUNDS: so many rounds.
describe.each(['sqlite', 'postgres'])(
  'P46: four processes on %s with 200 requests each at once',
  (engine) => {
    it('spend exactly what they settle, refuse nothing while spent and held is below, and pass a limit by what the rule says', async () => {
      const PROCESSES = 4;
      const place = engine === 'sqlite' ? temporaryFile() : (await temporaryDatabase()).url;
      const store = await openedSoon(place);
      onTestFinished(() => store.close());
      const keys: AdmissionKey[] = [];
      for (let round = 0; round < Number(process.env['GATEWAY_TEST_ROUNDS'] ?? 3); round += 1)
        keys.push(await store.createKey(newKey({ id: `key_r${round}`, account: `r${round}` })));
      const args = [
        'spend',
        place,
        200,
        MONTH.most,
        JSON.stringify(keys.map(({ id, accountId, tier }) => ({ id, accountId, tier }))),
      ];
      const children = Array.from({ length: PROCESSES }, () => start(args));
      expect(await Promise.all(children.map(({ first }) => first))).toEqual(Array(PROCESSES).fill('ready'));
      for (const child of children) child.process.stdin?.end('go');
      expect(
        await Promise.all(children.map(({ ended }) => ended)),
        children.map((c) => c.stderr()).join(''),
      ).toEqual(Array(PROCESSES).fill(0));
      interface Told {
        took: number[];
        refused: number;
        refusedEarly: number;
        admittedLate: number;
        estimate: number;
      }
      for (const [round, key] of keys.entries()) {
        const told = children.map(({ said }) => said[round + 1] as Told);
        const took = told.flatMap((each) => each.took);
        const sum = took.reduce((all, cost) => all + cost, 0);
        const [standing] = await store.standings(key.accountId, [MONTH], Date.now());
        expect(standing).toMatchObject({ spent: sum, held: 0, estimated: 0 });
        expect(told.map(({ refusedEarly, admittedLate }) => refusedEarly + admittedLate)).toEqual(
          Array(PROCESSES).fill(0),
        );
        // The last request's cost, and what those under way had been estimated too low.
        const low = took.reduce((all, cost) => all + Math.max(0, cost - (told[0]?.estimate ?? 0)), 0);
        expect(sum - MONTH.most).toBeLessThan(Math.max(...took) + low);
        expect(took.length + told.reduce((all, { refused }) => all + refused, 0)).toBe(PROCESSES * 200);
      }
    }, 120_000);

    it('settle as estimated what a process held that was killed: at once where another starts at its address, else after its lease', async () => {
      const place = engine === 'sqlite' ? temporaryFile() : (await temporaryDatabase()).url;
      const store = await openedSoon(place);
      onTestFinished(() => store.close());
      const { accountId } = await store.createKey(newKey());
      const child = start(['hold', place, 'here', 7]);
      expect(await child.first).toBe('admitted');
      const standing = async () => (await store.standings(accountId, [MONTH], Date.now()))[0];
      store.serveAt('here');
      expect(await store.releaseDead()).toBe(0);
      expect(await standing()).toMatchObject({ spent: 0, held: 7 });
      child.process.kill('SIGKILL');
      await child.ended;
      store.serveAt('elsewhere');
      expect(await store.releaseDead()).toBe(0);
      store.serveAt('here');
      expect(await store.releaseDead()).toBe(1);
      expect(await standing()).toMatchObject({ spent: 7, held: 0, estimated: 7 });
    }, 60_000);

    it('settle within a minute, by themselves, what a process held that was killed and that nobody starts again', async () => {
      const database = engine === 'sqlite' ? undefined : await temporaryDatabase();
      const setTime = database && (await settableClock(database));
      const clock = manualClock(Date.now());
      await setTime?.(clock.now());
      const config = { ...(database && { database: database.url }), tiers: { team: { cost: '1000/month' } } };
      const survivor = await gateway({ tier: 'team', clock, storeClock: clock, config });
      const { store } = survivor;
      const key = await store.createKey(newKey({ account: 'test', tier: 'team' }));
      const asking = JSON.stringify({ id: key.id, accountId: key.accountId, tier: key.tier });
      const child = start([
        ...['hold', database?.url ?? join(dirname(survivor.file), 'gateway.db'), 'elsewhere', 7],
        asking,
      ]);
      expect(await child.first).toBe('admitted');
      child.process.kill('SIGKILL');
      expect(await child.ended).toBe('SIGKILL');
      // What is killed has its lease from a real clock on SQLite: the survivor's is never behind it.
      const killed = Math.max(clock.now(), Date.now());
      const standing = async () => (await store.standings(key.accountId, [MONTH], clock.now()))[0];
      const setAll = async (now: number): Promise<void> => {
        await setTime?.(now);
        clock.advance(now - clock.now());
      };
      await setAll(killed + 30_000);
      expect(await store.releaseDead()).toBe(0);
      expect(await standing()).toMatchObject({ spent: 0, held: 7 });
      await setAll(killed + 60_000);
      await expect.poll(standing).toMatchObject({ spent: 7, held: 0, estimated: 7 });
      await expect
        .poll(() => survivor.log())
        .toContain('holds of a process that is gone were settled as estimated');
      expect(await store.releaseDead()).toBe(0);
    }, 60_000);
  },
);

describe('a process that dies', () => {
  it('has counted every request that it let through, and leaves a sound file', async () => {
    const file = temporaryFile();
    const child = start(['oneByOne', file, 1e9]);
    await child.first;
    for (const _ of Array.from({ length: 200 })) await new Promise((resolve) => setImmediate(resolve));
    child.process.kill('SIGKILL');
    expect(await child.ended).toBe('SIGKILL');
    const told = (child.said.at(-1) as { used: number }).used;
    const store = await opened(file);
    expect(await store.used(1, 0)).toBeGreaterThanOrEqual(told);
    expect(await admit(store, 1, 0, 1e9)).toBeGreaterThan(told);
  });

  it('leaves a log that still counts where the file is damaged: nothing of either is touched', async () => {
    const file = temporaryFile();
    const child = start(['oneByOne', file, 1e9]);
    await child.first;
    child.process.kill('SIGKILL');
    await child.ended;
    writeFileSync(file, Buffer.alloc(9000, 'x'));
    const before = contentsOf(dirname(file));
    expect(await faultOf(openStore(file))).toMatchObject({ kind: 'damaged' });
    expect(contentsOf(dirname(file))).toEqual(before);
  });

  it('tells no admission that a full disk did not take', async () => {
    const file = temporaryFile();
    await (await openStore(file)).close();
    // Blocks of 1 KiB: a limit on the size of each file is met like the end of a disk.
    const child = start(['oneByOne', file, 3000], (command) => [
      'bash',
      '-c',
      'ulimit -f 256; exec "$0" "$@"',
      ...command,
    ]);
    expect(await child.ended, child.stderr()).toBe(0);
    const told = child.said.filter((line) => typeof line === 'object' && line !== null && 'used' in line);
    expect(told.length).toBeGreaterThan(10);
    expect(child.said.at(-1)).toEqual({ kind: 'unavailable' });
    const store = await opened(file);
    expect(await store.used(1, 0)).toBeGreaterThanOrEqual(told.length);
  });

  // GATEWAY_TEST_ROUNDS: so many times.
  it('with a batch under way on PostgreSQL: never more than the limit, and only that batch is counted in vain', async () => {
    const [LIMIT, LOST, NODES] = [60, 20, 3];
    const rounds = Number(process.env['GATEWAY_TEST_ROUNDS'] ?? 1);
    const database = await temporaryDatabase();
    await (
      await settableClock(database)
    )(HOUR);
    const stores = await Promise.all(Array.from({ length: NODES }, () => openedSoon(database.url)));
    onTestFinished(async () => {
      await Promise.all(stores.map((one) => one.close()));
    });
    const [store] = stores;
    // `pg_stat_activity` stays the same in a transaction.
    const waiting = async (): Promise<number> => {
      const [row] = await database.query<{ count: number }>(
        "SELECT count(*)::int FROM pg_locks WHERE relation = 'hours'::regclass AND NOT granted",
      );
      return row?.count ?? 0;
    };
    const active = async (): Promise<number> => {
      const [row] = await database.query<{ count: number }>(
        `SELECT count(*)::int FROM pg_stat_activity
         WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()`,
      );
      return row?.count ?? 0;
    };
    for (let round = 0; round < rounds; round += 1) {
      const keys: AdmissionKey[] = [];
      for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
        const key = await store?.createKey(newKey({ id: `key_${name}${round}`, account: name + round }));
        if (key !== undefined) keys.push(key);
      }
      const admitted = new Map(keys.map(({ accountId }) => [accountId, 0]));
      // On a machine with much other work a statement may take too long, and its requests are counted in vain too.
      let failed = false;
      const ask = (count: number): Promise<unknown> =>
        Promise.all(
          stores.flatMap((node) =>
            keys.flatMap((key) =>
              Array.from({ length: count }, async () => {
                const count = await node.admit(key, LIMIT, 0).catch(() => undefined);
                failed ||= count === undefined;
                if (count?.outcome === 'admitted')
                  admitted.set(key.accountId, (admitted.get(key.accountId) ?? 0) + 1);
              }),
            ),
          ),
        );
      const child = start(['batch', database.url, LOST, LIMIT, JSON.stringify(keys)]);
      expect(await child.first).toBe('ready');
      await ask(10);
      await database.query('BEGIN');
      await database.query('LOCK TABLE hours IN ACCESS EXCLUSIVE MODE');
      child.process.stdin?.end('go');
      await expect.poll(waiting, { timeout: 10_000 }).toBe(1);
      child.process.kill('SIGKILL');
      expect(await child.ended).toBe('SIGKILL');
      await database.query('COMMIT');
      await ask(100 / NODES);
      await expect.poll(active, { timeout: 10_000 }).toBe(0);
      for (const [accountId, count] of admitted) {
        expect(await store?.used(accountId, HOUR)).toBe(LIMIT);
        expect(count).toBeLessThanOrEqual(LIMIT);
        if (!failed) expect(count).toBeGreaterThanOrEqual(LIMIT - LOST);
      }
    }
  }, 120_000);
});
