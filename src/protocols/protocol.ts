// The interface of a wire protocol. Each folder beside this file implements it, with the same file names.
import type { GatewayError, ProviderFailure, Admission } from '../errors.ts';
import type { StreamEvent, Reply, Usage } from '../canonical/reply.ts';
import type { HistoryRules } from '../canonical/history.ts';
import type { JsonObject } from '../canonical/json.ts';
import type { Needs, Traits } from '../canonical/traits.ts';
import type { ThinkingCut } from '../canonical/thinking-signature.ts';
import type { CanonicalField, ProtocolName, GenerationRequest, Warning } from '../canonical/request.ts';
import type { ReverseMapping } from '../canonical/reverse-mapping.ts';
import type { Ids } from '../ids.ts';
import type { Members } from './json/splice.ts';
import type { Frame } from './sse/splitter.ts';

/** What the gateway reads from every request of this protocol. A relay examines nothing else of the body. */
export interface Envelope {
  model: string;
  stream: boolean;
  needs: Needs;
  /** The path of a member that names what a provider keeps for everyone with its key: files, containers, threads. */
  kept?: string;
}

export interface EncodedRequest {
  /** The JSON body, with the provider's model name, members in a fixed order. */
  body: JsonObject;
  warnings: Warning[];
  restore: ReverseMapping;
}

/** Collects a stream's frames into canonical events. Emits exactly one `end` or `error`, then ignores all input. */
export interface StreamDecoder {
  push(frame: Frame): StreamEvent[];
  /** The body has ended. `clean`: complete by HTTP's rules (last chunk, content-length reached); else the connection broke. */
  finish(clean: boolean): StreamEvent[];
  /** A finish or stop reason came: the content of the answer is complete. */
  stopped(): boolean;
  /** The usage that the provider has sent so far, for a stream that breaks off. */
  usage(): Usage | undefined;
}

/** Writes what the gateway itself adds to a stream. A protocol whose frames depend on earlier ones needs the stream's state for it. */
export interface StreamNotices {
  /** Keeps a silent stream alive; in place of the protocol's constant `keepAlive`. */
  keepAlive?(): string;
  /** The frames with which the stream fails, complete; in place of the protocol's `encodeStreamError`. */
  fail?(error: GatewayError, requestId: string, now: number): string;
}

/** Writes canonical events as this protocol's frames, ready to send; '' if nothing is to be written yet. */
export interface StreamEncoder extends StreamNotices {
  push(event: StreamEvent): string;
  /**
   * The stream that this encoder opened goes on with frames of a provider of its own protocol: the bytes that stand for one of them;
   * none for a frame that would open the stream again. Then nothing is pushed.
   */
  adopt?(frame: Frame): Buffer;
  /** The complete answer as the client has it, if its protocol stores answers. */
  answer?(): JsonObject | undefined;
}

/** The parts of a request on which its answer depends. */
export type ReplyOptions = Pick<
  GenerationRequest,
  'includeUsage' | 'legacyFunctions' | 'reasoning' | 'responseFormat' | 'asked'
>;

/** The id of an answer: the provider's, and the one that the client gets. */
export interface ReplyIds {
  theirs: string;
  ours: string;
}

/** What the client's side of a translated answer needs to know. */
export interface ReplyContext {
  ids: Ids;
  /** Seconds since the epoch: chat's `created`. */
  created: number;
  /** Milliseconds since the epoch. */
  now: () => number;
  request: ReplyOptions;
  /** The gateway's estimate of the input tokens, for a provider that sends no count in time. Computed at most once. */
  estimateInput: () => number;
  /** Encrypts data that the client sends back but cannot read; undefined: not possible now. */
  seal?: (text: string) => string | undefined;
  /** Takes what is stored of an item beside what the client sees of it, by the item's id. Absent: nothing is stored. */
  hidden?: Map<string, string>;
  /** Takes a note of the answer's id if the client gets another one than the provider gave. */
  trace?: { replyIds?: ReplyIds };
}

export type FrameClass =
  /** No reason to act: a comment, a ping, a role alone, an empty `message_start`; after the first content also more content. */
  | { readonly kind: 'quiet' }
  /** The first content of the answer. */
  | { readonly kind: 'content' }
  /**
   * A finish or stop reason. `silence`: the failure that it stands for if no content came before this frame, because its word is
   * unknown.
   */
  | { readonly kind: 'finish'; readonly silence?: ProviderFailure }
  /** Usage that only the gateway asked for: not forwarded. */
  | { readonly kind: 'drop' }
  /** The provider's error inside the stream, or a frame that can't be read. */
  | { readonly kind: 'error'; readonly failure: ProviderFailure }
  /** The protocol's terminal frame: `[DONE]`, `message_stop`. */
  | { readonly kind: 'end' };

/**
 * Classifies the frames of one stream. Until the first content or finish it reads each frame; after that it parses a frame only
 * if its text shows that it may hold something other than content.
 */
export interface StreamClassifier extends StreamNotices {
  classify(frame: Frame): FrameClass;
  /** After the first content: every frame within this text (latin1) is `quiet` and may be forwarded without being split. */
  isQuiet(text: string): boolean;
  /** Usage so far, cumulative. */
  usage(): Usage | undefined;
  /** The complete answer as the client has it, if its protocol stores answers. */
  answer?(): JsonObject | undefined;
  /** The frames that were classified last, as the client gets them; the same Buffer if they may stay. */
  shifted?(bytes: Buffer): Buffer;
}

/** How to continue a turn that a provider paused because tools that it runs itself take long. */
export interface PauseTurn {
  isPaused(reply: unknown): reply is JsonObject;
  /** Records the source text of call inputs in the reply, which was parsed from `source`. */
  keepInputs(reply: JsonObject, source: Buffer | string): void;
  /** The request again, with the turn so far at its end; the other bytes stay. */
  resume(bytes: Buffer, turn: JsonObject): Buffer;
  /** Joins two consecutive whole replies. */
  join(first: JsonObject, second: JsonObject): JsonObject;
  createJoiner(): TurnJoiner;
}

/** The same for streams: joins the frames of several calls into one stream. */
export interface TurnJoiner {
  /** The frames to forward; the end of a paused turn is held back. */
  push(frame: Frame): Frame[];
  isPaused(): boolean;
  /** The turn up to its pause, for `resume`. */
  turn(): JsonObject;
  /** The next frames come from the call that continues `turn`. */
  next(turn: JsonObject): Frame[];
  /** The turn is too large to be sent back: it is no longer collected, and a pause ends it. */
  letGo(): void;
  /** The turn is not continued: returns the frames that were held back. */
  giveUp(): Frame[];
}

export type ClientHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** A header in which clients send a key. */
export interface KeyHeader {
  /** In lower case. */
  name: string;
  /** Behind the word `Bearer`; else the key alone. */
  bearer: boolean;
  /** The form that the error for a missing key shows. */
  shown: string;
}

/** Headers of the client that are forwarded to a provider of the same protocol. */
export interface ForwardedHeaders {
  /** Flat: name, value, name, value; in place of the provider side's `requestHeaders`. */
  headers: readonly string[];
  /** The same for providers that take no tags (`Traits.requestTags`), where it differs. */
  untagged?: readonly string[];
  /** More of them, which only add to a provider's own of other names. */
  further?: readonly string[];
  query: string;
  /** They ask for the long window of models that have two. */
  longContext: boolean;
}

/** What routing and recording need from a body, without decoding it. Pure functions without a cache. */
export interface Hints {
  /** An estimate of the input tokens. */
  estimate(value: JsonObject): number;
  /** A hash of the part that stays the same while the conversation grows. */
  conversation(value: JsonObject): string;
  /** It ends with results of tools that the model called. */
  hasOpenToolTurn(value: JsonObject): boolean;
  /** The client itself asks for usage in the stream. */
  asksForUsage(value: JsonObject): boolean;
}

/** What an answer of this protocol can hold. The rest is left out, and the log reports it. */
export interface ReplyHolds {
  /** Whose they are. */
  protocol: ProtocolName;
  /** Its own kinds of parts, after they were decoded. */
  nativeParts: boolean;
  /** Whether something is left out of what stands beside a call's name and arguments. */
  losesExtras(extra: JsonObject): boolean;
  /** The category of a refusal. */
  stopCategory: boolean;
  /** Pages without a span of the text; else they are listed in the text, which JSON has no room for. */
  pages: boolean;
  /** Signed thinking, which its clients send back with the tool results. */
  signedThinking: boolean;
}

/** Counting a request's tokens, where clients of the protocol can ask for that. */
export interface TokenCounting {
  /** Below the version, of the gateway and of providers. */
  readonly path: string;
  readEnvelope: (value: JsonObject) => Envelope;
  isCount(reply: unknown): boolean;
  encode(tokens: number): JsonObject;
}

/** What a body holds that only the gateway can read. */
export interface References {
  /** Of stored answers and items. */
  ids: readonly string[];
  /** Of items that came without what was stored beside them; the request can do without. */
  bare: readonly string[];
  /** Blobs that the gateway sealed for the account. */
  sealed: readonly string[];
  /** Something in the body depends on what is stored, for the account or at a provider. */
  refers: boolean;
}

/** What was found of a body's references. */
export interface FoundAnswers {
  /** Stored texts by their ids. */
  texts: ReadonlyMap<string, string>;
  /** Sealed blobs, opened. */
  opened: ReadonlyMap<string, string>;
}

/** What a body may hold when its references are resolved. */
export interface BodyBounds {
  maxBody: number;
  maxValues: number;
}

/**
 * A body and what it refers to. Throws GatewayError `invalid_request` for a reference to what is not stored for the account, `too_large`
 * where the body would grow beyond its bounds.
 */
export interface ResolvedBody {
  /** What both forms need: the work for large items, in steps. Without it they do it at once. */
  prepare(): Iterable<void>;
  /** With what was stored in place of its references, and opened blobs in place of sealed ones. */
  translated(): Buffer;
  /**
   * For this provider: with references to what it holds itself for the account, and to nothing else that it keeps; what only the
   * gateway can read is left out. undefined: as the client wrote it. `sharedIds`: ids that are unknown here stay.
   * `lost`: something was left out because it is not stored.
   */
  relayedTo(provider: string, sharedIds: boolean): { bytes: Buffer; lost: boolean } | undefined;
}

export interface NewStored {
  id: string;
  /** JSON, written when it is needed. */
  text: () => string;
  /** Characters, about. */
  size: number;
}

export interface AnswerPlace {
  provider: string;
  id: string;
}

export interface AnswerToStore {
  /** Without references; undefined: it is more than a request may hold. */
  request: Pick<RelayedBody, 'bytes' | 'members'> | undefined;
  /** As the client has it. */
  answer: JsonObject;
  /** The provider that gave the answer its ids; undefined: the gateway did. */
  holder?: string | undefined;
  /** Where a provider keeps it under an id that the client did not get. */
  keptAt?: AnswerPlace | undefined;
  /** What `ReplyContext.hidden` took. */
  hidden?: ReadonlyMap<string, string>;
}

/** Answers that later requests refer to, where clients of the protocol do that. */
export interface StoredAnswers {
  /** The client wants the answer to this request to be stored. */
  isWanted(value: JsonObject): boolean;
  /** Each id once. Throws GatewayError `invalid_request` for more of them than may be read at once. */
  references(value: JsonObject): References;
  resolve(body: RelayedBody, found: FoundAnswers, bounds: BodyBounds): ResolvedBody;
  toStore(answer: AnswerToStore): readonly NewStored[];

  // -- for clients that read stored answers: `text` is that of an answer's id; undefined: it is not an answer's --
  /** Throws GatewayError `invalid_request` for a query that asks for what is not kept. */
  show(text: string, query: URLSearchParams): JsonObject | undefined;
  /** Below the path of an answer: what lists the input that it was made from. */
  readonly inputPath: string;
  /** A page, as the query asks. Throws GatewayError `invalid_request` for a query that cannot be understood. */
  showInput(id: string, text: string, query: URLSearchParams): JsonObject | undefined;
  /** The ids under which an answer and its parts are stored, and where a provider keeps the answer too. */
  placesOf(id: string, text: string): { ids: readonly string[]; keptAt: AnswerPlace | undefined } | undefined;
  showDeleted(id: string): JsonObject;
  notFound(id: string): GatewayError;
}

/** Settings with which people set up a client of this protocol. */
export interface ClientSetup {
  title: string;
  /** The path of the base URL, after the gateway's address. */
  base: string;
  baseVariable: string;
  keyVariable: string;
}

/** What is known of a protocol without its code. */
export interface ProtocolOutline {
  /** The endpoint below the version, of the gateway and of providers: `/chat/completions`, `/messages`. */
  readonly path: string;
  readonly setup: ClientSetup;
  /** Server tools are a part of it: relayed to a provider that says nothing of them, they may work. */
  readonly hasServerTools: boolean;
  /** How a key is sent by default. */
  authHeaders(apiKey: string): string[];
  /** Sent with every request, unless the client's own headers are forwarded. */
  readonly requestHeaders: readonly string[];
  /** The query of the first page of a list of models. */
  readonly firstModels: string;
}

/** What an error's head has otherwise than other protocols' heads. */
export interface ErrorHead {
  /** In place of the error's own. */
  status?: number;
  /** The unit in which a wait is written: both, unless it is one alone. */
  retryAfter?: 'milliseconds';
}

/** Towards clients. */
export interface ClientSide extends Pick<ProtocolOutline, 'path' | 'setup' | 'hasServerTools'> {
  // -- the request --
  /** In the order in which they count. */
  readonly keyHeaders: readonly KeyHeader[];
  /** In lower case. On a path that belongs to no protocol, one of these headers identifies a client of this one. */
  readonly ownHeaders: readonly string[];
  /** Whether a body whose protocol is unknown belongs to this one. */
  recognizes(value: JsonObject): boolean;
  /** Validates what the gateway itself relies on; throws GatewayError `invalid_request` naming the field. */
  readEnvelope(value: JsonObject): Envelope;
  readonly hints: Hints;
  /** Throws GatewayError `invalid_request` for headers that no provider takes. */
  forwardedHeaders(given: ClientHeaders, query: string): ForwardedHeaders;
  /** Headers of a provider of the same protocol that its clients send back, in lower case. */
  readonly returnedHeaders?: readonly string[];
  /** Wire -> canonical; `source`: what `value` was parsed from, for numbers that it can't hold. Throws GatewayError `invalid_request` for
   *  what no other protocol can take, naming the field. */
  decodeRequest(value: JsonObject, source?: Buffer | string): GenerationRequest;
  /** What answers depend on; never throws. */
  readAsked(value: JsonObject): ReplyOptions;
  /** The wire path (without indexes) of a canonical place, for warnings: what this protocol's clients call it. */
  wirePath(field: CanonicalField): string;
  readonly counting?: TokenCounting;
  readonly stored?: StoredAnswers;
  /** Below the version, of the gateway and of providers: other requests with a whole answer, which are relayed or not served. */
  readonly relayedPaths?: readonly string[];

  // -- the answer --
  encodeReply(reply: Reply, context: ReplyContext): JsonObject;
  /** The same as JSON, if that takes less than to write the object. */
  writeReply?(reply: Reply, context: ReplyContext): string;
  createStreamEncoder(context: ReplyContext): StreamEncoder;
  /** Its streams start with the count of input tokens, which providers of other protocols send at the end: the encoder gets an estimate. */
  readonly needsInputEstimate: boolean;
  readonly holds: ReplyHolds;
  /** What an answer of its own can't hold that was put together from a stream, or taken apart into one. */
  lossesOfRewriting(value: JsonObject): string[];
  /** The body of an error answer. */
  encodeError(error: GatewayError, requestId: string): JsonObject;
  errorHead?(error: GatewayError): ErrorHead;
  /** The frame of an error in mid-stream, complete, ready to send. `now`: milliseconds since the epoch. */
  encodeStreamError(error: GatewayError, requestId: string, now: number): string;
  /**
   * After the error event of a stream the connection ends without the end of the body: some of its clients do not know the event, and
   * take a body that ends in order for a whole answer.
   */
  readonly cutsBrokenStreams: boolean;
  /** The frame that keeps a silent stream alive: a comment, a `ping` event. */
  readonly keepAlive: string;
  /** This protocol's rate-limit headers, names in lower case, flat: name, value, name, value. */
  limitHeaders(admission: Admission, now: number): string[];
}

/** Towards providers. */
export interface ProviderSide extends Omit<ProtocolOutline, 'setup' | 'hasServerTools'> {
  /** For `repairHistory`, which comes before `encodeRequest`. */
  readonly historyRules: HistoryRules;
  /** Canonical -> wire. Throws GatewayError `invalid_request` for what must not be left out. */
  encodeRequest(request: GenerationRequest, model: string, traits: Traits): EncodedRequest;
  /** A whole 200 reply. Throws ProviderFailure-carrying `FailureError` where it is an error, empty or not the protocol. */
  decodeReply(value: unknown, source?: Buffer | string): Reply;
  createStreamDecoder(context: { ids: Ids; traits: Traits }): StreamDecoder;
  /** A provider's error answer: any status, any body (JSON of any shape, HTML, empty). `body` is at most a few KiB of text. */
  decodeError(status: number, headers: ReadonlyMap<string, string>, body: string): ProviderFailure;
  /** Where turns may be paused. */
  readonly pausing?: PauseTurn;
}

/** A request whose bytes are relayed. */
export interface RelayedBody {
  bytes: Buffer;
  members: Members;
  /** Parsed from `bytes`. */
  value: JsonObject;
  stream: boolean;
}

export interface RelayTarget {
  /** The provider's name of the model. */
  upstream: string;
  traits: Traits;
  withoutThinking?: ThinkingCut;
}

export interface RelayOptions {
  /** The provider must not store the answer. */
  unstored?: boolean;
}

export interface RewrittenBody {
  /** The same Buffer if nothing changed. */
  bytes: Buffer;
  /** Thinking was removed or switched off. */
  thinkingCut: boolean;
}

/** The same protocol on both sides: bytes are forwarded, and parsed as little as possible. */
export interface Relay {
  /**
   * The body for a target: the model's name, what the gateway itself asks for, and without what no provider takes back; every
   * other byte as it was.
   */
  rewrite(body: RelayedBody, target: RelayTarget, options?: RelayOptions): RewrittenBody;
  /** Usage and finish of a whole reply; throws FailureError as `decodeReply` does, without decoding parts. */
  inspectReply(value: unknown): { usage?: Usage };
  /** `usageAsked`: the client itself asked for usage in the stream. */
  createClassifier(options: { usageAsked: boolean }): StreamClassifier;
}

export interface Protocol {
  readonly name: ProtocolName;
  readonly client: ClientSide;
  readonly provider: ProviderSide;
  readonly relay: Relay;
}

export type { Admission, Needs, ReverseMapping };
export { FailureError } from '../errors.ts';
