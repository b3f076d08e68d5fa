// Records what one process sends and gets: its requests are known by the key that it alone was given, and each request to a provider
// belongs to the client's request with the same cancellation. Nothing reaches the disk before its secrets are taken out.
import { PROTOCOL_NAMES } from '../../canonical/request.ts';
import type { Traits } from '../../canonical/traits.ts';
import type { Clock } from '../../clock.ts';
import { messageOf } from '../../errors.ts';
import type { Exchange, Recording } from '../../gateway/exchange.ts';
import type { Arrival } from '../../gateway/inbound/read-request.ts';
import type { Observer } from '../../gateway/trace.ts';
import type { ProviderClient } from '../../providers/client.ts';
import type { Cancellation } from '../../cancellation.ts';
import type { ExchangeHead, TapeHead } from '../format.ts';
import type { ProviderCall, ProviderReply } from '../../providers/exchange.ts';
import type { Redactor } from '../redact/redactor.ts';
import { TakenAnswer } from './answer.ts';
import { keptHeaders, pairsOf } from './headers.ts';
import { failureOf, filesOf, pageOf, type Attempt, type Entry } from './page.ts';
import { WatchedExchange, watchedReply } from './watched.ts';
import type { TapeWriter } from './write.ts';

export interface Recorder extends Recording {
  observer: Observer;
  wrap(client: ProviderClient): ProviderClient;
  /** The requests that were written so far. */
  readonly written: number;
}

interface Options {
  /** The key of the recorded process. */
  key: string;
  writer: TapeWriter;
  head: TapeHead;
  /** Number of the first request: behind those that the tape holds. */
  first?: number;
  redactor: Redactor;
  clock: Clock;
  /** Called once, if the tape can't be written any more. */
  onFault: (message: string) => void;
  /** Whether a request shall be written; undefined: each is. */
  isKept?: (cancellation: Cancellation) => boolean;
}

export function createRecorder(options: Options): Recorder {
  const { key, clock } = options;
  const byCancellation = new Map<Cancellation, Entry>();
  const byRequest = new Map<string, Entry>();
  const tape = createPages(options);

  return {
    get written() {
      return tape.written;
    },
    observer: {
      started(trace) {
        const entry = byRequest.get(trace.requestId);
        if (entry !== undefined) entry.trace = trace;
      },
      finished: () => undefined,
    },
    wrap: (client) => ({
      closeIdle: () => client.closeIdle(),
      close: () => client.close(),
      open(call, cancellation) {
        const entry = byCancellation.get(cancellation);
        return entry === undefined
          ? client.open(call, cancellation)
          : openWatched(client, entry, { call, cancellation }, options);
      },
    }),
    async watch(arrival, exchange, answer) {
      if (!bearsKey(arrival, exchange, key)) return answer(exchange);
      const startedAt = clock.monotonic();
      const taken = new TakenAnswer();
      const watched = new WatchedExchange(exchange, taken, elapsedSince(startedAt, clock));
      const entry: Entry = {
        number: tape.next(),
        arrival,
        exchange: watched,
        answer: taken,
        startedAt,
        at: clock.now(),
        attempts: [],
        trace: undefined,
      };
      byCancellation.set(exchange.cancellation, entry);
      byRequest.set(exchange.requestId, entry);
      let failed: unknown;
      try {
        await answer(watched);
      } catch (error) {
        failed = error;
        throw error;
      } finally {
        byCancellation.delete(exchange.cancellation);
        byRequest.delete(exchange.requestId);
        if (options.isKept?.(exchange.cancellation) !== false) {
          tape.add(entry, failed, elapsedSince(startedAt, clock)());
        }
      }
    },
  };
}

/** In any header that carries a key for the protocol. */
function bearsKey({ protocol }: Arrival, { headers }: Exchange, key: string): boolean {
  return protocol.client.keyHeaders.some(({ name }) => String(headers[name] ?? '').endsWith(key));
}

/** A request to a provider for a recorded one. */
async function openWatched(
  client: ProviderClient,
  entry: Entry,
  { call, cancellation }: { call: ProviderCall; cancellation: Cancellation },
  { redactor, clock }: Options,
): Promise<ProviderReply> {
  const elapsed = elapsedSince(entry.startedAt, clock);
  const contact = entry.trace?.contact;
  const answer = new TakenAnswer();
  const head = {
    provider: contact?.target.provider.name ?? '',
    model: contact?.target.model ?? '',
    upstream: contact?.target.upstream ?? '',
    protocol: contact?.protocol.name ?? PROTOCOL_NAMES[0],
    url: redactor.text(call.url),
    headers: keptHeaders(pairsOf(call.headers), redactor),
    at_ms: elapsed(),
  };
  const attempt: Attempt = { body: call.body, answer, head, failure: null, endedMs: 0 };
  entry.attempts.push(attempt);
  try {
    return watchedReply(await client.open(call, cancellation), answer, elapsed);
  } catch (error) {
    attempt.failure = failureOf(error, redactor);
    attempt.endedMs = elapsed();
    throw error;
  }
}

/** Whole milliseconds. */
function elapsedSince(at: number, clock: Clock): () => number {
  return () => Math.round(clock.monotonic() - at);
}

/** The pages of a tape: numbers them, writes each once, and gives up at the first fault of the disk. */
function createPages({ writer, head, first = 1, redactor, onFault }: Options) {
  let number = first - 1;
  let written = 0;
  let isBroken = false;
  let known = JSON.stringify(head);

  return {
    get written() {
      return written;
    },
    next: () => String((number += 1)).padStart(4, '0'),
    add(entry: Entry, failed: unknown, ms: number): void {
      if (isBroken) return;
      try {
        const page = pageOf(entry, failed, ms, redactor);
        writer.exchange(entry.number, page, filesOf(entry, redactor));
        written += 1;
        addTo(head, page, entry.trace?.contact?.target.traits);
        const now = JSON.stringify(head);
        if (now !== known) writer.head(head);
        known = now;
      } catch (error) {
        isBroken = true;
        onFault(`the tape ends before request ${entry.number}: ${messageOf(error)}`);
      }
    },
  };
}

function addTo(
  head: TapeHead,
  { model, attempts }: ExchangeHead,
  { contextWindow, maxOutput }: Partial<Traits> = {},
): void {
  const last = attempts.at(-1);
  if (last === undefined || last.provider === '') return;
  const { provider, model: own, upstream, protocol } = last;
  const isKnown = head.targets.some(
    (each) => each.provider === provider && each.model === own && each.protocol === protocol,
  );
  if (!isKnown) {
    head.targets.push({
      provider,
      model: own,
      upstream,
      protocol,
      ...(contextWindow !== undefined && { context_window: contextWindow }),
      ...(maxOutput !== undefined && { max_output: maxOutput }),
    });
  }
  if (model === null) return;
  const target = `${provider}/${own}`;
  const asked = head.asked.find((each) => each.model === model);
  if (asked === undefined) head.asked.push({ model, target });
  else asked.target = target;
}
