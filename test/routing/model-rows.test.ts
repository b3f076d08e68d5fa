// Which models take system text in mid-conversation (PROTOCOL 2.1): elsewhere it would be a 400, or moved for nothing.
import { expect, it } from 'vitest';
import { createFacts } from '../../src/routing/facts.ts';
import { provider } from './fixtures.ts';

it.each([
  ['claude-opus-4-7', false],
  ['claude-opus-4-8', true],
  ['claude-opus-5', true],
  ['claude-opus-5-20260801', true],
  ['claude-opus-5-5', true],
  ['anthropic/claude-opus-5.5', true],
  ['claude-sonnet-5', false],
  ['claude-sonnet-5-5', false],
  ['claude-haiku-5-5', false],
  ['claude-nova-9', false],
])('%s takes system messages in mid-conversation: %j', (name, midSystem) => {
  const { traits } = createFacts().about(provider('any', null), name, undefined, 0);
  expect(traits.midSystem).toBe(midSystem);
});
