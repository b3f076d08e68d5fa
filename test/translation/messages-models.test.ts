// What a model takes of a messages request at a well-known provider. Each case was a refusal, or a loss without a word.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import { traitsAt } from '../routing/traits-at.ts';
import { translated } from './translated.ts';

const PARAMETERS = { type: 'object', properties: { a: { type: 'string' } } };
const tool = (name: string, parameters: JsonObject = PARAMETERS): JsonObject => ({
  type: 'function',
  function: { name, parameters },
});
const NAMED = { tools: [tool('f'), tool('g')], tool_choice: { type: 'function', function: { name: 'g' } } };
const REQUIRED = { tools: [tool('f'), tool('g')], tool_choice: 'required' };
const FORMAT = {
  response_format: { type: 'json_schema', json_schema: { name: 'place', schema: PARAMETERS } },
};

const at = (target: string, members: JsonObject) => translated('chat', members, traitsAt(target));

describe('a forced call at a model that takes none while it thinks', () => {
  it.each(['moonshot/kimi-k2.6', 'deepseek/deepseek-v4-pro'])(
    '%s does not think, since nobody asked for it',
    (target) => {
      const { body, reports } = at(target, REQUIRED);
      expect(body).toMatchObject({ thinking: { type: 'disabled' }, tool_choice: { type: 'any' } });
      expect(reports).toEqual(['changed reasoning']);
    },
  );

  it.each<[string, string, JsonObject]>([
    ['which was asked for', 'moonshot/kimi-k2.6', { ...NAMED, thinking: { type: 'enabled' } }],
    ['which never ends', 'moonshot/kimi-k2.7-code', NAMED],
    ['which it refuses beside none', 'zai/glm-5.2', NAMED],
  ])('goes in words beside thinking %s (%s)', (_, target, members) => {
    const { body, reports } = at(target, members);
    expect(body.tool_choice).toEqual({ type: 'auto' });
    expect(JSON.stringify(body.system)).toContain('you must call the tool g.');
    expect(reports).toContain('changed toolChoice');
    expect(body.thinking).not.toEqual({ type: 'disabled' });
  });

  it('thinks where the call is left to it, and where there is no tool to call', () => {
    expect(at('moonshot/kimi-k2.6', { tools: [tool('f')] }).body).not.toHaveProperty('thinking');
    expect(at('moonshot/kimi-k2.6', { tool_choice: 'required' }).body).not.toHaveProperty('thinking');
  });
});

it('a choice by name is the only tool where words alone are taken', () => {
  const { body, reports } = translated('chat', NAMED, { namedToolChoice: false });
  expect(body.tool_choice).toEqual({ type: 'any' });
  expect(body.tools).toMatchObject([{ name: 'g' }]);
  expect(reports).toEqual(['changed toolChoice']);
});

describe('a form of the answer', () => {
  it('is a forced tool where the server has no form of its own', () => {
    const { body, reports } = at('deepseek/deepseek-v4-pro', FORMAT);
    expect(body).toMatchObject({
      thinking: { type: 'disabled' },
      tool_choice: { type: 'tool', name: 'place' },
    });
    expect(body).not.toHaveProperty('output_config');
    expect(reports).toEqual(['changed responseFormat', 'changed reasoning']);
  });

  it('is asked for in words where no tool can be forced either', () => {
    const { body, reports } = at('zai/glm-5.2', FORMAT);
    expect(body).not.toHaveProperty('output_config');
    expect(body).not.toHaveProperty('tools');
    expect(JSON.stringify(body.system)).toContain('JSON schema');
    expect(reports).toEqual(['changed responseFormat']);
  });

  it('is a forced tool beside tools where the two forms exclude each other', () => {
    const { body } = translated('chat', { ...FORMAT, tools: [tool('f')] }, { formatsWithTools: false });
    expect(body).not.toHaveProperty('output_config');
    expect(body.tool_choice).toMatchObject({ type: 'any' });
  });
});

describe('thinking', () => {
  it('at MiniMax is adaptive', () => {
    const { body, reports } = at('minimax/MiniMax-M3', {
      thinking: { type: 'enabled', budget_tokens: 9000 },
    });
    expect(body.thinking).toEqual({ type: 'adaptive' });
    expect(reports).toEqual(['dropped reasoning.budgetTokens']);
  });

  it('that cannot be off is told to the client, and is the least that there is', () => {
    expect(at('moonshot/kimi-k2.7-code', { reasoning_effort: 'none' }).reports).toEqual([
      'dropped reasoning',
    ]);
    const strict = at('anthropic/claude-opus-5-5', { reasoning_effort: 'none' });
    expect(strict.body.output_config).toEqual({ effort: 'low' });
    expect(strict.reports).toContain('changed reasoning');
  });
});

describe('sampling', () => {
  it('goes beside thinking where the model takes both', () => {
    const { body, reports } = at('zai/glm-5.2', { temperature: 0.3, thinking: { type: 'enabled' } });
    expect(body.temperature).toBe(0.3);
    expect(reports).not.toContain('dropped temperature');
  });

  it('is no more than the model takes', () => {
    const { body, reports } = translated('chat', { temperature: 0.9 }, { maxTemperature: 0.7 });
    expect(body.temperature).toBe(0.7);
    expect(reports).toEqual(['changed temperature']);
  });
});

it('more output than the model has is what it has', () => {
  const { body, reports } = at('anthropic/claude-haiku-4-5', { max_completion_tokens: 900_000 });
  expect(body.max_tokens).toBe(64_000);
  expect(reports).toEqual(['changed maxOutputTokens']);
});

it.each<[string, boolean]>([
  ['anthropic/claude-opus-5-5', true],
  ['anthropic/claude-haiku-4-5', false],
])('late system text at %s stays in the list: %s', (target, stays) => {
  const messages = [
    { role: 'user', content: 'a' },
    { role: 'system', content: 'late' },
    { role: 'user', content: 'b' },
  ];
  expect(at(target, { messages }).messages.some(({ role }) => role === 'system')).toBe(stays);
});

it('a tool result without content is an empty text, and blank texts are left out', () => {
  const messages = [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: ' ' },
      ],
    },
    {
      role: 'assistant',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: [] },
  ];
  const sent = at('zai/glm-5.2', { messages, tools: [tool('f')] }).messages;
  expect(sent[0]?.content).toEqual([{ type: 'text', text: 'a' }]);
  expect(sent[2]?.content).toMatchObject([{ type: 'tool_result', content: '' }]);
});
