// Who asks, for tests of what is done with it.
import type { Identity } from '../../src/conversations/identity.ts';

export function identity(conversation = 'conv_one', change: Partial<Identity> = {}): Identity {
  return {
    conversation,
    begun: false,
    agent: null,
    parentAgent: null,
    agentType: null,
    class: null,
    prompt: null,
    label: null,
    client: null,
    tools: null,
    ...change,
  };
}
