// What a target adds to the time that the stub alone takes, and how many requests it answers in time: the definitions of public
// benchmarks of gateways.
import { inTurn, routeTo, SMALL, type Bench, type Work } from './measure.ts';
import type { Route } from './jobs.ts';
import { addFault, addValue, createRow, quantile, type Row } from './rows.ts';
import { OTHER_ROWS } from './scenarios.ts';
import { startTargets, type Started, type TargetName } from './targets.ts';

const PER_SECOND = 100;
const WARM_CONNECTIONS = 16;
/** Rounds whose times are taken together for the 99th percentile. */
export const TAIL_ROUNDS = 9;

export const ALL: readonly TargetName[] = ['bare', 'floor', 'gateway', 'postgres'];
export const ON_SQLITE: readonly TargetName[] = ['bare', 'floor', 'gateway'];
export const ON_POSTGRES: readonly TargetName[] = ['bare', 'gateway', 'postgres'];

export function direct(bench: Bench, [any]: readonly Started[], work: Work): Route | undefined {
  return any && { ...routeTo(any, work), port: bench.stubPort };
}

export async function warmUp(started: readonly Started[], { load, plan }: Bench): Promise<void> {
  const { warmMs: forMs, warmRequests: requests } = plan;
  for (const each of started) {
    const route = routeTo(each, SMALL);
    await load.run({ do: 'closed', connections: WARM_CONNECTIONS, forMs, route, requests });
  }
}

/** Rows of what is left out have no values. */
export function filled(rows: readonly Row[]): Row[] {
  return rows.filter(({ targets, values, faults }) => {
    const subject = targets.at(-1) ?? 'gateway';
    return values[subject] !== undefined || faults[subject] !== undefined;
  });
}

/**
 * One request at a time, at a rate that leaves a target idle most of the time. In processes that served small requests alone: when V8
 * has nothing to do after bodies of megabytes, it throws away nearly two hundred compiled functions, and at this rate makes them
 * again during the measurement (a sixth more, for the gateway).
 */
export async function measureLatency(bench: Bench): Promise<Row[]> {
  const { load, plan, say } = bench;
  const { latency, latencyTail, commits } = OTHER_ROWS;
  const middle = [
    createRow('latency', latency.unit, latency.gate, ON_SQLITE),
    createRow('postgres latency', latency.unit, undefined, ON_POSTGRES),
  ];
  const tail = [
    createRow('latency p99', latencyTail.unit, undefined, ON_SQLITE),
    createRow('postgres latency p99', latencyTail.unit, undefined, ON_POSTGRES),
  ];
  const inCommits = createRow('postgres latency in commits', commits.unit, commits.gate, ['postgres']);
  const started = await startTargets(ALL, bench);
  await warmUp(started, bench);
  const stub = direct(bench, started, SMALL);
  if (stub === undefined) return [];
  const { count, forMs } = plan.latency;
  const job = { do: 'paced', perSecond: PER_SECOND, forMs } as const;
  const commitTimes: number[] = [];
  let times = new Map<TargetName | 'stub', number[]>();
  const keep = (name: TargetName | 'stub', more: readonly number[] = []): void =>
    void times.set(name, [...(times.get(name) ?? []), ...more]);
  for (let index = 0; index < count; index += 1) {
    say(`latency: round ${index + 1} of ${count}`);
    const base = await load.run({ ...job, route: stub });
    keep('stub', base.times);
    const added = new Map<TargetName, number>();
    for (const each of inTurn(started, index)) {
      const { name } = each.target;
      const { p50, times: all, fault } = await load.run({ ...job, route: routeTo(each, SMALL) });
      addFault([...middle, ...tail], name, fault);
      addValue(middle, name, (p50 - base.p50) * 1000);
      added.set(name, p50);
      keep(name, all);
    }
    const [sqlite, postgres] = [added.get('gateway'), added.get('postgres')];
    if (sqlite !== undefined && postgres !== undefined) {
      const commit = await commitMs(bench, forMs);
      commitTimes.push(commit);
      addValue([inCommits], 'postgres', (postgres - sqlite) / commit);
    }
    if ((index + 1) % TAIL_ROUNDS !== 0 && index + 1 !== count) continue;
    const p99 = (name: TargetName | 'stub'): number => quantile(times.get(name) ?? [], 0.99);
    for (const { target } of started) addValue(tail, target.name, (p99(target.name) - p99('stub')) * 1000);
    times = new Map();
  }
  for (const { stop } of started) await stop();
  inCommits.note = `one commit of one row takes ${quantile(commitTimes, 0.5).toFixed(2)} ms`;
  return filled([...middle, ...tail, inCommits]);
}

/** Of a commit of one row, at the same rate. */
async function commitMs({ commit }: Bench, forMs: number): Promise<number> {
  const took: number[] = [];
  for (let left = Math.round((forMs * PER_SECOND) / 1000); left > 0; left -= 1) {
    await new Promise((resolve) => setTimeout(resolve, 1000 / PER_SECOND));
    took.push(await commit());
  }
  return quantile(took, 0.5);
}

const LEVELS = [4, 16, 32, 64, 128, 256];
const IN_TIME_MS = 20;

/** The most requests a second of which 99 in 100 take less than 20 ms, over rising numbers of connections. */
export async function measureRate(bench: Bench): Promise<Row[]> {
  const { load, plan, say } = bench;
  const { unit } = OTHER_ROWS.rate;
  const rows = [
    createRow('rate', unit, undefined, ON_SQLITE),
    createRow('postgres rate', unit, undefined, ON_POSTGRES),
  ];
  const started = await startTargets(ALL, bench);
  await warmUp(started, bench);
  for (let index = 0; index < plan.rateRounds; index += 1) {
    for (const each of inTurn(started, index)) {
      const { name } = each.target;
      say(`rate of ${name}: round ${index + 1} of ${plan.rateRounds}`);
      let best = 0;
      for (const connections of LEVELS) {
        const route = routeTo(each, SMALL);
        const { completed, seconds, p99, fault } = await load.run({
          ...{ do: 'closed', route, connections, forMs: plan.rateMs },
        });
        addFault(rows, name, fault);
        if (fault === undefined && p99 < IN_TIME_MS) best = Math.max(best, completed / seconds);
      }
      addValue(rows, name, best);
    }
  }
  for (const { stop } of started) await stop();
  return filled(rows);
}
