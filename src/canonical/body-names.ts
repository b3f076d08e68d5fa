// What a body says of its conversation. Each protocol has its own members for it.

/** As the client wrote it, unchecked. */
export interface BodyNames {
  /** The conversation's id. */
  session?: string | undefined;
  /** Of one agent within it, and of the agent that started it. */
  thread?: string | undefined;
  parentThread?: string | undefined;
  /** The kind of that agent. */
  subagent?: string | undefined;
  /** What a person asked for. */
  turn?: string | undefined;
  /** Names a cache that several conversations may share. */
  cacheKey?: string | undefined;
}
