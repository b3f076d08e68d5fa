// Well-known providers as rows of data, so that the name in the file, or the key in the environment, is enough. A deviation of
// a provider from its protocol is a trait here, never a branch in code.
import type { ProtocolName } from '../../canonical/request.ts';
import type { Traits } from '../../canonical/traits.ts';
import type { ProviderConfig } from '../config.ts';

export interface Preset {
  name: string;
  /** The name for people. */
  title: string;
  /** Used by default: a client's own, else the first one, which loses least. For clients of responses chat comes before messages, since
   *  it takes files of any type, every form of the answer, tiers and the key of the prompt cache. `baseUrls` may have more protocols, which the file can choose with `protocol`. */
  protocols: readonly ProtocolName[];
  /** Spoken at another URL where the file does not say: many servers that are called so speak the usual protocol alone. */
  elsewhere?: readonly ProtocolName[];
  /** With the version. Empty: the file must set `base_url`. */
  baseUrls: Partial<Record<ProtocolName, string>>;
  /** Environment variables of the API key; the first one that is set counts. Empty: the provider needs no key. */
  keys: readonly string[];
  auth: ProviderConfig['auth'];
  /** The model for `auto` if the file lists none. */
  defaultModel?: string;
  /** The usual port of a local server, on loopback. */
  localPort?: number;
  traits: Partial<Traits>;
}

const local = (port: number): string => `http://127.0.0.1:${port}/v1`;
const every = (url: string): Preset['baseUrls'] => ({ chat: url, messages: url, responses: url });

/** Servers that hand thinking on to the model's template. */
const TEMPLATE: Partial<Traits> = { thinkingForm: 'template', efforts: ['low', 'medium', 'high'] };

export const PRESETS: readonly Preset[] = [
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
      toolIds: 'mistral',
      prefill: false,
      userAfterTool: false,
      streamUsage: false,
      pdfInput: false,
      imageDetail: 'none',
      rejectFields: [
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
    name: 'groq',
    title: 'Groq',
    protocols: ['chat'],
    baseUrls: { chat: 'https://api.groq.com/openai/v1' },
    keys: ['GROQ_API_KEY'],
    auth: 'protocol',
    defaultModel: 'openai/gpt-oss-120b',
    traits: {
      reasoningField: 'reasoning',
      pdfInput: false,
      jsonWord: true,
      // https://github.com/fanenr/chatbot/issues/21, https://github.com/tashfeenahmed/freellmapi/issues/1070
      rejectFields: [
        'store',
        'metadata',
        'logprobs',
        'top_logprobs',
        'logit_bias',
        'messages[].name',
        'messages[].metadata',
        'messages[].reasoning_content',
      ],
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
    name: 'openrouter',
    title: 'OpenRouter',
    protocols: ['chat', 'messages'],
    baseUrls: every('https://openrouter.ai/api/v1'),
    keys: ['OPENROUTER_API_KEY'],
    auth: 'bearer',
    defaultModel: 'openrouter/auto',
    traits: {
      reasoningField: 'reasoning',
      replayReasoning: 'tool_turns',
      cacheMarks: 'cache_control',
      topK: true,
    },
  },
  {
    name: 'together',
    title: 'Together',
    protocols: ['chat'],
    baseUrls: { chat: 'https://api.together.xyz/v1' },
    keys: ['TOGETHER_API_KEY'],
    auth: 'protocol',
    defaultModel: 'openai/gpt-oss-120b',
    traits: { thinkingForm: 'reasoning_enabled', topK: true, pdfInput: false, rejectFields: ['store'] },
  },
  {
    name: 'fireworks',
    title: 'Fireworks',
    protocols: ['chat', 'messages'],
    baseUrls: every('https://api.fireworks.ai/inference/v1'),
    keys: ['FIREWORKS_API_KEY'],
    auth: 'bearer',
    defaultModel: 'accounts/fireworks/models/gpt-oss-120b',
    // https://github.com/FlowiseAI/Flowise/issues/2866
    traits: { topK: true, pdfInput: false, rejectFields: ['store', 'messages[].reasoning'] },
  },
  {
    name: 'cerebras',
    title: 'Cerebras',
    protocols: ['chat'],
    baseUrls: { chat: 'https://api.cerebras.ai/v1' },
    keys: ['CEREBRAS_API_KEY'],
    auth: 'protocol',
    defaultModel: 'gpt-oss-120b',
    traits: {
      maxTokensField: 'max_completion_tokens',
      reasoningField: 'reasoning',
      pdfInput: false,
      contentLists: false,
      formatsWithTools: false,
      // https://github.com/Kilo-Org/kilocode/issues/10375
      rejectFields: [
        'store',
        'metadata',
        'frequency_penalty',
        'presence_penalty',
        'logit_bias',
        'reasoning',
        'enable_thinking',
        'messages[].reasoning_content',
      ],
    },
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
    // Its v1 endpoint is in the resource of each user: https://NAME.openai.azure.com/openai/v1
    name: 'azure',
    title: 'Azure OpenAI',
    protocols: ['chat'],
    baseUrls: {},
    keys: ['AZURE_OPENAI_API_KEY'],
    auth: 'api-key',
    traits: {
      maxTokensField: 'max_completion_tokens',
      systemRole: 'developer',
      toolIds: 'openai',
      customTools: true,
      minOutput: 16,
    },
  },
  {
    name: 'ollama',
    title: 'Ollama',
    protocols: ['chat'],
    baseUrls: every(local(11434)),
    keys: [],
    auth: 'protocol',
    localPort: 11434,
    // https://github.com/DevEmperor/DictateKeyboard/issues/186: other efforts are a 400. A tool choice has no effect.
    traits: {
      reasoningField: 'reasoning',
      efforts: ['none', 'low', 'medium', 'high', 'max'],
      forcedTools: 'never',
      imageUrl: false,
      pdfInput: false,
    },
  },
  {
    name: 'lmstudio',
    title: 'LM Studio',
    protocols: ['chat'],
    baseUrls: every(local(1234)),
    keys: [],
    auth: 'protocol',
    localPort: 1234,
    // https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/670 and 307
    traits: {
      strictAlternation: true,
      namedToolChoice: false,
      responseFormats: ['json_schema'],
      imageUrl: false,
      pdfInput: false,
      topK: true,
    },
  },
  {
    name: 'llamacpp',
    title: 'llama.cpp',
    protocols: ['chat'],
    baseUrls: every(local(8080)),
    keys: [],
    auth: 'protocol',
    localPort: 8080,
    // https://github.com/ggml-org/llama.cpp/issues/20733 and 17040
    traits: {
      ...TEMPLATE,
      reasoningField: 'reasoning_content',
      strictAlternation: true,
      namedToolChoice: false,
      imageUrl: false,
      pdfInput: false,
      topK: true,
    },
  },
  {
    name: 'vllm',
    title: 'vLLM',
    protocols: ['chat'],
    baseUrls: every(local(8000)),
    keys: [],
    auth: 'protocol',
    localPort: 8000,
    traits: {
      ...TEMPLATE,
      reasoningField: 'reasoning',
      strictAlternation: true,
      pdfInput: false,
      topK: true,
    },
  },
];

export function findPreset(name: string): Preset | undefined {
  return PRESETS.find((preset) => preset.name === name);
}

/** The hosted provider at one of these addresses, whatever the file calls it. */
export function presetAt(urls: readonly string[]): Preset | undefined {
  const hosts = new Set(urls.map((url) => new URL(url).host));
  return PRESETS.find(
    ({ localPort, baseUrls }) =>
      localPort === undefined && Object.values(baseUrls).some((url) => hosts.has(new URL(url).host)),
  );
}
