// What the client's side of a protocol needs to know to write an answer, and what its answers can hold.
import type { JsonObject } from '../../canonical/json.ts';
import type { ClientProtocolName, GenerationRequest } from '../../canonical/request.ts';
import type { Ids } from '../../ids.ts';

/** The parts of a request on which its answer depends. */
export type ReplyOptions = Pick<
  GenerationRequest,
  'includeUsage' | 'legacyFunctions' | 'readsReasoning' | 'reasoning' | 'responseFormat' | 'asked'
>;

/** What a provider's answer says of itself, in the provider's words, which may be anything. For traces. */
export interface AnswerMarks {
  id?: string;
  /** The model that answered. */
  model?: string;
  /** Why each answer of the request ended: mostly one. */
  finish?: readonly string[];
}

/** The id of an answer where they differ: the provider's, and the one that the client gets. */
export interface ReplyIds {
  theirs: string;
  ours: string;
}

/** What the client's side of a translated answer needs to know. Nothing is written into it. */
export interface ReplyContext {
  ids: Ids;
  /** Seconds since the epoch: chat's `created`. */
  created: number;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Milliseconds since the request arrived. */
  elapsed: () => number;
  request: ReplyOptions;
  /** The gateway's estimate of the input tokens, for a provider that sends no count in time. Computed at most once. */
  estimateInput: () => number;
  /** Encrypts data that the client sends back but cannot read; undefined: not possible now. */
  seal?: (text: string) => string | undefined;
  /** The gateway stores answers. */
  stores?: true;
  /** The client's connection remembers its last answer. */
  remembers?: true;
}

/** What is stored of an answer's items beside what the client sees of them, by the item's id. */
export type HiddenTexts = ReadonlyMap<string, string>;

/** What an answer of this protocol can hold. The rest is left out, and the log reports it. */
export interface ReplyHolds {
  /** Whose they are. */
  protocol: ClientProtocolName;
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

/** What an error's head has otherwise than other protocols' heads. */
export interface ErrorHead {
  /** In place of the error's own. */
  status?: number;
  /** The unit of a wait; absent: it is written in both. */
  retryAfter?: 'milliseconds';
  /** Another try is of no use to this client, whatever the error says. */
  isFinal?: true;
  /** Further headers, names in lower case: name, value, name, value. */
  headers?: readonly string[];
}
