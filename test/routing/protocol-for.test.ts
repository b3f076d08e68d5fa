import { describe, expect, it } from 'vitest';
import { DEFAULT_TRAITS, NO_NEEDS, type Needs, type Traits } from '../../src/canonical/traits.ts';
import type { ProviderConfig } from '../../src/config/config.ts';
import { protocolFor, type Target } from '../../src/routing/catalog.ts';

function target(traits: Partial<Traits>, more: Partial<ProviderConfig> = {}): Target {
  const provider = { protocols: ['chat', 'responses'], ...more };
  return { traits: { ...DEFAULT_TRAITS, ...traits }, provider } as Target;
}

const needs = (more: Partial<Needs>): Needs => ({ ...NO_NEEDS, ...more });

describe('the protocol towards a model that takes no tools on chat while it thinks', () => {
  const graded = target({ toolsWhileThinking: 'not_on_chat' });
  const always = target({ toolsWhileThinking: 'not_on_chat', thinksByDefault: true });

  it.each<[string, Target, Partial<Needs>, string]>([
    ['tools and an effort', graded, { tools: true, thinking: true }, 'responses'],
    ['tools alone, where it thinks only on request', graded, { tools: true }, 'chat'],
    ['tools alone, where it thinks by itself', always, { tools: true }, 'responses'],
    ['no tools', always, { thinking: true }, 'chat'],
    ['a model without the rule', target({ thinksByDefault: true }), { tools: true }, 'chat'],
  ])('%s', (_, to, wanted, expected) => {
    expect(protocolFor(to, 'chat', needs(wanted))).toBe(expected);
  });

  it('is one that reaches the model, unless the file says that its provider speaks none of them', () => {
    const alone = target({ speaks: ['responses'] });
    expect(protocolFor(alone, 'chat')).toBe('responses');
    expect(protocolFor(target({ speaks: ['messages', 'chat'] }), 'messages')).toBe('chat');
    expect(protocolFor(target({ speaks: ['responses'] }, { protocols: ['chat'] }), 'chat')).toBe('chat');
  });

  it('is chat where the provider speaks nothing else, or relays exactly', () => {
    const traits = { toolsWhileThinking: 'not_on_chat', thinksByDefault: true } as const;
    for (const more of [{ protocols: ['chat'] as const }, { exactRelay: true }]) {
      expect(protocolFor(target(traits, more), 'chat', needs({ tools: true }))).toBe('chat');
    }
  });
});
