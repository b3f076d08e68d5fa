// What is read from the body of a request, and the bodies that providers get.
import type { BodyNames } from '../../canonical/body-names.ts';
import type { JsonObject } from '../../canonical/json.ts';
import type { Needs, Traits } from '../../canonical/traits.ts';
import type { ThinkingCut } from '../../canonical/thinking-signature.ts';
import type { Warning } from '../../canonical/request.ts';
import type { ReverseMapping } from '../../canonical/reverse-mapping.ts';
import type { JsonNode } from '../json/body.ts';
import type { Members } from '../json/splice.ts';
import type { Step } from './steps.ts';

/** A body as it is read: members of `value` are parsed when they are read, and long lists by elements. */
export interface BodyReading {
  readonly value: JsonObject;
  member(name: string): JsonNode | undefined;
  /** The elements of a member; undefined: the member is not a list. */
  list(name: string): readonly JsonNode[] | undefined;
  /** The texts of all members `type`, wherever they stand: what is not among them need not be looked for. */
  readonly types: ReadonlySet<string>;
  /** Whether a member has that name, wherever it stands. */
  hasName(name: string): boolean;
}

/** What the gateway reads from every request of this protocol. A relay examines nothing else of the body. */
export interface Envelope {
  model: string;
  stream: boolean;
  needs: Needs;
  /** The path of a member that names what a provider keeps for everyone with its key: files, containers, threads. */
  kept?: string;
  /** The most output tokens that the client wants, where the body says it in words of its own. */
  outputLimit?: number;
  /** Nothing is asked of the model but that it is there. `now`: milliseconds since the epoch. */
  readyAnswer?: (now: number) => JsonObject;
}

export interface EncodedRequest {
  /** The JSON body, with the provider's model name, members in a fixed order. */
  body: JsonObject;
  warnings: Warning[];
  restore: ReverseMapping;
}

/** What routing and recording need from a body, without decoding it. Pure functions without a cache. */
export interface Hints {
  /** An estimate of the input tokens. */
  estimate(value: JsonObject): number;
  /** What it says of its conversation. */
  names(value: JsonObject): BodyNames;
  /** The text that stays the same while the conversation grows. */
  beginning(body: BodyReading): string;
  /** Its history, from the beginning. */
  steps(value: JsonObject): Iterable<Step>;
  /** It ends with results of tools that the model called. */
  hasOpenToolTurn(body: BodyReading): boolean;
  /** The client itself asks for usage in the stream. */
  asksForUsage(value: JsonObject): boolean;
}

/** A request whose bytes are relayed. */
export interface RelayedBody extends BodyReading {
  readonly bytes: Buffer;
  readonly members: Members;
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
  /** The key of the prompt cache is made of it, where the client sent none. */
  conversation?: string | undefined;
}

export interface RewrittenBody {
  /** The same Buffer if nothing changed. */
  bytes: Buffer;
  /** Thinking was removed or switched off. */
  thinkingCut: boolean;
}
