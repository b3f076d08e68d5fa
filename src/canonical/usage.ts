// Tokens of one generation. The parts never overlap: total input = input + cacheRead + cacheWrite. Unknown is undefined, never 0.

export interface Usage {
  /** Fresh input tokens: neither read from nor written to a prompt cache. */
  input: number;
  cacheRead?: number;
  cacheWrite?: number;
  /** The part of `cacheWrite` that is stored for an hour, if the provider reports it. */
  cacheWrite1h?: number;
  /** Output tokens, reasoning included. */
  output: number;
  /** The part of `output` spent on reasoning. */
  reasoning?: number;
  /** Estimated by the gateway, not counted by the provider. */
  estimated?: true;
}

export function totalInput(usage: Usage): number {
  return usage.input + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0);
}
