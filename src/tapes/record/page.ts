// A recorded request as the files of its folder.
import { isoTime } from '../../clock.ts';
import { FailureError, GatewayError, messageOf } from '../../errors.ts';
import { ClientGone, type Exchange } from '../../gateway/exchange.ts';
import type { Arrival } from '../../gateway/inbound/read-request.ts';
import type { FinishedTrace, Trace } from '../../gateway/trace.ts';
import { servedPath } from '../../protocols/interface/endpoint.ts';
import { providerSide, requestFile, type AttemptHead, type ExchangeHead } from '../format.ts';
import { snakeCase } from '../../snake-case.ts';
import type { Redactor } from '../redact/redactor.ts';
import type { TakenAnswer } from './answer.ts';
import { keptHeaders, membersOf } from './headers.ts';
import { indented } from './indent.ts';
import type { WatchedExchange } from './watched.ts';

/** A request under way. */
export interface Entry {
  number: string;
  arrival: Arrival;
  exchange: WatchedExchange;
  answer: TakenAnswer;
  startedAt: number;
  at: number;
  attempts: Attempt[];
  trace: Trace | undefined;
}

export interface Attempt {
  body: Buffer | undefined;
  answer: TakenAnswer;
  head: Pick<AttemptHead, 'provider' | 'model' | 'upstream' | 'protocol' | 'url' | 'headers' | 'at_ms'>;
  failure: AttemptHead['failure'];
  endedMs: number;
}

export function filesOf({ exchange, answer, attempts }: Entry, redactor: Redactor): Map<string, string> {
  const bodies = [
    { side: 'client', body: exchange.body, answer },
    ...attempts.map((attempt, at) => ({ side: providerSide(at + 1), ...attempt })),
  ];
  return new Map(
    bodies.flatMap(({ side, body, answer: taken }) => {
      const own = taken.file(side, redactor);
      const text = body && indented(redactor.text(body.toString('utf8')));
      return [
        ...(text === undefined ? [] : [[requestFile(side), text] as const]),
        ...(own === undefined ? [] : [own]),
      ];
    }),
  );
}

export function pageOf(
  { arrival, exchange, answer, at, attempts, trace }: Entry,
  failed: unknown,
  ms: number,
  redactor: Redactor,
): ExchangeHead {
  const { protocol, endpoint } = arrival;
  if (failed instanceof GatewayError && answer.status === null)
    refused(failed, arrival, exchange, answer, ms);
  const contact = trace?.contact;
  const clean = (texts: readonly string[]): string[] => texts.map((text) => redactor.text(text));
  return {
    request: exchange.requestId,
    at: isoTime(at),
    protocol: protocol.name,
    path: servedPath(endpoint),
    model: trace === undefined ? null : redactor.text(trace.modelAsked),
    stream: trace?.streamed ?? null,
    headers: keptHeaders(membersOf(exchange.headers), redactor),
    answer_headers: keptHeaders(membersOf(answer.headers), redactor),
    status: answer.status,
    first_byte_ms: answer.firstByteMs,
    ms,
    end: answer.end,
    error: errorOf(failed, trace, redactor),
    usage: usageOf(trace),
    dropped: clean(contact?.dropped ?? []),
    changed: clean(contact?.changed ?? []),
    attempts: attempts.map((attempt) => attemptOf(attempt, ms, redactor)),
  };
}

/** The server writes the answer of an error, behind the line. */
function refused(
  error: GatewayError,
  { protocol }: Arrival,
  { requestId }: Exchange,
  answer: TakenAnswer,
  ms: number,
): void {
  answer.begin(error.status, { 'content-type': 'application/json' });
  answer.take(Buffer.from(JSON.stringify(protocol.client.encodeError(error, requestId))), ms);
  answer.end = 'whole';
}

function errorOf(failed: unknown, trace: Trace | undefined, redactor: Redactor): ExchangeHead['error'] {
  if (failed instanceof GatewayError) return { kind: failed.kind, message: redactor.text(failed.message) };
  if (failed instanceof ClientGone)
    return { kind: 'client_closed', message: 'the client left before the end of the answer' };
  if (failed !== undefined) return { kind: 'internal', message: 'a fault of the gateway' };
  const error = trace?.outcome.error ?? null;
  return error === null ? null : { kind: error, message: redactor.text(trace?.message ?? '') };
}

function usageOf(trace: FinishedTrace | undefined): ExchangeHead['usage'] {
  const usage = trace?.outcome.usage;
  if (usage === undefined) return null;
  const counts = Object.entries(usage).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number',
  );
  return Object.fromEntries(counts.map(([name, tokens]) => [snakeCase(name), tokens]));
}

function attemptOf({ head, answer, failure, endedMs }: Attempt, ms: number, redactor: Redactor): AttemptHead {
  return {
    ...head,
    answer_headers: keptHeaders(membersOf(answer.headers), redactor),
    status: answer.status,
    first_byte_ms: answer.firstByteMs,
    ms: failure === null ? ms : endedMs,
    end: answer.end,
    failure,
  };
}

export function failureOf(error: unknown, redactor: Redactor): AttemptHead['failure'] {
  if (!(error instanceof FailureError))
    return { kind: 'failed', reason: 'aborted', message: redactor.text(messageOf(error)) };
  const { kind, reason = null, message } = error.failure;
  return { kind, reason, message: redactor.text(message) };
}
