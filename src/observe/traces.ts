// Exports each request as spans by OTLP over HTTP (`otlp` in the configuration): one for the request, one for each contact with a
// target, after the request is over. Nothing of a body, no account, no key. OpenTelemetry's SDK is loaded only here; its queue is
// bounded, so that a collector that is away costs spans and nothing else.
import { kindOf } from '../conversations/kinds.ts';
import type { Attributes, Context, SpanOptions } from '@opentelemetry/api';
import {
  type ContactSpan,
  type FinishedTrace,
  loggedId,
  type Observer,
  type RequestSpans,
} from '../gateway/trace.ts';
import type { Logger } from '../log.ts';
import { withoutKeys } from '../ids.ts';
import type { Target } from '../routing/catalog.ts';
import { totalInput } from '../canonical/reply.ts';
import { servedPath } from '../protocols/interface/endpoint.ts';
import { conventionalName, operationAt } from './conventions.ts';
import { type Resource, SERVICE } from './resource.ts';
import { clientProtocols } from '../protocols/registry.ts';

/** Spans that wait for the collector; further ones are discarded. */
const MOST_WAITING = 4096;
const BATCH = 256;
const EVERY_MS = 2000;
const TIMEOUT_MS = 5000;
const MISSING =
  'otlp needs packages of OpenTelemetry that are not installed; install the gateway with its optional packages, or take otlp out of the configuration';

export interface TraceExporter extends Observer {
  /** Sends the spans that wait, within `ms`. */
  stop(ms: number): Promise<void>;
}

interface TraceExporterOptions {
  /** The collector's address with its path. */
  url: string;
  version: string;
  resource: Resource;
  log: Logger;
}

/** Rejects if OpenTelemetry's packages are not installed. */
export async function createTraceExporter(options: TraceExporterOptions): Promise<TraceExporter> {
  const api = await loaded();
  const { provider, ids } = await startSdk(options);
  const tracer = provider.getTracer(SERVICE, options.version);

  function start(name: string, given: SpanOptions, spanId: string, context: Context) {
    ids.spanId = spanId;
    return tracer.startSpan(name, given, context);
  }

  function parentOf({ traceId, parentSpanId: spanId, traceState }: RequestSpans): Context {
    if (spanId === undefined) return api.ROOT_CONTEXT;
    return api.trace.setSpanContext(api.ROOT_CONTEXT, {
      traceId,
      spanId,
      traceFlags: api.TraceFlags.SAMPLED,
      traceState: api.createTraceState(traceState),
      isRemote: true,
    });
  }

  return {
    finished(trace) {
      const { spans } = trace;
      if (spans === undefined || (spans.flags & api.TraceFlags.SAMPLED) === 0) return;
      const timeOf = epochOf(trace);
      const parent = parentOf(spans);
      ids.traceId = spans.traceId;
      const attributes = requestAttributes(trace);
      const startTime = timeOf(trace.startedAt);
      const name = `POST ${pathOf(trace)}`;
      const kind = api.SpanKind.SERVER;
      const request = start(name, { kind, startTime, attributes }, spans.spanId, parent);
      const inRequest = api.trace.setSpan(parent, request);
      for (const contact of spans.contacts) {
        const { spanId, target, endedAt } = contact;
        const own = contactAttributes(contact, trace);
        const span = start(
          `${operationAt(trace.endpoint)} ${withoutKeys(target.upstream)}`,
          { kind: api.SpanKind.CLIENT, startTime: timeOf(contact.startedAt), attributes: own },
          spanId,
          inRequest,
        );
        if (own['error.type'] !== undefined) span.setStatus({ code: api.SpanStatusCode.ERROR });
        span.end(endedAt === undefined ? trace.endedAt : timeOf(endedAt));
      }
      if (attributes['error.type'] !== undefined && trace.outcome.status >= 500)
        request.setStatus({ code: api.SpanStatusCode.ERROR });
      request.end(trace.endedAt);
    },
    async stop(ms) {
      const ended = provider.shutdown().catch(() => undefined);
      await Promise.race([ended, new Promise<void>((resolve) => setTimeout(resolve, ms).unref())]);
    },
  };
}

async function loaded() {
  try {
    return await import('@opentelemetry/api');
  } catch (error) {
    throw missing(error);
  }
}

function missing(error: unknown): unknown {
  const { code } = error as { code?: string };
  const isAbsent = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
  return isAbsent ? new Error(MISSING, { cause: error }) : error;
}

/** `ids`: the IDs of the next span. They exist before the span, because the provider gets them in a header. */
async function startSdk({ url, resource, log }: TraceExporterOptions) {
  try {
    const [sdk, { OTLPTraceExporter }, { resourceFromAttributes }] = await Promise.all([
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
    ]);
    const ids = { traceId: '', spanId: '' };
    const sender = new OTLPTraceExporter({ url, timeoutMillis: TIMEOUT_MS });
    const report = createReport(log, url);
    const exporter: ConstructorParameters<typeof sdk.BatchSpanProcessor>[0]['exporter'] = {
      export: (spans, done) =>
        sender.export(spans, (result) => {
          report(result.error, spans.length);
          // Always success: `report` logs failures, and nobody reads the SDK's own report.
          done({ code: 0 });
        }),
      shutdown: () => sender.shutdown(),
    };
    const processor = new sdk.BatchSpanProcessor({
      exporter,
      maxQueueSize: MOST_WAITING,
      maxExportBatchSize: BATCH,
      scheduledDelayMillis: EVERY_MS,
      exportTimeoutMillis: 2 * TIMEOUT_MS,
    });
    const provider = new sdk.TracerProvider({
      resource: resourceFromAttributes(resource),
      sampler: new sdk.AlwaysOnSampler(),
      idGenerator: { generateTraceId: () => ids.traceId, generateSpanId: () => ids.spanId },
      spanProcessors: [processor],
    });
    return { provider, ids };
  } catch (error) {
    throw missing(error);
  }
}

/** One line when the collector stops taking spans, and one when it takes them again. */
function createReport(log: Logger, url: string): (error: Error | undefined, spans: number) => void {
  let discarded = 0;
  const collector = new URL(url).host;
  return (error, spans) => {
    if (error !== undefined) {
      if (discarded === 0)
        log.warn('the collector takes no spans; they are discarded', { collector, reason: error.message });
      discarded += spans;
    } else if (discarded > 0) {
      log.info('the collector takes spans again', { collector, discarded });
      discarded = 0;
    }
  };
}

/** Milliseconds since the epoch of a monotonic time. */
function epochOf({ startedAt, durationMs, endedAt }: FinishedTrace): (monotonic: number) => number {
  const offset = endedAt - (startedAt + durationMs);
  return (monotonic) => offset + monotonic;
}

function pathOf({ endpoint }: FinishedTrace): string {
  const protocol = clientProtocols.find(({ name }) => name === endpoint);
  return servedPath(protocol?.client.endpoints[0] ?? { path: `/${endpoint}` });
}

function requestAttributes(trace: FinishedTrace): Attributes {
  const { outcome, contact, modelAsked, attempts, requestId, firstByteMs, identity } = trace;
  const kind = kindOf(identity);
  const ours = outcome.replyIds?.ours;
  return {
    'http.request.method': 'POST',
    'http.route': pathOf(trace),
    'http.response.status_code': outcome.status,
    'gen_ai.operation.name': operationAt(trace.endpoint),
    'gen_ai.request.model': withoutKeys(modelAsked),
    ...(contact !== undefined && providerAttributes(contact.target)),
    ...answerAttributes(trace),
    // The id that the client knows.
    ...(ours !== undefined && { 'gen_ai.response.id': ours }),
    ...(outcome.error !== null && { 'error.type': outcome.error }),
    'gateway.request.id': requestId,
    'gateway.request.attempts': attempts,
    'gateway.request.stream': trace.streamed,
    ...(kind.class !== null && { 'gateway.request.class': kind.class }),
    ...(kind.agentType !== null && { 'gateway.agent.type': kind.agentType }),
    ...(firstByteMs !== null && { 'gateway.response.first_byte_ms': Math.round(firstByteMs) }),
  };
}

function providerAttributes({ provider }: Target): Attributes {
  return { 'gen_ai.provider.name': conventionalName(provider), 'gateway.provider': provider.name };
}

/** https://github.com/open-telemetry/semantic-conventions/blob/v1.41.0/docs/gen-ai/gen-ai-spans.md */
function answerAttributes(trace: FinishedTrace): Attributes {
  const { usage, error, marks } = trace.outcome;
  const { contact } = trace;
  const upstream = error === null ? contact?.target.upstream : undefined;
  const model = marks?.model ?? upstream;
  return {
    ...(model !== undefined && { 'gen_ai.response.model': theirWord(model, trace) }),
    ...(marks?.id !== undefined && { 'gen_ai.response.id': theirWord(marks.id, trace) }),
    ...finishAttribute(trace),
    ...(usage !== undefined && {
      'gen_ai.usage.input_tokens': totalInput(usage),
      'gen_ai.usage.output_tokens': usage.output,
    }),
    ...(usage?.cacheRead !== undefined && { 'gen_ai.usage.cache_read.input_tokens': usage.cacheRead }),
    ...(usage?.cacheWrite !== undefined && { 'gen_ai.usage.cache_creation.input_tokens': usage.cacheWrite }),
    ...(usage?.reasoning !== undefined && { 'gen_ai.usage.reasoning.output_tokens': usage.reasoning }),
  };
}

/** The provider's words. An answer that had begun and broke off has the conventions' word for it. */
function finishAttribute(trace: FinishedTrace): Attributes {
  const { error, marks } = trace.outcome;
  const words = marks?.finish?.map((word) => theirWord(word, trace));
  const reasons = words ?? (marks !== undefined && error !== null ? ['error'] : undefined);
  return reasons === undefined ? {} : { 'gen_ai.response.finish_reasons': reasons };
}

/** What a provider sent may be anything. */
function theirWord(word: string, trace: FinishedTrace): string {
  return withoutKeys(loggedId(word, trace) ?? '');
}

function contactAttributes(
  { target, url, startedAt, endedAt, error, status }: ContactSpan,
  trace: FinishedTrace,
): Attributes {
  const { hostname, port, protocol } = new URL(url);
  const isLast = endedAt === undefined;
  const failure = error ?? (isLast ? (trace.outcome.error ?? undefined) : undefined);
  const { streamed, firstByteAt } = trace;
  return {
    'gen_ai.operation.name': operationAt(trace.endpoint),
    ...providerAttributes(target),
    'gen_ai.request.model': withoutKeys(target.upstream),
    'server.address': hostname,
    'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
    ...(streamed && { 'gen_ai.request.stream': true }),
    ...(status !== undefined && { 'http.response.status_code': status }),
    ...(isLast && answerAttributes(trace)),
    ...(isLast &&
      streamed &&
      firstByteAt !== undefined && {
        'gen_ai.response.time_to_first_chunk': (firstByteAt - startedAt) / 1000,
      }),
    ...(failure !== undefined && { 'error.type': failure }),
  };
}
