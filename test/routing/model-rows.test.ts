// Rules that go by a model's name, wherever it is served.
import { expect, it } from 'vitest';
import { createModelInfo } from '../../src/routing/model-info.ts';
import { provider } from './fixtures.ts';

// Elsewhere it would be a 400, or moved for nothing.
it.each([
  ['claude-opus-4-7', false],
  ['claude-opus-4-8', true],
  ['claude-opus-5', true],
  ['claude-opus-5-20260801', true],
  ['claude-opus-5-5', true],
  ['anthropic/claude-opus-5.5', true],
  ['claude-sonnet-5', false],
  ['claude-sonnet-5-5', true],
  ['claude-haiku-5-5', true],
  ['claude-fable-5', true],
  ['claude-fable-5-2', true],
  ['claude-nova-9', false],
])('%s takes system messages in mid-conversation: %j', (name, midSystem) => {
  const { traits } = createModelInfo().about(provider('any', null), name, undefined, 0);
  expect(traits.midSystem).toBe(midSystem);
});

// The templates of these models refuse other ids, and every server takes such ones.
it.each([
  ['mistral-large-latest', 'mistral'],
  ['mistralai/Mistral-7B-Instruct-v0.3', 'mistral'],
  ['open-mixtral-8x22b', 'mistral'],
  ['devstral:24b', 'mistral'],
  ['mlx-community/Ministral-8B-Instruct-2410-4bit', 'mistral'],
  ['mistralai/codestral-2508', 'mistral'],
  ['magistral-small', 'mistral'],
  ['pixtral-12b', 'mistral'],
  ['austral', 'any'],
  ['gpt-5.2', 'any'],
])('the ids of tool calls towards %s follow the rule "%s"', (name, toolIds) => {
  expect(createModelInfo().about(provider('any', null), name, undefined, 0).traits.toolIds).toBe(toolIds);
});

it('but the rule of a provider stands above it', () => {
  const strict = provider('any', null, { traits: { toolIds: 'openai' } });
  expect(createModelInfo().about(strict, 'mistral-large-latest', undefined, 0).traits.toolIds).toBe('openai');
});
