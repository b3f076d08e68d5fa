// A comparison from its source to its report: reads the requests, reaches a gateway with a key of its own, says what it may cost, asks, sends.
import { CancellationSource } from '../../../cancellation.ts';
import { CliError } from '../../../cli-error.ts';
import { labelOf } from '../../../conversations/names.ts';
import type { Config } from '../../../config/config.ts';
import { createDirectClient } from '../../../providers/direct-client.ts';
import { createRouting } from '../../../routing/routing.ts';
import type { Store } from '../../../store/store.ts';
import type { Context } from '../../context.ts';
import { openDatabase } from '../../database.ts';
import { say } from '../../ui/lines.ts';
import { createStyle, formatCost, printJson, printLines, widthOf } from '../../ui/style.ts';
import { leaseKey } from '../keys.ts';
import { reachGateway, type ReachedGateway, type ReachedModel } from '../reach.ts';
import { estimateCost, type Estimate } from './estimate.ts';
import { judge, reportJson, totals, type JudgedRow } from './report.ts';
import { readRequests, type Compared } from './requests.ts';
import { compare, RECORDED } from './run.ts';
import { estimateText, rowLines, totalLines, type Canvas } from './view.ts';

interface Asked {
  source: string;
  names: readonly string[];
  /** One request of a tape. */
  only: string | undefined;
  label: string;
  yes: boolean;
  json: boolean;
  config: Config;
  /** Reads the configuration of a gateway that is started here. */
  load: () => Promise<Config>;
}

const VERB = 'compare';
/** USD that may be spent without a question. */
const UNASKED = 1;
/** Exit code of what Ctrl-C ended. */
const INTERRUPTED = 130;

/** The exit code. Rejects with CliError for what can't be compared. */
export async function runComparison(asked: Asked, context: Context): Promise<number> {
  const { names, config, load, label } = asked;
  const [model] = names.filter((name) => name !== RECORDED);
  if (model === undefined)
    throw new CliError(`--with names no target beside ${RECORDED}: a route or provider/model`, 2);
  const compared = await readRequests(asked.source, asked.only, { cwd: context.cwd, model });
  if (names.includes(RECORDED) && compared.requests[0].recorded === undefined)
    throw new CliError(`${asked.source} is no tape: nothing is ${RECORDED} in it`, 2);
  const undo: (() => Promise<void> | void)[] = [];
  try {
    const store = await openDatabase(config);
    undo.push(() => store.close());
    const key = await leaseKey(store, context, VERB, { usageLabel: labelOf(label) });
    undo.push(() => key.end());
    const parts = { config, load, store, key: key.plaintext, tool: VERB, context };
    const gateway = await reachGateway(parts);
    undo.push(() => gateway.stop());
    return await compareThrough(gateway, key.plaintext, { asked, compared, store }, context);
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

interface Work {
  asked: Asked;
  compared: Compared;
  store: Store;
}

async function compareThrough(
  gateway: ReachedGateway,
  key: string,
  { asked, compared, store }: Work,
  context: Context,
): Promise<number> {
  const { names, json, source } = asked;
  const { requests, left } = compared;
  const models = await modelsOf(names, gateway);
  const sent = [...models.keys()];
  const estimate = await estimateFor(compared, models, asked.config, context);
  await agree(estimate, { requests: requests.length, targets: sent.length, left }, asked.yes, context);
  const cancellation = new CancellationSource();
  const forget = context.onSignal(() => cancellation.cancel(new Error('stopped by a signal')));
  const targets = names.map((name) => ({ name, provider: providerOf(models.get(name)) }));
  const canvas: Canvas = {
    width: widthOf(context.stdout),
    style: await createStyle(context.stdout, context.env),
  };
  const rows: JudgedRow[] = [];
  const client = createDirectClient();
  const { clock, ids } = context;
  const running = { url: gateway.url, key, client, clock, ids, cancellation, store };
  try {
    for await (const row of compare(requests, targets, running)) {
      const judged = judge(row, names[0] ?? '');
      rows.push(judged);
      if (!json) printLines(context.stdout, [...rowLines(judged, canvas), '']);
    }
  } finally {
    forget();
    await client.close();
  }
  const isStopped = cancellation.reason !== undefined;
  const report = { source, estimate, rows, targets: names, complete: !isStopped };
  if (json) printJson(context, reportJson(report));
  else if (rows.length > 0 && requests.length > 1)
    printLines(context.stdout, totalLines(totals(rows, names), canvas));
  if (isStopped)
    say(context.stderr, `gateway compare: stopped after ${rows.length} of ${requests.length} requests`);
  if (isStopped) return INTERRUPTED;
  return rows.some(({ answers }) =>
    answers.some(({ target, error }) => target !== RECORDED && error === null),
  )
    ? 0
    : 1;
}

/** By the name that is sent. Rejects with CliError for a name that the gateway does not know: nothing was sent yet. */
async function modelsOf(
  names: readonly string[],
  gateway: ReachedGateway,
): Promise<Map<string, ReachedModel>> {
  const models = new Map<string, ReachedModel>();
  for (const name of names) if (name !== RECORDED) models.set(name, await gateway.model(name));
  return models;
}

const providerOf = (model: ReachedModel | undefined): string =>
  model?.target.replace(/\/.*$/s, '') ?? RECORDED;

async function estimateFor(
  { requests }: Compared,
  models: ReadonlyMap<string, ReachedModel>,
  config: Config,
  { clock }: Context,
): Promise<Estimate> {
  const routing = createRouting({ config, clock });
  await routing.loadPrices();
  return estimateCost(requests, [...models.keys()], (name) => {
    const own = routing.targetsOf(name);
    // A list that a provider gave the running gateway alone.
    return own.length > 0 ? own : routing.targetsOf(models.get(name)?.target ?? name);
  });
}

/** Resolves if it may go on. Rejects with CliError if a person says no, or can't be asked. */
async function agree(
  estimate: Estimate,
  counts: { requests: number; targets: number; left: number },
  yes: boolean,
  context: Context,
): Promise<void> {
  const text = estimateText(estimate, counts);
  say(context.stderr, `gateway compare: ${text}`);
  if (yes || estimate.most <= UNASKED) return;
  const sum = formatCost(estimate.most);
  if (context.ask === undefined)
    throw new CliError(`that may cost up to ${sum}, and nobody can be asked here; --yes sends the requests`);
  const answer = await context.ask('Send them? [y/N] ');
  if (!/^y(?:es)?$/i.test(answer?.trim() ?? ''))
    throw new CliError(`nothing was sent: up to ${sum} was not agreed to`);
}
