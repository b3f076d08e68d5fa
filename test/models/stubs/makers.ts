// Strict stubs of makers of models at their own addresses: what each refuses, by model.
import { anthropic, gemini, minimax, openai } from '../../protocols/refusals/wordings.ts';
import {
  alternation,
  claudeOutputUpTo,
  details,
  efforts,
  endsWithUser,
  extraInput,
  fixedValue,
  formats,
  functionsAlone,
  imagesAsData,
  jsonWord,
  knownMembers,
  noDeveloper,
  noForcedCalls,
  noMaxTokens,
  noSampling,
  noSamplingWhileThinking,
  noToolsWhileThinkingOnChat,
  noUserAfterTool,
  nothingEmpty,
  objectRoots,
  on,
  outputUpTo,
  reasoningComesBack,
  refusal,
  rootHasProperties,
  signatures,
  stopUpTo,
  switches,
  systemFirst,
  textsAsStrings,
  thinks,
  toolIds,
  toolsHaveParameters,
  typedRoots,
  unknown,
  words,
  type Rule,
  type Stub,
} from './rule.ts';

export const GRADES = ['low', 'medium', 'high'];
const TO_XHIGH = [...GRADES, 'xhigh'];
const TO_MAX = [...TO_XHIGH, 'max'];

// -- OpenAI --

/** What OpenAI refuses of every model, at Azure and Copilot too. */
export const OPENAI: readonly Rule[] = [
  ...unknown(['top_k', 'thinking', 'enable_thinking', 'chat_template_kwargs', 'cache_control']),
  ...on(['chat'], ...unknown(['reasoning', 'messages[].reasoning_content', 'messages[].reasoning'])),
  ...on(['responses'], {
    kind: 'output limits',
    refuses: ({ limit }) => limit !== undefined && limit < 16,
    answer: refusal(openai("Invalid 'max_output_tokens': integer below minimum value.", 'max_output_tokens')),
  }),
  ...on(['chat'], toolIds(/^.{1,40}$/, words('OpenAI, an id that is too long'))),
  ...on(['responses'], toolIds(/^.{1,64}$/, words('OpenAI, an id that is too long'))),
  objectRoots(words('OpenAI, a union at the root')),
  rootHasProperties,
  jsonWord(),
];
const DETAILS = details(['low', 'high', 'auto']);
const NEWER_DETAILS = [
  ...on(['chat'], DETAILS),
  ...on(['responses'], details(['low', 'high', 'auto', 'original'])),
];
const NO_STOP = stopUpTo(0);
const SAMPLING = ['temperature', 'top_p'];

/** Models that think. `efforts` on responses hold `max`, which chat lacks. */
function gpt(taken: readonly string[], ...more: readonly Rule[]): Rule[] {
  const onChat = taken.filter((effort) => effort !== 'max');
  return [
    ...OPENAI,
    noMaxTokens,
    ...on(['chat'], efforts(onChat, words('OpenAI, an effort by its member'))),
    ...on(['responses'], efforts(taken, words('OpenAI responses, an effort'))),
    outputUpTo(128_000),
    NO_STOP,
    ...more,
  ];
}

export const GPT_5_6 = gpt(
  ['none', ...TO_MAX],
  noToolsWhileThinkingOnChat('always'),
  noSamplingWhileThinking(SAMPLING, true),
  ...NEWER_DETAILS,
);
export const GPT_5 = gpt(['minimal', ...GRADES], noSampling(SAMPLING), DETAILS);
export const GPT_5_4 = gpt(
  ['none', ...TO_XHIGH],
  noToolsWhileThinkingOnChat('asked'),
  noSamplingWhileThinking(SAMPLING, false),
  ...NEWER_DETAILS,
);

const OPENAI_STUBS: readonly Stub[] = [
  {
    provider: 'openai',
    model: 'gpt-4.1',
    rules: [
      ...OPENAI,
      ...unknown(['reasoning_effort'], () => words('OpenAI, effort at a model without')),
      ...on(['responses'], ...unknown(['reasoning.effort'])),
      outputUpTo(32_768),
      DETAILS,
    ],
  },
  { provider: 'openai', model: 'gpt-5', rules: GPT_5 },
  {
    provider: 'openai',
    model: 'gpt-5.1',
    rules: gpt(['none', ...GRADES], noSamplingWhileThinking(SAMPLING, false), DETAILS),
  },
  { provider: 'openai', model: 'gpt-5.4', rules: GPT_5_4 },
  { provider: 'openai', model: 'gpt-5.6-sol', rules: GPT_5_6 },
  {
    provider: 'openai',
    model: 'gpt-6-astra',
    rules: gpt(TO_MAX, noToolsWhileThinkingOnChat('always'), noSampling(SAMPLING), ...NEWER_DETAILS),
  },
  {
    provider: 'openai',
    model: 'o3',
    rules: [
      ...gpt(GRADES, noSampling(SAMPLING), DETAILS),
      ...unknown(['parallel_tool_calls'], () => words('Azure, parallel calls')),
      outputUpTo(100_000),
    ],
  },
];

// -- Claude --

/** Every member of the Messages API; each other is refused. */
const CLAUDE_MEMBERS = [
  'model messages max_tokens system metadata stop_sequences stream temperature top_k top_p tools tool_choice',
  'thinking container mcp_servers context_management service_tier output_config cache_control speed inference_geo',
].flatMap((line) => line.split(' '));

const claude = (message: string): Rule['answer'] => refusal(anthropic(message));

function claudeRules(most: number, ...more: readonly Rule[]): Rule[] {
  return [
    knownMembers(CLAUDE_MEMBERS, words('Anthropic, a member')),
    {
      kind: 'output limits',
      refuses: ({ limit }) => limit === undefined,
      answer: claude('max_tokens: Field required'),
    },
    claudeOutputUpTo(most),
    objectRoots(words('Anthropic, a union')),
    {
      kind: 'contents',
      refuses: ({ text }) => text.includes('"text":""'),
      answer: claude('messages: text content blocks must be non-empty'),
    },
    {
      kind: 'sampling and stop',
      refuses: ({ body }) => body.temperature !== undefined && body.top_p !== undefined,
      answer: words('Anthropic, a pair'),
    },
    ...more,
  ];
}

const NO_PREFILL = endsWithUser(words('Anthropic, a prefill'));
const LATE_SYSTEM: Rule = {
  kind: 'order and roles',
  refuses: ({ turns }) => turns.some(({ role }) => role === 'system'),
  answer: claude('messages: Unexpected role "system". Use the top-level `system` parameter.'),
};
const ADAPTIVE = words('Anthropic, adaptive thinking');
/** Other values than the default. */
const NO_CLAUDE_SAMPLING: Rule = {
  kind: 'sampling and stop',
  refuses: ({ body }) =>
    (body.temperature ?? 1) !== 1 || (body.top_p !== undefined && body.top_p !== 1) || 'top_k' in body,
  answer: words('Anthropic, temperature'),
};
const FORCED = claude('Thinking may not be enabled when tool_choice forces tool use.');
const temperatureIsOne: Rule = {
  kind: 'sampling and stop',
  refuses: (request) =>
    thinks(request, false) && request.body.temperature !== undefined && request.body.temperature !== 1,
  answer: claude('`temperature` may only be set to 1 when thinking is enabled.'),
};
const noOffAtTheTop: Rule = {
  kind: 'efforts and off',
  refuses: ({ switched, effort }) => switched === 'disabled' && (effort === 'xhigh' || effort === 'max'),
  answer: claude('thinking.type.disabled is not supported with this effort.'),
};

const CLAUDE_STUBS: readonly Stub[] = [
  {
    provider: 'anthropic',
    model: 'claude-haiku-4-5',
    rules: claudeRules(
      64_000,
      efforts([], words('Anthropic, an effort in words')),
      switches(['enabled', 'disabled'], claude('thinking.type: adaptive is not supported for this model.')),
      noForcedCalls({ thinksByDefault: false }, FORCED),
      temperatureIsOne,
      LATE_SYSTEM,
    ),
  },
  {
    provider: 'anthropic',
    model: 'claude-opus-4-6',
    rules: claudeRules(
      128_000,
      efforts([...GRADES, 'max'], words('Anthropic, a level')),
      noForcedCalls({ thinksByDefault: false }, FORCED),
      temperatureIsOne,
      LATE_SYSTEM,
      NO_PREFILL,
    ),
  },
  {
    provider: 'anthropic',
    model: 'claude-opus-4-8',
    rules: claudeRules(
      128_000,
      efforts(TO_MAX, words('Anthropic, a level')),
      switches(['adaptive', 'disabled'], ADAPTIVE),
      noForcedCalls({ thinksByDefault: false }, FORCED),
      NO_CLAUDE_SAMPLING,
      NO_PREFILL,
    ),
  },
  {
    provider: 'anthropic',
    model: 'claude-sonnet-5',
    rules: claudeRules(
      128_000,
      efforts(TO_MAX, words('Anthropic, a level')),
      switches(['adaptive', 'disabled'], ADAPTIVE),
      NO_CLAUDE_SAMPLING,
      LATE_SYSTEM,
      NO_PREFILL,
    ),
  },
  {
    provider: 'anthropic',
    model: 'claude-opus-5',
    rules: claudeRules(
      128_000,
      efforts(TO_MAX, words('Anthropic, a level')),
      switches(['adaptive', 'disabled'], ADAPTIVE),
      noOffAtTheTop,
      NO_CLAUDE_SAMPLING,
      NO_PREFILL,
    ),
  },
  ...['claude-opus-5-5', 'claude-fable-5-1'].map((model) => ({
    provider: 'anthropic',
    model,
    rules: claudeRules(
      128_000,
      efforts(TO_MAX, words('Anthropic, a level')),
      switches(['adaptive'], ADAPTIVE),
      noForcedCalls('always', FORCED),
      NO_CLAUDE_SAMPLING,
      NO_PREFILL,
    ),
  })),
  {
    provider: 'anthropic',
    model: 'claude-sonnet-5-5',
    rules: claudeRules(
      128_000,
      efforts(TO_MAX, words('Anthropic, a level')),
      switches(['adaptive', 'between_tools'], ADAPTIVE),
      noForcedCalls('always', FORCED),
      NO_CLAUDE_SAMPLING,
      NO_PREFILL,
    ),
  },
];

// -- Gemini, Mistral --

const google = (message: string): Rule['answer'] => refusal(gemini(message));
const LEVEL = words('Gemini, a level');

function geminiRules(taken: readonly string[]): Rule[] {
  return [
    ...unknown(
      [
        'store',
        'metadata',
        'top_k',
        'frequency_penalty',
        'logit_bias',
        'thinking',
        'enable_thinking',
        'safety_identifier',
        'prompt_cache_key',
        'messages[].reasoning_content',
      ],
      (path) => google(`Invalid JSON payload received. Unknown name "${path}": Cannot find field.`),
    ),
    efforts(taken, LEVEL),
    outputUpTo(
      65_536,
      google(
        'Unable to submit request because it has a maxOutputTokens value of 900000 but the supported range is from 1 (inclusive) to 65537 (exclusive).',
      ),
    ),
    stopUpTo(5),
    DETAILS,
    functionsAlone(google('Unknown name "custom"')),
  ];
}

const NOT_AT_MISTRAL = [
  'seed',
  'user',
  'store',
  'logit_bias',
  'logprobs',
  'service_tier',
  'max_completion_tokens',
  'stream_options',
  'thinking',
  'top_k',
  'safety_identifier',
  'messages[].reasoning_content',
  'messages[].name',
];

function mistralRules(taken: readonly string[], most: number): Rule[] {
  return [
    ...unknown(NOT_AT_MISTRAL, extraInput),
    details([], words('Mistral, the list inside of message')),
    efforts(taken, extraInput('reasoning_effort')),
    outputUpTo(most),
    toolIds(
      /^[a-zA-Z0-9]{9}$/,
      refusal(openai('Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9.')),
    ),
    noUserAfterTool,
    noDeveloper,
    functionsAlone(extraInput('tools[].custom')),
    endsWithUser(words('Mistral, roles')),
    {
      kind: 'unknown members',
      refuses: ({ body }) => Array.isArray(body.tools) && body.tools.length === 0,
      answer: extraInput('tools'),
    },
  ];
}

const GOOGLE_AND_MISTRAL: readonly Stub[] = [
  { provider: 'gemini', model: 'gemini-2.5-flash', rules: geminiRules(['none', 'minimal', ...GRADES]) },
  {
    provider: 'gemini',
    model: 'gemini-3.6-flash',
    rules: [...geminiRules(['minimal', ...GRADES]), signatures],
  },
  { provider: 'gemini', model: 'gemini-3.8-flash', rules: [...geminiRules(GRADES), signatures] },
  { provider: 'mistral', model: 'mistral-medium-latest', rules: mistralRules(['none', 'high'], 262_144) },
  { provider: 'mistral', model: 'mistral-large-4', rules: mistralRules(GRADES, 262_144) },
  { provider: 'mistral', model: 'codestral-latest', rules: mistralRules([], 256_000), lacks: ['images'] },
];

// -- DeepSeek, xAI --

const DEEPSEEK: readonly Rule[] = [
  noDeveloper,
  ...on(['chat'], efforts(['minimal', ...TO_MAX, 'ultra'], words('DeepSeek, no effort none'))),
  noForcedCalls({ thinksByDefault: true }, words('DeepSeek, a forced call')),
  ...on(['chat'], formats(['json_object'], refusal(openai('This response_format type is unavailable now')))),
  jsonWord(),
  reasoningComesBack(true, false, words('DeepSeek, reasoning has to come back')),
  outputUpTo(393_216, words('DeepSeek, a range')),
  functionsAlone(refusal(openai('unknown variant `custom`, expected `function`'))),
];

const XAI_UNKNOWN = unknown(['presence_penalty', 'frequency_penalty'], () => words('xAI, in camelCase'));
function xaiRules(taken: readonly string[], most: number): Rule[] {
  return [
    ...XAI_UNKNOWN,
    stopUpTo(0, words('xAI, in camelCase')),
    efforts(taken, words('xAI, an effort')),
    objectRoots(words('OpenAI, a union at the root')),
    outputUpTo(most),
    DETAILS,
  ];
}

const DEEPSEEK_AND_XAI: readonly Stub[] = [
  { provider: 'deepseek', model: 'deepseek-v4-pro', rules: [...DEEPSEEK, textsAsStrings], lacks: ['images'] },
  { provider: 'deepseek', model: 'deepseek-flash', rules: DEEPSEEK },
  { provider: 'xai', model: 'grok-4.5', rules: xaiRules(GRADES, 500_000) },
  { provider: 'xai', model: 'grok-4.6', rules: xaiRules(TO_XHIGH, 500_000) },
  { provider: 'xai', model: 'grok-4.3', rules: xaiRules(['none', ...TO_XHIGH], 30_000) },
  { provider: 'xai', model: 'grok-4-fast-reasoning', rules: xaiRules([], 2_000_000) },
];

// -- Moonshot, Z.ai --

const KIMI: readonly Rule[] = [
  noDeveloper,
  fixedValue('top_p', [0.95], refusal(openai('invalid top_p: only 0.95 is allowed for this model'))),
  fixedValue('n', [1], refusal(openai('invalid n: only 1 is allowed for this model'))),
  ...['presence_penalty', 'frequency_penalty'].map((member) =>
    fixedValue(member, [0], refusal(openai(`invalid ${member}: only 0 is allowed for this model`))),
  ),
  reasoningComesBack(true, true, words('Kimi, reasoning is missing')),
  noForcedCalls({ thinksByDefault: true }, words('Kimi, a forced call')),
  typedRoots(words('Kimi, the type of the root')),
  imagesAsData,
  nothingEmpty(refusal(openai('message must not be empty'))),
];
const noKimiTemperature: Rule = {
  kind: 'sampling and stop',
  refuses: (request) =>
    request.body.temperature !== undefined && request.body.temperature !== (thinks(request, true) ? 1 : 0.6),
  answer: words('Kimi, temperature'),
};
const kimiSwitches = (taken: readonly string[]): Rule[] =>
  on(['chat'], switches(taken, refusal(openai('invalid thinking type'))));

const ILLEGAL = words('Z.ai, nothing is named');
const GLM: readonly Rule[] = [
  noDeveloper,
  outputUpTo(131_072, words('Z.ai, a range')),
  ...on(['chat'], stopUpTo(1, ILLEGAL), formats(['json_object'], ILLEGAL)),
];
/** In the words of GLM 5.3, which cannot be switched off. */
const GLM_GRADED = [efforts(['low', 'high', 'max'], ILLEGAL), switches(['enabled'], ILLEGAL), ...GLM];

const MOONSHOT_AND_ZAI: readonly Stub[] = [
  {
    provider: 'moonshot',
    model: 'kimi-k2.6',
    lacks: ['addresses'],
    rules: [...KIMI, ...kimiSwitches(['enabled', 'disabled']), noKimiTemperature, outputUpTo(262_144)],
  },
  {
    provider: 'moonshot',
    model: 'kimi-k2.7-code',
    lacks: ['addresses'],
    rules: [...KIMI, ...kimiSwitches(['enabled']), noKimiTemperature, outputUpTo(262_144)],
  },
  {
    provider: 'moonshot',
    model: 'kimi-k3',
    lacks: ['addresses'],
    rules: [
      ...KIMI,
      ...kimiSwitches(['enabled']),
      ...on(['chat'], efforts(['low', 'high', 'max'])),
      noKimiTemperature,
      outputUpTo(1_048_576),
    ],
  },
  {
    provider: 'zai',
    model: 'glm-4.7',
    rules: [...GLM, switches(['enabled', 'disabled'], ILLEGAL)],
    lacks: ['images'],
  },
  {
    provider: 'zai',
    model: 'glm-5.2',
    rules: [...GLM, switches(['enabled', 'disabled'], ILLEGAL)],
    lacks: ['images'],
  },
  { provider: 'zai', model: 'glm-5.3', rules: GLM_GRADED, lacks: ['images'] },
];

// -- DashScope, MiniMax, Meta, Xiaomi, Perplexity --

const budgetInRange: Rule = {
  kind: 'efforts and off',
  refuses: ({ body }) => typeof body.thinking_budget === 'number' && body.thinking_budget > 38_912,
  answer: words('DashScope, a budget'),
};
const QWEN: readonly Rule[] = [
  noForcedCalls({ thinksByDefault: true }, words('DashScope, a forced call')),
  jsonWord(),
  budgetInRange,
];
const MINIMAX: readonly Rule[] = [
  noDeveloper,
  systemFirst(words('MiniMax, a system message')),
  toolsHaveParameters(words('MiniMax, no parameters')),
  functionsAlone(words('MiniMax, a tool of free text')),
  outputUpTo(524_288, refusal(minimax('invalid params, max_tokens must be <= 524288 (2013)'))),
];

const FURTHER: readonly Stub[] = [
  {
    provider: 'dashscope',
    model: 'qwen3.7-plus',
    rules: [...QWEN, outputUpTo(65_536, words('DashScope, a range'))],
  },
  {
    provider: 'dashscope',
    model: 'qwen3.8-max',
    rules: [
      ...QWEN,
      efforts(['low', 'medium', 'xhigh']),
      switches(
        ['enabled'],
        refusal(openai('parameter.enable_thinking must be set to true', null, 'invalid_parameter_error')),
      ),
      outputUpTo(131_072, words('DashScope, a range')),
    ],
  },
  {
    provider: 'minimax',
    model: 'MiniMax-M3',
    rules: [...MINIMAX, switches(['adaptive', 'disabled'], words('MiniMax, the type of thinking'))],
  },
  {
    provider: 'minimax',
    model: 'MiniMax-M3.1-Flash',
    rules: [
      ...MINIMAX,
      efforts(TO_MAX, refusal(minimax('invalid params, reasoning_effort (2013)'))),
      switches(['adaptive'], words('MiniMax, the type of thinking')),
    ],
  },
  {
    provider: 'meta',
    model: 'muse-spark-1.3',
    rules: [
      efforts(['minimal', ...TO_MAX]),
      noForcedCalls('always', refusal(openai("Only 'auto' is supported", 'tool_choice'))),
      outputUpTo(131_072),
    ],
  },
  {
    provider: 'xiaomi',
    model: 'mimo-v2.6-pro',
    rules: [
      reasoningComesBack(true, false, words('DeepSeek, reasoning has to come back')),
      outputUpTo(131_072, words('a reseller, its sentence in param')),
    ],
  },
  {
    provider: 'perplexity',
    model: 'sonar-pro',
    rules: [
      ...unknown(
        [
          'store',
          'metadata',
          'user',
          'seed',
          'logit_bias',
          'thinking',
          'safety_identifier',
          'messages[].name',
        ],
        () => words('Perplexity, a member'),
      ),
      formats(['json_schema'], refusal(openai('response_format json_object is not supported'))),
      stopUpTo(0),
      systemFirst(words('Perplexity, roles')),
      alternation,
      endsWithUser(words('Perplexity, roles')),
    ],
    lacks: ['tools'],
  },
];

export const MAKERS: readonly Stub[] = [
  ...OPENAI_STUBS,
  ...CLAUDE_STUBS,
  ...GOOGLE_AND_MISTRAL,
  ...DEEPSEEK_AND_XAI,
  ...MOONSHOT_AND_ZAI,
  ...FURTHER,
];
