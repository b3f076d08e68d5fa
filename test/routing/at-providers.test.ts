// What a model takes at one well-known provider, as a file gets it that says no more than the provider's name.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { Traits } from '../../src/canonical/traits.ts';
import { translated } from '../translation/translated.ts';
import { traitsAt } from './traits-at.ts';

describe('a model at a well-known provider', () => {
  it.each<[string, Partial<Traits>]>([
    [
      'openai/gpt-5.6-sol',
      { thinksByDefault: true, toolsWhileThinking: 'not_on_chat', maxEffortOnChat: false },
    ],
    [
      'openai/gpt-5.4',
      { thinksByDefault: false, toolsWhileThinking: 'not_on_chat', imageDetail: 'original' },
    ],
    ['openai/gpt-5.2', { toolsWhileThinking: 'always', schemaRoot: 'object', jsonWord: true }],
    ['openai/gpt-6-astra', { thinkingOff: 'never', efforts: ['low', 'medium', 'high', 'xhigh', 'max'] }],
    ['openai/gpt-6.1-sol', { thinkingOff: 'never', efforts: ['low', 'medium', 'high', 'xhigh', 'max'] }],
    ['openai/gpt-6.1-terra', { efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'] }],
    ['openai/gpt-5-pro', { efforts: ['high'] }],
    ['openai/gpt-5.4-pro', { efforts: ['medium', 'high', 'xhigh'], thinkingOff: 'never' }],
    [
      'openai/gpt-4o-search-preview',
      {
        webSearchOptions: true,
        rejectsSampling: true,
        rejectFields: ['frequency_penalty', 'presence_penalty'],
      },
    ],
    ['openai/gpt-4o-mini-search-preview-2025-03-11', { webSearchOptions: true, rejectsSampling: true }],
    ['openai/gpt-5-search-api', { webSearchOptions: true }],
    ['openai/gpt-4o', { webSearchOptions: false, rejectsSampling: false }],
    ['openai/o3', { rejectFields: ['parallel_tool_calls'] }],
    [
      'deepseek/deepseek-v4-pro',
      {
        thinkingForm: 'type',
        forcedTools: 'not_thinking',
        thinksByDefault: true,
        vision: false,
        contentLists: false,
        responseFormats: ['json_object'],
        jsonWord: true,
      },
    ],
    ['deepseek/deepseek-v4-pro', { efforts: ['low', 'medium', 'high', 'xhigh', 'max'] }],
    ['deepseek/deepseek-flash', { vision: true, thinkingForm: 'type' }],
    ['deepseek/deepseek-chat', { thinksByDefault: false }],
    [
      'moonshot/kimi-k2.6',
      {
        thinkingForm: 'type',
        efforts: [],
        rejectsSampling: true,
        forcedTools: 'not_thinking',
        reasoningFill: ' ',
      },
    ],
    ['moonshot/kimi-k2.7-code', { thinkingOff: 'never', efforts: [], rejectsSampling: true }],
    ['moonshot/kimi-k3', { thinkingOff: 'never', efforts: ['low', 'high', 'max'], thinkingForm: 'effort' }],
    [
      'moonshot/kimi-k3.1-pro',
      { thinkingOff: 'never', efforts: ['low', 'high', 'max'], rejectsSampling: true },
    ],
    ['zai/glm-4.7', { thinkingForm: 'type', efforts: [], thinksByDefault: true, thinkingOff: 'always' }],
    ['zai/glm-5.1', { thinkingForm: 'type', efforts: [] }],
    ['zai/glm-5.2', { thinkingForm: 'type', thinksByDefault: true }],
    ['zai/glm-5.3', { thinkingForm: 'effort', efforts: ['low', 'high', 'max'], thinkingOff: 'never' }],
    [
      'xai/grok-4.6',
      { thinkingOff: 'never', efforts: ['low', 'medium', 'high', 'xhigh'], schemaRoot: 'object' },
    ],
    ['xai/grok-4.5', { thinkingOff: 'never', efforts: ['low', 'medium', 'high'] }],
    ['xai/grok-4.3', { efforts: ['none', 'low', 'medium', 'high', 'xhigh'], thinksByDefault: true }],
    ['gemini/gemini-3.8-flash', { efforts: ['low', 'medium', 'high'], forcedTools: 'always' }],
    ['gemini/gemini-3.6-flash', { efforts: ['minimal', 'low', 'medium', 'high'], thinkingOff: 'never' }],
    ['mistral/mistral-large-4', { thinking: true, efforts: ['low', 'medium', 'high'], thinkingOff: 'never' }],
    ['mistral/mistral-large-latest', { thinking: false, efforts: [] }],
    ['groq/qwen/qwen3.6-27b', { efforts: ['none'] }],
    ['groq/qwen/qwen3.8-27b', { efforts: ['none', 'low', 'medium', 'high'], thinkingOff: 'always' }],
    ['groq/llama-3.3-70b-versatile', { responseFormats: ['json_object'] }],
    [
      'groq/openai/gpt-oss-120b',
      { responseFormats: ['json_schema', 'json_object'], thinksByDefault: true, thinkingOff: 'never' },
    ],
    [
      'fireworks/accounts/fireworks/models/kimi-k3',
      { efforts: ['low', 'high', 'max'], thinkingOff: 'never' },
    ],
    [
      'fireworks/accounts/fireworks/models/glm-5p3',
      { efforts: ['low', 'high', 'max'], thinkingOff: 'never' },
    ],
    ['vllm/qwen3.8-27b', { efforts: ['low', 'medium'], thinkingOff: 'never', thinkingForm: 'template' }],
    ['ollama/qwen3:8b', { efforts: ['none', 'low', 'medium', 'high'] }],
    ['ollama/gpt-oss:20b', { efforts: ['low', 'medium', 'high'], thinksByDefault: true }],
    ['ollama/mystery', { efforts: ['none', 'low', 'medium', 'high', 'max'] }],
    [
      'minimax/MiniMax-M3',
      { thinkingForm: 'adaptive', efforts: [], strictAlternation: true, thinksByDefault: true },
    ],
    [
      'minimax/MiniMax-M3.1-Flash',
      { efforts: ['low', 'medium', 'high', 'xhigh', 'max'], thinkingOff: 'never' },
    ],
    ['minimax/MiniMax-M2.7', { efforts: [], thinkingOff: 'never', vision: false }],
    [
      'dashscope/qwen3.7-plus',
      { thinkingForm: 'enable_thinking', efforts: [], forcedTools: 'not_thinking', budgetRange: [1, 32_768] },
    ],
    ['dashscope/qwen3.8-max', { efforts: ['low', 'medium', 'xhigh'], thinkingOff: 'never' }],
    ['dashscope/kimi-k2.6', { thinkingForm: 'enable_thinking', rejectsSampling: false }],
    ['qwen-plan/qwen3.8-max', { efforts: ['low', 'medium', 'xhigh'], thinkingOff: 'never' }],
    ['kimi-coding/kimi-k2.6', { thinkingForm: 'type', rejectsSampling: true }],
    [
      'meta/muse-spark-1.3',
      { efforts: ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'], forcedTools: 'never' },
    ],
    ['meta/muse-spark-1.2', { efforts: ['minimal', 'low', 'medium', 'high', 'xhigh'], thinkingOff: 'never' }],
    ['xiaomi/mimo-v2.6-pro', { thinkingForm: 'type', efforts: [], replayReasoning: 'tool_turns' }],
    [
      'perplexity/sonar-pro',
      { tools: false, maxStop: 0, strictAlternation: true, webSearchOptions: 'flat_location' },
    ],
    ['nvidia/openai/gpt-oss-20b', { thinkingForm: 'effort', efforts: ['low', 'medium', 'high'] }],
    ['nvidia/moonshotai/kimi-k2.6', { thinkingForm: 'template', efforts: [], vision: true }],
    [
      'siliconflow/Qwen/Qwen3-32B',
      { thinkingForm: 'enable_thinking', efforts: [], budgetRange: [128, 32_768] },
    ],
    ['baseten/zai-org/GLM-5.2', { efforts: ['none', 'high', 'max'], thinkingForm: 'effort' }],
    ['together/zai-org/GLM-5.2', { thinkingForm: 'reasoning_enabled', efforts: [], thinkingOff: 'always' }],
    ['github/openai/gpt-5', { maxTokensField: 'max_completion_tokens', systemRole: 'developer' }],
    ['github/mistral-ai/mistral-small-2503', { maxTokensField: 'max_tokens', systemRole: 'system' }],
    ['mistral/mistral-medium-latest', { maxOutput: 262_144 }],
    ['openai/gpt-5.6-sol', { contextWindow: 1_050_000, maxOutput: 128_000, additionalTools: true }],
    ['openai/gpt-5.2', { additionalTools: false }],
    ['anthropic/claude-sonnet-5-5', { midSystem: true, minCacheTokens: 512, thinkingOff: 'between_tools' }],
    [
      'copilot/gpt-5.3-codex',
      { efforts: ['low', 'medium', 'high', 'xhigh'], thinkingOff: 'never', speaks: ['responses'] },
    ],
    ['copilot/claude-haiku-4.5', { speaks: ['messages', 'chat'] }],
    ['copilot/gemini-3.8-flash', { speaks: ['chat'] }],
    ['copilot/gpt-4.1', { speaks: ['chat'] }],
    ['copilot/gpt-5-mini', { speaks: ['chat'] }],
    [
      'azure/deepseek-v4-pro',
      { systemRole: 'system', rejectFields: ['prompt_cache_key', 'parallel_tool_calls'] },
    ],
    [
      'azure/gpt-5.6-sol',
      { systemRole: 'developer', toolsWhileThinking: 'not_on_chat', contextWindow: 1_050_000 },
    ],
    ['lmstudio/qwen3-8b', { namedToolChoice: false, responseFormats: ['json_schema'] }],
    ['llamacpp/qwen3.8-27b', { strictAlternation: true, namedToolChoice: false }],
  ])('%s takes %j', (target, expected) => {
    expect(traitsAt(target)).toMatchObject(expected);
  });

  it('is known by its address, whatever the file calls the provider', () => {
    const entry = '{ protocol: chat, base_url: "https://api.deepseek.com/v1", api_key: k }';
    expect(traitsAt('work/deepseek-v4-pro', entry)).toMatchObject({
      thinkingForm: 'type',
      contentLists: false,
    });
  });

  it("but the file's flags stand above what is known", () => {
    const entry = '{ flags: { efforts: [low], thinking_form: effort, reject_fields: [seed] } }';
    expect(traitsAt('moonshot/kimi-k2.6', entry)).toMatchObject({
      efforts: ['low'],
      thinkingForm: 'effort',
      rejectFields: ['seed'],
    });
  });

  it('and of unknown servers only the model itself is known', () => {
    const entry = '{ protocol: chat, base_url: "http://127.0.0.1:9/v1" }';
    expect(traitsAt('own/kimi-k2.6', entry)).toMatchObject({
      thinkingForm: 'effort',
      rejectsSampling: false,
    });
  });
});

// Each was a refusal, or a loss without a word, before its row was right.
describe('what a messages client asks for is sent as the model takes it', () => {
  const HIGH = { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } };
  const effort = (level: string): JsonObject => ({
    thinking: { type: 'adaptive' },
    output_config: { effort: level },
  });
  const OFF = { thinking: { type: 'disabled' } };

  it.each<[string, string, JsonObject, JsonObject, string[]]>([
    [
      'more output than the model has',
      'mistral/mistral-medium-latest',
      { max_tokens: 900_000 },
      { max_tokens: 262_144 },
      ['changed maxOutputTokens'],
    ],
    [
      'thinking of a model that was held for one that cannot',
      'mistral/mistral-large-4',
      HIGH,
      { reasoning_effort: 'high' },
      [],
    ],
    [
      'an effort that the model does not have',
      'fireworks/accounts/fireworks/models/kimi-k3',
      effort('medium'),
      { reasoning_effort: 'low' },
      ['changed reasoning.effort'],
    ],
    [
      'thinking off at a model that always thinks',
      'xai/grok-4.6',
      OFF,
      { reasoning_effort: 'low' },
      ['changed reasoning.effort'],
    ],
    [
      'thinking off at another',
      'groq/openai/gpt-oss-120b',
      OFF,
      { reasoning_effort: 'low' },
      ['changed reasoning.effort'],
    ],
    [
      'an effort that the server refuses',
      'ollama/mystery',
      effort('xhigh'),
      { reasoning_effort: 'high' },
      ['changed reasoning.effort'],
    ],
    [
      'a temperature where only one is taken',
      'moonshot/kimi-k2.6',
      { temperature: 0.3 },
      { max_tokens: 1000 },
      ['dropped temperature'],
    ],
    ['the least effort of Gemini', 'gemini/gemini-3.8-flash', effort('low'), { reasoning_effort: 'low' }, []],
  ])('%s (%s)', (_, target, members, expected, reports) => {
    const sent = translated('messages', { max_tokens: 1000, ...members }, traitsAt(target));
    expect(sent.body).toMatchObject(expected);
    expect(sent.body).not.toHaveProperty('temperature');
    expect(sent.reports).toEqual(reports);
  });

  it('an image goes to the DeepSeek model that takes it', () => {
    const source = { type: 'base64', media_type: 'image/png', data: 'aGk=' };
    const messages = [{ role: 'user', content: [{ type: 'image', source }] }];
    const { body } = translated('messages', { messages }, traitsAt('deepseek/deepseek-flash'));
    expect(JSON.stringify(body.messages)).toContain('image_url');
  });

  it('late system text goes to llama.cpp at the beginning alone', () => {
    const user = { role: 'user', content: 'a' };
    const messages = [user, { role: 'assistant', content: 'b' }, { role: 'system', content: 'late' }, user];
    const sent = translated('messages', { messages }, traitsAt('llamacpp/qwen3.8-27b'));
    expect(sent.messages.slice(1).map(({ role }) => role)).not.toContain('system');
  });
});
