// Memory, in processes that have done nothing else, and the time that a start takes.
import { setTimeout as pause } from 'node:timers/promises';
import { residentKib } from './accounting.ts';
import { inTurn, routeTo, SMALL, type Bench, type Work } from './measure.ts';
import type { Wire } from './replies.ts';
import { addFault, addValue, createRow, type Row } from './rows.ts';
import { OTHER_ROWS } from './scenarios.ts';
import { startTarget, type Target, type TargetName } from './targets.ts';

const STREAMS = 1000;
const STREAM_WARM_MS = 1500;
const STREAMS_FOR_MS = 60_000;
const SAMPLE_MS = 50;
const SETTLE_MS = 500;

const FORMS: readonly (readonly TargetName[])[] = [
  ['bare', 'floor', 'gateway'],
  ['bare', 'gateway', 'postgres'],
];

/** One row for each form of the gateway that is among the targets. */
function rowsOf(
  id: string,
  { unit, gate }: { unit: string; gate?: Row['gate'] },
  names: readonly TargetName[],
): Row[] {
  return FORMS.filter((targets) => names.includes(targets.at(-1) ?? 'gateway')).map((targets, index) =>
    index === 0 ? createRow(id, unit, gate, targets) : createRow(`postgres ${id}`, unit, undefined, targets),
  );
}

async function existing(names: readonly TargetName[], bench: Bench): Promise<Target[]> {
  const found: Target[] = [];
  for (const name of names) {
    const target = await bench.target(name);
    if (target !== undefined) found.push(target);
  }
  return found;
}

/** While a thousand streams are open at once. */
export async function measureStreams(client: Wire, bench: Bench): Promise<Row[]> {
  const { load, plan, say } = bench;
  const targets = await existing(plan.streamTargets, bench);
  const names = targets.map(({ name }) => name);
  const rows = rowsOf(`streams ${client}`, OTHER_ROWS.streams, names);
  const slow: Work = { ...SMALL, client, provider: client, kind: 'slow' };
  for (let index = 0; index < plan.streamRounds; index += 1) {
    for (const target of inTurn(targets, index)) {
      const { name } = target;
      say(`${STREAMS} slow streams of ${name}: round ${index + 1} of ${plan.streamRounds}`);
      const started = await startTarget(target);
      const whole = routeTo(started, { ...slow, kind: 'whole' });
      await load.run({ do: 'closed', route: whole, connections: 32, forMs: STREAM_WARM_MS });
      await pause(SETTLE_MS);
      const before = residentKib(started.pid);
      const peak = watchPeak(started.pid);
      const route = routeTo(started, slow);
      const job = { do: 'closed', route, connections: STREAMS, requests: STREAMS } as const;
      const { completed, fault } = await load.run({ ...job, forMs: STREAMS_FOR_MS });
      const most = peak();
      await started.stop();
      const incomplete =
        completed < STREAMS ? `${completed} of ${STREAMS} completed: ${fault ?? ''}` : undefined;
      addFault(rows, name, incomplete);
      addValue(rows, name, (most - before) / STREAMS);
    }
  }
  return rows;
}

/** The returned function ends the watch, and gives the most that was seen, in KiB. */
function watchPeak(pid: number): () => number {
  let peak = residentKib(pid);
  const look = (): void => void (peak = Math.max(peak, residentKib(pid)));
  const sampling = setInterval(look, SAMPLE_MS);
  return () => {
    clearInterval(sampling);
    look();
    return peak;
  };
}

const IDLE_MS = 1000;
/** After the load. */
const REST_MS = 2000;
const STEADY_CONNECTIONS = 64;
const STEADY_MS = 60_000;

/** The start, and memory before any request but one, while many run, and after them. */
export async function measureStart(bench: Bench): Promise<Row[]> {
  const { plan, load, say } = bench;
  const targets = await existing(['bare', 'floor', 'gateway', 'postgres'], bench);
  const names = targets.map(({ name }) => name);
  const start = rowsOf('start', OTHER_ROWS.start, names);
  const idle = rowsOf('idle', OTHER_ROWS.idle, names);
  const loaded = rowsOf('loaded', OTHER_ROWS.loaded, names);
  const steady = rowsOf('steady', OTHER_ROWS.steady, names);
  const steadyRounds = Math.ceil(plan.startRounds / 5);
  for (let index = 0; index < plan.startRounds; index += 1) {
    say(`start and memory: round ${index + 1} of ${plan.startRounds}`);
    for (const target of inTurn(targets, index)) {
      const { name } = target;
      const started = await startTarget(target);
      await pause(IDLE_MS);
      addValue(start, name, started.firstAnswerMs);
      addValue(idle, name, residentKib(started.pid) / 1024);
      if (index < steadyRounds) {
        const job = { do: 'closed', connections: STEADY_CONNECTIONS, forMs: STEADY_MS } as const;
        const route = routeTo(started, SMALL);
        const peak = watchPeak(started.pid);
        const { fault } = await load.run({ ...job, route, requests: plan.steadyRequests });
        addValue(loaded, name, peak() / 1024);
        addFault([...loaded, ...steady], name, fault);
        await pause(REST_MS);
        addValue(steady, name, residentKib(started.pid) / 1024);
      }
      await started.stop();
    }
  }
  return [...start, ...idle, ...loaded, ...steady];
}
