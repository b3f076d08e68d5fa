// The load client: a process that takes jobs from the harness. It compares nothing and knows no target.
import { setTimeout as pause } from 'node:timers/promises';
import { openConnection, requestBytes, type Connection } from './connection.ts';
import type { Job, Result, Route } from './jobs.ts';
import { quantile } from './rows.ts';

/** Connections opened at the same time; more overflow a listener's queue. */
const OPENING = 64;
/** The others of a `beside` are at full speed then. */
const AHEAD_MS = 300;

interface Tally {
  times: number[];
  firstTexts: number[];
  laterTexts: number[];
  failed: number;
  fault?: string;
}

const createTally = (): Tally => ({ times: [], firstTexts: [], laterTexts: [], failed: 0 });

const RUNNERS: { [Kind in Job['do']]: (job: Extract<Job, { do: Kind }>, tally: Tally) => Promise<void> } = {
  async verify({ route }, tally) {
    const connection = await openConnection(route, 'whole');
    await timed(connection, requestBytes(route), tally);
    connection.close();
  },
  closed,
  async beside({ others, ...job }, tally) {
    const beside = createTally();
    const busy = closed({ ...others, forMs: AHEAD_MS + job.forMs }, beside);
    await pause(AHEAD_MS);
    await closed(job, tally);
    await busy;
    tally.fault ??= beside.fault;
  },
  async paced({ route, perSecond, forMs }, tally) {
    const bytes = requestBytes(route);
    const idle: Connection[] = [await openConnection(route, 'end')];
    const all = [...idle];
    const running: Promise<void>[] = [];
    const count = Math.round((forMs * perSecond) / 1000);
    const start = performance.now();
    for (let index = 0; index < count; index += 1) {
      await until(start + (index * 1000) / perSecond);
      const connection = idle.pop() ?? (await openConnection(route, 'end'));
      if (!all.includes(connection)) all.push(connection);
      running.push(timed(connection, bytes, tally).then(() => void idle.push(connection)));
    }
    await Promise.all(running);
    for (const connection of all) connection.close();
  },
};

interface Closed {
  route: Route;
  connections: number;
  forMs: number;
  requests?: number;
}

async function closed(
  { route, connections, forMs, requests = Infinity }: Closed,
  tally: Tally,
): Promise<void> {
  const bytes = requestBytes(route);
  const end = performance.now() + forMs;
  let left = requests;
  const work = async (connection: Connection): Promise<void> => {
    while (left > 0 && performance.now() < end) {
      left -= 1;
      if (!(await timed(connection, bytes, tally))) return;
    }
  };
  const open = await openAll(route, connections);
  await Promise.all(open.map(work));
  for (const connection of open) connection.close();
}

async function openAll(route: Route, count: number): Promise<Connection[]> {
  const open: Connection[] = [];
  while (open.length < count) {
    const next = Math.min(OPENING, count - open.length);
    open.push(...(await Promise.all(Array.from({ length: next }, () => openConnection(route, 'end')))));
  }
  return open;
}

async function timed(connection: Connection, bytes: Buffer, tally: Tally): Promise<boolean> {
  const start = performance.now();
  try {
    await connection.send(bytes);
    tally.times.push(performance.now() - start);
    const { first, later } = connection.textTimes();
    if (first !== undefined) tally.firstTexts.push(first);
    tally.laterTexts.push(...later);
    return true;
  } catch (error) {
    tally.failed += 1;
    tally.fault ??= error instanceof Error ? error.message : String(error);
    return false;
  }
}

function until(at: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, at - performance.now())));
}

async function perform(job: Job): Promise<Result> {
  const tally = createTally();
  const start = performance.now();
  try {
    // The table's key and the job's are the same; TypeScript can't follow that through a union.
    await (RUNNERS[job.do] as (job: Job, tally: Tally) => Promise<void>)(job, tally);
  } catch (error) {
    tally.failed += 1;
    tally.fault ??= error instanceof Error ? error.message : String(error);
  }
  const { times, firstTexts, laterTexts } = tally;
  return {
    completed: times.length,
    failed: tally.failed,
    ...(tally.fault === undefined ? {} : { fault: tally.fault }),
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    ...(job.do === 'paced' && { times }),
    firstTexts,
    laterTexts,
    seconds: (performance.now() - start) / 1000,
  };
}

process.on('message', (job: Job) => {
  void perform(job).then((result) => process.send?.(result));
});
process.on('disconnect', () => process.exit(0));
