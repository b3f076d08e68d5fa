// What `GET /metrics` shows of requests under the names of OpenTelemetry's conventions for generative AI, as its exporters write them for
// Prometheus: https://github.com/open-telemetry/semantic-conventions/blob/v1.41.0/docs/gen-ai/gen-ai-metrics.md
import { totalInput } from '../../canonical/reply.ts';
import type { FinishedTrace } from '../../gateway/trace.ts';
import { Histogram } from '../../histogram.ts';
import { labels, type HistogramFamily } from './exposition.ts';

/** The label that targets and accounts beyond the bound share. */
export const OTHER = 'other';
/** Kinds of errors with a histogram of their own. */
const MOST_KINDS = 20;

// The bounds that OpenTelemetry's conventions for generative AI give.
export const DURATION_S = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);

/** What a target does in one way: chat, embeddings, completions. */
export class OperationSeries {
  readonly name: string;
  readonly answered = new Histogram(DURATION_S);
  /** By error kind. */
  readonly failed = new Map<string, Histogram>();
  readonly firstChunk = new Histogram(DURATION_S);
  readonly laterChunks = new Histogram(DURATION_S);
  readonly input = new Histogram(TOKENS);
  readonly output = new Histogram(TOKENS);

  constructor(name: string) {
    this.name = name;
  }

  add({
    outcome: { error, usage },
    durationMs,
    streamed,
    firstByteAt,
    contactedAt,
    progress,
  }: FinishedTrace): void {
    const seconds = durationMs / 1000;
    if (error === null) this.answered.observe(seconds);
    else failedHistogram(this.failed, error).observe(seconds);
    // A stream that failed later had a first chunk, too.
    if (streamed && firstByteAt !== undefined && (error === null || progress.written > 0))
      this.firstChunk.observe((firstByteAt - contactedAt) / 1000);
    if (progress.gaps !== undefined) this.laterChunks.add(progress.gaps);
    if (usage === undefined) return;
    this.input.observe(totalInput(usage));
    this.output.observe(usage.output);
  }
}

function failedHistogram(failed: Map<string, Histogram>, error: string): Histogram {
  const kind = failed.has(error) || failed.size < MOST_KINDS ? error : OTHER;
  let histogram = failed.get(kind);
  if (histogram === undefined) failed.set(kind, (histogram = new Histogram(DURATION_S)));
  return histogram;
}

/** Whose series they are. */
interface Target {
  readonly provider: string;
  readonly model: string;
  readonly conventional: { readonly provider: string; readonly model: string };
  readonly operations: readonly OperationSeries[];
}

export function operationFamilies(all: readonly Target[]): HistogramFamily[] {
  type Histograms = readonly (readonly [more: Record<string, string>, Histogram])[];
  const family = (
    name: string,
    help: string,
    of: (series: OperationSeries) => Histograms,
  ): HistogramFamily => ({
    name,
    help,
    type: 'histogram',
    samples: all.flatMap((target) =>
      target.operations.flatMap((series) =>
        of(series)
          .filter(([, { total }]) => total > 0)
          .map(([more, histogram]) => [operationLabels(target, series, more), histogram] as const),
      ),
    ),
  });
  return [
    family(
      'gen_ai_client_operation_duration_seconds',
      'Time from a request to the last byte of its answer.',
      ({ answered, failed }) => [
        [{}, answered],
        ...[...failed].map(([error_type, histogram]) => [{ error_type }, histogram] as const),
      ],
    ),
    family(
      'gen_ai_client_operation_time_to_first_chunk_seconds',
      'Time from the request to the provider to the first content of its streamed answer.',
      ({ firstChunk }) => [[{}, firstChunk]],
    ),
    family(
      'gen_ai_client_operation_time_per_output_chunk_seconds',
      'Time between two chunks of a streamed answer.',
      ({ laterChunks }) => [[{}, laterChunks]],
    ),
    family(
      'gen_ai_client_token_usage',
      'Tokens of one request; input includes the tokens of prompt caches.',
      ({ input, output }) => [
        [{ gen_ai_token_type: 'input' }, input],
        [{ gen_ai_token_type: 'output' }, output],
      ],
    ),
  ];
}

function operationLabels(
  { provider, model, conventional }: Target,
  { name }: OperationSeries,
  more: Record<string, string>,
): string {
  return labels({
    gen_ai_operation_name: name,
    gen_ai_provider_name: conventional.provider,
    gen_ai_request_model: conventional.model,
    provider,
    model,
    ...more,
  });
}
