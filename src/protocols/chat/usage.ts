// Tokens on the chat wire: prompt_tokens includes what was cached, the canonical input does not.
import { isObject, type JsonObject, type JsonValue } from '../../canonical/json.ts';
import { totalInput, type Usage } from '../../canonical/usage.ts';

function tokens(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** Undefined where nothing was told: an object without counts, or of zeros alone (servers send those before they know). */
export function decodeUsage(value: JsonValue | undefined): Usage | undefined {
  if (!isObject(value)) return undefined;
  const prompt = tokens(value.prompt_tokens);
  const total = tokens(value.total_tokens);
  let output = tokens(value.completion_tokens);
  if (prompt === undefined && output === undefined) return undefined;
  const promptDetails = isObject(value.prompt_tokens_details) ? value.prompt_tokens_details : {};
  const outputDetails = isObject(value.completion_tokens_details) ? value.completion_tokens_details : {};
  // A total beyond the sum is reasoning that the server counts outside completion_tokens; without completion_tokens it is all output.
  if (total !== undefined && total > (prompt ?? 0) + (output ?? 0)) output = total - (prompt ?? 0);
  if (!prompt && !output) return undefined;
  const cacheRead =
    tokens(promptDetails.cached_tokens) ??
    tokens(value.cache_read_input_tokens) ??
    tokens(value.prompt_cache_hit_tokens);
  const cacheWrite = tokens(promptDetails.cache_write_tokens) ?? tokens(value.cache_creation_input_tokens);
  const reasoning = tokens(outputDetails.reasoning_tokens);
  const usage: Usage = {
    input: Math.max(0, (prompt ?? 0) - (cacheRead ?? 0) - (cacheWrite ?? 0)),
    output: output ?? 0,
  };
  if (cacheRead !== undefined) usage.cacheRead = cacheRead;
  if (cacheWrite !== undefined) usage.cacheWrite = cacheWrite;
  if (reasoning !== undefined) usage.reasoning = reasoning;
  return usage;
}

/** Both details objects are always there: clients read through them without asking. */
export function encodeUsage(usage: Usage): JsonObject {
  const prompt = totalInput(usage);
  const promptDetails: JsonObject = { cached_tokens: usage.cacheRead ?? 0 };
  if (usage.cacheWrite !== undefined) promptDetails.cache_write_tokens = usage.cacheWrite;
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: promptDetails,
    completion_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
  };
}
