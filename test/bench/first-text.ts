// How long a person waits for text: the first text of a stream and each later one, with one stream, with twenty, and beside fifty
// others that burst. The stub's clock in the frames takes its own time out.
import type { Job, Result, Route } from './jobs.ts';
import { ALL, direct, filled, ON_POSTGRES, ON_SQLITE, TAIL_ROUNDS, warmUp } from './latency.ts';
import { inTurn, routeTo, SMALL, type Bench, type Work } from './measure.ts';
import { addFault, addValue, createRow, quantile, type Row } from './rows.ts';
import { OTHER_ROWS } from './scenarios.ts';
import { startTargets, type TargetName } from './targets.ts';

const STREAMS = [1, 20] as const;
const ROUND_MS = 1500;
const BURSTS = 50;
/** Streams among the bursts whose first text is measured, one after the other on each connection. */
const AMONG = 4;

const PACED: Work = { ...SMALL, kind: 'tokens' };
const BURST: Work = { ...SMALL, kind: 'burst' };

const of = (streams: number): string => (streams === 1 ? '1 stream' : `${streams} streams`);
const rowNames = (what: string): string[] =>
  STREAMS.flatMap((streams) => [`${what}, ${of(streams)}`, `${what} p99, ${of(streams)}`]);

export const TEXT_ROWS = [...rowNames('first text'), ...rowNames('later text')];
export const BESIDE_ROWS = ['first text beside bursts', 'first text beside bursts p99'];

type Times = Pick<Result, 'firstTexts' | 'laterTexts'>;

/** A figure of texts: its rows are named `name` and `name p99` (before a comma). */
interface Figure {
  median: Row[];
  tail: Row[];
  times: keyof Times;
  /** Of a millisecond. */
  perMs: number;
}

function figure(
  name: string,
  { unit, gate }: { unit: string; gate?: Row['gate'] },
  times: keyof Times,
  perMs: number,
): Figure {
  const [what = '', ...rest] = name.split(',');
  const rows = (id: string, limit: Row['gate']): Row[] => [
    createRow(id, unit, limit, ON_SQLITE),
    createRow(`postgres ${id}`, unit, undefined, ON_POSTGRES),
  ];
  const tail = [`${what} p99`, ...rest].join(',');
  return { median: rows(name, gate), tail: rows(tail, undefined), times, perMs };
}

/** Streams of a text each 20 ms: what each target adds to the time that the stub alone takes. */
export async function measureTexts(bench: Bench): Promise<Row[]> {
  const rows: Row[] = [];
  for (const streams of STREAMS) {
    const figures = [
      figure(`first text, ${of(streams)}`, OTHER_ROWS.firstText, 'firstTexts', 1000),
      figure(`later text, ${of(streams)}`, OTHER_ROWS.laterText, 'laterTexts', 1000),
    ];
    const job = { do: 'closed', connections: streams, forMs: ROUND_MS } as const;
    rows.push(...(await measure(of(streams), figures, (route) => ({ ...job, route }), bench)));
  }
  return rows;
}

/** The whole time to the first text while other streams burst. */
export async function measureTextsBeside(bench: Bench): Promise<Row[]> {
  const [name = ''] = BESIDE_ROWS;
  const figures = [figure(name, OTHER_ROWS.besideBursts, 'firstTexts', 1)];
  const job = { do: 'beside', connections: AMONG, forMs: ROUND_MS } as const;
  const jobOf = (route: Route, burst: Route): Job => ({
    ...{ ...job, route },
    others: { route: burst, connections: BURSTS },
  });
  return measure(`${BURSTS} bursts`, figures, jobOf, bench, false);
}

/** `isAdded`: to what the stub alone takes. */
async function measure(
  what: string,
  figures: readonly Figure[],
  jobOf: (route: Route, burst: Route) => Job,
  bench: Bench,
  isAdded = true,
): Promise<Row[]> {
  const { load, plan, say } = bench;
  const rows = figures.flatMap(({ median, tail }) => [...median, ...tail]);
  const started = await startTargets(ALL, bench);
  await warmUp(started, bench);
  const stub = isAdded ? direct(bench, started, PACED) : undefined;
  for (const each of started) {
    const route = routeTo(each, PACED);
    const { fault } = await load.run({ do: 'verify', route });
    addFault(rows, each.target.name, fault);
    await load.run(jobOf(route, routeTo(each, BURST)));
  }
  let pooled = new Map<TargetName | 'stub', Times>();
  for (let index = 0; index < plan.textRounds; index += 1) {
    say(`texts, ${what}: round ${index + 1} of ${plan.textRounds}`);
    const base = stub && (await load.run(jobOf(stub, stub)));
    pool(pooled, 'stub', base);
    for (const each of inTurn(started, index)) {
      const { name } = each.target;
      const result = await load.run(jobOf(routeTo(each, PACED), routeTo(each, BURST)));
      addFault(rows, name, result.fault);
      for (const { median, times, perMs } of figures)
        addValue(median, name, added(result, base, times, 0.5) * perMs);
      pool(pooled, name, result);
    }
    if ((index + 1) % TAIL_ROUNDS !== 0 && index + 1 !== plan.textRounds) continue;
    for (const { target } of started) {
      for (const { tail, times, perMs } of figures) {
        const value = added(pooled.get(target.name), stub && pooled.get('stub'), times, 0.99);
        addValue(tail, target.name, value * perMs);
      }
    }
    pooled = new Map();
  }
  for (const { stop } of started) await stop();
  return filled(rows);
}

function added(result: Times | undefined, base: Times | undefined, times: keyof Times, part: number): number {
  const of = (from: Times | undefined): number => quantile(from?.[times] ?? [], part);
  return of(result) - (base === undefined ? 0 : of(base));
}

function pool(pooled: Map<TargetName | 'stub', Times>, name: TargetName | 'stub', more?: Times): void {
  const { firstTexts = [], laterTexts = [] } = pooled.get(name) ?? {};
  if (more === undefined) return;
  pooled.set(name, {
    firstTexts: [...firstTexts, ...more.firstTexts],
    laterTexts: [...laterTexts, ...more.laterTexts],
  });
}
