// A context overflow has no one form: servers say it by a code, by a type with counts, or only in words.
import type { JsonObject } from '../../canonical/json.ts';
import { count } from './schema.ts';

export interface OverflowTokens {
  sent?: number;
  limit?: number;
}

const WORDS =
  /maximum context length|prompt is too long|exceeds? the (?:available )?context (?:window|size)|context (?:length|window) (?:is )?exceeded|too many tokens|input is too long|reduce the length/i;

/** `N tokens > M maximum` and its kin: tokens sent, then tokens allowed. */
const SENT_FIRST =
  /(\d[\d,]*)\s*(?:tokens?)?\s*(?:>|exceeds?|is (?:more|greater|larger) than)\D{0,60}?(\d[\d,]*)/i;
const LIMIT =
  /(?:maximum context length|context (?:window|size|length)|limit|maximum)(?: (?:is|of|to))?[^\d]{0,20}(\d[\d,]*)/i;
const SENT =
  /(?:resulted in|requested(?: about)?|you (?:sent|have)|contains?|prompt (?:is|has)|got)[^\d]{0,40}(\d[\d,]*)/i;

function number(digits: string | undefined): number | undefined {
  if (digits === undefined) return undefined;
  const value = Number(digits.replaceAll(',', ''));
  return Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

function pair(sent: number | undefined, limit: number | undefined): OverflowTokens {
  const tokens: OverflowTokens = {};
  if (sent !== undefined) tokens.sent = sent;
  if (limit !== undefined) tokens.limit = limit;
  return tokens;
}

/** Undefined: not an overflow. The counts are there where the server told them. */
export function overflowTokens(
  message: string,
  type: string | undefined,
  code: string | undefined,
  source: JsonObject,
): OverflowTokens | undefined {
  const counted = type === 'exceed_context_size_error' || code === 'exceed_context_size_error';
  if (!counted && code !== 'context_length_exceeded' && !WORDS.test(message)) return undefined;
  const sent = count(source.n_prompt_tokens);
  const limit = count(source.n_ctx);
  if (sent !== undefined || limit !== undefined) return pair(sent, limit);
  const both = SENT_FIRST.exec(message);
  if (both !== null) return pair(number(both[1]), number(both[2]));
  return pair(number(SENT.exec(message)?.[1]), number(LIMIT.exec(message)?.[1]));
}
