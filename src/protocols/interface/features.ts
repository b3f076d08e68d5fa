// What only some protocols have: paused turns, stored answers.
import type { GatewayError } from '../../errors.ts';
import type { JsonObject } from '../../canonical/json.ts';
import type { Source } from '../json/raw-json.ts';
import type { Frame } from '../sse/splitter.ts';
import type { Reply } from '../../canonical/reply.ts';
import type { HiddenTexts, ReplyContext } from './answer.ts';
import type { BodyReading, RelayedBody } from './bodies.ts';

/** How to continue a turn that a provider paused because tools that it runs itself take long. */
export interface PauseTurn {
  isPaused(reply: unknown): reply is JsonObject;
  /** Records the source text of call inputs in the reply, which was parsed from `source`. */
  keepInputs(reply: JsonObject, source: Source): void;
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
  hidden?: HiddenTexts;
}

/** Answers that later requests refer to, where clients of the protocol do that. */
export interface StoredAnswers {
  /** The client wants the answer to this request to be stored. */
  isWanted(value: JsonObject): boolean;
  /** Each id once. Throws GatewayError `invalid_request` for more of them than may be read at once. */
  references(body: BodyReading): References;
  resolve(body: RelayedBody, found: FoundAnswers, bounds: BodyBounds): ResolvedBody;
  /** The client side's `encodeReply`, with what is stored beside the answer. */
  encodeReply(reply: Reply, context: ReplyContext): { answer: JsonObject; hidden: HiddenTexts };
  toStore(answer: AnswerToStore): readonly NewStored[];

  /**
   * The ids under which an answer and its parts are stored, and where a provider keeps the answer too. `text`: what is stored under
   * the id; undefined: that is no answer.
   */
  placesOf(id: string, text: string): { ids: readonly string[]; keptAt: AnswerPlace | undefined } | undefined;
  showDeleted(id: string): JsonObject;
  notFound(id: string): GatewayError;
}
