// W3C trace context (https://www.w3.org/TR/trace-context/): taken from the client, and passed on to the provider with a span of its
// own for each contact. Called only if traces are exported.
import { randomBytes } from 'node:crypto';
import type { ProviderFailure } from '../../errors.ts';
import type { ContactSpan, RequestSpans, Trace } from '../trace.ts';
import type { BuiltRequest } from './build-request.ts';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Version 00 ends after the flags; a later version may have more. */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** The specification asks for 512 characters at least. */
const MOST_STATE = 2048;
/** What the specification defines: sampled, and a random trace ID. */
const KNOWN_FLAGS = 3;

/** A client without a valid context begins a new trace. */
export function beginSpans(headers: Headers): RequestSpans {
  const { traceparent, tracestate } = headers;
  const parsed = typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent.trim()) : null;
  const [, version = '', traceId = '', parentSpanId = '', flagText = '', rest] = parsed ?? [];
  if (parsed === null || (version === '00' && rest !== undefined)) {
    return newSpans(randomBytes(16).toString('hex'), undefined, KNOWN_FLAGS, '');
  }
  return newSpans(traceId, parentSpanId, Number.parseInt(flagText, 16) & KNOWN_FLAGS, stateOf(tracestate));
}

function newSpans(
  traceId: string,
  parentSpanId: string | undefined,
  flags: number,
  traceState: string,
): RequestSpans {
  return { traceId, spanId: newSpanId(), parentSpanId, flags, traceState, contacts: [] };
}

function stateOf(given: string | string[] | undefined): string {
  const text = Array.isArray(given) ? given.join(',') : (given ?? '');
  return text.length <= MOST_STATE && /^[\x20-\x7e]*$/.test(text) ? text.trim() : '';
}

function newSpanId(): string {
  return randomBytes(8).toString('hex');
}

/** To be called for each request to a target, before it is sent. */
export function beginContact(spans: RequestSpans, { target, url }: BuiltRequest, startedAt: number): void {
  spans.contacts.push({
    spanId: newSpanId(),
    target,
    url,
    startedAt,
    endedAt: undefined,
    error: undefined,
    status: undefined,
  });
}

export function failContact({ spans }: Trace, { kind, status }: ProviderFailure, endedAt: number): void {
  const contact = spans?.contacts.at(-1);
  if (contact === undefined) return;
  contact.endedAt = endedAt;
  contact.error = kind;
  contact.status = status;
}

/** The provider's headers, and the context of the contact under way. */
export function withContext(headers: string[], { spans }: Trace): string[] {
  const contact: ContactSpan | undefined = spans?.contacts.at(-1);
  if (spans === undefined || contact === undefined) return headers;
  const { traceId, flags, traceState } = spans;
  const flagText = flags.toString(16).padStart(2, '0');
  const context = ['traceparent', `00-${traceId}-${contact.spanId}-${flagText}`];
  if (traceState !== '') context.push('tracestate', traceState);
  return [...headers, ...context];
}
