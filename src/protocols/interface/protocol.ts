// The interface of a wire protocol. Each folder of a protocol implements it, with the same file names.
import type { GatewayError, ProviderFailure, Admission } from '../../errors.ts';
import type { Reply, Usage } from '../../canonical/reply.ts';
import type { FittedHeaders, RelayRule } from '../shared/relay/fit.ts';
import type { HistoryRules } from '../../canonical/history.ts';
import type { JsonObject } from '../../canonical/json.ts';
import type { Source } from '../json/raw-json.ts';
import type { Traits } from '../../canonical/traits.ts';
import type {
  CanonicalField,
  ClientProtocolName,
  GenerationRequest,
  Offer,
  Permission,
  ProtocolName,
} from '../../canonical/request.ts';
import type { Ids } from '../../ids.ts';
import type { LimitState, SpentMoney } from '../../limit-state.ts';
import type { Endpoint, Generation, Relayed } from './endpoint.ts';
import type {
  BodyReading,
  EncodedRequest,
  Hints,
  RelayedBody,
  RelayTarget,
  RelayOptions,
  RewrittenBody,
} from './bodies.ts';
import type { StreamDecoder, StreamEncoder, StreamClassifier } from './stream.ts';
import type { AnswerMarks, ReplyOptions, ReplyContext, ReplyHolds, ErrorHead } from './answer.ts';
import type { PauseTurn, StoredAnswers } from './features.ts';
import type { PromptShape } from './prompt.ts';
import type { ClientHeaders, KeyHeader, ForwardedHeaders, ProtocolOutline } from './outline.ts';

/** Towards clients. */
export interface ClientSide extends Pick<ProtocolOutline, 'path' | 'setup' | 'hasServerTools'> {
  /** The first is that of the path. */
  readonly endpoints: readonly [Generation | Relayed, ...Endpoint[]];
  /** Its clients send no keys: it is served only where the configuration names the account that they are. */
  readonly isKeyless?: true;

  // -- the request --
  /** The first one that is there counts. */
  readonly keyHeaders: readonly KeyHeader[];
  /** In lower case. On a path that belongs to no protocol, one of these headers identifies a client of this one. */
  readonly ownHeaders: readonly string[];
  /** Whether a body whose protocol is unknown belongs to this one. */
  recognizes(value: JsonObject): boolean;
  readonly hints: Hints;
  /** Where its requests have their prompt, for the explanation of cache misses. */
  readonly prompt: PromptShape;
  /** Throws GatewayError `invalid_request` for headers that no provider takes. */
  forwardedHeaders(given: ClientHeaders, query: string): ForwardedHeaders;
  /** Headers of a provider of the same protocol that its clients send back, in lower case. */
  readonly returnedHeaders?: readonly string[];
  /** Wire -> canonical; `source`: what `value` was parsed from, for numbers that it can't hold. Throws GatewayError `invalid_request` for
   *  what no other protocol can take, naming the field. */
  decodeRequest(value: JsonObject, source?: Source): GenerationRequest;
  /** What answers depend on; never throws. */
  readAsked(body: BodyReading): ReplyOptions;
  /** The wire path (without indexes) of a canonical place, for warnings: what this protocol's clients call it. */
  wirePath(field: CanonicalField): string;
  readonly stored?: StoredAnswers;

  // -- the answer --
  encodeReply(reply: Reply, context: ReplyContext): JsonObject;
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
  /** The media type of its streams, if they are not events. */
  readonly streamType?: string;
  /** This protocol's rate-limit headers, names in lower case, flat: name, value, name, value. */
  limitHeaders(admission: Admission, now: number): string[];
  readonly screen?: LimitScreen;
}

/** How clients show the limits of an account on their own screens. */
export interface LimitScreen {
  /** Every client of the protocol may read the headers; else only one that bears the mark (`Key.native`). */
  readonly unasked: boolean;
  /** Of an answer. Names in lower case: name, value, name, value. */
  headers(limits: readonly LimitState[]): string[];
  /** A path at which a client asks for them, and the answer. `spent`: of money. */
  readonly usage?: {
    readonly path: string;
    body(limits: readonly LimitState[], spent: SpentMoney): JsonObject;
  };
}

/** How the frames of a stream are separated (`providers/framings.ts`). */
export type FramingName = 'sse';

/** Towards providers. */
export interface ProviderSide extends Omit<ProtocolOutline, 'setup' | 'hasServerTools'> {
  readonly framing: FramingName;
  /** For `repairHistory`, which comes before `encodeRequest`. */
  readonly historyRules: HistoryRules;
  /** Canonical -> wire. Throws GatewayError `invalid_request` for what must not be left out. */
  encodeRequest(request: GenerationRequest, model: string, traits: Traits): EncodedRequest;
  /** A whole 200 reply. Throws a `FailureError` with the ProviderFailure if it is an error, empty, or not of this protocol. */
  decodeReply(value: unknown, source?: Source): Reply;
  createStreamDecoder(context: { ids: Ids; traits: Traits }): StreamDecoder;
  /** A provider's error answer: any status, any body (JSON of any shape, HTML, empty). `body` is at most a few KiB of text. */
  decodeError(status: number, headers: ReadonlyMap<string, string>, body: string): ProviderFailure;
  /** Where turns may be paused. */
  readonly pausing?: PauseTurn;
}

/** The same protocol on both sides: bytes are forwarded, and parsed as little as possible. */
export interface Relay {
  /**
   * The body for a target: the model's name, what the gateway itself asks for, and without what no provider takes back; every
   * other byte as it was.
   */
  rewrite(body: RelayedBody, target: RelayTarget, options?: RelayOptions): RewrittenBody;
  /** What is changed before that, where the target is known to refuse it: rules of a later pass see what those before it made. */
  readonly rules: readonly (readonly RelayRule[])[];
  /** The client's headers without values that the target is known to refuse: the same list where there are none. */
  fitHeaders?(headers: readonly string[], traits: Traits): FittedHeaders;
  /** Without the conversation, which may be long. Throws as `decodeRequest` does. */
  readOffer(body: BodyReading): Offer;
  /** Usage and finish of a whole reply; throws FailureError as `decodeReply` does, without decoding parts. */
  inspectReply(value: unknown): { usage?: Usage };
  /** Of a whole reply. */
  readMarks(reply: JsonObject): AnswerMarks;
  /** `usageAsked`: the client itself asked for usage in the stream. */
  createClassifier(options: { usageAsked: boolean }): StreamClassifier;
}

/** A protocol that clients speak. */
export interface ClientProtocol {
  readonly name: ClientProtocolName;
  /** Its name among those of providers; undefined: no provider is spoken to in it. */
  readonly spoken: ProtocolName | undefined;
  /** The permission that a key needs, where the endpoint says no other. */
  readonly permission: Permission;
  readonly client: ClientSide;
}

/** A protocol that clients and providers speak. */
export interface Protocol extends ClientProtocol {
  readonly name: ProtocolName;
  readonly spoken: ProtocolName;
  readonly provider: ProviderSide;
  readonly relay: Relay;
}
