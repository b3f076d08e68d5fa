// Makers of models, at their own addresses, and their plans.
import type { ProtocolName } from '../../canonical/request.ts';
import type { Preset } from './preset.ts';

export const MAKERS: readonly Preset[] = [
  {
    name: 'anthropic',
    title: 'Anthropic',
    protocols: ['messages'],
    baseUrls: { messages: 'https://api.anthropic.com/v1' },
    keys: ['ANTHROPIC_API_KEY'],
    auth: 'protocol',
    defaultModel: 'claude-sonnet-5',
    traits: {
      serverTools: true,
      requestTags: true,
      promptCache: 'auto',
      maxStop: 8191,
      responseFormats: ['json_schema'],
    },
  },
  {
    name: 'openai',
    title: 'OpenAI',
    // What a messages client asks for loses least on responses: encrypted reasoning comes back, results of tools hold images.
    protocols: ['responses', 'chat'],
    elsewhere: ['chat'],
    baseUrls: { chat: 'https://api.openai.com/v1', responses: 'https://api.openai.com/v1' },
    keys: ['OPENAI_API_KEY'],
    auth: 'protocol',
    defaultModel: 'gpt-5.2',
    traits: {
      maxTokensField: 'max_completion_tokens',
      systemRole: 'developer',
      userField: 'safety_identifier',
      compaction: true,
      toolIds: 'openai',
      cacheKey: true,
      customTools: true,
      minOutput: 16,
    },
  },
  {
    name: 'gemini',
    title: 'Google Gemini',
    protocols: ['chat'],
    baseUrls: { chat: 'https://generativelanguage.googleapis.com/v1beta/openai' },
    keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    auth: 'protocol',
    defaultModel: 'gemini-flash-latest',
    // It refuses unknown members: https://github.com/looplj/axonhub/issues/1123
    traits: {
      completionsPath: false,
      maxStop: 5,
      thoughtSignatures: true,
      rejectFields: ['metadata', 'store', 'top_k', 'frequency_penalty', 'logit_bias'],
    },
  },
  {
    name: 'mistral',
    title: 'Mistral',
    protocols: ['chat'],
    baseUrls: { chat: 'https://api.mistral.ai/v1' },
    keys: ['MISTRAL_API_KEY'],
    auth: 'protocol',
    defaultModel: 'mistral-medium-latest',
    // It always sends usage in the last chunk. Unknown members are a 422, a user message after a tool message is a 400:
    // https://github.com/datapizza-labs/datapizza-ai/issues/98
    traits: {
      // https://docs.mistral.ai/api/endpoint/fim
      completionsPath: '/fim/completions',
      toolIds: 'mistral',
      strictArguments: true,
      prefill: false,
      lastRole: 'user',
      userAfterTool: false,
      streamUsage: false,
      pdfInput: false,
      imageDetail: 'none',
      rejectFields: [
        'max_completion_tokens',
        'user',
        'seed',
        'logit_bias',
        'logprobs',
        'top_logprobs',
        'service_tier',
        'store',
        'messages[].name',
        'messages[].reasoning_content',
      ],
    },
  },
  {
    name: 'deepseek',
    title: 'DeepSeek',
    protocols: ['chat', 'messages'],
    baseUrls: { chat: 'https://api.deepseek.com/v1', messages: 'https://api.deepseek.com/anthropic/v1' },
    keys: ['DEEPSEEK_API_KEY'],
    auth: 'protocol',
    defaultModel: 'deepseek-v4-flash',
    traits: {
      embeddings: false,
      // https://api-docs.deepseek.com/guides/fim_completion
      completionsPath: '../beta/completions',
      reasoningField: 'reasoning_content',
      replayReasoning: 'tool_turns',
      thinksByDefault: true,
      pdfInput: false,
      // https://github.com/QwenLM/qwen-code/issues/2158, https://github.com/llm-exe/llm-exe/issues/662
      contentLists: false,
      responseFormats: ['json_object'],
      jsonWord: true,
      maxStop: 16,
    },
  },
  {
    name: 'xai',
    title: 'xAI',
    protocols: ['chat'],
    baseUrls: { chat: 'https://api.x.ai/v1' },
    keys: ['XAI_API_KEY'],
    auth: 'protocol',
    defaultModel: 'grok-4.5',
    // Its reasoning models, which are all current ones, refuse stop sequences and penalties.
    traits: { maxStop: 0, pdfInput: false, rejectFields: ['presence_penalty', 'frequency_penalty'] },
  },
  {
    name: 'moonshot',
    title: 'Moonshot',
    protocols: ['chat', 'messages'],
    baseUrls: { chat: 'https://api.moonshot.ai/v1', messages: 'https://api.moonshot.ai/anthropic/v1' },
    keys: ['MOONSHOT_API_KEY'],
    auth: 'bearer',
    defaultModel: 'kimi-k2.6',
    traits: {
      embeddings: false,
      reasoningField: 'reasoning_content',
      replayReasoning: 'tool_turns',
      // An empty one counts as missing: https://github.com/earendil-works/pi/issues/4178
      reasoningFill: ' ',
      imageUrl: false,
      pdfInput: false,
    },
  },
  {
    name: 'zai',
    title: 'Z.ai',
    protocols: ['chat', 'messages'],
    baseUrls: { chat: 'https://api.z.ai/api/paas/v4', messages: 'https://api.z.ai/api/anthropic/v1' },
    keys: ['ZAI_API_KEY'],
    auth: 'bearer',
    defaultModel: 'glm-5.2',
    traits: {
      reasoningField: 'reasoning_content',
      replayReasoning: 'tool_turns',
      // https://docs.z.ai knows `auto` and `json_object` alone; it has no word for what it leaves undone.
      forcedTools: 'never',
      responseFormats: ['json_object'],
      maxStop: 1,
      pdfInput: false,
    },
  },
  {
    name: 'minimax',
    title: 'MiniMax',
    protocols: ['chat', 'messages'],
    baseUrls: { chat: 'https://api.minimax.io/v1', messages: 'https://api.minimax.io/anthropic/v1' },
    keys: ['MINIMAX_API_KEY'],
    auth: 'bearer',
    defaultModel: 'MiniMax-M3',
    // Late system text is a 400: https://github.com/QwenLM/qwen-code/issues/11834 and others; so are damaged arguments:
    // https://github.com/earendil-works/pi/issues/5468
    traits: {
      thinkingForm: 'adaptive',
      reasoningField: 'reasoning_content',
      replayReasoning: 'tool_turns',
      strictAlternation: true,
      strictArguments: true,
      pdfInput: false,
      maxTemperature: 1,
    },
  },
  {
    name: 'dashscope',
    title: 'Alibaba DashScope (Qwen)',
    protocols: ['chat'],
    baseUrls: { chat: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1' },
    keys: ['DASHSCOPE_API_KEY'],
    auth: 'bearer',
    defaultModel: 'qwen3.7-plus',
    // https://github.com/cloudwego/eino/issues/994, https://github.com/QwenLM/Qwen-Agent/issues/941
    traits: {
      thinkingForm: 'enable_thinking',
      budgetRange: [1, 32_768],
      forcedTools: 'not_thinking',
      lateSystem: 'user',
      jsonWord: true,
      pdfInput: false,
      topK: true,
    },
  },
  {
    name: 'meta',
    title: 'Meta',
    protocols: ['responses', 'chat'],
    elsewhere: ['chat'],
    baseUrls: { chat: 'https://api.meta.ai/v1', responses: 'https://api.meta.ai/v1' },
    keys: ['META_API_KEY'],
    auth: 'bearer',
    defaultModel: 'muse-spark-1.3',
    traits: { forcedTools: 'never', pdfInput: false },
  },
  {
    name: 'xiaomi',
    title: 'Xiaomi MiMo',
    protocols: ['chat'],
    baseUrls: { chat: 'https://api.xiaomimimo.com/v1' },
    keys: ['XIAOMI_API_KEY'],
    auth: 'bearer',
    defaultModel: 'mimo-v2.6-pro',
    traits: {
      thinkingForm: 'type',
      reasoningField: 'reasoning_content',
      replayReasoning: 'tool_turns',
      pdfInput: false,
    },
  },
  {
    name: 'perplexity',
    title: 'Perplexity',
    protocols: ['chat'],
    baseUrls: { chat: 'https://api.perplexity.ai' },
    keys: ['PERPLEXITY_API_KEY'],
    auth: 'bearer',
    defaultModel: 'sonar-pro',
    // https://github.com/ppl-ai/api-discussion/issues/265, https://github.com/BerriAI/litellm/issues/11665
    // https://docs.perplexity.ai/guides/user-location-filter-guide
    traits: {
      tools: false,
      webSearchOptions: 'flat_location',
      strictAlternation: true,
      prefill: false,
      lastRole: 'user',
      responseFormats: ['json_schema'],
      maxStop: 0,
      pdfInput: false,
      rejectFields: [
        'store',
        'metadata',
        'user',
        'seed',
        'logit_bias',
        'logprobs',
        'top_logprobs',
        'messages[].name',
      ],
    },
  },
];

/** A plan of a provider, with addresses and keys of its own: all else is the provider's. */
function plan(of: string, own: Pick<Preset, 'name' | 'title' | 'baseUrls' | 'keys'>): Preset[] {
  const protocols = Object.keys(own.baseUrls) as ProtocolName[];
  return MAKERS.filter(({ name }) => name === of).map((preset) => ({
    ...preset,
    protocols,
    rules: of,
    ...own,
  }));
}

export const PLANS: readonly Preset[] = [
  ...plan('zai', {
    name: 'zai-coding',
    title: 'Z.ai, coding plan',
    baseUrls: { chat: 'https://api.z.ai/api/coding/paas/v4' },
    keys: ['ZAI_CODING_API_KEY'],
  }),
  ...plan('moonshot', {
    name: 'kimi-coding',
    title: 'Kimi, coding plan',
    baseUrls: { chat: 'https://api.kimi.com/coding/v1' },
    keys: ['KIMI_API_KEY'],
  }),
  ...plan('dashscope', {
    name: 'qwen-plan',
    title: 'Alibaba, token plan',
    baseUrls: { chat: 'https://token-plan.ap-southeast-1.maas.aliyuncs.com/compatible-mode/v1' },
    keys: ['QWEN_TOKEN_PLAN_API_KEY'],
  }),
  ...plan('xiaomi', {
    name: 'xiaomi-plan',
    title: 'Xiaomi MiMo, token plan',
    baseUrls: { chat: 'https://token-plan-sgp.xiaomimimo.com/v1' },
    keys: ['XIAOMI_TOKEN_PLAN_API_KEY'],
  }),
];
