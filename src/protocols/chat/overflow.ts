// A conversation that outgrew the model's window, told by providers in many words. Agents wait for it to start compaction.

const WORDS =
  /maximum context length|prompt is too long|exceeds? the (?:model'?s? )?(?:maximum )?context window|exceeds? the available context size|context length (?:is )?exceeded|context (?:window|size) (?:is |was )?exceeded|exceeds? (?:the )?(?:model'?s? )?(?:maximum )?context (?:length|size)|too many tokens|input is too long|reduce the length|greater than the context length|input token count .{0,40}exceeds/i;

export function saysOverflow(message: string): boolean {
  return WORDS.test(message);
}

type Tokens = { sent?: number; limit?: number };

function number(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text.replaceAll(/[,_]/g, ''));
  return Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

const N = String.raw`(\d[\d,_]*)`;
const LIMITS = [
  new RegExp(
    String.raw`(?:maximum )?context (?:length|window|size)(?: limit)?(?: is| of|:|=)? ?(?:only |about )?\(?${N}`,
    'i',
  ),
  new RegExp(String.raw`> ?${N} (?:tokens )?maximum`, 'i'),
  new RegExp(String.raw`(?:maximum|limit|at most|up to)\D{0,40}?${N}`, 'i'),
];
const SENTS = [
  new RegExp(
    String.raw`(?:resulted in|requested|you sent|contains|has|is too long:|prompt is|request \(|token count(?: of)?)\D{0,24}?${N}`,
    'i',
  ),
  new RegExp(String.raw`${N} tokens`, 'i'),
];

function first(patterns: readonly RegExp[], message: string, not?: number): number | undefined {
  for (const pattern of patterns) {
    const found = number(pattern.exec(message)?.[1]);
    if (found !== undefined && found !== not) return found;
  }
  return undefined;
}

/** The numbers of the message, or llama.cpp's `n_prompt_tokens` and `n_ctx` of the body. */
export function overflowTokens(message: string, body = ''): Tokens | undefined {
  const limit = number(/"n_ctx"\s*:\s*(\d+)/.exec(body)?.[1]) ?? first(LIMITS, message);
  const sent = number(/"n_prompt_tokens"\s*:\s*(\d+)/.exec(body)?.[1]) ?? first(SENTS, message, limit);
  if (limit === undefined && sent === undefined) return undefined;
  const tokens: Tokens = {};
  if (sent !== undefined) tokens.sent = sent;
  if (limit !== undefined) tokens.limit = limit;
  return tokens;
}
