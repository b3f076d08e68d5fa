// Canonical requests for the simulated model, with everything that a test does not care about filled in.
import type { FunctionTool, Message, Part, GenerationRequest } from '../../src/canonical/request.ts';

export function ask(content: string | Part[], more: Partial<GenerationRequest> = {}): GenerationRequest {
  return conversation([user(content)], more);
}

export function conversation(messages: Message[], more: Partial<GenerationRequest> = {}): GenerationRequest {
  return {
    protocol: 'chat',
    model: 'echo',
    stream: false,
    includeUsage: false,
    messages,
    native: [],
    ...more,
  };
}

export function user(content: string | Part[]): Message {
  return { role: 'user', parts: typeof content === 'string' ? [{ type: 'text', text: content }] : content };
}

export function tool(name: string, properties: Record<string, object> = {}): FunctionTool {
  return {
    type: 'function',
    name,
    parameters: { type: 'object', properties: properties as never, required: Object.keys(properties) },
  };
}
