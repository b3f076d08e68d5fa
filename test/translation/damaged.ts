// A conversation of each protocol with one call of a tool and its result.
import { isObject, type JsonObject, type JsonValue } from '../../src/canonical/json.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';

export const object: JsonObject = { path: 'a' };

const USER = { role: 'user', content: 'Go' };
const SCHEMA = { type: 'object', properties: { path: { type: 'string' } } };

/** `args`: what stands in the place of the arguments. */
export function withCall(protocol: ProtocolName, args: JsonValue): JsonObject {
  return { model: 'm', ...REQUESTS[protocol](args) };
}

const REQUESTS = {
  chat: (args) => ({
    messages: [
      USER,
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'read', arguments: args } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'error: invalid arguments' },
    ],
    tools: [{ type: 'function', function: { name: 'read', parameters: SCHEMA } }],
  }),
  messages: (args) => ({
    max_tokens: 100,
    messages: [
      USER,
      { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'read', input: args }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'error: invalid arguments' }],
      },
    ],
    tools: [{ name: 'read', input_schema: SCHEMA }],
  }),
  responses: (args) => ({
    input: [
      USER,
      { type: 'function_call', call_id: 'call_1', name: 'read', arguments: args },
      { type: 'function_call_output', call_id: 'call_1', output: 'error: invalid arguments' },
    ],
    tools: [{ type: 'function', name: 'read', parameters: SCHEMA, strict: false }],
  }),
} as const satisfies Record<ProtocolName, (args: JsonValue) => JsonObject>;

/** The arguments of the call as the strict server parses them; throws where it would refuse them. */
export function objectOf(protocol: ProtocolName, body: JsonObject): JsonValue {
  const written = WRITTEN[protocol](body);
  const isText = protocol !== 'messages';
  if (isText !== (typeof written === 'string')) throw new Error(`${typeof written} is of the wrong type`);
  const value = typeof written === 'string' ? (JSON.parse(written) as JsonValue) : written;
  if (!isObject(value)) throw new Error(`${JSON.stringify(value)} is no object`);
  // As it goes over the wire.
  return JSON.parse(JSON.stringify(value)) as JsonValue;
}

const WRITTEN = {
  chat: ({ messages }) =>
    at(messages, (one) => Array.isArray(one.tool_calls), 'tool_calls', 0, 'function', 'arguments'),
  messages: ({ messages }) => at(messages, ({ role }) => role === 'assistant', 'content', 0, 'input'),
  responses: ({ input }) => at(input, ({ type }) => type === 'function_call', 'arguments'),
} as const satisfies Record<ProtocolName, (body: JsonObject) => JsonValue | undefined>;

function at(
  list: JsonValue | undefined,
  is: (one: JsonObject) => boolean,
  ...steps: (string | number)[]
): JsonValue | undefined {
  let found: unknown = Array.isArray(list) ? list.find((one) => isObject(one) && is(one)) : undefined;
  for (const step of steps) found = (found as Record<string | number, unknown> | undefined)?.[step];
  return found as JsonValue | undefined;
}
