// Each row of the responses protocol's field table, towards each of the other protocols: what the table says is what happens.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { Traits } from '../../src/canonical/traits.ts';
import { RESPONSES_FIELDS } from '../../src/protocols/responses/fields.ts';
import type { LedgerRow } from '../../src/protocols/shared/ledger.ts';
import { crossTo, refusedAt } from './cross.ts';

/** Servers that take all that their protocol has. */
const TRAITS: Partial<Traits> = {
  customTools: true,
  webSearchOptions: true,
  serverTools: true,
  cacheMarks: 'cache_control',
  cacheKey: true,
  thinkingAdaptive: true,
  replayReasoning: 'always',
};

const user = (...content: JsonObject[]): JsonObject => ({ role: 'user', content });
const text = (value: string): JsonObject => ({ type: 'input_text', text: value });
const fn = (more: JsonObject = {}): JsonObject => ({ type: 'function', name: 'f', ...more });
const tools = (...list: JsonObject[]): JsonObject => ({ tools: list });
const input = (...items: JsonObject[]): JsonObject => ({ input: [user(text('hi')), ...items] });
/** A call and its result. */
const called = (call: JsonObject, result: JsonObject = {}): JsonObject[] => [
  { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}', ...call },
  { type: 'function_call_output', call_id: 'c1', output: 'r', ...result },
];
const said = (part: JsonObject): JsonObject =>
  input({ role: 'assistant', content: [part] }, user(text('so?')));
const schema = {
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
  additionalProperties: false,
};
const format = (more: JsonObject): JsonObject => ({
  text: { format: { type: 'json_schema', name: 'n', schema, ...more } },
});
const search = (more: JsonObject): JsonObject => tools({ type: 'web_search', ...more });
const PNG = 'iVBORw0KGgo=';
const PDF = 'data:application/pdf;base64,JVBERi0=';
const chatHi = { role: 'user', content: 'hi' };
const hiThen = (...rest: JsonObject[]): JsonObject => ({ messages: [{ role: 'user' }, ...rest] });
const chatCall = (func: JsonObject): JsonObject => hiThen({ tool_calls: [{ id: 'c1', function: func }] }, {});
const use = (more: JsonObject): JsonObject =>
  hiThen({ content: [{ type: 'tool_use', id: 'c1', ...more }] }, {});
const toolF = (more: JsonObject): JsonObject => ({
  tools: [{ type: 'function', function: { name: 'f', ...more } }],
});
const signed = JSON.stringify({ text: 'deep', signature: 'sig' });
const thought = (more: JsonObject): JsonObject =>
  input(
    { type: 'reasoning', id: 'rs_1', summary: [], ...more },
    { role: 'assistant', content: 'b' },
    user(text('c')),
  );
const thinking = hiThen(
  { content: [{ type: 'thinking', thinking: 'deep', signature: 'sig' }, { text: 'b' }] },
  {},
);
const SECRET = 'secret-word';

/**
 * What a client asks, and what is in the body for chat and for messages. Where the table says `left out` or `quiet` nothing of it
 * may be there; what it rejects is refused by its name.
 */
type Row = [asked: JsonObject, chat?: JsonObject, messages?: JsonObject];

const ROWS: Record<keyof typeof RESPONSES_FIELDS, Row> = {
  model: [{}, { model: 'target' }, { model: 'target' }],
  input: [
    { input: 'a' },
    { messages: [{ role: 'user', content: 'a' }] },
    { messages: [{ role: 'user', content: [{ text: 'a' }] }] },
  ],
  instructions: [
    { instructions: 's' },
    { messages: [{ role: 'system', content: 's' }, chatHi] },
    { system: [{ text: 's' }] },
  ],
  stream: [{ stream: true }, { stream: true, stream_options: { include_usage: true } }, { stream: true }],
  stream_options: [{ stream_options: {} }, {}, {}],
  'stream_options.include_obfuscation': [{ stream_options: { include_obfuscation: true } }],
  max_output_tokens: [{ max_output_tokens: 5 }, { max_tokens: 5 }, { max_tokens: 5 }],
  max_tool_calls: [{ max_tool_calls: 3 }],
  temperature: [{ temperature: 0.5 }, { temperature: 0.5 }, { temperature: 0.5 }],
  top_p: [{ top_p: 0.5 }, { top_p: 0.5 }, { top_p: 0.5 }],
  tools: [tools(fn()), toolF({}), { tools: [{ name: 'f' }] }],
  tool_choice: [
    { ...tools(fn()), tool_choice: 'required' },
    { tool_choice: 'required' },
    { tool_choice: { type: 'any' } },
  ],
  parallel_tool_calls: [
    { ...tools(fn()), parallel_tool_calls: false },
    { parallel_tool_calls: false },
    { tool_choice: { disable_parallel_tool_use: true } },
  ],
  reasoning: [
    { reasoning: { effort: 'low' } },
    { reasoning_effort: 'low' },
    { output_config: { effort: 'low' } },
  ],
  'reasoning.effort': [{ reasoning: { effort: 'none' } }, { reasoning_effort: 'none' }, {}],
  'reasoning.summary': [{ reasoning: { summary: 'auto' } }, {}, {}],
  'reasoning.generate_summary': [{ reasoning: { generate_summary: 'auto' } }, {}, {}],
  'reasoning.context': [{ reasoning: { context: SECRET } }],
  text: [{ text: {} }, {}, {}],
  'text.format': [
    { text: { format: { type: 'json_object' } } },
    { response_format: { type: 'json_object' } },
    {},
  ],
  'text.format.type': [{ text: { format: { type: 'text' } } }, {}, {}],
  'text.format.name': [format({}), { response_format: { json_schema: { name: 'n' } } }, {}],
  'text.format.description': [
    format({ description: 'd' }),
    { response_format: { json_schema: { description: 'd' } } },
    { output_config: { format: { schema: { description: 'd' } } } },
  ],
  'text.format.schema': [
    format({}),
    { response_format: { json_schema: { schema } } },
    { output_config: { format: { schema } } },
  ],
  'text.format.strict': [
    format({ strict: true }),
    { response_format: { json_schema: { strict: true } } },
    {},
  ],
  'text.verbosity': [{ text: { verbosity: 'low' } }, { verbosity: 'low' }],
  include: [{ include: ['message.output_text.logprobs'] }, { logprobs: true }],
  top_logprobs: [{ top_logprobs: 2 }, { logprobs: true, top_logprobs: 2 }],
  store: [{ store: true }, {}, {}],
  previous_response_id: [{ previous_response_id: 'resp_1' }],
  conversation: [{ conversation: 'conv_1' }],
  background: [{ background: true }],
  prompt: [{ prompt: { id: 'pmpt_1' } }],
  safety_identifier: [{ safety_identifier: 'u', user: 'v' }, { user: 'u' }, { metadata: { user_id: 'u' } }],
  user: [{ user: 'u' }, { user: 'u' }, { metadata: { user_id: 'u' } }],
  service_tier: [{ service_tier: 'default' }, { service_tier: 'default' }, { service_tier: 'standard_only' }],
  metadata: [{ metadata: { a: 'b' } }, { metadata: { a: 'b' } }],
  prompt_cache_key: [{ prompt_cache_key: 'k' }, { prompt_cache_key: 'k' }, {}],
  prompt_cache_options: [{ prompt_cache_options: { mode: 'x' } }, { prompt_cache_options: { mode: 'x' } }],
  prompt_cache_retention: [{ prompt_cache_retention: '24h' }, { prompt_cache_retention: '24h' }],
  truncation: [{ truncation: 'auto' }],
  context_management: [{ context_management: [{ type: SECRET }] }],
  moderation: [{ moderation: { model: SECRET } }],
  frequency_penalty: [{ frequency_penalty: 1 }],
  presence_penalty: [{ presence_penalty: 1 }],
  client_metadata: [{ client_metadata: { a: SECRET } }],

  'tools[].type': [
    tools({ type: 'custom', name: 'p' }),
    { tools: [{ type: 'custom', custom: { name: 'p' } }] },
    { tools: [{ name: 'p' }] },
  ],
  'tools[].name': [tools(fn({ name: 'g' })), toolF({ name: 'g' }), { tools: [{ name: 'g' }] }],
  'tools[].description': [
    tools(fn({ description: 'd' })),
    toolF({ description: 'd' }),
    { tools: [{ description: 'd' }] },
  ],
  'tools[].parameters': [
    tools(fn({ parameters: schema })),
    toolF({ parameters: schema }),
    { tools: [{ input_schema: schema }] },
  ],
  'tools[].strict': [
    tools(fn({ parameters: schema, strict: true })),
    toolF({ strict: true }),
    { tools: [{ strict: true }] },
  ],
  'tools[].format': [
    tools({ type: 'custom', name: 'p', format: { type: 'grammar', syntax: 'lark', definition: 'd' } }),
    { tools: [{ custom: { format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'd' } } } }] },
    { tools: [{ description: expect.stringContaining('lark') as string }] },
  ],
  'tools[].tools': [
    tools({ type: 'namespace', name: 'n', tools: [fn()] }),
    toolF({ name: 'n__f' }),
    { tools: [{ name: 'n__f' }] },
  ],
  'tools[].defer_loading': [tools(fn({ defer_loading: true }))],
  'tools[].execution': [
    tools({ type: 'tool_search', execution: 'client' }),
    toolF({ name: 'tool_search' }),
    { tools: [{ name: 'tool_search' }] },
  ],
  'tools[].environment': [
    tools({ type: 'shell', environment: { type: 'local' } }),
    toolF({ name: 'shell' }),
    { tools: [{ name: 'shell' }] },
  ],
  'tools[].search_context_size': [
    search({ search_context_size: 'low' }),
    { web_search_options: { search_context_size: 'low' } },
    {},
  ],
  'tools[].user_location': [
    search({ user_location: { type: 'approximate', city: 'Bern' } }),
    { web_search_options: { user_location: { approximate: { city: 'Bern' } } } },
    { tools: [{ user_location: { city: 'Bern' } }] },
  ],
  'tools[].external_web_access': [
    search({ external_web_access: true }),
    { web_search_options: {} },
    { tools: [{ name: 'web_search' }] },
  ],
  'tools[].filters': [search({ filters: { allowed_domains: [SECRET] } })],
  'tools[].allowed_callers': [tools(fn({ allowed_callers: ['programmatic'] }))],
  'tools[].output_schema': [tools(fn({ output_schema: { title: SECRET } }))],

  'input[].type': [input(...called({})), chatCall({ name: 'f' }), use({ name: 'f' })],
  'input[].role': [input({ role: 'developer', content: 'd' }), hiThen({ role: 'system', content: 'd' }), {}],
  'input[].content': [
    { input: [{ role: 'user', content: 'c' }] },
    { messages: [{ content: 'c' }] },
    { messages: [{ content: [{ text: 'c' }] }] },
  ],
  'input[].phase': [input({ role: 'assistant', content: 'x', phase: SECRET })],
  'input[].id': [input({ role: 'assistant', content: 'x', id: SECRET })],
  'input[].status': [input({ role: 'assistant', content: 'x', status: SECRET })],
  'input[].caller': [input(...called({ caller: { type: SECRET } }))],
  'input[].parsed_arguments': [input(...called({ parsed_arguments: { a: SECRET } }))],
  'input[].call_id': [
    input(...called({})),
    hiThen({ tool_calls: [{ id: 'c1' }] }, { tool_call_id: 'c1' }),
    hiThen({}, { content: [{ tool_use_id: 'c1' }] }),
  ],
  'input[].name': [input(...called({ name: 'g' })), chatCall({ name: 'g' }), use({ name: 'g' })],
  'input[].namespace': [
    input(...called({ namespace: 'n' })),
    chatCall({ name: 'n__f' }),
    use({ name: 'n__f' }),
  ],
  'input[].arguments': [
    input(...called({ arguments: '{"a":1}' })),
    chatCall({ arguments: '{"a":1}' }),
    use({ input: { a: 1 } }),
  ],
  'input[].input': [
    input(
      { type: 'custom_tool_call', call_id: 'c1', name: 'p', input: 'raw' },
      { type: 'custom_tool_call_output', call_id: 'c1', output: 'r' },
    ),
    hiThen({ tool_calls: [{ type: 'custom', custom: { name: 'p', input: 'raw' } }] }, { content: 'r' }),
    use({ name: 'p', input: { input: 'raw' } }),
  ],
  'input[].output': [
    input(...called({}, { output: 'o' })),
    hiThen({}, { content: 'o' }),
    hiThen({}, { content: [{ content: 'o' }] }),
  ],
  'input[].summary': [
    thought({ summary: [{ type: 'summary_text', text: 'deep' }] }),
    hiThen({ reasoning_content: 'deep' }, {}),
    {},
  ],
  'input[].encrypted_content': [
    thought({ encrypted_content: signed }),
    hiThen({ reasoning_content: 'deep' }, {}),
    thinking,
  ],
  'input[].tools': [
    input({ type: 'additional_tools', tools: [fn()] }),
    toolF({}),
    { tools: [{ name: 'f' }] },
  ],
  'input[].action': [
    {
      ...tools({ type: 'shell' }),
      ...input(
        { type: 'shell_call', call_id: 'c1', action: { commands: ['ls'] } },
        { type: 'shell_call_output', call_id: 'c1', output: [] },
      ),
    },
    chatCall({ name: 'shell', arguments: '{"commands":["ls"]}' }),
    use({ name: 'shell', input: { commands: ['ls'] } }),
  ],
  'input[].operation': [
    {
      ...tools({ type: 'apply_patch' }),
      ...input(
        { type: 'apply_patch_call', call_id: 'c1', operation: { type: 'delete_file', path: 'p' } },
        { type: 'apply_patch_call_output', call_id: 'c1', status: 'completed' },
      ),
    },
    chatCall({ name: 'apply_patch', arguments: '{"type":"delete_file","path":"p"}' }),
    use({ name: 'apply_patch', input: { type: 'delete_file', path: 'p' } }),
  ],
  'input[].execution': [
    {
      ...tools({ type: 'tool_search', execution: 'client' }),
      ...input(
        { type: 'tool_search_call', execution: 'client', call_id: 'c1', arguments: {} },
        { type: 'tool_search_output', execution: 'client', call_id: 'c1', tools: [] },
      ),
    },
    chatCall({ name: 'tool_search' }),
    use({ name: 'tool_search' }),
  ],
  'input[].environment': [input(...called({ environment: { type: SECRET } }))],
  'input[].max_output_length': [input(...called({}, { max_output_length: 4711 }))],
  'input[].author': [input({ type: 'agent_message', author: SECRET, recipient: 'b', content: [text('x')] })],
  'input[].recipient': [
    input({ type: 'agent_message', author: 'a', recipient: SECRET, content: [text('x')] }),
  ],

  'input[].content[].type': [input(user(text('a'))), {}, {}],
  'input[].content[].text': [
    { input: [user(text('t'))] },
    { messages: [{ content: 't' }] },
    { messages: [{ content: [{ text: 't' }] }] },
  ],
  'input[].content[].refusal': [
    said({ type: 'refusal', refusal: 'no' }),
    hiThen({ refusal: 'no' }, {}),
    hiThen({ content: [{ text: 'no' }] }, {}),
  ],
  'input[].content[].image_url': [
    { input: [user({ type: 'input_image', image_url: `data:image/png;base64,${PNG}` })] },
    { messages: [{ content: [{ image_url: { url: `data:image/png;base64,${PNG}` } }] }] },
    { messages: [{ content: [{ source: { media_type: 'image/png', data: PNG } }] }] },
  ],
  'input[].content[].detail': [
    { input: [user({ type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'low' })] },
    { messages: [{ content: [{ image_url: { detail: 'low' } }] }] },
    {},
  ],
  'input[].content[].file_data': [
    { input: [user({ type: 'input_file', file_data: PDF, filename: 'a.pdf' })] },
    { messages: [{ content: [{ file: { file_data: PDF } }] }] },
    { messages: [{ content: [{ type: 'document', source: { data: 'JVBERi0=' } }, { text: '.' }] }] },
  ],
  'input[].content[].file_url': [
    { input: [user({ type: 'input_file', file_url: 'https://a.example/b.pdf' })] },
    undefined,
    {
      messages: [
        { content: [{ type: 'document', source: { url: 'https://a.example/b.pdf' } }, { text: '.' }] },
      ],
    },
  ],
  'input[].content[].file_id': [{ input: [user({ type: 'input_image', file_id: 'file_1' })] }],
  'input[].content[].filename': [
    { input: [user({ type: 'input_file', file_data: PDF, filename: 'a.pdf' })] },
    { messages: [{ content: [{ file: { filename: 'a.pdf' } }] }] },
    { messages: [{ content: [{ title: 'a.pdf' }, { text: '.' }] }] },
  ],
  'input[].content[].input_audio': [
    { input: [user({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } })] },
    { messages: [{ content: [{ input_audio: { data: 'AAAA', format: 'mp3' } }] }] },
  ],
  'input[].content[].annotations': [
    said({
      type: 'output_text',
      text: 'x',
      annotations: [
        { type: 'url_citation', url: 'https://a.example', title: 'T', start_index: 0, end_index: 1 },
      ],
    }),
    hiThen({ content: 'x' }, {}),
    {},
  ],
  'input[].content[].prompt_cache_breakpoint': [
    { input: [user({ ...text('x'), prompt_cache_breakpoint: { mode: 'explicit' } })] },
    { messages: [{ content: [{ cache_control: { type: 'ephemeral' } }] }] },
    { messages: [{ content: [{ cache_control: { type: 'ephemeral' } }] }] },
  ],
  'input[].content[].logprobs': [said({ type: 'output_text', text: 'x', logprobs: [{ token: SECRET }] })],
  'input[].content[].parsed': [said({ type: 'output_text', text: 'x', parsed: { a: SECRET } })],
};

/** Values that a carried or mapped field may have, and that one side has no place for: left out and named there. */
const NAMED: Record<string, readonly string[]> = {
  chat: ['input[].content[].annotations'],
  messages: ['tools[].search_context_size', 'input[].content[].detail'],
};
/** … or refused there. */
const REFUSED: Record<string, readonly string[]> = {
  chat: ['input[].content[].file_url', 'input[].content[].file_id'],
  messages: ['input[].content[].input_audio', 'input[].content[].file_id'],
};

describe.each(['chat', 'messages'] as const)('towards %s', (to) => {
  const rows = Object.entries(ROWS) as [keyof typeof RESPONSES_FIELDS, Row][];
  it.each(rows)('%s', (path, [asked, chat, messages]) => {
    const row: LedgerRow = RESPONSES_FIELDS[path];
    const fate = row.toward?.[to] ?? row.fate;
    if (fate === 'rejected' || REFUSED[to]?.includes(path) === true) {
      expect(refusedAt(() => crossTo('responses', to, asked, TRAITS))).toContain(path.split('[]').at(0));
      return;
    }
    // OpenAI's own chat takes it only of answers that it stores.
    const traits = path === 'metadata' ? { ...TRAITS, customTools: false } : TRAITS;
    const { body, dropped } = crossTo('responses', to, asked, traits);
    expect(dropped).toEqual(fate === 'left out' || NAMED[to]?.includes(path) === true ? [path] : []);
    expect(JSON.stringify(body)).not.toContain(SECRET);
    const expected = to === 'chat' ? chat : messages;
    if (fate === 'carried' || fate === 'mapped') expect(body).toMatchObject(expected ?? { missing: 'row' });
    else expect(expected).toBeUndefined();
  });
});
