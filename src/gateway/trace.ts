// What happened to one admitted request. The line appends to it; the observers read it once, when the request is over.
import type { Clock } from '../clock.ts';
import type { ProtocolName } from '../canonical/request.ts';
import type { Usage } from '../canonical/usage.ts';
import type { ReplyIds } from '../protocols/protocol.ts';
import type { Target } from '../routing/catalog.ts';
import type { NewItem } from '../store/sealed-items.ts';
import type { Key } from '../store/store.ts';
import { redact } from './outbound/redact.ts';

/** How an admitted request ended. */
export interface Outcome {
  status: number;
  /** null: fully answered. */
  error: string | null;
  usage?: Usage;
  /** What the client's protocol has no place for, for the log. */
  lost?: string[];
  /** What the account's later requests may need of the answer. */
  items?: readonly NewItem[];
}

/** A target that was contacted, and what a translation changed on the way to it. */
export interface Contact {
  readonly target: Target;
  /** Wire paths of the fields that were left out, sorted. */
  readonly dropped: readonly string[];
  /** Fields whose form was changed, each as `path: how`. */
  readonly changed: readonly string[];
}

export interface Trace {
  readonly requestId: string;
  readonly key: Key;
  /** The client's protocol, and the name of a model that the client sent. */
  readonly endpoint: ProtocolName;
  readonly modelAsked: string;
  readonly streamed: boolean;
  /** Monotonic milliseconds. */
  readonly startedAt: number;
  firstByteAt?: number;
  /** Targets contacted, a second request to one of them not counted. */
  attempts: number;
  /** The last target that was contacted. */
  contact?: Contact;
  /** The provider's own request id. */
  upstreamId?: string;
  /** Set if the client's protocol has ids of another form; redacted when the request is over. */
  replyIds?: ReplyIds;
  /** Tokens of the input that the client was told for want of the provider's count. */
  estimatedInput?: number;
  outcome: Outcome;
}

export interface FinishedTrace extends Trace {
  /** Milliseconds since the epoch. */
  readonly endedAt: number;
  readonly firstByteMs: number | null;
  readonly durationMs: number;
}

export interface Observer {
  /** Called exactly once for each admitted request, however it ended. Must not throw. */
  finished(trace: FinishedTrace): void;
}

export function createTrace(begun: Omit<Trace, 'attempts' | 'outcome'>): Trace {
  return { ...begun, attempts: 0, outcome: { status: 500, error: 'internal' } };
}

/** Characters of a provider's id in the log. */
const MAX_ID_LENGTH = 100;

export function finishTrace(trace: Trace, clock: Clock, observers: readonly Observer[]): void {
  const { startedAt, firstByteAt, replyIds, contact } = trace;
  const finished: FinishedTrace = {
    ...trace,
    endedAt: clock.now(),
    firstByteMs: firstByteAt === undefined ? null : firstByteAt - startedAt,
    durationMs: clock.monotonic() - startedAt,
  };
  if (replyIds !== undefined && contact !== undefined) {
    // A provider's words may hold anything.
    const theirs = redact(replyIds.theirs, contact.target.provider).slice(0, MAX_ID_LENGTH);
    finished.replyIds = { ...replyIds, theirs };
  }
  for (const observer of observers) observer.finished(finished);
}
