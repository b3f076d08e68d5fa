// The measurements. Each is interleaved (A B C, C B A), so that what the machine does meanwhile meets every target.
import { setTimeout as pause } from 'node:timers/promises';
import { cpuMicros, residentKib } from './accounting.ts';
import type { Route } from './jobs.ts';
import type { LoadClient } from './load-client.ts';
import type { Plan } from './plan.ts';
import { OTHER_ROWS, unitOf, unitsOf, type Scenario } from './scenarios.ts';
import { addFault, addValue, createRow, type Row } from './rows.ts';
import { startTarget, TARGET_NAMES, type Started, type Target, type TargetName } from './targets.ts';
import type { Wire } from './replies.ts';

export interface Bench {
  load: LoadClient;
  plan: Plan;
  targets: Record<TargetName, Target>;
  stubPort: number;
  /** What the references have done before: theirs is the same for either client. */
  warm: Set<string>;
  say: (what: string) => void;
}

function routeTo({ target, port }: Started, { client, provider, size, kind }: Scenario): Route {
  return { port, wire: client, size, kind, key: target.key, model: target.model(provider, kind) };
}

function round<Item>(items: readonly Item[], index: number): Item[] {
  return index % 2 === 0 ? [...items] : items.toReversed();
}

/** One of the bars of a table: a target on a route, and the rows that its figure belongs to. */
interface Runner {
  started: Started;
  route: Route;
  rows: Row[];
}

/** Processor time of the scenarios of one family and client: the references are measured once for all of them. */
export async function measureFamily(
  scenarios: readonly Scenario[],
  started: Record<TargetName, Started>,
  { load, plan, warm, say }: Bench,
): Promise<Row[]> {
  const rows = scenarios.map((scenario) => createRow(scenario.id, unitOf(scenario), scenario.gate));
  const [first] = scenarios;
  if (first === undefined) return rows;
  const runners: Runner[] = [
    { started: started.bare, route: routeTo(started.bare, first), rows },
    { started: started.floor, route: routeTo(started.floor, first), rows },
    ...scenarios.map((scenario, index) => ({
      started: started.gateway,
      route: routeTo(started.gateway, scenario),
      rows: rows.slice(index, index + 1),
    })),
  ];
  const verified: Runner[] = [];
  for (const runner of runners) {
    const { fault } = await load.run({ do: 'verify', route: runner.route });
    if (fault === undefined) verified.push(runner);
    else for (const row of runner.rows) addFault(row, runner.started.target.name, fault);
  }
  const { connections } = first;
  const requests =
    first.kind === 'whole' ? plan.warmRequests : Math.ceil(plan.warmChunks / unitsOf(first.kind));
  for (const { started, route } of verified) {
    const work = `${started.target.name} ${route.size} ${route.kind}`;
    if (warm.has(work)) continue;
    await load.run({ do: 'closed', route, connections, forMs: plan.warmMs, requests });
    if (started.target.name !== 'gateway') warm.add(work);
  }
  const { count, forMs } = first.kind === 'whole' ? plan.whole : plan.streamed;
  for (let index = 0; index < count; index += 1) {
    say(`${scenarios.map(({ id }) => id).join(', ')}: round ${index + 1} of ${count}`);
    for (const { started, route, rows } of round(verified, index)) {
      const before = cpuMicros(started.running.pid);
      const { completed, fault } = await load.run({ do: 'closed', route, connections, forMs });
      const used = cpuMicros(started.running.pid) - before;
      for (const row of rows) {
        if (fault !== undefined) addFault(row, started.target.name, fault);
        if (completed > 0) addValue(row, started.target.name, used / (completed * unitsOf(first.kind)));
      }
    }
  }
  return rows;
}

const PER_SECOND = 100;
const WARM_CONNECTIONS = 16;
const SMALL: Scenario = {
  id: 'small',
  client: 'chat',
  provider: 'chat',
  size: 'small',
  kind: 'whole',
  connections: 1,
  gate: OTHER_ROWS.latency.gate,
};

/**
 * What a target adds to the time that the stub alone takes, at a rate that leaves it idle most of the time. In processes that
 * served small requests alone: when V8 has nothing to do after bodies of megabytes, it throws away nearly two hundred compiled
 * functions, and at this rate makes them again during the measurement (a sixth more, for the gateway).
 */
export async function measureLatency(
  started: Record<TargetName, Started>,
  { load, plan, stubPort, say }: Bench,
): Promise<Row> {
  const { unit, gate } = OTHER_ROWS.latency;
  const row = createRow('latency', unit, gate);
  const direct: Route = { ...routeTo(started.bare, SMALL), port: stubPort };
  const warming = { do: 'closed', connections: WARM_CONNECTIONS, forMs: plan.warmMs } as const;
  for (const name of TARGET_NAMES) {
    await load.run({ ...warming, route: routeTo(started[name], SMALL), requests: plan.warmRequests });
  }
  const { count, forMs } = plan.latency;
  for (let index = 0; index < count; index += 1) {
    say(`latency: round ${index + 1} of ${count}`);
    const job = { do: 'paced', perSecond: PER_SECOND, forMs } as const;
    const { p50: base } = await load.run({ ...job, route: direct });
    for (const name of round(TARGET_NAMES, index)) {
      const { p50, fault } = await load.run({ ...job, route: routeTo(started[name], SMALL) });
      if (fault === undefined) addValue(row, name, (p50 - base) * 1000);
      else addFault(row, name, fault);
    }
  }
  return row;
}

const STREAMS = 1000;
const STREAM_WARM_MS = 1500;
const STREAMS_FOR_MS = 60_000;
const SAMPLE_MS = 50;
const SETTLE_MS = 500;

/** Memory while a thousand streams are open at once, in a process that has done nothing but a little before. */
export async function measureStreams(client: Wire, bench: Bench): Promise<Row> {
  const { load, plan, targets, say } = bench;
  const { unit, gate } = OTHER_ROWS.streams;
  const row = createRow(`streams ${client}`, unit, gate);
  for (let index = 0; index < plan.streamRounds; index += 1) {
    for (const name of round(plan.streamTargets, index)) {
      say(`${STREAMS} slow streams of ${name}: round ${index + 1} of ${plan.streamRounds}`);
      const started = await startTarget(targets[name]);
      const { pid } = started.running;
      const slow: Scenario = { ...SMALL, client, provider: client, kind: 'slow' };
      const whole = routeTo(started, { ...slow, kind: 'whole' });
      await load.run({ do: 'closed', route: whole, connections: 32, forMs: STREAM_WARM_MS });
      await pause(SETTLE_MS);
      const before = residentKib(pid);
      let peak = before;
      const sampling = setInterval(() => {
        peak = Math.max(peak, residentKib(pid));
      }, SAMPLE_MS);
      const route = routeTo(started, slow);
      const job = { do: 'closed', route, connections: STREAMS, requests: STREAMS } as const;
      const { completed, fault } = await load.run({ ...job, forMs: STREAMS_FOR_MS });
      clearInterval(sampling);
      await started.running.stop();
      if (completed < STREAMS) addFault(row, name, `${completed} of ${STREAMS} completed: ${fault ?? ''}`);
      addValue(row, name, (peak - before) / STREAMS);
    }
  }
  return row;
}

const IDLE_MS = 1000;

export async function measureStart({ plan, targets, say }: Bench): Promise<Row[]> {
  const start = createRow('start', OTHER_ROWS.start.unit, OTHER_ROWS.start.gate);
  const idle = createRow('idle', OTHER_ROWS.idle.unit, OTHER_ROWS.idle.gate);
  for (let index = 0; index < plan.startRounds; index += 1) {
    say(`start and idle memory: round ${index + 1} of ${plan.startRounds}`);
    for (const name of round(TARGET_NAMES, index)) {
      const { running, firstAnswerMs } = await startTarget(targets[name]);
      await pause(IDLE_MS);
      addValue(start, name, firstAnswerMs);
      addValue(idle, name, residentKib(running.pid) / 1024);
      await running.stop();
    }
  }
  return [start, idle];
}
