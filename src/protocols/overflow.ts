// A conversation that outgrew the model's window: servers of either protocol say it by a code, by a type with counts, or only
// in words. Agents wait for it to start compaction (PROTOCOL 5.2).
import type { OverflowTokens } from '../errors.ts';

const WORDS = new RegExp(
  [
    'maximum context length',
    'maximum prompt length',
    'prompt (?:is )?too long',
    'input is too long',
    'too many tokens',
    'reduce the length',
    String.raw`exceeds? (?:the )?(?:available )?(?:model'?s? )?(?:maximum )?context (?:window|size|length|limit)`,
    'context (?:length|window|size) (?:is |was )?exceeded',
    String.raw`(?:greater|longer|larger) than the (?:model'?s? )?context length`,
    'input token count .{0,40}exceeds',
    '`inputs` tokens . `max_new_tokens` must be',
    'range of input length',
  ].join('|'),
  'i',
);

export function saysOverflow(message: string): boolean {
  return WORDS.test(message);
}

const N = String.raw`(\d[\d,_]*)(?:\.0)?`;
const LIMITS = [
  new RegExp(
    `(?:context (?:length|window|size)(?: limit)?|context limit)(?: is| of|:|=)? ?(?:only |about )?\\(?${N}`,
    'i',
  ),
  new RegExp(`> ?${N} (?:tokens )?maximum`, 'i'),
  new RegExp(String.raw`(?:maximum|limit|at most|up to|must be <=)\D{0,40}?${N}`, 'i'),
];
const SENTS = [
  new RegExp(
    String.raw`(?:resulted in|requested|you sent|contains|has|is too long:|prompt is|request \(|input \(|token count(?: of)?)\D{0,24}?${N}`,
    'i',
  ),
  new RegExp(`${N} tokens`, 'i'),
];

/** Input and output told apart: the parts of the input are added up, since some servers count tools for themselves. */
const INPUT = new RegExp(
  `${N} (?:input tokens|tokens from the input|in (?:the|your) (?:messages|prompt|functions)|of \\w+ input|\`inputs\` tokens)`,
  'gi',
);
const OUTPUT = new RegExp(
  `${N} (?:output tokens|(?:tokens )?(?:in|for) +the (?:completion|output)|\`max_new_tokens\`)|max_\\w*tokens' is too large: ${N}`,
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
    const found = number(pattern.exec(message)?.[1]);
    if (found !== undefined && found !== not) return found;
  }
  return undefined;
}

/** Where input and output are told apart; `output` where they are too much only together. */
function parted(message: string): OverflowTokens | undefined {
  const [, left, right, most] = SUM.exec(message) ?? [];
  const limit = number(most) ?? first(LIMITS, message);
  const parts = [...message.matchAll(INPUT)].map(([, digits]) => number(digits) ?? 0);
  const sent = number(left) ?? parts.reduce((sum, part) => sum + part, 0);
  const found = OUTPUT.exec(message);
  const output = number(right) ?? number(found?.[1] ?? found?.[2]);
  if (limit === undefined || sent === 0) return undefined;
  if (output === undefined || sent >= limit) return { sent, limit };
  const tokens: OverflowTokens = { sent, limit, output };
  if (/at least [\d,_]+ input tokens/i.test(message)) tokens.atLeast = true;
  return tokens;
}

/** The numbers of the message, or llama.cpp's `n_prompt_tokens` and `n_ctx` of the body; undefined where it has none. */
export function overflowTokens(message: string, body = ''): OverflowTokens | undefined {
  const window = number(/"n_ctx"\s*:\s*(\d+)/.exec(body)?.[1]);
  const parts = window === undefined ? parted(message) : undefined;
  if (parts !== undefined) return parts;
  const limit = window ?? first(LIMITS, message);
  const sent = number(/"n_prompt_tokens"\s*:\s*(\d+)/.exec(body)?.[1]) ?? first(SENTS, message, limit);
  if (limit === undefined && sent === undefined) return undefined;
  const tokens: OverflowTokens = {};
  if (sent !== undefined) tokens.sent = sent;
  if (limit !== undefined) tokens.limit = limit;
  return tokens;
}
