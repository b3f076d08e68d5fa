// What is kept of a request to explain a cache miss of the next one: hashes of the parts of its prompt, in the order in which a prompt
// cache reads them. Never text.

/** `open` and `close`: what makes a list of a text that bears a mark; without one, agents write the text alone. */
export type CutKind = 'mark' | 'open' | 'close';

/** A stretch of bytes, without the cache marks in it. Another body that begins with the same bytes is known by it. */
export interface Run {
  readonly bytes: number;
  readonly hash: number;
  /** Where marks stood: offsets in the bytes without them, in order. */
  readonly cuts: readonly { readonly at: number; readonly kind: CutKind }[];
}

/** A list of the prompt. */
export interface PromptPart {
  readonly run: Run;
  /** Of each item; of a tool its name and its whole definition. The last items of a very long list are not among them. */
  readonly hashes: Uint32Array;
  /** Milliseconds that the cache keeps it without a use, as its marks ask; 0: it has none. */
  readonly life: number;
}

export interface PromptPrint {
  /** As the client names it. */
  readonly model: string;
  /** 0: the client sent none. */
  readonly cacheKey: number;
  /** Hashes of the members beside the lists that belong to the prompt. */
  readonly parameters: Readonly<Record<string, number>>;
  readonly tools: PromptPart;
  readonly system: PromptPart;
  readonly messages: PromptPart;
  /** Messages at the beginning that are system text. */
  readonly leading: number;
  /** The messages go on from an earlier answer that the provider keeps: they are not the whole conversation. */
  readonly chained: boolean;
  /** Milliseconds without a use after which the cache may forget the prompt. */
  readonly life: number;
}
