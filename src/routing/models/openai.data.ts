// What is known about OpenAI's models.
import type { Traits } from '../../canonical/traits.ts';
import { ALL, K, UP_TO_HIGH, type ModelRow } from './row.ts';

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

export const OPENAI: readonly ModelRow[] = [
  // A trailing assistant turn is answered by another one.
  {
    match: /^(?:gpt|chatgpt|o[1-9]|codex)(?:-|$)/,
    family: 'gpt',
    // https://github.com/langchain-ai/langchainjs/issues/9804, https://github.com/browserbase/stagehand/issues/1204
    traits: { prefill: false, forcedTools: 'always', schemaRoot: 'object', jsonWord: true },
  },
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
  // https://docs.litellm.ai/docs/completion/web_search, https://github.com/vercel/ai/pull/5647
  {
    match: /^gpt-4o-(?:mini-)?search/,
    traits: {
      webSearchOptions: true,
      rejectsSampling: true,
      rejectFields: ['frequency_penalty', 'presence_penalty'],
    },
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
  { match: /^gpt-5-search/, traits: { webSearchOptions: true } },
  { match: /^gpt-5-pro/, traits: { efforts: ['high'] } },
  {
    match: /^gpt-5-1(?:-|$)/,
    traits: { efforts: ['none', 'low', 'medium', 'high'], thinksByDefault: false },
  },
  {
    match: /^gpt-5-[2-9](?:-|$)|^gpt-[6-9](?:-|$)/,
    traits: {
      efforts: ['none', 'low', 'medium', 'high', 'xhigh'],
      thinksByDefault: false,
    },
  },
  // https://github.com/BerriAI/litellm/issues/34569
  {
    match: /^gpt-5-[4-9](?:-|$)|^gpt-[6-9](?:-|$)/,
    traits: { contextWindow: 1050 * K, toolsWhileThinking: 'not_on_chat', imageDetail: 'original' },
  },
  { match: /^gpt-5-4-(?:mini|nano)/, traits: { contextWindow: 400 * K } },
  // They think without a word, so that every request with tools is concerned: https://github.com/onyx-dot-app/onyx/issues/15008
  {
    match: /^gpt-5-[6-9](?:-|$)|^gpt-[6-9](?:-|$)/,
    traits: {
      cacheMarks: 'prompt_cache_breakpoint',
      efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
      maxEffortOnChat: false,
      thinksByDefault: true,
    },
  },
  {
    match: /^gpt-5-[2-9]-pro/,
    traits: { efforts: ['medium', 'high', 'xhigh'], thinksByDefault: true, thinkingOff: 'never' },
  },
  { match: /^gpt-5-6-cyber/, traits: { contextWindow: 400 * K } },
  // https://github.com/BerriAI/litellm-docs/pull/1173
  {
    match: /^gpt-(?:5-6-cyber|6-astra|6-1-sol)/,
    traits: { efforts: ALL, thinksByDefault: true, thinkingOff: 'never' },
  },
  {
    match: /^gpt-[5-9].*-chat(?:-|$)/,
    traits: {
      thinking: false,
      thinksByDefault: false,
      toolsWhileThinking: 'always',
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
      efforts: UP_TO_HIGH,
      rejectFields: ['parallel_tool_calls'],
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
      efforts: UP_TO_HIGH,
      // https://github.com/BerriAI/litellm/issues/34574
      thinksByDefault: true,
      thinkingOff: 'never',
      schemaRoot: undefined,
      jsonWord: undefined,
    },
  },
];
