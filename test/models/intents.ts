// What clients ask for, in the words of each protocol: the columns of the matrix.
import type { JsonObject } from '../../src/canonical/json.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { PICTURE } from '../fixtures/picture.ts';

const URL = `data:image/png;base64,${PICTURE}`;
const OBJECT: JsonObject = {
  type: 'object',
  properties: { path: { type: 'string' } },
  required: ['path'],
  additionalProperties: false,
};
const UNION: JsonObject = {
  type: 'object',
  properties: { path: { type: 'string' } },
  anyOf: [{ required: ['path'] }, { properties: { id: { type: 'integer' } }, required: ['id'] }],
};
/** A call's id as another provider made it. */
const ID = 'call_aVeryLongIdOfAnother-Provider_0123456';

type Bodies = Readonly<Record<string, JsonObject>>;
type Tools = (schema?: JsonObject) => JsonObject;

function chatTurns(): JsonObject[] {
  const call = (id: string): JsonObject => ({
    id,
    type: 'function',
    function: { name: 'read', arguments: '{"path":"a"}' },
  });
  return [
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: 'Read both.' },
    { role: 'assistant', content: 'First a.', tool_calls: [call(ID)] },
    { role: 'tool', tool_call_id: ID, content: 'A' },
    { role: 'assistant', content: null, tool_calls: [call(`${ID.slice(0, -1)}2`)] },
    { role: 'tool', tool_call_id: `${ID.slice(0, -1)}2`, content: 'B' },
  ];
}

const hi = (content: unknown = 'hi'): JsonObject => ({
  messages: [{ role: 'user', content }] as JsonObject['messages'],
});

function chatBodies(): Bodies {
  const tools: Tools = (parameters = OBJECT) => ({
    tools: [{ type: 'function', function: { name: 'read', description: 'Reads.', parameters } }],
  });
  const picture = (image: JsonObject): JsonObject =>
    hi([
      { type: 'text', text: 'What is it?' },
      { type: 'image_url', image_url: image },
    ]);
  const schema = { name: 'answer', schema: OBJECT, strict: true };
  const loop = { messages: chatTurns(), ...tools() };
  const named = { type: 'function', function: { name: 'read' } };
  return {
    plain: { ...hi(), max_completion_tokens: 1000 },
    'plain, the older limit': { ...hi(), max_tokens: 1000 },
    'late system': {
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'Hello.' },
        { role: 'system', content: 'The user has left.' },
        { role: 'user', content: 'Go on.' },
      ],
    },
    'the beginning of an answer': {
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'Hel' },
      ],
    },
    'two of the user': {
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'user', content: 'Are you there?' },
      ],
    },
    developer: {
      messages: [
        { role: 'developer', content: 'Be kind.' },
        { role: 'user', content: 'hi' },
      ],
    },
    'tools auto': { ...hi(), ...tools() },
    'tools required': { ...hi(), ...tools(), tool_choice: 'required' },
    'tools named': { ...hi(), ...tools(), tool_choice: named },
    'thinking low': { ...hi(), reasoning_effort: 'low' },
    'thinking high': { ...hi(), reasoning_effort: 'high' },
    'thinking max': { ...hi(), reasoning_effort: 'max' },
    'thinking off': { ...hi(), reasoning_effort: 'none' },
    'tools with thinking': { ...hi(), ...tools(), reasoning_effort: 'high' },
    'required with thinking': { ...hi(), ...tools(), reasoning_effort: 'high', tool_choice: 'required' },
    'one call at most': { ...hi(), ...tools(), parallel_tool_calls: false },
    json_schema: { ...hi(), response_format: { type: 'json_schema', json_schema: schema } },
    json_object: { ...hi('An object of two names.'), response_format: { type: 'json_object' } },
    sampling: { ...hi(), temperature: 0.3, top_p: 0.9 },
    temperature: { ...hi(), temperature: 0.3 },
    penalties: { ...hi(), frequency_penalty: 0.5, presence_penalty: 0.5 },
    seed: { ...hi(), seed: 1 },
    'what names the user': {
      messages: [{ role: 'user', name: 'ann', content: 'hi' }],
      user: 'u1',
      store: false,
      metadata: { a: 'b' },
    },
    'an image': picture({ url: URL }),
    'an image by its address': picture({ url: 'https://example.com/a.png' }),
    'detail original': picture({ url: URL, detail: 'original' }),
    'several texts': hi([
      { type: 'text', text: 'One.' },
      { type: 'text', text: 'Two.' },
    ]),
    'a tool loop': loop,
    'a tool loop with thinking': { ...loop, reasoning_effort: 'high' },
    'a tool loop and a user': {
      ...loop,
      messages: [...chatTurns(), { role: 'user', content: 'And c.' }],
    },
    'a tool loop with reasoning': {
      ...loop,
      messages: chatTurns().map((turn) =>
        turn.role === 'assistant' ? { ...turn, reasoning_content: 'I read.' } : turn,
      ),
    },
    'much output': { ...hi(), max_completion_tokens: 900_000 },
    stop: { ...hi(), stop: ['END', 'FIN'] },
    'a union at the root': { ...hi(), ...tools(UNION) },
    'no properties': { ...hi(), ...tools({ type: 'object' }) },
  };
}

function messagesBodies(): Bodies {
  const body = (more: JsonObject): JsonObject => ({ max_tokens: 4000, ...hi(), ...more });
  const tools: Tools = (input_schema = OBJECT) => ({
    tools: [{ name: 'read', description: 'Reads.', input_schema }],
  });
  const effort = (level: string): JsonObject => ({
    thinking: { type: 'adaptive' },
    output_config: { effort: level },
  });
  const picture = (source: JsonObject): JsonObject =>
    body(
      hi([
        { type: 'text', text: 'What is it?' },
        { type: 'image', source },
      ]),
    );
  const use = (id: string): JsonObject => ({ type: 'tool_use', id, name: 'read', input: { path: 'a' } });
  const result = (id: string): JsonObject => ({ type: 'tool_result', tool_use_id: id, content: 'A' });
  const turns: JsonObject[] = [
    { role: 'user', content: 'Read both.' },
    { role: 'assistant', content: [{ type: 'text', text: 'First a.' }, use('toolu_1')] },
    { role: 'user', content: [result('toolu_1')] },
    { role: 'assistant', content: [use('toolu_2')] },
    { role: 'user', content: [result('toolu_2')] },
  ];
  const loop = { messages: turns, ...tools() };
  return {
    plain: body({ system: 'Be kind.' }),
    'late system': body({
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'Hello.' },
        { role: 'user', content: 'Go on.' },
        { role: 'system', content: 'The user has left.' },
      ],
    }),
    'the beginning of an answer': body({
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'Hel' },
      ],
    }),
    'tools auto': body(tools()),
    'tools required': body({ ...tools(), tool_choice: { type: 'any' } }),
    'tools named': body({ ...tools(), tool_choice: { type: 'tool', name: 'read' } }),
    'thinking low': body(effort('low')),
    'thinking high': body(effort('high')),
    'thinking max': body(effort('max')),
    'thinking off': body({ thinking: { type: 'disabled' } }),
    'a budget': body({ thinking: { type: 'enabled', budget_tokens: 2000 } }),
    'tools with thinking': body({ ...tools(), ...effort('high') }),
    'required with thinking': body({ ...tools(), ...effort('high'), tool_choice: { type: 'any' } }),
    'one call at most': body({ ...tools(), tool_choice: { type: 'auto', disable_parallel_tool_use: true } }),
    json_schema: body({ output_config: { format: { type: 'json_schema', schema: OBJECT } } }),
    sampling: body({ temperature: 0.3, top_p: 0.9 }),
    temperature: body({ temperature: 0.3 }),
    'what names the user': body({ metadata: { user_id: 'u1' } }),
    'an image': picture({ type: 'base64', media_type: 'image/png', data: PICTURE }),
    'an image by its address': picture({ type: 'url', url: 'https://example.com/a.png' }),
    'several texts': body(
      hi([
        { type: 'text', text: 'One.' },
        { type: 'text', text: 'Two.' },
      ]),
    ),
    'a tool loop': body(loop),
    'a tool loop with thinking': body({ ...loop, ...effort('high') }),
    'a tool loop and a user': body({
      ...loop,
      messages: [
        ...turns.slice(0, -1),
        { role: 'user', content: [result('toolu_2'), { type: 'text', text: 'And c.' }] },
      ],
    }),
    'much output': body({ max_tokens: 900_000 }),
    stop: body({ stop_sequences: ['END', 'FIN'] }),
    'a union at the root': body(tools(UNION)),
    'no properties': body(tools({ type: 'object' })),
  };
}

function responsesBodies(): Bodies {
  const body = (more: JsonObject): JsonObject => ({ input: 'hi', store: false, ...more });
  const tools: Tools = (parameters = OBJECT) => ({
    tools: [{ type: 'function', name: 'read', description: 'Reads.', parameters, strict: false }],
  });
  const say = (...content: JsonObject[]): JsonObject => body({ input: [{ role: 'user', content }] });
  const picture = (image: JsonObject): JsonObject =>
    say({ type: 'input_text', text: 'What is it?' }, { type: 'input_image', ...image });
  const call = (id: string): JsonObject => ({
    type: 'function_call',
    call_id: id,
    name: 'read',
    arguments: '{"path":"a"}',
  });
  const turns: JsonObject[] = [
    { role: 'user', content: 'Read both.' },
    call('call_1'),
    { type: 'function_call_output', call_id: 'call_1', output: 'A' },
    call('call_2'),
    { type: 'function_call_output', call_id: 'call_2', output: 'B' },
  ];
  const reasoning = (effort: string): JsonObject => ({ reasoning: { effort } });
  const format = { type: 'json_schema', name: 'answer', schema: OBJECT, strict: true };
  return {
    plain: body({ instructions: 'Be kind.', max_output_tokens: 1000 }),
    'late system': body({
      input: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'Hello.' },
        { role: 'developer', content: 'The user has left.' },
        { role: 'user', content: 'Go on.' },
      ],
    }),
    'two of the user': body({
      input: [
        { role: 'user', content: 'hi' },
        { role: 'user', content: 'Are you there?' },
      ],
    }),
    'tools auto': body(tools()),
    'tools required': body({ ...tools(), tool_choice: 'required' }),
    'tools named': body({ ...tools(), tool_choice: { type: 'function', name: 'read' } }),
    'thinking low': body(reasoning('low')),
    'thinking high': body(reasoning('high')),
    'thinking max': body(reasoning('max')),
    'thinking off': body(reasoning('none')),
    'tools with thinking': body({ ...tools(), ...reasoning('high') }),
    'required with thinking': body({ ...tools(), ...reasoning('high'), tool_choice: 'required' }),
    'one call at most': body({ ...tools(), parallel_tool_calls: false }),
    json_schema: body({ text: { format } }),
    json_object: body({ text: { format: { type: 'json_object' } } }),
    sampling: body({ temperature: 0.3, top_p: 0.9 }),
    temperature: body({ temperature: 0.3 }),
    'what names the user': body({ safety_identifier: 'u1', metadata: { a: 'b' }, prompt_cache_key: 'k' }),
    'an image': picture({ image_url: URL }),
    'an image by its address': picture({ image_url: 'https://example.com/a.png' }),
    'detail original': picture({ image_url: URL, detail: 'original' }),
    'several texts': say({ type: 'input_text', text: 'One.' }, { type: 'input_text', text: 'Two.' }),
    'a tool loop': body({ input: turns, ...tools() }),
    'a tool loop with thinking': body({ input: turns, ...tools(), ...reasoning('high') }),
    'a tool loop and a user': body({ input: [...turns, { role: 'user', content: 'And c.' }], ...tools() }),
    'much output': body({ max_output_tokens: 900_000 }),
    'a union at the root': body(tools(UNION)),
    'no properties': body(tools({ type: 'object' })),
  };
}

export const INTENTS: Readonly<Record<ProtocolName, Bodies>> = {
  chat: chatBodies(),
  messages: messagesBodies(),
  responses: responsesBodies(),
};
