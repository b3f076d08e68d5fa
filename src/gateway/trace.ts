// The record of one admitted request. The line appends to it; the observers read it once, when the request is over.
import type { RefusedRequest } from '../accounts/request-json.ts';
import type { Clock } from '../clock.ts';
import type { Identity } from '../conversations/identity.ts';
import type { EndpointName } from '../canonical/request.ts';
import type { Usage } from '../canonical/reply.ts';
import type { ProviderFailure } from '../errors.ts';
import type { Histogram } from '../histogram.ts';
import type { Protocol } from '../protocols/interface/protocol.ts';
import type { AnswerMarks, ReplyIds } from '../protocols/interface/answer.ts';
import type { Target } from '../routing/catalog.ts';
import type { PassedOver } from '../routing/resolve.ts';
import type { NewItem } from '../store/items/sealed-items.ts';
import type { Key } from '../store/store.ts';
import type { PricedMiss } from '../conversations/misses/judge.ts';
import { redact } from '../providers/redact.ts';

/** How an admitted request ended. */
export interface Outcome {
  status: number;
  /** null: fully answered. */
  error: string | null;
  usage?: Usage;
  /** What the client's protocol can't express, for the log. */
  lost?: string[];
  /** Tool calls that were repaired, for the log. */
  repaired?: readonly string[];
  /** What the account's later requests may need of the answer. */
  items?: readonly NewItem[];
  /** What the provider's answer says of itself. */
  marks?: AnswerMarks;
  /** Where the client got another id than the provider gave, which is as it came: `loggedId`. */
  replyIds?: ReplyIds;
}

/** A target that was contacted, and what a translation changed on the way to it. */
export interface Contact {
  readonly target: Target;
  /** The protocol towards the target. */
  readonly protocol: Protocol;
  /** Wire paths of the fields that were left out, sorted. */
  readonly dropped: readonly string[];
  /** Fields whose form was changed, each as `path: how`. */
  readonly changed: readonly string[];
  /** The provider's key, if it has several. */
  readonly providerKey?: { readonly number: number };
}

/** A contact without an answer. `message` is redacted. */
interface FailedContact {
  readonly target: Target;
  readonly protocol: Protocol;
  /** The number of the provider's key, if it has several. */
  readonly key: number | undefined;
  readonly status: number | undefined;
  readonly kind: ProviderFailure['kind'];
  readonly reason: string | undefined;
  readonly message: string;
  readonly ms: number;
}

/** One request to a target, as a span. Times are monotonic milliseconds. */
export interface ContactSpan {
  readonly spanId: string;
  readonly target: Target;
  readonly url: string;
  readonly startedAt: number;
  /** undefined: it ends with the request. */
  endedAt: number | undefined;
  error: ProviderFailure['kind'] | undefined;
  status: number | undefined;
}

/** The request in a W3C trace. IDs are lower-case hex. */
export interface RequestSpans {
  readonly traceId: string;
  readonly spanId: string;
  /** The client's span. */
  readonly parentSpanId: string | undefined;
  /** Bits: 1 sampled, 2 the trace ID is random. */
  readonly flags: number;
  /** The client's `tracestate`. */
  readonly traceState: string;
  readonly contacts: ContactSpan[];
}

/** What is known of a request when it is admitted. */
export interface Admitted {
  readonly requestId: string;
  readonly key: Key;
  /** The client's protocol, and the name of a model that the client sent. */
  readonly endpoint: EndpointName;
  readonly modelAsked: string;
  readonly streamed: boolean;
  /** Monotonic milliseconds. */
  readonly startedAt: number;
  /** Targets that the resolution left out or put behind others. */
  readonly passedOver: readonly PassedOver[];
  /** The rule of the route that chose the first targets. */
  readonly rule: string | undefined;
  readonly identity: Identity;
  /** undefined: traces are off. */
  readonly spans: RequestSpans | undefined;
  /** Its usage is settled before the answer ends: limits of tokens and money hold for the account. */
  readonly held: boolean;
}

const NO_HEADERS: readonly string[] = [];
const NO_FAILURES: readonly FailedContact[] = [];

/** How much of a streamed answer was written to the client. */
export class Progress {
  /** Bytes. */
  written = 0;
  /** Of them, those that the last sample had counted. */
  sampled = 0;
  /** Somebody watches: pieces are counted, and the bytes that were searched for them. */
  watched = false;
  pieces = 0;
  pieceBytes = 0;
  /** Seconds between the provider's chunks; undefined: nobody counts them. */
  gaps: Histogram | undefined = undefined;
}

export class Trace implements Admitted {
  readonly requestId: string;
  readonly key: Key;
  readonly endpoint: EndpointName;
  readonly modelAsked: string;
  readonly streamed: boolean;
  readonly startedAt: number;
  readonly rule: string | undefined;
  readonly identity: Identity;
  readonly spans: RequestSpans | undefined;
  readonly held: boolean;
  passedOver: readonly PassedOver[];
  failures: readonly FailedContact[] = NO_FAILURES;
  /** Requests to targets, a second one to the same target too. */
  contacts = 0;
  /** When the last of them began. Monotonic milliseconds. */
  contactedAt = 0;
  readonly progress = new Progress();
  /** Why the request failed, as the client got it. */
  message: string | undefined = undefined;
  firstByteAt: number | undefined = undefined;
  /** Targets contacted, a second request to one of them not counted. */
  attempts = 0;
  /** Names of flags that a refusal of this request taught. */
  learnt: string[] | undefined = undefined;
  /** The last target that was contacted. */
  contact: Contact | undefined = undefined;
  /** The provider's own request id, as it came: `loggedId`. */
  upstreamId: string | undefined = undefined;
  /** The provider's headers for the client, flat: name, value, name, value. */
  returnedHeaders: readonly string[] = NO_HEADERS;
  /** The estimated input tokens that the client got, since the provider had not counted them. */
  estimatedInput: number | undefined = undefined;
  /** Input that the provider had in its cache, and read anew. */
  cacheMiss: PricedMiss | undefined = undefined;
  outcome: Outcome = { status: 500, error: 'internal' };
  /** Set when the request is over. Milliseconds since the epoch. */
  endedAt = 0;
  firstByteMs: number | null = null;
  durationMs = 0;

  constructor(admitted: Admitted) {
    const { requestId, key, endpoint, modelAsked, streamed, startedAt, passedOver, rule, identity } =
      admitted;
    this.spans = admitted.spans;
    this.held = admitted.held;
    this.requestId = requestId;
    this.key = key;
    this.endpoint = endpoint;
    this.modelAsked = modelAsked;
    this.streamed = streamed;
    this.startedAt = startedAt;
    this.passedOver = passedOver;
    this.rule = rule;
    this.identity = identity;
  }
}

export type FinishedTrace = Readonly<Trace>;

export interface Observer {
  /** Called once for each admitted request, before a target is asked. Must not throw. */
  started?(trace: Trace): void;
  /** Called for each request that is refused before admission. Must not throw. */
  wasRefused?(request: RefusedRequest): void;
  /** Called exactly once for each admitted request, however it ended. Must not throw. */
  finished?(trace: FinishedTrace): void;
}

export function startTrace(admitted: Admitted, observers: readonly Observer[]): Trace {
  const trace = new Trace(admitted);
  for (const observer of observers) observer.started?.(trace);
  return trace;
}

export function finishTrace(trace: Trace, clock: Clock, observers: readonly Observer[]): void {
  const { startedAt, firstByteAt } = trace;
  trace.endedAt = clock.now();
  trace.firstByteMs = firstByteAt === undefined ? null : firstByteAt - startedAt;
  trace.durationMs = clock.monotonic() - startedAt;
  for (const observer of observers) observer.finished?.(trace);
}

/** Characters of a provider's id in the log. */
const MAX_ID_LENGTH = 100;

/** A provider's id for the log: it may hold anything. */
export function loggedId(id: string | undefined, { contact }: FinishedTrace): string | undefined {
  if (id === undefined || contact === undefined) return id;
  return redact(id, contact.target.provider).slice(0, MAX_ID_LENGTH);
}
