// What is known about the models of all other makers, wherever they are served.
import type { Traits } from '../../canonical/traits.ts';
import { ALL, UP_TO_HIGH, USUAL, type ModelRow } from './row.ts';

/** They refuse a request that asks for an effort: https://github.com/diegosouzapw/OmniRoute/issues/3277 */
const NO_THINKING: Partial<Traits> = { thinking: false, efforts: [], thinksByDefault: false };
/** They think unless the request switches it off. */
const THINKS: Partial<Traits> = { thinking: true, thinksByDefault: true, samplingWhileThinking: true };
/** They think, and nothing stops them. */
const ALWAYS_THINKS: Partial<Traits> = { ...THINKS, thinkingOff: 'never' };

/** Models that make embeddings, by the words that their makers put into names. */
const EMBEDDINGS: readonly ModelRow[] = [
  {
    match: /embed|minilm|^(?:bge|e5|gte|uae|voyage)-/,
    traits: { embeddings: true, tools: false, contextWindow: undefined },
  },
];

const GOOGLE: readonly ModelRow[] = [
  {
    match: /^gemini/,
    family: 'gemini',
    traits: { forcedTools: 'always', efforts: ['none', 'minimal', 'low', 'medium', 'high'] },
  },
  {
    match: /^gemini-(?:2-5|[3-9])/,
    traits: { ...THINKS, vision: true, tools: true, contextWindow: 1_048_576, maxOutput: 65_536 },
  },
  { match: /^gemini-2-5/, traits: { formatsWithTools: false } },
  { match: /^gemini-(?:2-5-pro|[3-9])/, traits: ALWAYS_THINKS },
  { match: /^gemini-[3-9]/, traits: { efforts: ['minimal', 'low', 'medium', 'high'] } },
  // `minimal` is a 400: https://github.com/RooCodeInc/Roo-Code/issues/10700
  { match: /^gemini-(?:3-(?:1-)?pro|3-[789]|[4-9])/, traits: { efforts: UP_TO_HIGH } },
  {
    match: /^gemini-.*(?:image|tts|embedding)/,
    traits: { tools: undefined, contextWindow: undefined, maxOutput: undefined },
  },
  { match: /^gemma/, family: 'gemma', traits: { forcedTools: 'always', efforts: USUAL } },
  { match: /^gemma-?[1-3](?!\d)/, traits: NO_THINKING },
];

const MISTRAL: readonly ModelRow[] = [
  {
    match: /^(?:mistral|ministral|codestral|magistral|devstral|pixtral)/,
    family: 'mistral',
    // All others are a 400: https://github.com/anomalyco/models.dev/pull/1986
    traits: { efforts: ['none', 'high'], forcedTools: 'always' },
  },
  // https://github.com/NousResearch/hermes-agent/issues/11243
  {
    match: /^(?:codestral|devstral|ministral|pixtral|mistral-(?:\d|large|nemo|tiny))/,
    traits: NO_THINKING,
  },
  { match: /^mistral-large-4/, traits: { ...ALWAYS_THINKS, efforts: UP_TO_HIGH } },
  // Their templates refuse other ids, under whatever name and on whatever server:
  // https://github.com/ml-explore/mlx-lm/issues/1375
  { match: /(?:mis|mix|pix|minis|codes|devs|magis)tral/, traits: { toolIds: 'mistral' } },
];

// https://api-docs.deepseek.com/guides/thinking_mode: the words that it takes; only low, high and max differ.
const DEEPSEEK: readonly ModelRow[] = [
  {
    match: /^deepseek/,
    family: 'deepseek',
    traits: { vision: false, documents: false, audio: false, efforts: ALL },
  },
  { match: /^deepseek-(?:v4|flash|pro|reasoner|r1)/, traits: THINKS },
  { match: /^deepseek-(?:vl|ocr|janus|.*vision)/, traits: { vision: undefined, documents: undefined } },
  { match: /^deepseek-(?:flash|v4-1-flash)/, traits: { vision: true } },
];

const QWEN: readonly ModelRow[] = [
  { match: /^(?:qwen|qwq|qvq)/, family: 'qwen', traits: { forcedTools: 'always', efforts: USUAL } },
  { match: /^qwen-?3/, traits: THINKS },
  // Their templates fail where thinking is switched off.
  { match: /^qwen-?3-8(?:-|$)/, traits: { ...ALWAYS_THINKS, efforts: ['low', 'medium', 'xhigh'] } },
  {
    match: /^qwen-?(?:1|2)(?:-\d)?(?!\d)|^qwen.*-instruct|^qwen-?3-coder/,
    traits: { ...NO_THINKING, thinkingOff: 'always' },
  },
];

const MOONSHOT: readonly ModelRow[] = [
  // It asks for `type: object` at the root, which a normal root has.
  { match: /^(?:kimi|moonshot)/, family: 'kimi', traits: { efforts: USUAL, schemaRoot: 'object' } },
  // An effort has no effect: https://github.com/theopenco/llmgateway/pull/3065
  { match: /^kimi-k2-[56]/, traits: { ...THINKS, vision: true, efforts: [] } },
  { match: /^kimi-k2-(?:7|thinking)/, traits: { ...ALWAYS_THINKS, efforts: [] } },
  { match: /^kimi-k3/, traits: { ...ALWAYS_THINKS, vision: true, efforts: ['low', 'high', 'max'] } },
];

const ZAI: readonly ModelRow[] = [
  { match: /^(?:glm|chatglm)/, family: 'glm', traits: { forcedTools: 'always', efforts: USUAL } },
  // An effort has no effect: https://github.com/theopenco/llmgateway/pull/2117
  { match: /^glm-(?:4-[5-9]|5(?:-[01])?(?!-?\d))/, traits: { ...THINKS, efforts: [] } },
  { match: /^glm-5-2/, traits: { ...THINKS, efforts: ['none', 'high', 'max'] } },
  // Switching it off is a 400: https://github.com/NousResearch/hermes-agent/issues/96373
  { match: /^glm-5-[3-9]/, traits: { ...ALWAYS_THINKS, efforts: ['low', 'high', 'max'] } },
];

const XAI: readonly ModelRow[] = [
  // https://github.com/goruck/home-generative-agent/issues/545
  { match: /^grok/, family: 'grok', traits: { forcedTools: 'always', efforts: USUAL, schemaRoot: 'object' } },
  // They think, and refuse a setting of how much: https://github.com/NousResearch/hermes-agent/pull/23435
  { match: /^grok-(?:2|3(?!-mini)|4-fast|4-1-fast|4-20(?!-multi)|build|code)/, traits: { efforts: [] } },
  { match: /^grok-4-3/, traits: { ...THINKS, efforts: ['none', 'low', 'medium', 'high', 'xhigh'] } },
  // https://github.com/theopenco/llmgateway/pull/2973
  { match: /^grok-4-5/, traits: { ...ALWAYS_THINKS, efforts: UP_TO_HIGH } },
  { match: /^grok-4-[67]/, traits: { ...ALWAYS_THINKS, efforts: ['low', 'medium', 'high', 'xhigh'] } },
];

const MINIMAX: readonly ModelRow[] = [
  { match: /^minimax/, family: 'minimax', traits: { forcedTools: 'always', efforts: USUAL } },
  { match: /^minimax-m2/, traits: { ...ALWAYS_THINKS, vision: false, efforts: [] } },
  // `enabled` is a 400: https://github.com/CherryHQ/cherry-studio/issues/16431
  {
    match: /^minimax-m3/,
    traits: { ...THINKS, thinkingBudget: false, thinkingAdaptive: true, efforts: [] },
  },
  { match: /^minimax-m3-[1-9]/, traits: { ...ALWAYS_THINKS, efforts: ALL } },
];

export const OTHERS: readonly ModelRow[] = [
  ...EMBEDDINGS,
  ...GOOGLE,
  ...MISTRAL,
  ...DEEPSEEK,
  ...QWEN,
  ...MOONSHOT,
  ...ZAI,
  ...XAI,
  ...MINIMAX,
  { match: /^(?:llama|meta-llama)/, family: 'llama', traits: NO_THINKING },
  {
    match: /^muse/,
    family: 'muse',
    traits: { ...ALWAYS_THINKS, efforts: ['minimal', 'low', 'medium', 'high', 'xhigh'] },
  },
  {
    match: /^muse-(?:spark-1-3|ember|wonder)/,
    traits: { efforts: ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'] },
  },
  { match: /^mimo/, family: 'mimo', traits: { ...THINKS, efforts: [] } },
  { match: /^phi-?\d/, family: 'phi', traits: { efforts: USUAL } },
  { match: /^phi-?\d(?!.*reasoning)/, traits: NO_THINKING },
];
