// Strict stubs of hosts of models of many makers: what each refuses, by model.
import { flat, openai } from '../../protocols/refusals/wordings.ts';
import { GPT_5, GPT_5_6, GRADES } from './makers.ts';
import {
  efforts,
  eitherEffortOrSwitch,
  formats,
  functionsAlone,
  jsonWord,
  noDeveloper,
  noFormatBesideTools,
  on,
  outputUpTo,
  reachedBy,
  refusal,
  switches,
  textsAsStrings,
  unknown,
  words,
  type Rule,
  type Stub,
} from './rule.ts';

const GROQ: readonly Rule[] = [
  ...unknown(
    [
      'store',
      'metadata',
      'logprobs',
      'top_logprobs',
      'logit_bias',
      'thinking',
      'enable_thinking',
      'messages[].name',
      'messages[].metadata',
      'messages[].reasoning_content',
    ],
    (path) => refusal(openai(`property '${path}' is unsupported`)),
  ),
  jsonWord(),
  functionsAlone(refusal(openai('tool type must be function'))),
];

const CEREBRAS: readonly Rule[] = [
  ...unknown(
    [
      'store',
      'metadata',
      'frequency_penalty',
      'presence_penalty',
      'logit_bias',
      'reasoning',
      'thinking',
      'enable_thinking',
      'messages[].reasoning_content',
    ],
    (path) => refusal(flat(`body.${path}: property 'body.${path}' is unsupported`)),
  ),
  noDeveloper,
  textsAsStrings,
  outputUpTo(40_960),
];

const noEffort = efforts([], words('Groq, an effort'));
const AZURE_OPEN: readonly Rule[] = [
  ...unknown(['prompt_cache_key', 'parallel_tool_calls', 'safety_identifier', 'verbosity'], () =>
    words('Azure, parallel calls'),
  ),
  noDeveloper,
];

export const HOSTS: readonly Stub[] = [
  { provider: 'azure', model: 'gpt-5.6-sol', rules: GPT_5_6 },
  { provider: 'azure', model: 'deepseek-v4-pro', rules: AZURE_OPEN, lacks: ['images'] },
  {
    provider: 'groq',
    model: 'openai/gpt-oss-120b',
    rules: [...GROQ, efforts(GRADES), outputUpTo(65_536)],
    lacks: ['images'],
  },
  {
    provider: 'groq',
    model: 'qwen/qwen3.6-27b',
    rules: [
      ...GROQ,
      efforts(['none', 'default'], words('Groq, two efforts')),
      formats(['json_object'], words('Groq, json_schema')),
      outputUpTo(16_384),
    ],
  },
  {
    provider: 'groq',
    model: 'llama-3.3-70b-versatile',
    rules: [...GROQ, noEffort, formats(['json_object'], words('Groq, json_schema')), outputUpTo(32_768)],
    lacks: ['images'],
  },
  {
    provider: 'openrouter',
    model: 'z-ai/glm-5.3',
    rules: [
      {
        kind: 'efforts and off',
        refuses: ({ effort, switched }) => effort === 'none' || switched === 'disabled',
        answer: words('OpenRouter, reasoning'),
      },
    ],
  },
  {
    provider: 'together',
    model: 'zai-org/GLM-5.2',
    rules: [...unknown(['store']), noDeveloper, outputUpTo(164_000, words('Together, by another name'))],
    lacks: ['images'],
  },
  {
    provider: 'together',
    model: 'openai/gpt-oss-120b',
    rules: [
      ...unknown(['store']),
      noDeveloper,
      efforts(GRADES),
      outputUpTo(131_072, words('Together, by another name')),
    ],
    lacks: ['images'],
  },
  ...['kimi-k3', 'glm-5p3'].map((name): Stub => ({
    provider: 'fireworks',
    model: `accounts/fireworks/models/${name}`,
    rules: [
      ...unknown(['enable_thinking', 'store', 'messages[].reasoning'], () => words('Fireworks, a field')),
      noDeveloper,
      efforts(['low', 'high', 'max']),
      ...on(['chat'], eitherEffortOrSwitch(words('Fireworks, a pair'))),
    ],
    ...(name === 'glm-5p3' && { lacks: ['images' as const] }),
  })),
  { provider: 'cerebras', model: 'gpt-oss-120b', rules: [...CEREBRAS, efforts(GRADES)], lacks: ['images'] },
  {
    provider: 'cerebras',
    model: 'qwen-3.8-27b',
    rules: [
      ...CEREBRAS,
      efforts(['none', ...GRADES]),
      noFormatBesideTools(refusal(flat('response_format is not supported together with tools'))),
    ],
  },
  {
    provider: 'siliconflow',
    model: 'Qwen/Qwen3-32B',
    rules: [
      {
        kind: 'efforts and off',
        refuses: ({ body }) =>
          typeof body.thinking_budget === 'number' &&
          (body.thinking_budget < 128 || body.thinking_budget > 32_768),
        answer: words('SiliconFlow, a budget'),
      },
    ],
    lacks: ['images'],
  },
  {
    provider: 'nvidia',
    model: 'openai/gpt-oss-20b',
    rules: [
      ...unknown(['store', 'metadata', 'user', 'parallel_tool_calls', 'thinking', 'enable_thinking'], () =>
        words('NVIDIA, a list'),
      ),
      noDeveloper,
      efforts(GRADES),
    ],
    lacks: ['images'],
  },
  {
    provider: 'nvidia',
    model: 'moonshotai/kimi-k2.6',
    rules: [
      ...unknown(['store', 'metadata', 'user', 'parallel_tool_calls', 'thinking', 'reasoning_effort'], () =>
        words('NVIDIA, a list'),
      ),
      noDeveloper,
    ],
  },
  { provider: 'github', model: 'openai/gpt-5', rules: GPT_5 },
  {
    provider: 'baseten',
    model: 'zai-org/GLM-5.2',
    rules: [...unknown(['store']), noDeveloper, efforts(['none', 'high', 'max'])],
    lacks: ['images'],
  },
  {
    provider: 'baseten',
    model: 'moonshotai/Kimi-K3',
    rules: [...unknown(['store']), noDeveloper, efforts(['none', 'low', 'high', 'max'])],
  },
  {
    provider: 'copilot',
    model: 'gpt-5.3-codex',
    rules: [
      reachedBy(
        ['responses'],
        refusal(
          openai(
            'model "gpt-5.3-codex" is not accessible via the /chat/completions endpoint',
            null,
            'unsupported_api_for_model',
          ),
        ),
      ),
      efforts([...GRADES, 'xhigh']),
      ...unknown(['store']),
    ],
  },
  {
    provider: 'copilot',
    model: 'gemini-3.8-flash',
    rules: [reachedBy(['chat'], refusal(openai('model is not supported via this endpoint')))],
  },
  {
    provider: 'copilot',
    model: 'claude-haiku-4.5',
    rules: [
      efforts([], words('Copilot, no effort')),
      ...on(['chat'], switches([], words('Copilot, no effort'))),
      ...on(['messages'], switches(['enabled', 'disabled'], words('Anthropic, adaptive thinking'))),
      ...unknown(['store', 'tools[].eager_input_streaming', 'tools[].strict']),
    ],
  },
];
