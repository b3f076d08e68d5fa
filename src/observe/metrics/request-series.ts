// What `GET /metrics` shows of admitted requests. Each target has an object of plain counters, so that the end of a request costs a
// look-up and some additions; text is made when it is asked for. The number of series is bounded: a model's name is a label only if
// it is in the catalog, since clients may send any name to a provider without a list.
import { totalInput, type Usage } from '../../canonical/reply.ts';
import type { FinishedTrace } from '../../gateway/trace.ts';
import type { Target } from '../../routing/catalog.ts';
import { costOf } from '../../routing/price.ts';
import { WorkSeries } from './work-series.ts';
import { Histogram, labels, type Family, type HistogramFamily } from './exposition.ts';

/** Targets and accounts with labels of their own; all further ones share `other`. */
const MOST_TARGETS = 200;
const MOST_ACCOUNTS = 1000;
/** Outcomes of one target: combinations of endpoint, status and error kind. */
const MOST_OUTCOMES = 100;
const MOST_KINDS = 20;
const LONGEST_NAME = 200;
/** A stream whose rest takes less arrived at once: its pace is that of the network. */
const LEAST_REST_S = 0.05;

/** The label that targets and accounts beyond the bound share. */
const OTHER = 'other';
/** The label of requests that ended before a target was contacted, and of those without an error. */
const NONE = 'none';

// The bounds that the conventions of OpenTelemetry for generative AI give.
const DURATION_S = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const FIRST_TOKEN_S = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);
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
  readonly outcomes: OutcomeCount[] = [];
  readonly answered = new Histogram(DURATION_S);
  /** By error kind. */
  readonly failed = new Map<string, Histogram>();
  readonly firstToken = new Histogram(FIRST_TOKEN_S);
  readonly tokensPerSecond = new Histogram(TOKENS_PER_SECOND);
  readonly input = new Histogram(TOKENS);
  readonly output = new Histogram(TOKENS);
  /** Contacts without an answer, by the kind of failure; their number is the gateway's own. */
  readonly failures = new Map<string, number>();
  fresh = 0;
  cacheRead = 0;
  cacheWrite = 0;
  reasoning = 0;
  costUsd = 0;

  constructor(provider: string, model: string) {
    this.provider = provider;
    this.model = model;
  }

  add(trace: FinishedTrace, cost: number): void {
    const { outcome, durationMs } = trace;
    const { error, usage } = outcome;
    countOutcome(this.outcomes, trace);
    const seconds = durationMs / 1000;
    if (error === null) this.answered.observe(seconds);
    else failedHistogram(this.failed, error).observe(seconds);
    if (trace.streamed && error === null && trace.firstByteMs !== null) {
      this.firstToken.observe(trace.firstByteMs / 1000);
      const rest = (durationMs - trace.firstByteMs) / 1000;
      if (usage !== undefined && usage.output > 1 && rest >= LEAST_REST_S) {
        this.tokensPerSecond.observe((usage.output - 1) / rest);
      }
    }
    if (usage !== undefined) this.#addUsage(usage, cost);
  }

  #addUsage(usage: Usage, cost: number): void {
    this.input.observe(totalInput(usage));
    this.output.observe(usage.output);
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

function failedHistogram(failed: Map<string, Histogram>, error: string): Histogram {
  const kind = failed.has(error) || failed.size < MOST_KINDS ? error : OTHER;
  let histogram = failed.get(kind);
  if (histogram === undefined) failed.set(kind, (histogram = new Histogram(DURATION_S)));
  return histogram;
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
    if (target === undefined) return found('', NONE, NONE);
    const known = targets.get(target.key);
    if (known !== undefined) return known;
    const { provider, model } = target;
    if (targets.size >= MOST_TARGETS) return found(OTHER, OTHER, OTHER);
    if (!isKnown(target)) return found(`${provider.name}/`, provider.name, OTHER);
    return found(target.key, provider.name, model.slice(0, LONGEST_NAME));
  }

  function found(key: string, provider: string, model: string): TargetSeries {
    let series = targets.get(key);
    if (series === undefined) targets.set(key, (series = new TargetSeries(provider, model)));
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

/** OpenTelemetry's names where there is one: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/ */
function targetFamilies(all: readonly TargetSeries[]): (Family | HistogramFamily)[] {
  const genAi = ({ provider, model }: TargetSeries, more: Record<string, string> = {}): string =>
    labels({
      gen_ai_operation_name: 'chat',
      gen_ai_provider_name: provider,
      gen_ai_request_model: model,
      ...more,
    });
  const used = all.filter(({ input }) => input.total > 0);
  const streamed = all.filter(({ firstToken }) => firstToken.total > 0);
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
    {
      name: 'gen_ai_client_operation_duration_seconds',
      help: 'Time from a request to the last byte of its answer.',
      type: 'histogram',
      samples: all.flatMap((series): [string, Histogram][] => [
        ...(series.answered.total === 0 ? [] : [[genAi(series), series.answered] as [string, Histogram]]),
        ...[...series.failed].map(([error, histogram]): [string, Histogram] => [
          genAi(series, { error_type: error }),
          histogram,
        ]),
      ]),
    },
    {
      name: 'gen_ai_server_time_to_first_token_seconds',
      help: 'Time from a request to the first piece of its streamed answer.',
      type: 'histogram',
      samples: streamed.map((series) => [genAi(series), series.firstToken]),
    },
    {
      name: 'gateway_stream_output_tokens_per_second',
      help: 'Output tokens a second after the first piece of a streamed answer.',
      type: 'histogram',
      samples: all
        .filter(({ tokensPerSecond }) => tokensPerSecond.total > 0)
        .map(({ provider, model, tokensPerSecond }) => [labels({ provider, model }), tokensPerSecond]),
    },
    {
      name: 'gen_ai_client_token_usage',
      help: 'Tokens of one request; input includes the tokens of prompt caches.',
      type: 'histogram',
      samples: used.flatMap((series): [string, Histogram][] => [
        [genAi(series, { gen_ai_token_type: 'input' }), series.input],
        [genAi(series, { gen_ai_token_type: 'output' }), series.output],
      ]),
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
    output: output.sum,
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
