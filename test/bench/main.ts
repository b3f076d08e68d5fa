// The benchmark: `npm run bench -- --help`.
import { cpus } from 'node:os';
import { startLoad } from './load-client.ts';
import { compare, measureWorkers } from './compare.ts';
import { measureTexts, measureTextsBeside, TEXT_ROWS, BESIDE_ROWS } from './first-text.ts';
import { measureLatency, measureRate } from './latency.ts';
import { measureFamilies, type Bench } from './measure.ts';
import { measureStart, measureStreams } from './memory.ts';
import { HELP, readOptions, type Options } from './options.ts';
import { FULL, QUICK } from './plan.ts';
import { pinned, pinSelf } from './processes.ts';
import { summarize, type Row, type Summary } from './rows.ts';
import { COMPARISONS, SCENARIOS, type Scenario } from './scenarios.ts';
import { soak } from './soak.ts';
import { tables } from './table.ts';
import { createWorkplace } from './targets.ts';

process.exitCode = await main();

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options === undefined) {
    console.log(HELP);
    return 0;
  }
  pinSelf();
  const say = (what: string): void => void process.stderr.write(`${what}\n`);
  const workplace = await createWorkplace(options.gateway, say);
  const load = startLoad();
  const bench: Bench = { ...workplace, load, say, warm: new Set(), plan: options.quick ? QUICK : FULL };
  try {
    return options.soak === undefined ? await measureAll(bench, options) : await soakOnce(bench, options);
  } finally {
    await load.stop();
    await workplace.dispose();
  }
}

async function measureAll(bench: Bench, options: Options): Promise<number> {
  const wanted = (id: string): boolean =>
    options.only.length === 0 || options.only.some((part) => id.includes(part));
  const rows = await measureFamilies(byFamily(SCENARIOS.filter(({ id }) => wanted(id))), bench);
  for (const comparison of COMPARISONS) {
    if (!wanted(comparison.id)) continue;
    const row = await compare(comparison, bench);
    if (row !== undefined) rows.push(row);
  }
  const others: [ids: string[], measure: () => Promise<Row[]>][] = [
    [['workers small chat', 'workers throughput'], () => measureWorkers(bench)],
    [both('latency', 'latency p99', 'latency in commits'), () => measureLatency(bench)],
    [both('rate'), () => measureRate(bench)],
    [both(...TEXT_ROWS), () => measureTexts(bench)],
    [both(...BESIDE_ROWS), () => measureTextsBeside(bench)],
    ...bench.plan.streamClients.map((client): (typeof others)[number] => [
      both(`streams ${client}`),
      () => measureStreams(client, bench),
    ]),
    [both('start', 'idle', 'loaded', 'steady'), () => measureStart(bench)],
  ];
  for (const [ids, measure] of others) if (ids.some(wanted)) rows.push(...(await measure()));
  const summaries = rows.map(summarize);
  report(summaries, options);
  const has = (verdict: Summary['verdict']): boolean =>
    summaries.some((summary) => summary.verdict === verdict);
  return has('failed') || (options.gate && has('over')) ? 1 : 0;
}

async function soakOnce(bench: Bench, { soak: length, json, gate }: Options): Promise<number> {
  if (length === undefined) return 0;
  const result = await soak(length, bench);
  const mib = (value: number | undefined): string => (value === undefined ? '–' : value.toFixed(1));
  const said = `${result.requests} requests in ${result.minutes.toFixed(1)} minutes: ${mib(result.before?.median)} MiB in the second quarter, ${mib(result.after?.median)} in the last: ${result.flat ? 'flat' : 'NOT FLAT'}`;
  console.log(json ? JSON.stringify(result, undefined, 2) : said);
  if (result.fault !== undefined) console.error(result.fault);
  return result.fault !== undefined || (gate && !result.flat) ? 1 : 0;
}

function report(summaries: readonly Summary[], { json, quick }: Options): void {
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? '', cores: cpus().length, pinned, quick };
  if (json) {
    console.log(JSON.stringify({ machine, rows: summaries }, undefined, 2));
    return;
  }
  const pins = pinned ? 'target on core 0, load and stub on core 1' : 'not pinned';
  console.log(
    `Node ${machine.node}, ${machine.cpu}, ${pins}; medians (minimum–maximum), ratios round by round\n`,
  );
  console.log(tables(summaries));
}

/** Names of rows of the gateway on SQLite, and on PostgreSQL. */
function both(...ids: string[]): string[] {
  return ids.flatMap((id) => [id, `postgres ${id}`]);
}

/** Scenarios whose references are the same: the same request, client and reply. */
function byFamily(scenarios: readonly Scenario[]): Scenario[][] {
  const families = new Map<string, Scenario[]>();
  for (const scenario of scenarios) {
    const key = `${scenario.size} ${scenario.kind} ${scenario.client}`;
    const family = families.get(key) ?? [];
    family.push(scenario);
    families.set(key, family);
  }
  return [...families.values()];
}
