// Recognises the error for a conversation that is longer than the model's context window: servers report it by a code, by a type with
// counts, or only in the message. Agents start compaction when they get it.
import type { OverflowTokens } from '../../../errors.ts';

const WORDS = new RegExp(
  [
    'maximum (?:context|prompt|model) length',
    'model token limit',
    String.raw`prompt (?:\([^)]*\) )?(?:is )?too long`,
    'prompt exceeds max',
    'input is too long',
    'too many (?:input )?tokens',
    'input tokens? (?:count .{0,40})?exceed',
    String.raw`input length (?:\([^)]*\) )?exceeds`,
    'reduce the length',
    String.raw`exceed(?:s|ed)? (?:the )?(?:available )?(?:model'?s? )?max(?:imum)? context (?:length|window|size)`,
    String.raw`exceeds? (?:the )?(?:available )?(?:model'?s? )?context (?:window|size|length|limit)`,
    'context (?:length|window|size) (?:(?:is |was |has been )?exceeded|exceeds limit)',
    'context length of only',
    String.raw`prompt token count of [\d,]{1,20} exceeds the limit`,
    String.raw`(?:greater|longer|larger) than the (?:model'?s? )?context length`,
    'greater than max_model_len',
    '`inputs` (?:tokens . `max_new_tokens` must be|must have less than)',
    'range of input length',
  ].join('|'),
  'i',
);

/** Another limit: requests or tokens a minute, one image, one field. */
const OTHER_WORDS =
  /rate.?limit|throttl|too many requests|please wait|per (?:second|minute|hour|day)|image (?:has|is|exceeds)|name (?:is )?too long|(?:budget_tokens|max_tokens)\S{0,40} (?:\d+ )?(?:must|should|exceeds)/i;

/** With these statuses a text about tokens means a rate, a key or a model. */
const OTHER_STATUS: ReadonlySet<number> = new Set([401, 402, 403, 404, 408, 429, 503, 504, 529]);

/** Characters that are examined: the text is the provider's, and may be megabytes of digits. */
const MOST = 2000;

const COUNTED = 'exceed_context_size_error';
/** Copilot and GitHub Models. */
const TOO_LARGE: ReadonlySet<string> = new Set(['model_max_prompt_tokens_exceeded', 'tokens_limit_reached']);

interface ErrorWords {
  message: string;
  type?: string;
  code?: string;
}

/** `status`: of the answer, or from the body of a 200; undefined: unknown. */
export function isOverflow({ message, type, code }: ErrorWords, status: number | undefined): boolean {
  if (code === 'context_length_exceeded' || type === COUNTED || code === COUNTED) return true;
  if (status !== undefined && OTHER_STATUS.has(status)) return false;
  if (code !== undefined && TOO_LARGE.has(code)) return true;
  const words = message.slice(0, MOST);
  return WORDS.test(words) && !OTHER_WORDS.test(words);
}

/** More digits are no number of tokens. */
const N = String.raw`(\d[\d,_]{0,20})(?:\.0)?`;
const LIMITS = [
  new RegExp(`max_total_tokens=${N}|n_ctx: ${N}|${N} maximum context length`, 'i'),
  new RegExp(
    `(?:context (?:length|window|size)(?: limit)?|context limit)(?: is| of|:|=)? ?(?:only |about )?\\(?${N}`,
    'i',
  ),
  new RegExp(`> ?${N} (?:tokens )?maximum|max size: ${N} tokens`, 'i'),
  new RegExp(
    String.raw`(?:maximum|max input tokens|limit|at most|up to|less than|must be <=)\D{0,40}?${N}`,
    'i',
  ),
];
const SENTS = [
  new RegExp(
    String.raw`(?:resulted in|requested|you sent|contains|has|is too long:|prompt is|current length is|n_keep:|given:|keep the first|token count(?: of)?)\D{0,24}?${N}`,
    'i',
  ),
  new RegExp(
    String.raw`(?:request|input|length|input length) \((?:length )?${N}|\((?:total )?length ${N}`,
    'i',
  ),
  new RegExp(`${N} tokens`, 'i'),
];
/** Messages that name the excess. */
const EXCESS = new RegExp(`exceeded[^.]{0,40}? by ${N}`, 'i');

/** Counts of input and output. The parts of the input are added up, since some servers count tools separately. */
const INPUT = new RegExp(
  `(?<!upper bound for )\\b${N} (?:input tokens|tokens from the input|in (?:the|your) (?:messages|prompt|functions)|of \\w+ input|\`inputs\` tokens)`,
  'gi',
);
const OUTPUT = new RegExp(
  `${N} (?:output tokens|(?:tokens )?(?:in|for) +the (?:completion|output)|\`max_new_tokens\`)|max_\\w*tokens(?:' is too large: |=)${N}`,
  'i',
);
const SUM = new RegExp(String.raw`exceed context limit: ${N} \+ ${N} > ${N}`, 'i');

function number(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text.replaceAll(/[,_]/g, ''));
  return Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

function first(patterns: readonly RegExp[], message: string, not?: number): number | undefined {
  for (const pattern of patterns) {
    const found = number(pattern.exec(message)?.slice(1).find(Boolean));
    if (found !== undefined && found !== not) return found;
  }
  return undefined;
}

/** Messages that name input and output; `output` is set if only the sum is too large. */
function parted(message: string): OverflowTokens | undefined {
  const [, left, right, most] = SUM.exec(message) ?? [];
  const limit = number(most) ?? first(LIMITS, message);
  const output = number(right) ?? first([OUTPUT], message);
  const parts = [...message.matchAll(INPUT)].map(([, digits]) => number(digits) ?? 0);
  const sum = number(left) ?? parts.reduce((whole, part) => whole + part, 0);
  if (limit === undefined || (sum === 0 && output === undefined)) return undefined;
  if (sum === 0) return { limit, output };
  if (output === undefined || sum >= limit) return { sent: sum, limit };
  // vLLM stops counting at the limit: its number is a lower bound.
  const atLeast = sum === limit - output + 1 || /at least [\d,_]+ input tokens/i.test(message);
  return { sent: sum, limit, output, ...(atLeast && { atLeast }) };
}

/** The numbers of the message, or llama.cpp's `n_prompt_tokens` and `n_ctx` of the body; undefined if there are none. */
export function overflowTokens(text: string, body = ''): OverflowTokens | undefined {
  // MiniMax's code stands where others write the limit.
  const message = text.slice(0, MOST).replace('(2013)', '');
  const window = number(/"n_ctx"\s*:\s*(\d+)/.exec(body)?.[1]);
  const parts = window === undefined ? parted(message) : undefined;
  if (parts !== undefined) return parts;
  const excess = first([EXCESS], message);
  const limit = window ?? first(LIMITS, message.replace(EXCESS, ''));
  const sent =
    excess === undefined
      ? (number(/"n_prompt_tokens"\s*:\s*(\d+)/.exec(body)?.[1]) ?? first(SENTS, message, limit))
      : limit && limit + excess;
  if (limit === undefined && sent === undefined) return undefined;
  return { ...(sent !== undefined && { sent }), ...(limit !== undefined && { limit }) };
}
