// Canonical requests as a chat provider gets them, and parts to make them of.
import { type JsonObject } from '../../../../src/canonical/json.ts';
import type { Message, Part, GenerationRequest } from '../../../../src/canonical/request.ts';
import { DEFAULT_TRAITS, type Traits } from '../../../../src/canonical/traits.ts';
import { GatewayError } from '../../../../src/errors.ts';
import { chat } from '../../../../src/protocols/chat/index.ts';

export const text = (value: string): Part => ({ type: 'text', text: value });
export const user = (...parts: Part[]): Message => ({ role: 'user', parts });
export const assistant = (...parts: Part[]): Message => ({ role: 'assistant', parts });
export const system = (...parts: Part[]): Message => ({ role: 'system', parts });
export const call = (id: string, name = 'f'): Part => ({ type: 'tool_call', id, name, arguments: '{"x":1}' });
export const result = (callId: string, content: string | Part[], over = {}): Part => ({
  type: 'tool_result',
  callId,
  content,
  ...over,
});
export const image: Part = {
  type: 'image',
  source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' },
  at: 'messages[0].content[0]',
};
export const EPHEMERAL = { type: 'ephemeral' };
export const imageWire = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };

export const base: GenerationRequest = {
  protocol: 'messages',
  model: 'asked',
  stream: false,
  includeUsage: true,
  messages: [user(text('hi'))],
  native: [],
};
export const encode = (over: Partial<GenerationRequest> = {}, traits: Partial<Traits> = {}) =>
  chat.provider.encodeRequest({ ...base, ...over }, 'm-1', { ...DEFAULT_TRAITS, ...traits });
export const history = (messages: Message[], traits: Partial<Traits> = {}) =>
  encode({ messages }, traits).body.messages as JsonObject[];
export const dropped = (over: Partial<GenerationRequest>, traits: Partial<Traits> = {}) =>
  encode(over, traits)
    .warnings.filter(({ effect }) => effect === 'dropped')
    .map(({ field }) => (typeof field === 'string' ? field : field.path));
export const refusal = (over: Partial<GenerationRequest>, traits: Partial<Traits> = {}) => {
  try {
    encode(over, traits);
  } catch (error) {
    if (error instanceof GatewayError) return { param: error.options.param, message: error.message };
    throw error;
  }
  throw new Error('was not refused');
};
