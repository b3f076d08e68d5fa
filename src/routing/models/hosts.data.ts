// What a model takes at one well-known provider and not elsewhere, by the preset's name: these rows stand above the catalogue's.
// The provider's own deviations, whatever its model, are the preset's traits (config/presets/presets.ts).
import { PROTOCOL_NAMES } from '../../canonical/request.ts';
import type { Traits } from '../../canonical/traits.ts';
import { ALL, UP_TO_HIGH, type ModelRow } from './row.ts';

const [CHAT, MESSAGES, RESPONSES] = PROTOCOL_NAMES;

/** Thinking is switched by `thinking: {type}`, and a forced call is refused while it is on. */
const SWITCHED: Partial<Traits> = { thinkingForm: 'type', forcedTools: 'not_thinking' };

/** Its template knows a grade, and no switch. */
const GRADED: ModelRow = { match: /^gpt-oss/, traits: { thinkingForm: 'effort' } };

export const HOSTS: Readonly<Partial<Record<string, readonly ModelRow[]>>> = {
  openai: [
    // https://github.com/earendil-works/pi, packages/ai: `supportsAdditionalTools`; Codex sends such items with gpt-5.6-sol.
    { match: /^gpt-5-[4-9](?:-|$)|^gpt-[6-9](?:-|$)/, traits: { additionalTools: true } },
  ],
  azure: [
    // https://github.com/zed-industries/zed/issues/52000, https://github.com/dzhng/deep-research/issues/83
    {
      match: /^(?!gpt|o\d|codex)/,
      traits: {
        rejectFields: ['prompt_cache_key', 'parallel_tool_calls'],
        cacheKey: false,
        systemRole: 'system',
        customTools: false,
      },
    },
  ],
  deepseek: [
    // It takes every word; two or three differ. `none` is a 400: https://github.com/nextai-translator/nextai-translator/issues/1879,
    // and so is a forced call while it thinks: https://github.com/deepseek-ai/DeepSeek-V3/issues/1376
    { match: /./, traits: { ...SWITCHED, thinking: true, efforts: ALL } },
    // The alias of the mode that does not think.
    { match: /^deepseek-chat/, traits: { thinksByDefault: false } },
  ],
  xai: [
    // The catalogue has xhigh for it, its maker and Copilot do not: https://github.com/theopenco/llmgateway/pull/2973
    { match: /^grok-4-5/, traits: { efforts: UP_TO_HIGH } },
  ],
  groq: [
    // https://github.com/ItzCrazyKns/Vane/issues/980
    { match: /^(?!gpt-oss|qwen-?3-8|kimi)/, traits: { responseFormats: ['json_object'] } },
    // https://github.com/vercel/ai/issues/8057: `none` and `default` alone.
    { match: /^qwen-?3(?:-6|-32b)/, traits: { efforts: ['none'], thinkingOff: 'always' } },
  ],
  llamacpp: [
    GRADED,
    // Of templates with a switch for thinking: https://github.com/ggml-org/llama.cpp/issues/20861
    {
      match: /^(?:qwen-?3(?!.*(?:coder|instruct))|glm-(?:4-[5-9]|5))/,
      traits: { prefill: false, lastRole: 'user' },
    },
  ],
  vllm: [GRADED],
  sglang: [GRADED],
  nvidia: [{ match: /^gpt-oss/, traits: { thinkingForm: 'effort', efforts: UP_TO_HIGH } }],
  // https://help.aliyun.com: up to 3.7 it knows a switch and a budget, and no grade.
  dashscope: [{ match: /^qwen-?(?:plus|max|flash|turbo|3(?!-8))/, traits: { efforts: [] } }],
  copilot: [
    { match: /./, traits: { speaks: [CHAT] } },
    // Tools with these members are refused: https://github.com/can1357/oh-my-pi/issues/2558
    {
      match: /^claude/,
      traits: {
        speaks: [MESSAGES, CHAT],
        rejectFields: ['tools[].eager_input_streaming', 'tools[].strict'],
      },
    },
    // https://github.com/can1357/oh-my-pi/issues/8807
    { match: /^(?:gpt-5-[3-9]|gpt-5.*-codex|gpt-[6-9]|grok|mai)(?:-|$)/, traits: { speaks: [RESPONSES] } },
  ],
  github: [
    // OpenAI's own demand, which its host hands on: https://github.com/browserbase/stagehand/issues/1204
    { match: /^(?:gpt-(?!oss)|o\d)/, traits: { jsonWord: true } },
    {
      match: /^(?:gpt-[5-9]|o\d)/,
      traits: { maxTokensField: 'max_completion_tokens', systemRole: 'developer' },
    },
  ],
  moonshot: [
    // Values of sampling other than the fixed ones, and forced calls while it thinks, are a 400:
    // https://github.com/can1357/oh-my-pi/issues/1077
    {
      match: /^kimi-(?:k2-[5-9]|k[3-9])/,
      traits: {
        forcedTools: 'not_thinking',
        rejectsSampling: true,
        rejectFields: ['presence_penalty', 'frequency_penalty'],
      },
    },
    { match: /^kimi-k2-[56]/, traits: SWITCHED },
  ],
  zai: [
    // https://github.com/esengine/DeepSeek-Reasonix/issues/5059
    { match: /^glm-(?:4-[5-9]|5(?:-[012])?(?!-?\d))/, traits: { thinkingForm: 'type' } },
    { match: /^glm-5-2/, traits: { efforts: ALL } },
  ],
};
