// The benchmark: `npm run bench -- --help`.
import { cpus } from 'node:os';
import { startLoad } from './load-client.ts';
import { measureFamily, measureLatency, measureStart, measureStreams, type Bench } from './measure.ts';
import { HELP, readOptions, type Options } from './options.ts';
import { FULL, QUICK } from './plan.ts';
import { pinned, pinSelf } from './processes.ts';
import { summarize, type Row, type Summary } from './rows.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';
import { soak } from './soak.ts';
import { table } from './table.ts';
import { createWorkplace, startTarget, type Started, type TargetName } from './targets.ts';

process.exitCode = await main();

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options === undefined) {
    console.log(HELP);
    return 0;
  }
  pinSelf();
  const { targets, stubPort, dispose } = await createWorkplace(options.gateway);
  const load = startLoad();
  const say = (what: string): void => void process.stderr.write(`${what}\n`);
  const bench: Bench = { load, targets, stubPort, say, warm: new Set(), plan: options.quick ? QUICK : FULL };
  try {
    return options.soak === undefined ? await measureAll(bench, options) : await soakOnce(bench, options);
  } finally {
    await load.stop();
    await dispose();
  }
}

async function measureAll(bench: Bench, options: Options): Promise<number> {
  const rows: Row[] = [];
  const wanted = (id: string): boolean =>
    options.only.length === 0 || options.only.some((part) => id.includes(part));
  const families = byFamily(SCENARIOS.filter(({ id }) => wanted(id)));
  if (families.length > 0) {
    await withAll(bench, async (started) => {
      for (const family of families) rows.push(...(await measureFamily(family, started, bench)));
    });
  }
  if (wanted('latency')) {
    await withAll(bench, async (started) => rows.push(await measureLatency(started, bench)));
  }
  for (const client of bench.plan.streamClients) {
    if (wanted(`streams ${client}`)) rows.push(await measureStreams(client, bench));
  }
  if (wanted('start') || wanted('idle')) rows.push(...(await measureStart(bench)));
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
  console.log(table(summaries));
}

async function withAll(
  { targets }: Bench,
  measure: (started: Record<TargetName, Started>) => Promise<unknown>,
): Promise<void> {
  const started = {
    bare: await startTarget(targets.bare),
    floor: await startTarget(targets.floor),
    gateway: await startTarget(targets.gateway),
  };
  await measure(started);
  for (const { running } of Object.values(started)) await running.stop();
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
