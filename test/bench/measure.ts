// Processor time. Every measurement is interleaved (A B C, C B A), so that what the machine does meanwhile meets every target.
import { cpuMicros } from './accounting.ts';
import type { Route } from './jobs.ts';
import type { LoadClient } from './load-client.ts';
import type { Plan, Rounds } from './plan.ts';
import { unitOf, unitsOf, type Scenario } from './scenarios.ts';
import { addFault, addValue, createRow, type Row } from './rows.ts';
import { startTargets, USUAL, type Started, type Workplace } from './targets.ts';

export interface Bench extends Workplace {
  load: LoadClient;
  plan: Plan;
  /** What the references have done before: theirs is the same for either client. */
  warm: Set<string>;
  say: (what: string) => void;
}

export type Work = Pick<Scenario, 'client' | 'provider' | 'size' | 'kind'>;

export const SMALL: Work = { client: 'chat', provider: 'chat', size: 'small', kind: 'whole' };

export function routeTo(
  { target, port }: Pick<Started, 'target' | 'port'>,
  { client, provider, size, kind }: Work,
): Route {
  return { port, wire: client, size, kind, key: target.key, model: target.model(provider, kind) };
}

export function inTurn<Item>(items: readonly Item[], index: number): Item[] {
  return index % 2 === 0 ? [...items] : items.toReversed();
}

/** One of the bars of a table: a target on a route, and the rows that its figure belongs to. */
export interface Runner {
  started: Started;
  route: Route;
  rows: Row[];
}

/** Those whose answers are right. */
export async function verify(runners: readonly Runner[], load: LoadClient): Promise<Runner[]> {
  const verified: Runner[] = [];
  for (const runner of runners) {
    const { fault } = await load.run({ do: 'verify', route: runner.route });
    if (fault === undefined) verified.push(runner);
    else addFault(runner.rows, runner.started.target.name, fault);
  }
  return verified;
}

/** The scenarios of one family, whose references are the same: the same request, client and reply. */
export async function measureFamilies(
  families: readonly (readonly Scenario[])[],
  bench: Bench,
): Promise<Row[]> {
  if (families.length === 0) return [];
  const started = await startTargets(USUAL, bench);
  const rows: Row[] = [];
  for (const family of families) rows.push(...(await measureFamily(family, started, bench)));
  for (const { stop } of started) await stop();
  return rows;
}

/** The references are measured once for all scenarios of a family. */
async function measureFamily(
  scenarios: readonly Scenario[],
  started: readonly Started[],
  bench: Bench,
): Promise<Row[]> {
  const { load, plan, warm, say } = bench;
  const rows = scenarios.map((scenario) => createRow(scenario.id, unitOf(scenario), scenario.gate, USUAL));
  const [first] = scenarios;
  if (first === undefined) return rows;
  const runners = started.flatMap((each): Runner[] =>
    each.target.name === 'gateway'
      ? scenarios.map((scenario, index) => ({
          started: each,
          route: routeTo(each, scenario),
          rows: rows.slice(index, index + 1),
        }))
      : [{ started: each, route: routeTo(each, first), rows }],
  );
  const verified = await verify(runners, load);
  const { connections, kind } = first;
  const requests = kind === 'whole' ? plan.warmRequests : Math.ceil(plan.warmChunks / unitsOf(kind));
  for (const { started, route } of verified) {
    const work = `${started.target.name} ${route.size} ${route.kind}`;
    if (warm.has(work)) continue;
    await load.run({ do: 'closed', route, connections, forMs: plan.warmMs, requests });
    if (started.target.name !== 'gateway') warm.add(work);
  }
  const what = scenarios.map(({ id }) => id).join(', ');
  const rounds = kind === 'whole' ? plan.whole : plan.streamed;
  await takeTurns({ runners: verified, connections, rounds, load, say: (round) => say(`${what}: ${round}`) });
  return rows;
}

export interface Turn {
  runner: Runner;
  round: number;
  completed: number;
  seconds: number;
  cpuMicros: number;
}

/** Adds to the rows the processor time of a unit, round by round. */
export async function takeTurns({
  runners,
  connections,
  rounds,
  load,
  say,
  onTurn = () => undefined,
}: {
  runners: readonly Runner[];
  connections: number;
  rounds: Rounds;
  load: LoadClient;
  say: (round: string) => void;
  onTurn?: (turn: Turn) => void;
}): Promise<void> {
  const { count, forMs } = rounds;
  for (let index = 0; index < count; index += 1) {
    say(`round ${index + 1} of ${count}`);
    for (const runner of inTurn(runners, index)) {
      const { started, route, rows } = runner;
      const { name } = started.target;
      const before = cpuMicros(started.pid);
      const { completed, fault, seconds } = await load.run({ do: 'closed', route, connections, forMs });
      const used = cpuMicros(started.pid) - before;
      addFault(rows, name, fault);
      if (completed > 0) addValue(rows, name, used / (completed * unitsOf(route.kind)));
      onTurn({ runner, round: index, completed, seconds, cpuMicros: used });
    }
  }
}
