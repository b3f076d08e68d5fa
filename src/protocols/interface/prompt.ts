// Where a protocol's requests have their prompt: the row that each protocol fills in.

export interface PromptShape {
  readonly tools: string;
  /** A text or a list of blocks beside the messages; undefined: system text stands among the messages alone. */
  readonly system?: string;
  readonly messages: string;
  readonly cacheKey?: string;
  /** Members beside these that are a part of the prompt, or by which caches differ. */
  readonly parameters: readonly string[];
  readonly marks: MarkShape;
  /** With one of these the messages go on from an earlier answer. */
  readonly chains: readonly string[];
  /** A member whose value `24h` has the cache keep the prompt for a day. */
  readonly retention?: string;
}

/** Bytes that differ from request to request and are no part of the prompt. */
export interface MarkShape {
  /** Members at any depth that mark the end of a cached prefix. */
  readonly names: readonly string[];
  /** How a text begins that a client's own provider leaves out, up to the end of its line. */
  readonly line?: string;
}
