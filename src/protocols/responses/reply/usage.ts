// Tokens on the responses wire: input_tokens includes what was cached, the canonical input does not.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import { totalInput, type Usage } from '../../../canonical/usage.ts';

/** Counts are whole: a fraction is no count, and the store of usage takes none. */
function tokens(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Undefined where the provider gives no counts, half of them, or zeros alone. Details are optional: local servers have none. */
export function decodeUsage(value: JsonValue | undefined): Usage | undefined {
  if (!isObject(value)) return undefined;
  const whole = tokens(value.input_tokens);
  const output = tokens(value.output_tokens);
  if (whole === undefined || output === undefined || whole + output === 0) return undefined;
  const inputDetails = isObject(value.input_tokens_details) ? value.input_tokens_details : {};
  const outputDetails = isObject(value.output_tokens_details) ? value.output_tokens_details : {};
  const cacheRead = tokens(inputDetails.cached_tokens);
  const cacheWrite = tokens(inputDetails.cache_write_tokens);
  const reasoning = tokens(outputDetails.reasoning_tokens);
  const usage: Usage = { input: Math.max(0, whole - (cacheRead ?? 0) - (cacheWrite ?? 0)), output };
  if (cacheRead !== undefined) usage.cacheRead = cacheRead;
  if (cacheWrite !== undefined) usage.cacheWrite = cacheWrite;
  if (reasoning !== undefined) usage.reasoning = reasoning;
  return usage;
}

/** The details are always there: clients read through them without asking. */
export function encodeUsage(usage: Usage): JsonObject {
  const input = totalInput(usage);
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: usage.cacheRead ?? 0,
      cache_write_tokens: usage.cacheWrite ?? 0,
    },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
    total_tokens: input + usage.output,
  };
}

const CHARACTERS_A_TOKEN = 4;

/** For a provider that counts nothing: readers with schemas take an end without numbers for an unknown event. */
export function estimateUsage(input: number, outputCharacters: number): Usage {
  return { input, output: Math.ceil(outputCharacters / CHARACTERS_A_TOKEN), estimated: true };
}
