// Each row of the field tables of chat and messages clients, towards a responses provider: what the tables say is what happens.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import type { Traits } from '../../src/canonical/traits.ts';
import { CHAT_FIELDS } from '../../src/protocols/chat/fields.ts';
import { MESSAGES_FIELDS } from '../../src/protocols/messages/fields.ts';
import type { LedgerRow } from '../../src/protocols/shared/ledger.ts';
import { crossTo, refusedAt } from './cross.ts';

/** A server that takes all that the protocol has. */
const TRAITS: Partial<Traits> = { serverTools: true, cacheMarks: 'prompt_cache_breakpoint' };
const SECRET = 'secret-word';
const PNG = 'data:image/png;base64,iVBORw0KGgo=';

/**
 * What a client asks; what is in the body. Where the table says `left out` or `quiet` nothing of it may be there; what it rejects
 * is refused by its name. `named`: what a place that this wire lacks is called.
 */
type Row = [asked: JsonObject, body?: JsonObject, named?: string];

const fn = (more: JsonObject = {}): JsonObject => ({ type: 'function', function: { name: 'f', ...more } });
const conversation = (...messages: JsonObject[]): JsonObject => ({
  messages: [{ role: 'user', content: 'hi' }, ...messages],
});
const hiThen = (...items: JsonObject[]): JsonObject => ({ input: [{ content: 'hi' }, ...items] });
const said = (more: JsonObject): JsonObject =>
  conversation({ role: 'assistant', content: 'x', ...more }, { role: 'user', content: 'so?' });
const asked = (...content: JsonObject[]): JsonObject => ({ messages: [{ role: 'user', content }] });
const schema = {
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
  additionalProperties: false,
};
const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
const called = conversation(
  { role: 'assistant', tool_calls: [call] },
  { role: 'tool', tool_call_id: 'c1', content: 'r' },
);
const calledWith = (more: JsonObject): JsonObject =>
  conversation(
    { role: 'assistant', tool_calls: [{ ...call, ...more }] },
    { role: 'tool', tool_call_id: 'c1', content: 'r' },
  );
const CALL = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":1}' };
const RESULT = { type: 'function_call_output', call_id: 'c1', output: 'r' };
const LOW = { reasoning: { effort: 'low' } };
const OFF = { reasoning: { effort: 'none' } };
const MARKED = { input: [{ content: [{ text: 'x', prompt_cache_breakpoint: { mode: 'explicit' } }] }] };

const CHAT: Record<keyof typeof CHAT_FIELDS, Row> = {
  model: [{}, { model: 'target' }],
  messages: [{}, { input: [{ role: 'user', content: 'hi' }] }],
  stream: [{ stream: true }, { stream: true }],
  stream_options: [{ stream: true, stream_options: {} }, {}],
  'stream_options.include_usage': [{ stream: true, stream_options: { include_usage: true } }, {}],
  'stream_options.include_obfuscation': [{ stream_options: { include_obfuscation: true } }],
  max_completion_tokens: [{ max_completion_tokens: 50 }, { max_output_tokens: 50 }],
  max_tokens: [{ max_tokens: 50 }, { max_output_tokens: 50 }],
  temperature: [{ temperature: 0.5 }, { temperature: 0.5 }],
  top_p: [{ top_p: 0.5 }, { top_p: 0.5 }],
  top_k: [{ top_k: 3 }, {}, 'top_k'],
  stop: [{ stop: ['END'] }, {}],
  tools: [
    { tools: [fn({ parameters: schema })] },
    { tools: [{ type: 'function', name: 'f', parameters: schema, strict: false }] },
  ],
  'tools[].function.strict': [{ tools: [fn({ strict: true })] }, { tools: [{ strict: true }] }],
  'tools[].cache_control': [{ tools: [{ ...fn(), cache_control: { type: 'ephemeral' } }] }, { tools: [{}] }],
  tool_choice: [{ tools: [fn()], tool_choice: fn() }, { tool_choice: { type: 'function', name: 'f' } }],
  parallel_tool_calls: [{ tools: [fn()], parallel_tool_calls: false }, { parallel_tool_calls: false }],
  functions: [{ functions: [{ name: 'f' }] }, { tools: [{ name: 'f' }], parallel_tool_calls: false }],
  function_call: [
    { functions: [{ name: 'f' }], function_call: { name: 'f' } },
    { tool_choice: { name: 'f' } },
  ],
  reasoning_effort: [{ reasoning_effort: 'low' }, LOW],
  reasoning: [{ reasoning: { effort: 'low' } }, LOW],
  thinking: [{ thinking: { type: 'disabled' } }, OFF],
  enable_thinking: [{ enable_thinking: false }, OFF],
  chat_template_kwargs: [{ chat_template_kwargs: { enable_thinking: false } }, OFF],
  thinking_budget: [{ thinking_budget: 10_000 }, { reasoning: { effort: 'medium' } }],
  think: [{ think: 'low' }, LOW],
  include_reasoning: [{ include_reasoning: false }, {}],
  cache_control: [{ cache_control: { type: 'ephemeral' } }, {}],
  response_format: [
    { response_format: { type: 'json_schema', json_schema: { name: 'n', strict: true, schema } } },
    { text: { format: { type: 'json_schema', name: 'n', strict: true, schema } } },
  ],
  safety_identifier: [{ safety_identifier: 'u', user: 'v' }, { user: 'u' }],
  user: [{ user: 'u' }, { user: 'u' }],
  service_tier: [{ service_tier: 'flex' }, { service_tier: 'flex' }],
  prompt_cache_key: [{ prompt_cache_key: 'k' }, { prompt_cache_key: 'k' }],
  web_search_options: [{ web_search_options: {} }, { tools: [{ type: 'web_search' }] }],
  'web_search_options.search_context_size': [
    { web_search_options: { search_context_size: 'low' } },
    { tools: [{ type: 'web_search', search_context_size: 'low' }] },
  ],
  n: [{ n: 2 }],
  logprobs: [{ logprobs: true, top_logprobs: 2 }, { top_logprobs: 2 }],
  top_logprobs: [{ top_logprobs: 4711 }],
  modalities: [{ modalities: ['audio'] }],
  audio: [{ audio: { voice: 'x' } }],
  logit_bias: [{ logit_bias: { 4711: 1 } }],
  seed: [{ seed: 4711 }],
  frequency_penalty: [{ frequency_penalty: 1 }],
  presence_penalty: [{ presence_penalty: 1 }],
  prediction: [{ prediction: { content: SECRET } }],
  verbosity: [{ verbosity: 'low' }, { text: { verbosity: 'low' } }],
  store: [{ store: true }],
  moderation: [{ moderation: { model: SECRET } }],
  metadata: [{ metadata: { a: 'b' } }, { metadata: { a: 'b' } }],
  prompt_cache_options: [{ prompt_cache_options: { mode: 'x' } }, { prompt_cache_options: { mode: 'x' } }],
  prompt_cache_retention: [{ prompt_cache_retention: '24h' }, { prompt_cache_retention: '24h' }],
  extra_body: [{ extra_body: { a: SECRET } }],
  provider: [{ provider: { only: [SECRET] } }],
  models: [{ models: [SECRET] }],
  route: [{ route: SECRET }],
  transforms: [{ transforms: [SECRET] }],
  plugins: [{ plugins: [{ id: SECRET }] }],

  'messages[].role': [
    conversation({ role: 'developer', content: 'd' }),
    hiThen({ role: 'developer', content: 'd' }),
  ],
  'messages[].content': [{}, { input: [{ content: 'hi' }] }],
  'messages[].name': [{ messages: [{ role: 'user', name: SECRET, content: 'x' }] }, {}, 'messages[].name'],
  'messages[].prefix': [
    conversation({ role: 'assistant', content: 'x', prefix: true }),
    hiThen({ role: 'assistant', content: 'x' }),
  ],
  'messages[].refusal': [
    said({ content: null, refusal: 'no' }),
    hiThen({ content: [{ type: 'refusal', refusal: 'no' }] }, {}),
  ],
  'messages[].tool_calls': [{ ...called, tools: [fn()] }, hiThen(CALL, RESULT)],
  'messages[].tool_call_id': [called, hiThen({}, { call_id: 'c1' })],
  'messages[].function_call': [
    conversation(
      { role: 'assistant', function_call: call.function },
      { role: 'function', name: 'f', content: 'r' },
    ),
    hiThen({ type: 'function_call', name: 'f' }, { type: 'function_call_output', output: 'r' }),
  ],
  'messages[].audio': [said({ audio: { id: 'audio_1' } }), {}, 'messages[].content[].input_audio'],
  'messages[].annotations': [
    said({
      annotations: [
        {
          type: 'url_citation',
          url_citation: { url: 'https://a.example', title: 'T', start_index: 0, end_index: 1 },
        },
      ],
    }),
    hiThen(
      { content: [{ annotations: [{ type: 'url_citation', url: 'https://a.example', title: 'T' }] }] },
      {},
    ),
  ],
  'messages[].reasoning_content': [said({ reasoning_content: SECRET }), {}],
  'messages[].reasoning': [said({ reasoning: SECRET }), {}],
  'messages[].reasoning_details': [
    said({ reasoning_details: [{ type: 'reasoning.text', text: SECRET }] }),
    {},
  ],
  'messages[].thinking_blocks': [
    said({ thinking_blocks: [{ type: 'thinking', thinking: SECRET, signature: 's' }] }),
    {},
  ],
  'messages[].cache_control': [
    { messages: [{ role: 'user', content: 'x', cache_control: { type: 'ephemeral' } }] },
    MARKED,
  ],
  'messages[].parsed': [said({ parsed: { a: SECRET } })],
  'messages[].provider_specific_fields': [said({ provider_specific_fields: { a: SECRET } })],
  'messages[].tool_calls[].provider_specific_fields': [
    calledWith({ provider_specific_fields: { a: SECRET } }),
  ],
  'messages[].tool_calls[].function.parsed_arguments': [
    calledWith({ function: { ...call.function, parsed_arguments: { a: SECRET } } }),
  ],
  'messages[].tool_calls[].function.provider_specific_fields': [
    calledWith({ function: { ...call.function, provider_specific_fields: { a: SECRET } } }),
  ],
  'messages[].content[].text': [asked({ type: 'text', text: 'x' }), { input: [{ content: 'x' }] }],
  'messages[].content[].refusal': [
    said({ content: [{ type: 'refusal', refusal: 'no' }] }),
    hiThen({ content: [{ refusal: 'no' }] }, {}),
  ],
  'messages[].content[].image_url': [
    asked({ type: 'image_url', image_url: { url: PNG } }),
    { input: [{ content: [{ type: 'input_image', image_url: PNG }] }] },
  ],
  'messages[].content[].image_url.detail': [
    asked({ type: 'image_url', image_url: { url: PNG, detail: 'low' } }),
    { input: [{ content: [{ detail: 'low' }] }] },
  ],
  'messages[].content[].file': [
    asked({ type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=' } }),
    { input: [{ content: [{ type: 'input_file', file_data: 'data:application/pdf;base64,JVBERi0=' }] }] },
  ],
  'messages[].content[].file.filename': [
    asked({ type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'a.pdf' } }),
    { input: [{ content: [{ filename: 'a.pdf' }] }] },
  ],
  'messages[].content[].input_audio': [
    asked({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } }),
    { input: [{ content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } }] }] },
  ],
  'messages[].content[].prompt_cache_breakpoint': [
    asked({ type: 'text', text: 'x', prompt_cache_breakpoint: { mode: 'explicit' } }),
    MARKED,
  ],
  'messages[].content[].cache_control': [
    asked({ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }),
    MARKED,
  ],
  'messages[].content[].type': [asked({ type: SECRET })],
};

const own = (more: JsonObject = {}): JsonObject => ({ name: 'f', input_schema: schema, ...more });
const block = (content: JsonObject, ...then: JsonObject[]): JsonObject =>
  conversation({ role: 'assistant', content: [content] }, ...then, { role: 'user', content: 'so?' });
const use = { type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } };
const result = (more: JsonObject = {}): JsonObject => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'r', ...more }],
});
const search = (more: JsonObject): JsonObject => ({
  tools: [{ type: 'web_search_20260318', name: 'web_search', ...more }],
});
const at = (more: JsonObject): JsonObject => search({ user_location: { type: 'approximate', ...more } });
const found = (more: JsonObject): JsonObject => ({
  tools: [{ type: 'web_search', user_location: { type: 'approximate', ...more } }],
});
const format = (more: JsonObject = {}): JsonObject => ({
  output_config: { format: { type: 'json_schema', schema, ...more } },
});
const pdf = (more: JsonObject = {}): JsonObject => ({
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
  ...more,
});
const hiThenCall = hiThen(CALL, RESULT, {});

const MESSAGES: Record<keyof typeof MESSAGES_FIELDS, Row> = {
  model: [{}, { model: 'target' }],
  max_tokens: [{ max_tokens: 50 }, { max_output_tokens: 50 }],
  messages: [{}, { input: [{ role: 'user', content: 'hi' }] }],
  stream: [{ stream: true }, { stream: true }],
  system: [{ system: 's' }, { instructions: 's' }],
  temperature: [{ temperature: 0.5 }, { temperature: 0.5 }],
  top_p: [{ top_p: 0.5 }, { top_p: 0.5 }],
  top_k: [{ top_k: 3 }, {}, 'top_k'],
  stop_sequences: [{ stop_sequences: ['END'] }, {}],
  tools: [
    { tools: [own()] },
    { tools: [{ type: 'function', name: 'f', parameters: schema, strict: false }] },
  ],
  tool_choice: [{ tools: [own()], tool_choice: { type: 'any' } }, { tool_choice: 'required' }],
  thinking: [{ thinking: { type: 'enabled', budget_tokens: 10_000 } }, { reasoning: { effort: 'medium' } }],
  output_config: [{ output_config: { effort: 'low' } }, LOW],
  output_format: [{ output_format: { type: 'json_schema', schema } }, { text: { format: { schema } } }],
  metadata: [{ metadata: { user_id: 'u' } }, { user: 'u' }],
  service_tier: [{ service_tier: 'standard_only' }, { service_tier: 'default' }],
  cache_control: [{ cache_control: { type: 'ephemeral' } }, {}],
  context_management: [{ context_management: { edits: [{ type: SECRET }] } }],
  fallbacks: [{ fallbacks: [SECRET] }],
  speed: [{ speed: SECRET }],
  diagnostics: [{ diagnostics: SECRET }],
  user_profile_id: [{ user_profile_id: SECRET }],
  workspace_id: [{ workspace_id: SECRET }],
  betas: [{ betas: [SECRET] }],
  container: [{ container: 'c' }],
  inference_geo: [{ inference_geo: 'eu' }],
  compaction: [{ compaction: {} }],
  thread: [{ thread: 't' }],
  fallback_credit_token: [{ fallback_credit_token: 't' }],
  safeguards: [{ safeguards: [{ type: SECRET }] }],
  tags: [{ tags: { team: SECRET } }],
  billing_policy: [{ billing_policy: 'x' }],
  mcp_servers: [{ mcp_servers: [{ url: 'x' }] }],
  'metadata.user_id': [{ metadata: { user_id: 'u' } }, { user: 'u' }],
  'thinking.type': [{ thinking: { type: 'disabled' } }, OFF],
  'thinking.budget_tokens': [
    { thinking: { type: 'enabled', budget_tokens: 10_000 } },
    { reasoning: { effort: 'medium' } },
  ],
  'thinking.display': [
    { thinking: { type: 'enabled', budget_tokens: 10_000, display: 'omitted' } },
    { reasoning: { effort: 'medium' } },
  ],
  'output_config.effort': [{ output_config: { effort: 'low' } }, LOW],
  'output_config.format': [format(), { text: { format: { schema } } }],
  'output_config.format.type': [format(), { text: { format: { type: 'json_schema' } } }],
  'output_config.format.schema': [format(), { text: { format: { schema, strict: true } } }],
  'output_config.format.name': [format({ name: 'n' }), { text: { format: { name: 'n' } } }],
  'output_config.task_budget': [{ output_config: { task_budget: { total: 4711 } } }],
  'tool_choice.type': [{ tools: [own()], tool_choice: { type: 'none' } }, { tool_choice: 'none' }],
  'tool_choice.name': [
    { tools: [own()], tool_choice: { type: 'tool', name: 'f' } },
    { tool_choice: { name: 'f' } },
  ],
  'tool_choice.disable_parallel_tool_use': [
    { tools: [own()], tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    { parallel_tool_calls: false },
  ],
  'tools[].type': [
    { tools: [{ type: 'bash_20250124', name: 'bash' }] },
    { tools: [{ type: 'function', name: 'bash' }] },
  ],
  'tools[].name': [
    { tools: [own({ name: 'n'.repeat(70) })] },
    { tools: [{ name: expect.stringMatching(/^\w{1,64}$/) as string }] },
  ],
  'tools[].description': [{ tools: [own({ description: 'd' })] }, { tools: [{ description: 'd' }] }],
  'tools[].input_schema': [{ tools: [own()] }, { tools: [{ parameters: schema }] }],
  'tools[].strict': [{ tools: [own({ strict: true })] }, { tools: [{ strict: true }] }],
  'tools[].cache_control': [{ tools: [own({ cache_control: { type: 'ephemeral' } })] }, { tools: [{}] }],
  'tools[].defer_loading': [{ tools: [own({ defer_loading: true })] }],
  'tools[].input_examples': [{ tools: [own({ input_examples: [{ a: SECRET }] })] }],
  'tools[].allowed_callers': [{ tools: [own({ allowed_callers: [SECRET] })] }],
  'tools[].eager_input_streaming': [{ tools: [own({ eager_input_streaming: true })] }],
  'tools[].max_characters': [{ tools: [own({ max_characters: 4711 })] }],
  'tools[].user_location': [at({ city: 'Bern' }), found({ city: 'Bern' })],
  'tools[].user_location.type': [at({ city: 'Bern' }), found({})],
  'tools[].user_location.city': [at({ city: 'Bern' }), found({ city: 'Bern' })],
  'tools[].user_location.country': [at({ country: 'CH' }), found({ country: 'CH' })],
  'tools[].user_location.region': [at({ region: 'BE' }), found({ region: 'BE' })],
  'tools[].user_location.timezone': [at({ timezone: 'Europe/Zurich' }), found({ timezone: 'Europe/Zurich' })],
  'tools[].allowed_domains': [search({ allowed_domains: [SECRET] })],
  'tools[].blocked_domains': [search({ blocked_domains: [SECRET] })],
  'tools[].max_uses': [search({ max_uses: 4711 })],

  'messages[].role': [
    conversation({ role: 'system', content: 's' }),
    hiThen({ role: 'system', content: 's' }),
  ],
  'messages[].content': [{}, { input: [{ content: 'hi' }] }],
  'messages[].clear_at': [
    conversation(
      { role: 'system', content: SECRET, clear_at: 'next_user_message' },
      { role: 'user', content: 'x' },
    ),
    {},
  ],
  'messages[].output_config': [
    conversation({ role: 'system', content: 's', output_config: { effort: 'low' } }),
    LOW,
  ],
  'messages[].output_config.effort': [
    conversation({ role: 'system', content: 's', output_config: { effort: 'low' } }),
    LOW,
  ],
  'messages[].content[].type': [asked({ type: 'text', text: 'x' }), { input: [{ content: 'x' }] }],
  'messages[].content[].text': [asked({ type: 'text', text: 'x' }), { input: [{ content: 'x' }] }],
  'messages[].content[].citations': [
    block({
      type: 'text',
      text: 'x',
      citations: [
        {
          type: 'web_search_result_location',
          url: 'https://a.example',
          title: 'T',
          cited_text: 'x',
          encrypted_index: 'e',
        },
      ],
    }),
    hiThen({ content: [{ annotations: [{ type: 'url_citation', url: 'https://a.example' }] }] }, {}),
  ],
  'messages[].content[].cache_control': [
    asked({ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }),
    MARKED,
  ],
  'messages[].content[].source': [
    asked(pdf()),
    { input: [{ content: [{ type: 'input_file', file_data: 'data:application/pdf;base64,JVBERi0=' }] }] },
  ],
  'messages[].content[].title': [
    asked(pdf({ title: 'a.pdf' })),
    { input: [{ content: [{ filename: 'a.pdf' }] }] },
  ],
  'messages[].content[].context': [asked(pdf({ context: SECRET })), {}, 'messages[].content[].context'],
  'messages[].content[].thinking': [block({ type: 'thinking', thinking: SECRET, signature: 'c2ln' }), {}],
  'messages[].content[].signature': [block({ type: 'thinking', thinking: 'x', signature: SECRET }), {}],
  'messages[].content[].data': [block({ type: 'redacted_thinking', data: SECRET }), {}],
  'messages[].content[].id': [block(use, result()), hiThenCall],
  'messages[].content[].name': [block(use, result()), hiThenCall],
  'messages[].content[].input': [block(use, result()), hiThenCall],
  'messages[].content[].caller': [block({ ...use, caller: { type: 'direct' } }, result()), hiThenCall],
  'messages[].content[].toolset_name': [block({ ...use, toolset_name: SECRET }, result()), hiThenCall],
  'messages[].content[].tool_use_id': [block(use, result()), hiThenCall],
  'messages[].content[].content': [block(use, result()), hiThenCall],
  'messages[].content[].is_error': [
    block(use, result({ is_error: true })),
    hiThen({}, { output: 'Error: r' }, {}),
  ],
  'messages[].content[].parsed_output': [block({ type: 'text', text: 'x', parsed_output: { a: SECRET } })],
  'messages[].content[].parsed': [block({ type: 'text', text: 'x', parsed: { a: SECRET } })],
  'messages[].content[].transformations': [
    asked({
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
      transformations: [SECRET],
    }),
  ],
};

function check(
  from: 'chat' | 'messages',
  path: string,
  row: LedgerRow,
  [members, expected, named]: Row,
): void {
  const fate = row.toward?.responses ?? row.fate;
  if (fate === 'rejected') {
    const param = refusedAt(() => crossTo(from, 'responses', members, TRAITS));
    expect(param?.replaceAll(/\[\d+\]/g, '[]')).toBe(path);
    return;
  }
  const { body, dropped } = crossTo(from, 'responses', members, TRAITS);
  expect(dropped).toEqual(fate === 'left out' ? [path] : named === undefined ? [] : [named]);
  expect(JSON.stringify(body)).not.toMatch(/secret-word|4711/);
  if (fate === 'carried' || fate === 'mapped') expect(body).toMatchObject(expected ?? { missing: 'row' });
  else expect(expected).toBeUndefined();
  const logprobs = path === 'logprobs' ? ['message.output_text.logprobs'] : [];
  expect(body).toMatchObject({ store: false, include: [...logprobs, 'reasoning.encrypted_content'] });
}

describe('of chat clients', () => {
  const rows = Object.entries(CHAT) as [keyof typeof CHAT_FIELDS, Row][];
  it.each(rows)('%s', (path, row) => {
    check('chat', path, CHAT_FIELDS[path], row);
  });
});

describe('of messages clients', () => {
  const rows = Object.entries(MESSAGES) as [keyof typeof MESSAGES_FIELDS, Row][];
  it.each(rows)('%s', (path, row) => {
    check('messages', path, MESSAGES_FIELDS[path], row);
  });
});

describe('the key of the prompt cache', () => {
  const user = '{"device_id":"d","account_uuid":"","session_id":"6d0d5c4e-0000-4000-8000-000000000000"}';
  const key = (from: 'chat' | 'messages', to: ProtocolName, members: JsonObject, cacheKey = true): unknown =>
    crossTo(from, to, members, { ...TRAITS, cacheKey }).body.prompt_cache_key;
  const session = (id: string): JsonObject => ({ metadata: { user_id: id } });

  it('is made of the session of a messages client, the same for providers of chat and of responses', () => {
    const made = key('messages', 'responses', session(user));
    expect(made).toMatch(/^[0-9a-f]{32}$/);
    expect(
      key('messages', 'responses', { ...session(user), messages: [{ role: 'user', content: 'b' }] }),
    ).toBe(made);
    expect(key('messages', 'chat', session(user))).toBe(made);
    expect(key('messages', 'responses', session(`${user} `))).not.toBe(made);
  });

  it('is not made for a provider that takes none, nor of the person that a chat client names', () => {
    expect(key('messages', 'responses', session(user), false)).toBeUndefined();
    expect(key('chat', 'responses', { safety_identifier: user })).toBeUndefined();
  });
});
