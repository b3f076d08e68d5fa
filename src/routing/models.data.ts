// What is known about models, as rows of data: only what is certain, since all else is taken as possible. Matched against the plain
// name (model-info.ts); later rows override earlier ones.
import type { Effort } from '../canonical/request.ts';
import type { Traits } from '../canonical/traits.ts';

interface ModelRow {
  match: RegExp;
  family?: string;
  traits: Partial<Traits>;
}

const K = 1000;
const UP_TO_HIGH: readonly Effort[] = ['low', 'medium', 'high'];
const WITH_MAX: readonly Effort[] = ['low', 'medium', 'high', 'max'];
/** What compatible servers take, whatever else their models may know. */
const USUAL: readonly Effort[] = ['none', 'low', 'medium', 'high'];
const ALL: readonly Effort[] = ['low', 'medium', 'high', 'xhigh', 'max'];

/** The newest rules: thinking can't be switched off, no forced tool. */
const CLAUDE_STRICT: Partial<Traits> = {
  thinkingOff: 'never',
  thinksByDefault: true,
  forcedTools: 'never',
};

// https://platform.claude.com/docs/en/about-claude/models/overview, and what the service refuses.
const CLAUDE: readonly ModelRow[] = [
  {
    match: /^claude/,
    family: 'claude',
    traits: {
      vision: true,
      documents: true,
      audio: false,
      tools: true,
      thinking: true,
      structuredOutput: true,
      maxOutput: 128 * K,
      rejectsSampling: true,
      oneSamplingParameter: true,
      thinkingAdaptive: true,
      thinkingBudget: false,
      efforts: ALL,
      prefill: false,
    },
  },
  {
    match: /^claude-(?:2|instant|v\d)/,
    traits: { vision: false, documents: false, tools: false, maxOutput: 4096 },
  },
  // Before 4.6 there were budgets alone, and no `output_config.effort` but on opus 4.5.
  {
    match: /^claude-(?:2|instant|v\d|(?:sonnet|opus|haiku)-(?:3(?:-[57])?|4(?:-[015])?)(?!-?\d))/,
    traits: {
      rejectsSampling: false,
      contextWindow: 200 * K,
      thinkingAdaptive: false,
      thinkingBudget: true,
      efforts: [],
      prefill: true,
    },
  },
  {
    match: /^claude-(?:2|instant|v\d|(?:sonnet|opus|haiku)-3)/,
    traits: { thinking: false, structuredOutput: false, oneSamplingParameter: false },
  },
  { match: /^claude-(?:sonnet|opus|haiku)-3(?!-?\d)/, traits: { maxOutput: 4096 } },
  { match: /^claude-(?:sonnet|opus|haiku)-3-5/, traits: { maxOutput: 8192 } },
  { match: /^claude-haiku-3/, traits: { minCacheTokens: 2048 } },
  { match: /^claude-sonnet-3-7/, traits: { thinking: true, maxOutput: 64 * K } },
  {
    match: /^claude-(?:sonnet|opus)-4(?:-[01])?(?!-?\d)/,
    traits: { structuredOutput: false, oneSamplingParameter: false, maxOutput: 32 * K },
  },
  { match: /^claude-sonnet-4(?:-0)?(?!-?\d)/, traits: { maxOutput: 64 * K } },
  { match: /^claude-sonnet-4(?:-[05])?(?!-?\d)/, traits: { longContextWindow: 1000 * K } },
  { match: /^claude-opus-4-1/, traits: { structuredOutput: true, oneSamplingParameter: true } },
  {
    match: /^claude-(?:sonnet|opus|haiku)-4-5/,
    traits: { structuredOutput: true, oneSamplingParameter: true, maxOutput: 64 * K },
  },
  { match: /^claude-opus-4-5/, traits: { efforts: UP_TO_HIGH } },
  { match: /^claude-(?:opus|haiku)-4-5/, traits: { minCacheTokens: 4096 } },
  {
    match: /^claude-(?:opus|sonnet)-4-6/,
    traits: { rejectsSampling: false, thinkingBudget: true, contextWindow: 1000 * K, efforts: WITH_MAX },
  },
  { match: /^claude-opus-4-[678]/, traits: { contextWindow: 1000 * K, minCacheTokens: 4096 } },
  { match: /^claude-opus-4-8/, traits: { midSystem: true } },
  { match: /^claude-(?:sonnet|opus|fable)-5(?:-|$)/, traits: { contextWindow: 1000 * K } },
  { match: /^claude-opus-5(?:-|$)/, traits: { thinkingOff: 'up_to_high', midSystem: true } },
  {
    match: /^claude-fable-5(?:-|$)/,
    traits: { thinkingOff: 'never', thinksByDefault: true, forcedTools: 'always' },
  },
  { match: /^claude-(?:fable-5-1|opus-5-5|sonnet-5-5)(?:-|$)/, traits: CLAUDE_STRICT },
  { match: /^claude-sonnet-5-5(?:-|$)/, traits: { thinkingOff: 'between_tools' } },
  { match: /^claude-haiku-5-5(?:-|$)/, traits: { thinkingOff: 'up_to_high' } },
];

const OPENAI_CHAT: Partial<Traits> = { thinking: false, efforts: [], audio: false };
const OPENAI_REASONING: Partial<Traits> = {
  thinking: true,
  audio: false,
  rejectsSampling: true,
  thinksByDefault: true,
  maxTokensField: 'max_completion_tokens',
  systemRole: 'developer',
  userField: 'safety_identifier',
};

const OPENAI: readonly ModelRow[] = [
  // A trailing assistant turn is answered by another one.
  { match: /^(?:gpt|chatgpt|o[1-9]|codex)(?:-|$)/, family: 'gpt', traits: { prefill: false } },
  {
    match: /^gpt-3-5/,
    traits: { ...OPENAI_CHAT, vision: false, documents: false, structuredOutput: false, maxOutput: 4096 },
  },
  {
    match: /^gpt-4(?:$|-(?!\d(?!\d)))/,
    traits: {
      ...OPENAI_CHAT,
      structuredOutput: false,
      vision: false,
      documents: false,
      contextWindow: 8192,
      maxOutput: 8192,
    },
  },
  {
    match: /^gpt-4-(?:turbo|1106|0125|vision)/,
    traits: { vision: undefined, documents: undefined, contextWindow: 128 * K, maxOutput: 4096 },
  },
  {
    match: /^(?:gpt-4o|chatgpt-4o)/,
    traits: { ...OPENAI_CHAT, vision: true, tools: undefined, contextWindow: 128 * K, maxOutput: 16_384 },
  },
  {
    match: /^gpt-4o-.*audio|^gpt-audio/,
    traits: { audio: true, vision: false, thinking: false, efforts: [] },
  },
  {
    match: /^gpt-4-1(?:-(?:mini|nano))?$/,
    traits: {
      ...OPENAI_CHAT,
      vision: true,
      documents: true,
      structuredOutput: true,
      contextWindow: 1_047_576,
      maxOutput: 32_768,
    },
  },
  {
    match: /^gpt-[5-9](?:-|$)/,
    traits: {
      ...OPENAI_REASONING,
      vision: true,
      documents: true,
      tools: true,
      structuredOutput: true,
      contextWindow: 400 * K,
      maxOutput: 128 * K,
      maxStop: 0,
      efforts: ['minimal', 'low', 'medium', 'high'],
    },
  },
  {
    match: /^gpt-5-1(?:-|$)/,
    traits: { efforts: ['none', 'low', 'medium', 'high'], thinksByDefault: false },
  },
  {
    match: /^gpt-5-[2-9](?:-|$)|^gpt-[6-9](?:-|$)/,
    traits: { efforts: ['none', 'low', 'medium', 'high', 'xhigh'], thinksByDefault: false },
  },
  { match: /^gpt-5-[6-9](?:-|$)|^gpt-[6-9](?:-|$)/, traits: { cacheMarks: 'prompt_cache_breakpoint' } },
  {
    match: /^gpt-[5-9].*-chat(?:-|$)/,
    traits: {
      thinking: false,
      thinksByDefault: false,
      efforts: [],
      contextWindow: 128 * K,
      maxOutput: 16_384,
    },
  },
  {
    match: /^o[1-9](?:-|$)/,
    traits: {
      ...OPENAI_REASONING,
      contextWindow: 200 * K,
      maxOutput: 100 * K,
      efforts: ['low', 'medium', 'high'],
    },
  },
  { match: /^o(?:3|4-mini)(?:-|$)/, traits: { maxStop: 0 } },
  { match: /^o[13]-mini/, traits: { vision: false, documents: false } },
  {
    match: /^o1-(?:mini|preview)/,
    traits: {
      systemRole: undefined,
      tools: false,
      structuredOutput: false,
      efforts: [],
      contextWindow: 128 * K,
    },
  },
  {
    match: /^gpt-oss/,
    family: 'gpt-oss',
    traits: {
      vision: false,
      documents: false,
      audio: false,
      contextWindow: 131_072,
      efforts: ['low', 'medium', 'high'],
    },
  },
];

/** They refuse a request that asks for an effort: https://github.com/diegosouzapw/OmniRoute/issues/3277 */
const NO_THINKING: Partial<Traits> = { thinking: false, efforts: [] };

const OTHERS: readonly ModelRow[] = [
  { match: /^gemini/, family: 'gemini', traits: { efforts: ['none', 'minimal', 'low', 'medium', 'high'] } },
  {
    match: /^gemini-(?:2-5|[3-9])/,
    traits: { vision: true, tools: true, contextWindow: 1_048_576, maxOutput: 65_536 },
  },
  {
    match: /^gemini-(?:2-5-pro|[3-9])/,
    traits: { thinking: true, thinkingOff: 'never', thinksByDefault: true },
  },
  {
    match: /^gemini-.*(?:image|tts|embedding)/,
    traits: { tools: undefined, contextWindow: undefined, maxOutput: undefined },
  },
  { match: /^deepseek/, family: 'deepseek', traits: { vision: false, documents: false, audio: false } },
  { match: /^deepseek-(?:vl|ocr|janus)/, traits: { vision: undefined, documents: undefined } },
  { match: /^(?:qwen|qwq|qvq)/, family: 'qwen', traits: { efforts: USUAL } },
  { match: /^qwen-?(?:1|2)(?:-\d)?(?!\d)|^qwen.*-instruct|^qwen-?3-coder/, traits: NO_THINKING },
  {
    match: /^(?:mistral|ministral|codestral|magistral|devstral|pixtral)/,
    family: 'mistral',
    // All others are a 400: https://github.com/anomalyco/models.dev/pull/1986
    traits: { efforts: ['none', 'high'] },
  },
  // https://github.com/NousResearch/hermes-agent/issues/11243
  {
    match: /^(?:codestral|devstral|ministral|pixtral|mistral-(?:\d|large|nemo|tiny))/,
    traits: NO_THINKING,
  },
  // Their templates refuse other ids, under whatever name and on whatever server:
  // https://github.com/ml-explore/mlx-lm/issues/1375
  { match: /(?:mis|mix|pix|minis|codes|devs|magis)tral/, traits: { toolIds: 'mistral' } },
  { match: /^(?:llama|meta-llama)/, family: 'llama', traits: NO_THINKING },
  { match: /^(?:kimi|moonshot)/, family: 'kimi', traits: { efforts: USUAL } },
  { match: /^(?:glm|chatglm)/, family: 'glm', traits: { efforts: USUAL } },
  { match: /^grok/, family: 'grok', traits: { efforts: USUAL } },
  // They think, and refuse a setting of how much: https://github.com/NousResearch/hermes-agent/pull/23435
  { match: /^grok-(?:2|3(?!-mini)|4-fast|4-1-fast|4-20(?!-multi)|build|code)/, traits: { efforts: [] } },
  // https://github.com/theopenco/llmgateway/pull/2973
  { match: /^grok-4-5/, traits: { efforts: UP_TO_HIGH, thinksByDefault: true } },
  { match: /^minimax/, family: 'minimax', traits: { efforts: USUAL } },
  { match: /^gemma/, family: 'gemma', traits: { efforts: USUAL } },
  { match: /^gemma-?[1-3](?!\d)/, traits: NO_THINKING },
  { match: /^phi-?\d/, family: 'phi', traits: { efforts: USUAL } },
  { match: /^phi-?\d(?!.*reasoning)/, traits: NO_THINKING },
];

export const MODEL_ROWS: readonly ModelRow[] = [...CLAUDE, ...OPENAI, ...OTHERS];
