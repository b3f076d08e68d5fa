// What `GET /metrics` shows of admitted requests. Each target has an object of plain counters, so that the end of a request costs a
// look-up and some additions; text is made when it is asked for. The number of series is bounded: a model's name is a label only if
// it is in the catalog, since clients may send any name to a provider without a list.
import { totalInput, type Usage } from '../../canonical/reply.ts';
import type { EndpointName } from '../../canonical/request.ts';
import type { FinishedTrace } from '../../gateway/trace.ts';
import type { Target } from '../../routing/catalog.ts';
import { Histogram } from '../../histogram.ts';
import { conventionalName, operationAt } from '../conventions.ts';
import { costOf } from '../../routing/price.ts';
import { operationFamilies, OperationSeries, OTHER } from './operation-series.ts';
import { WorkSeries } from './work-series.ts';
import { labels, type Family, type HistogramFamily } from './exposition.ts';

/** Targets and accounts with labels of their own; all further ones share `other`. */
const MOST_TARGETS = 200;
const MOST_ACCOUNTS = 1000;
/** Outcomes of one target: combinations of endpoint, status and error kind. */
const MOST_OUTCOMES = 100;
const LONGEST_NAME = 200;
/** A stream whose rest takes less arrived at once: its pace is that of the network. */
const LEAST_REST_S = 0.05;

/** The label of requests that ended before a target was contacted, and of those without an error. */
const NONE = 'none';

const TOKENS_PER_SECOND = [1, 2, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000];

interface OutcomeCount {
  readonly endpoint: string;
  readonly status: number;
  readonly error: string | null;
  requests: number;
}

class TargetSeries {
  readonly provider: string;
  readonly model: string;
  /** The names that the conventions give to the provider, and that the provider gives to the model. */
  readonly conventional: { provider: string; model: string };
  readonly operations: OperationSeries[] = [];
  readonly outcomes: OutcomeCount[] = [];
  readonly tokensPerSecond = new Histogram(TOKENS_PER_SECOND);
  /** Contacts without an answer, by the kind of failure; their number is the gateway's own. */
  readonly failures = new Map<string, number>();
  /** Answers with usage. */
  counted = 0;
  fresh = 0;
  cacheRead = 0;
  cacheWrite = 0;
  output = 0;
  reasoning = 0;
  costUsd = 0;

  constructor(provider: string, model: string, conventional: TargetSeries['conventional']) {
    this.provider = provider;
    this.model = model;
    this.conventional = conventional;
  }

  add(trace: FinishedTrace, cost: number): void {
    const { outcome, durationMs, firstByteMs } = trace;
    const { error, usage } = outcome;
    countOutcome(this.outcomes, trace);
    this.#operation(trace.endpoint).add(trace);
    if (usage === undefined) return;
    this.#addUsage(usage, cost);
    if (!trace.streamed || error !== null || firstByteMs === null) return;
    const rest = (durationMs - firstByteMs) / 1000;
    if (usage.output > 1 && rest >= LEAST_REST_S) this.tokensPerSecond.observe((usage.output - 1) / rest);
  }

  #operation(endpoint: EndpointName): OperationSeries {
    const name = operationAt(endpoint);
    let series = this.operations.find((operation) => operation.name === name);
    if (series === undefined) this.operations.push((series = new OperationSeries(name)));
    return series;
  }

  #addUsage(usage: Usage, cost: number): void {
    this.counted += 1;
    this.output += usage.output;
    this.fresh += usage.input;
    this.cacheRead += usage.cacheRead ?? 0;
    this.cacheWrite += usage.cacheWrite ?? 0;
    this.reasoning += usage.reasoning ?? 0;
    this.costUsd += cost;
  }
}

function countOutcome(
  outcomes: OutcomeCount[],
  { endpoint, outcome: { status, error } }: FinishedTrace,
): void {
  for (const known of outcomes) {
    if (known.status === status && known.error === error && known.endpoint === endpoint) {
      known.requests += 1;
      return;
    }
  }
  if (outcomes.length < MOST_OUTCOMES) {
    outcomes.push({ endpoint, status, error, requests: 1 });
    return;
  }
  const last = outcomes[MOST_OUTCOMES - 1];
  if (last !== undefined) last.requests += 1;
}

interface AccountSeries {
  requests: number;
  errors: number;
  input: number;
  output: number;
  costUsd: number;
}

interface RequestSeries {
  add(trace: FinishedTrace): void;
  families(): (Family | HistogramFamily)[];
}

interface RequestSeriesOptions {
  /** Whether the target's name is in the catalog. */
  isKnown: (target: Target) => boolean;
  /** Whether there are series of accounts. */
  accounts: boolean;
}

export function createRequestSeries({ isKnown, accounts }: RequestSeriesOptions): RequestSeries {
  /** By the target's key; the shared series `other` has a key of its own. */
  const targets = new Map<string, TargetSeries>();
  const byAccount = new Map<string, AccountSeries>();
  const work = new WorkSeries();

  function seriesOf(target: Target | undefined): TargetSeries {
    if (target === undefined) return shared('', NONE, NONE);
    const known = targets.get(target.key);
    if (known !== undefined) return known;
    const { provider, model, upstream } = target;
    if (targets.size >= MOST_TARGETS) return shared(OTHER, OTHER, OTHER);
    const conventional = { provider: conventionalName(provider), model: upstream.slice(0, LONGEST_NAME) };
    if (!isKnown(target)) return shared(`${provider.name}/`, provider.name, OTHER, conventional.provider);
    const series = new TargetSeries(provider.name, model.slice(0, LONGEST_NAME), conventional);
    targets.set(target.key, series);
    return series;
  }

  /** Of several targets, or of none. */
  function shared(key: string, provider: string, model: string, conventional = provider): TargetSeries {
    const known = targets.get(key);
    if (known !== undefined) return known;
    const series = new TargetSeries(provider, model, { provider: conventional, model });
    targets.set(key, series);
    return series;
  }

  return {
    add(trace) {
      const { outcome, contact, key } = trace;
      const { usage } = outcome;
      const cost = usage === undefined ? 0 : (costOf(contact?.target.price, usage) ?? 0);
      seriesOf(contact?.target).add(trace, cost);
      for (const { target, kind } of trace.failures) {
        const { failures } = seriesOf(target);
        failures.set(kind, (failures.get(kind) ?? 0) + 1);
      }
      work.add(trace, cost);
      if (accounts) addAccount(byAccount, key.account, trace, cost);
    },
    families: () => [
      ...targetFamilies([...targets.values()]),
      ...work.families(),
      ...accountFamilies(byAccount),
    ],
  };
}

function addAccount(
  byAccount: Map<string, AccountSeries>,
  account: string,
  { outcome: { error, usage } }: FinishedTrace,
  cost: number,
): void {
  const name = byAccount.has(account) || byAccount.size < MOST_ACCOUNTS ? account : OTHER;
  let series = byAccount.get(name);
  if (series === undefined) {
    series = { requests: 0, errors: 0, input: 0, output: 0, costUsd: 0 };
    byAccount.set(name, series);
  }
  series.requests += 1;
  if (error !== null) series.errors += 1;
  series.costUsd += cost;
  if (usage === undefined) return;
  series.input += totalInput(usage);
  series.output += usage.output;
}

function targetFamilies(all: readonly TargetSeries[]): (Family | HistogramFamily)[] {
  const used = all.filter(({ counted }) => counted > 0);
  return [
    {
      name: 'gateway_requests_total',
      help: 'Admitted requests that are over, by how they ended.',
      type: 'counter',
      samples: all.flatMap(({ provider, model, outcomes }) =>
        outcomes.map(({ endpoint, status, error, requests }): [string, number] => [
          labels({ endpoint, provider, model, status: String(status), error: error ?? NONE }),
          requests,
        ]),
      ),
    },
    {
      name: 'gateway_target_failures_total',
      help: 'Contacts with a target that brought no answer, also those after which another target answered.',
      type: 'counter',
      samples: all.flatMap(({ provider, model, failures }) =>
        [...failures].map(([error, times]): [string, number] => [labels({ provider, model, error }), times]),
      ),
    },
    ...operationFamilies(all),
    {
      name: 'gateway_stream_output_tokens_per_second',
      help: 'Output tokens a second after the first piece of a streamed answer.',
      type: 'histogram',
      samples: all
        .filter(({ tokensPerSecond }) => tokensPerSecond.total > 0)
        .map(({ provider, model, tokensPerSecond }) => [labels({ provider, model }), tokensPerSecond]),
    },
    {
      name: 'gateway_tokens_total',
      help: 'Tokens: input is neither read from nor written to a prompt cache, reasoning is a part of output.',
      type: 'counter',
      samples: used.flatMap(tokenSamples),
    },
    {
      name: 'gateway_cost_usd_total',
      help: 'Cost of answers whose price is known, in US dollars.',
      type: 'counter',
      samples: used.map(({ provider, model, costUsd }) => [labels({ provider, model }), costUsd]),
    },
  ];
}

function tokenSamples(series: TargetSeries): [string, number][] {
  const { provider, model, fresh, cacheRead, cacheWrite, output, reasoning } = series;
  const kinds = {
    input: fresh,
    cache_read: cacheRead,
    cache_write: cacheWrite,
    output,
    reasoning,
  };
  return Object.entries(kinds).map(([kind, tokens]) => [labels({ provider, model, kind }), tokens]);
}

function accountFamilies(byAccount: ReadonlyMap<string, AccountSeries>): Family[] {
  const all = [...byAccount];
  const by = (value: (series: AccountSeries) => number): [string, number][] =>
    all.map(([account, series]) => [labels({ account }), value(series)]);
  const tokens = (kind: 'input' | 'output'): [string, number][] =>
    all.map(([account, series]) => [labels({ account, kind }), series[kind]]);
  return [
    {
      name: 'gateway_account_requests_total',
      help: 'Admitted requests of an account.',
      type: 'counter',
      samples: by(({ requests }) => requests),
    },
    {
      name: 'gateway_account_errors_total',
      help: 'Requests of an account that were not fully answered.',
      type: 'counter',
      samples: by(({ errors }) => errors),
    },
    {
      name: 'gateway_account_tokens_total',
      help: 'Tokens of an account; input includes the tokens of prompt caches.',
      type: 'counter',
      samples: [...tokens('input'), ...tokens('output')],
    },
    {
      name: 'gateway_account_cost_usd_total',
      help: 'Cost of an account, in US dollars.',
      type: 'counter',
      samples: by(({ costUsd }) => costUsd),
    },
  ];
}
