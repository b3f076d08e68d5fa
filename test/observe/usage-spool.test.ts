// Usage rows outlive an outage of the database that is longer than the memory, and the end of the gateway in it: each is written once.
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { HOUR_MS, systemClock } from '../../src/clock.ts';
import type { FinishedTrace } from '../../src/gateway/trace.ts';
import type { Logger } from '../../src/log.ts';
import { createUsageRecorder } from '../../src/observe/records.ts';
import { StoreError, type Store } from '../../src/store/store.ts';
import { createUsageSpool } from '../../src/store/usage-spool.ts';
import { manualClock } from '../helpers/clock.ts';
import { home } from '../helpers/process.ts';
import { newKey, opened, temporaryFile } from '../store/support.ts';
import { identity } from '../helpers/identity.ts';

const MEMORY = 5000;

let file: string;
let store: Store;
let away: boolean;
let logged: string[];

beforeEach(async () => {
  file = temporaryFile();
  store = await opened(file, { clock: systemClock });
  await store.createKey(newKey());
  away = false;
  logged = [];
});

/** The real database, while it is not away. `lost`: it takes this batch nevertheless, and only its reply does not arrive. */
function reachable(lost?: number): Pick<Store, 'location' | 'createdAt' | 'recordUsage' | 'idle'> {
  return {
    location: file,
    createdAt: store.createdAt,
    async recordUsage(rows, batch) {
      if (!away || batch?.number === lost) await store.recordUsage(rows, batch);
      if (away) throw new StoreError('unavailable', 'away');
    },
    idle: () => Promise.resolve(),
  };
}

/** A gateway's part that records usage. */
function gateway({ lost, maxBytes }: { lost?: number; maxBytes?: number } = {}) {
  const clock = manualClock();
  const add = (message: string, fields?: object): void =>
    void logged.push(JSON.stringify({ message, ...fields }));
  const log: Logger = { info: add, warn: add, error: add, flush: () => undefined };
  const spool = createUsageSpool({
    store: reachable(lost),
    dataFolder: dirname(file),
    clock: systemClock,
    log,
    ...(maxBytes !== undefined && { maxBytes }),
  });
  const recorder = createUsageRecorder({ store: reachable(lost), spool, clock, log, maxWaiting: MEMORY });
  const finish = (from: number, until: number): void => {
    for (let at = from; at < until; at += 1) recorder.finished(trace(at));
  };
  return { clock, spool, recorder, finish };
}

function trace(at: number): FinishedTrace {
  const trace = {
    failures: [],
    passedOver: [],
    key: { id: 'key_one', accountId: 1 },
    outcome: { status: 200, error: null },
    endpoint: 'chat',
    modelAsked: 'm',
    identity: identity(),
    streamed: false,
    firstByteMs: 1,
    durationMs: 1,
    requestId: `req_${at}`,
    attempts: 1,
    endedAt: systemClock.now() - HOUR_MS / 2,
  };
  return trace as unknown as FinishedTrace;
}

const spoolFiles = (): string[] => readdirSync(dirname(file)).filter((name) => name.includes('.usage-'));
const pathOf = (name = ''): string => join(dirname(file), name);

/** The numbers of the rows in the database. */
async function written(): Promise<number[]> {
  const rows = await store.listRequests({ limit: 1_000_000 });
  return rows.map(({ requestId }) => Number(requestId?.slice(4))).sort((a, b) => a - b);
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

it('an outage beyond the memory: rows go to a file, and each is in the database once when it is back', async () => {
  const { clock, recorder, finish } = gateway({ lost: 1 });
  away = true;
  finish(0, 10);
  clock.advance(100);
  await expect.poll(() => logged.join()).toContain('usage rows cannot be written; they wait');
  finish(10, MEMORY + 1);
  clock.advance(1000);
  await expect.poll(spoolFiles, { timeout: 15_000 }).toEqual([expect.stringMatching(/\.jsonl$/)]);
  const [name] = spoolFiles();
  expect(statSync(pathOf(name)).mode & 0o777).toBe(0o600);
  const header = JSON.parse(readFileSync(pathOf(name), 'utf8').split('\n', 1)[0] ?? '') as { writer: string };
  expect(name).toContain(header.writer);
  finish(MEMORY + 1, MEMORY + 20);
  clock.advance(1000);
  await new Promise((resolve) => setImmediate(resolve));
  away = false;
  await expect
    .poll(
      () => {
        clock.advance(1000);
        return spoolFiles();
      },
      { timeout: 15_000 },
    )
    .toEqual([]);
  expect(await recorder.flush()).toBe(0);
  expect(await written()).toEqual(upTo(MEMORY + 20));
  expect(logged.join()).not.toContain('discarded');
});

it('an end in an outage: the next start writes the rows, each once, also those whose confirmation did not arrive', async () => {
  const { clock, recorder, finish } = gateway({ lost: 1 });
  away = true;
  finish(0, 10);
  clock.advance(100);
  await expect.poll(() => logged.length).toBe(1);
  finish(10, 1500);
  expect(await recorder.flush()).toBe(0);
  expect(await written()).toEqual(upTo(10));
  expect(spoolFiles()).toHaveLength(1);
  away = false;
  await gateway().spool.drain();
  expect(await written()).toEqual(upTo(1500));
  expect(spoolFiles()).toEqual([]);
});

it('a file that was written and not removed, as by a crash between, and two gateways that write it at once', async () => {
  const { recorder, finish } = gateway();
  away = true;
  finish(0, 2500);
  expect(await recorder.flush()).toBe(0);
  away = false;
  const [name] = spoolFiles();
  const copy = readFileSync(pathOf(name));
  await Promise.all([gateway().spool.drain(), gateway().spool.drain()]);
  expect(await written()).toEqual(upTo(2500));
  writeFileSync(pathOf(name), copy);
  await gateway().spool.drain();
  expect(await written()).toEqual(upTo(2500));
  expect(spoolFiles()).toEqual([]);
});

it('a database that goes away again while a file is written: the file stays, the log says so once', async () => {
  const { recorder, finish, spool } = gateway();
  away = true;
  finish(0, 3);
  await recorder.flush();
  const next = gateway();
  logged = [];
  await next.spool.drain();
  await next.spool.drain();
  expect(logged).toHaveLength(1);
  expect(logged[0]).toContain('they wait');
  expect(spoolFiles()).toHaveLength(1);
  away = false;
  await next.spool.drain();
  await spool.drain();
  expect(await written()).toEqual(upTo(3));
});

it('a line that a crash cut off costs its row alone', async () => {
  const { recorder, finish } = gateway();
  away = true;
  finish(0, 3);
  await recorder.flush();
  away = false;
  appendFileSync(pathOf(spoolFiles()[0]), '{"batch":1,"row":{"at":17');
  await gateway().spool.drain();
  expect(await written()).toEqual(upTo(3));
  expect(logged.at(-1)).toContain('"rows":3,"unreadable":1');
});

it('a new database in the place of a deleted one does not get the rows of the old one', async () => {
  const { recorder, finish } = gateway();
  away = true;
  finish(0, 3);
  await recorder.flush();
  away = false;
  await store.close();
  for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true });
  store = await opened(file, { clock: systemClock });
  // Accounts of the new database get the numbers of the old one's.
  await store.createKey(newKey({ account: 'of the new database' }));
  const { spool } = gateway();
  await spool.drain();
  expect(await written()).toEqual([]);
  expect(spoolFiles()).toHaveLength(1);
  expect(logged.at(-1)).toContain('it is of another database');
});

it('a file of a process that died while it wrote it is read a minute later, and no other', async () => {
  const { recorder, finish } = gateway();
  away = true;
  finish(0, 3);
  await recorder.flush();
  away = false;
  const [name = ''] = spoolFiles();
  const part = pathOf(name.replace('.jsonl', '.part'));
  writeFileSync(part, readFileSync(pathOf(name), 'utf8').slice(0, -10));
  rmSync(pathOf(name));
  await gateway().spool.drain();
  expect(await written()).toEqual([]);
  const before = Date.now() / 1000 - 61;
  utimesSync(part, before, before);
  await gateway().spool.drain();
  expect(await written()).toEqual([0, 1]);
  expect(spoolFiles()).toEqual([]);
});

it('a file of another version is left alone and named, once', async () => {
  const other = pathOf('gateway.db.usage-x.jsonl');
  writeFileSync(other, '{"type":"usage-spool","version":2,"writer":"x"}\n{}\n');
  const before = readFileSync(other, 'utf8');
  const { spool } = gateway();
  await spool.drain();
  await spool.drain();
  expect(readFileSync(other, 'utf8')).toBe(before);
  expect(logged).toHaveLength(1);
  expect(logged[0]).toContain(other);
  expect(logged[0]).toContain('not a spool file of version 1');
});

it('a folder that takes no file: the rows are counted as not written, and the log has the reason', async () => {
  const { recorder, finish } = gateway();
  away = true;
  finish(0, 3);
  // Also for root, whom no mode stops.
  await store.close();
  rmSync(dirname(file), { recursive: true });
  writeFileSync(dirname(file), '');
  expect(await recorder.flush()).toBe(3);
  expect(logged.join()).toContain('usage rows cannot be written to a spool file');
  rmSync(dirname(file));
  mkdirSync(dirname(file));
});

it('files grow to their bound: what does not fit is counted as not written', async () => {
  away = true;
  const one = gateway();
  one.finish(0, 1000);
  await one.recorder.flush();
  const bytes = statSync(pathOf(spoolFiles()[0])).size;
  const two = gateway({ maxBytes: bytes * 2.5 });
  two.finish(1000, 3000);
  expect(await two.recorder.flush()).toBe(1000);
  const three = gateway({ maxBytes: bytes * 2.5 });
  three.finish(3000, 4000);
  expect(await three.recorder.flush()).toBe(1000);
  expect(spoolFiles()).toHaveLength(2);
  away = false;
  await gateway().spool.drain();
  expect(await written()).toEqual(upTo(2000));
});

it('a gateway that is killed while it writes a file: the next one writes the rest, and nothing twice', async () => {
  const shell = home();
  const first = await shell.serve();
  first.child.kill('SIGTERM');
  await first.ended;
  file = shell.database;
  store = await opened(file, { clock: systemClock });
  const { recorder, finish } = gateway();
  away = true;
  finish(0, 10_000);
  expect(await recorder.flush()).toBe(0);
  const killed = await shell.serve();
  await expect.poll(async () => (await store.listRequests({ limit: 1 })).length, { interval: 1 }).toBe(1);
  killed.child.kill('SIGKILL');
  await killed.ended;
  const next = await shell.serve();
  await expect.poll(spoolFiles, { timeout: 15_000 }).toEqual([]);
  expect(await written()).toEqual(upTo(10_000));
  next.child.kill('SIGTERM');
  await next.ended;
});
