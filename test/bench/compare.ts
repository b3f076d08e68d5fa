// The gateway beside itself in another form: on PostgreSQL, with somebody who looks, with two workers.
import { machineMicros, cpuMicros } from './accounting.ts';
import { routeTo, SMALL, takeTurns, verify, type Bench, type Runner, type Turn } from './measure.ts';
import { addValue, createRow, spread, type Row } from './rows.ts';
import { WORKERS, type Comparison } from './scenarios.ts';
import { startTargets } from './targets.ts';

const UNIT = 'µs a request';

/** undefined: this machine has no such target. */
export async function compare(
  comparison: Comparison,
  bench: Bench,
  onTurn?: (turn: Turn) => void,
): Promise<Row | undefined> {
  const { load, plan, say } = bench;
  const { id, targets, gate, connections } = comparison;
  const { warmRequests: requests, warmMs: forMs } = plan;
  const { pairs, warmRequests = requests, warmMs = forMs, ...rounds } = plan[comparison.rounds ?? 'compared'];
  const row = createRow(id, UNIT, gate, targets);
  for (let process = 0; process < pairs; process += 1) {
    // The one that starts first is not always the same.
    const order = process % 2 === 0 ? targets : targets.toReversed();
    const started = await startTargets(order, bench);
    try {
      if (started.length < targets.length) return undefined;
      const runners = started.map((each): Runner => ({
        started: each,
        route: routeTo(each, SMALL),
        rows: [row],
      }));
      const verified = await verify(runners, load);
      for (const { route } of verified) {
        await load.run({ do: 'closed', route, connections, forMs: warmMs, requests: warmRequests });
      }
      await takeTurns({
        ...{ runners: verified, connections, load, onTurn },
        rounds,
        say: (round) => say(`${id}, processes ${process + 1} of ${pairs}: ${round}`),
      });
    } finally {
      for (const { stop } of started) await stop();
    }
  }
  return row;
}

/**
 * How much of its ceiling the throughput of two workers reaches. The ceiling: all processor time that the machine gives to the load, the
 * stub and the gateway, or leaves idle, at what one worker, the load and the stub take for a request in the same round.
 */
export async function measureWorkers(bench: Bench): Promise<Row[]> {
  const { cost, throughput } = WORKERS;
  const row = createRow(throughput.id, throughput.unit, throughput.gate, ['two workers']);
  const rates: Record<'reached' | 'ceiling' | 'one', number[]> = { reached: [], ceiling: [], one: [] };
  let before = snapshot(bench);
  let pair: Partial<Record<string, { turn: Turn; used: Snapshot }>> = {};
  const onTurn = (turn: Turn): void => {
    const now = snapshot(bench);
    const used = { load: now.load - before.load, idle: now.idle - before.idle };
    before = now;
    const { name } = turn.runner.started.target;
    pair =
      turn.round === Object.values(pair)[0]?.turn.round
        ? { ...pair, [name]: { turn, used } }
        : { [name]: { turn, used } };
    const [one, two] = [pair['one worker'], pair['two workers']];
    if (one === undefined || two === undefined) return;
    const perRequest = (one.turn.cpuMicros + one.used.load) / one.turn.completed;
    const given = two.turn.cpuMicros + two.used.load + two.used.idle;
    const ceiling = given / perRequest;
    addValue([row], 'two workers', two.turn.completed / ceiling);
    rates.reached.push(two.turn.completed / two.turn.seconds);
    rates.ceiling.push(ceiling / two.turn.seconds);
    rates.one.push(one.turn.completed / one.turn.seconds);
  };
  const cpu = await compare(cost, bench, onTurn);
  if (cpu === undefined) return [];
  const rate = (of: keyof typeof rates): string => (spread(rates[of])?.median ?? NaN).toFixed(0);
  row.note = `one worker ${rate('one')} requests/s, two ${rate('reached')}; the ceiling is ${rate('ceiling')}`;
  return [cpu, row];
}

interface Snapshot {
  /** Microseconds of the load client and the stub. */
  load: number;
  /** Of all cores. */
  idle: number;
}

function snapshot({ load, stubPid }: Bench): Snapshot {
  return { load: cpuMicros(load.pid) + cpuMicros(stubPid), idle: machineMicros().idle };
}
