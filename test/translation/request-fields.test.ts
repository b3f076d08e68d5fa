// The rows of the field tables, from the client's wire to the provider's, as far as they are decided.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/canonical/json.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import type { Traits } from '../../src/canonical/traits.ts';
import { cross, refused } from './cross.ts';

const fn = (name: string): JsonObject => ({ type: 'function', function: { name } });
const custom = (name: string): JsonObject => ({ type: 'custom', custom: { name } });
const tool = (name: string): JsonObject => ({ name, input_schema: { type: 'object' } });

type Option = [
  name: string,
  members: JsonObject,
  expected: JsonObject,
  dropped?: string[],
  traits?: Partial<Traits>,
];

/** Members of the client's body, those of the provider's (undefined: absent), what is named as left out. */
function options(from: ProtocolName, rows: Option[]): void {
  it.each(rows)('carry %s', (_, members, expected, dropped = [], traits = {}) => {
    const crossed = cross(from, members, traits);
    const found = Object.fromEntries(Object.keys(expected).map((name) => [name, crossed.body[name]]));
    expect(found).toEqual(expected);
    expect(crossed.dropped).toEqual(dropped);
  });
}

/** As long as a messages provider takes it. */
const LONG_USER = 'u'.repeat(256);
const hashOf = (value: string): string => createHash('sha256').update(value).digest('hex');

const absent = (...names: string[]): JsonObject => Object.fromEntries(names.map((name) => [name, undefined]));

describe('options of chat clients', () => {
  options('chat', [
    [
      'max_completion_tokens rather than max_tokens',
      { max_completion_tokens: 5, max_tokens: 7 },
      { max_tokens: 5 },
    ],
    ['no limit, as the usual one', { max_tokens: null }, { max_tokens: 4096 }],
    [
      'no limit, as the most that the model writes',
      { max_tokens: null },
      { max_tokens: 64 },
      [],
      { maxOutput: 64 },
    ],
    [
      'a limit that is cut to what the model writes',
      { max_tokens: 100 },
      { max_tokens: 64 },
      [],
      { maxOutput: 64 },
    ],
    ['a temperature that is cut to 1', { temperature: 1.5 }, { temperature: 1 }],
    ['two sampling options', { temperature: 0.5, top_p: 0.5 }, { temperature: 0.5, top_p: 0.5 }],
    [
      'two sampling options for a model that takes one',
      { temperature: 0.5, top_p: 0.5 },
      { temperature: 0.5, ...absent('top_p') },
      ['top_p'],
      { oneSamplingParameter: true },
    ],
    [
      'sampling options for a model that rejects them',
      { temperature: 0.5, top_p: 0.5, top_k: 3 },
      absent('temperature', 'top_p', 'top_k'),
      ['temperature', 'top_k', 'top_p'],
      { rejectsSampling: true },
    ],
    [
      'a temperature while the model thinks',
      { reasoning_effort: 'low', temperature: 0.5 },
      absent('temperature'),
      ['temperature'],
    ],
    ['top_k', { top_k: 3 }, { top_k: 3 }],
    ['one stop sequence', { stop: 'x' }, { stop_sequences: ['x'] }],
    ['stop sequences without the empty ones', { stop: ['x', '', 'y'] }, { stop_sequences: ['x', 'y'] }],
    ['an empty stop sequence', { stop: [''] }, absent('stop_sequences')],
    [
      'safety_identifier rather than user after it',
      { safety_identifier: 'a', user: 'b' },
      { metadata: { user_id: 'a' } },
    ],
    [
      'safety_identifier rather than user before it',
      { user: 'b', safety_identifier: 'a' },
      { metadata: { user_id: 'a' } },
    ],
    ['user', { user: 'b' }, { metadata: { user_id: 'b' } }],
    [
      'user rather than an empty safety_identifier after it',
      { user: 'b', safety_identifier: '' },
      { metadata: { user_id: 'b' } },
    ],
    [
      'user rather than an empty safety_identifier before it',
      { safety_identifier: '', user: 'b' },
      { metadata: { user_id: 'b' } },
    ],
    ['an empty user', { user: '' }, absent('metadata')],
    ['a user of 256 characters', { user: LONG_USER }, { metadata: { user_id: LONG_USER } }],
    [
      'a user of 257 characters, hashed',
      { user: `${LONG_USER}u` },
      { metadata: { user_id: hashOf(`${LONG_USER}u`) } },
    ],
    ['metadata', { metadata: { a: 'b' } }, absent('metadata'), ['metadata']],
    ['the tier auto', { service_tier: 'auto' }, { service_tier: 'auto' }],
    ['the tier priority', { service_tier: 'priority' }, { service_tier: 'auto' }],
    ['the tier default', { service_tier: 'default' }, { service_tier: 'standard_only' }],
    ['the tier flex', { service_tier: 'flex' }, absent('service_tier'), ['service_tier']],
    ['the tier scale', { service_tier: 'scale' }, absent('service_tier'), ['service_tier']],
    ['a cache key', { prompt_cache_key: 'k' }, absent('prompt_cache_key'), ['prompt_cache_key']],
    [
      'a stream with usage',
      { stream: true, stream_options: { include_usage: true, include_obfuscation: false } },
      { stream: true },
    ],
    ['an answer of text', { response_format: { type: 'text' } }, absent('output_config')],
    ['a web search', { web_search_options: {} }, absent('tools'), ['web_search_options']],
    [
      'defaults of what messages do not have',
      { n: 1, logprobs: false, logit_bias: {}, store: false, modalities: ['text'] },
      absent('n', 'store'),
    ],
    ['penalties of zero', { frequency_penalty: 0, presence_penalty: 0 }, absent('presence_penalty')],
    [
      'options that messages do not have',
      { frequency_penalty: 1, presence_penalty: 1, logit_bias: { 1: 2 }, seed: 1, store: true },
      absent('seed', 'store'),
      ['frequency_penalty', 'logit_bias', 'presence_penalty', 'seed', 'store'],
    ],
    [
      'options that change the answer a little',
      { prediction: {}, verbosity: 'low', moderation: {} },
      {},
      ['moderation', 'prediction', 'verbosity'],
    ],
    [
      'options of the cache and of probabilities',
      { prompt_cache_retention: '24h', top_logprobs: 2 },
      absent('prompt_cache_retention'),
    ],
    [
      'members of other services',
      { provider: {}, plugins: [], unheard: 1 },
      absent('unheard'),
      ['plugins', 'provider', 'unheard'],
    ],
    [
      'members of OpenRouter',
      { include_reasoning: true, models: ['a'], route: 'r', transforms: ['t'], extra_body: { a: 1 } },
      absent('models'),
      ['extra_body', 'models', 'route', 'transforms'],
    ],
    ['an empty extra_body', { extra_body: {} }, absent('extra_body')],
  ]);

  it.each<[string, JsonObject]>([
    ['n', { n: 2 }],
    ['logprobs', { logprobs: true }],
    ['modalities', { modalities: ['text', 'audio'] }],
    ['audio', { audio: { voice: 'x' } }],
  ])('%s is refused', (param, members) => {
    expect(refused('chat', members)).toBe(param);
  });

  it.each<[name: string, format: JsonObject]>([
    ['json_object', { type: 'json_object' }],
    ['a schema that is missing', { type: 'json_schema', json_schema: { name: 'any', strict: false } }],
    ['a schema that is null', { type: 'json_schema', json_schema: { name: 'any', schema: null } }],
  ])('an answer of any JSON is asked for in words: %s', (_, format) => {
    const { body } = cross('chat', { response_format: format });
    expect(body.system).toMatchObject([{ text: expect.stringContaining('JSON') as string }]);
    expect(body).not.toHaveProperty('output_config');
  });
});

describe('options of messages clients', () => {
  const long = 'u'.repeat(65);
  const hashed = createHash('sha256').update(long).digest('hex');
  options('messages', [
    ['a limit as max_tokens', { max_tokens: 5 }, { max_tokens: 5, ...absent('max_completion_tokens') }],
    [
      'a limit as max_completion_tokens',
      { max_tokens: 5 },
      { max_completion_tokens: 5, ...absent('max_tokens') },
      [],
      { maxTokensField: 'max_completion_tokens' },
    ],
    ['two sampling options', { temperature: 0.5, top_p: 0.5 }, { temperature: 0.5, top_p: 0.5 }],
    [
      'a temperature for a model that rejects it',
      { temperature: 0.5 },
      absent('temperature'),
      ['temperature'],
      { rejectsSampling: true },
    ],
    ['top_k for a server without it', { top_k: 3 }, absent('top_k'), ['top_k']],
    ['top_k for a server with it', { top_k: 3 }, { top_k: 3 }, [], { topK: true }],
    [
      'stop sequences, as many as chat takes',
      { stop_sequences: ['1', '2', '3', '4', '5'] },
      { stop: ['1', '2', '3', '4'] },
    ],
    [
      'a stop sequence for a server without them',
      { stop_sequences: ['1'] },
      absent('stop'),
      [],
      { maxStop: 0 },
    ],
    ['a user', { metadata: { user_id: 'u' } }, { user: 'u' }],
    [
      'a user as safety_identifier',
      { metadata: { user_id: 'u' } },
      { safety_identifier: 'u', ...absent('user') },
      [],
      { userField: 'safety_identifier' },
    ],
    ['a user of 64 characters', { metadata: { user_id: long.slice(1) } }, { user: long.slice(1) }],
    ['a user of 65 characters, hashed', { metadata: { user_id: long } }, { user: hashed }],
    [
      'metadata beyond the user',
      { metadata: { user_id: 'u', more: 1 } },
      { user: 'u', ...absent('metadata') },
      ['metadata.more'],
    ],
    ['the tier auto', { service_tier: 'auto' }, { service_tier: 'auto' }],
    ['the tier standard_only', { service_tier: 'standard_only' }, { service_tier: 'default' }],
    ['a stream, with its usage', { stream: true }, { stream: true, stream_options: { include_usage: true } }],
    [
      'a stream for a server that does not know its usage',
      { stream: true },
      { stream: true, ...absent('stream_options') },
      [],
      { streamUsage: false },
    ],
    ['cache marks', { cache_control: { type: 'ephemeral' } }, absent('cache_control', 'prompt_cache_key')],
    [
      'options that chat does not have',
      { context_management: { edits: [] }, fallbacks: [], speed: 'fast', unheard: 1 },
      absent('context_management', 'unheard'),
      ['context_management', 'fallbacks', 'speed', 'unheard'],
    ],
    [
      'defaults of what chat does not have',
      { speed: 'standard', diagnostics: {}, mcp_servers: [] },
      absent('diagnostics'),
    ],
    [
      'a task budget',
      { output_config: { task_budget: { total: 1 } } },
      absent('output_config'),
      ['output_config.task_budget'],
    ],
  ]);

  it.each<[string, JsonObject]>([
    ['max_tokens', { max_tokens: 0 }],
    ['container', { container: 'c' }],
    ['inference_geo', { inference_geo: 'us' }],
    ['compaction', { compaction: {} }],
    ['thread', { thread: 't' }],
    ['fallback_credit_token', { fallback_credit_token: 't' }],
    ['billing_policy', { billing_policy: {} }],
    ['safeguards', { safeguards: [{ type: 'dangerous_tool_use' }] }],
    ['mcp_servers', { mcp_servers: [{ url: 'https://x', authorization_token: 't' }] }],
  ])('%s is refused', (param, members) => {
    expect(refused('messages', members)).toBe(param);
  });

  it('threads are refused in the words that make the official SDK go on without', () => {
    const details = expect.objectContaining({ error_code: 'thread_unsupported_request' }) as unknown;
    const options = expect.objectContaining({ details }) as unknown;
    expect(() => cross('messages', { thread: 't' })).toThrow(expect.objectContaining({ options }) as unknown);
  });

  it('stops that were not sent are cut at by the gateway', () => {
    expect(cross('messages', { stop_sequences: ['1', '2', '3', '4', '5'] }).restore.stop).toEqual(['5']);
    expect(cross('messages', { stop_sequences: ['1'] }, { maxStop: 0 }).restore.stop).toEqual(['1']);
  });
});

describe('a choice among tools', () => {
  const single = { disable_parallel_tool_use: true };
  const functions = { tools: [fn('f'), fn('g'), custom('c')] };
  it.each<[name: string, members: JsonObject, expected: JsonValue | undefined, traits?: Partial<Traits>]>([
    ['nothing stays nothing', {}, undefined],
    ['auto', { tool_choice: 'auto' }, { type: 'auto' }],
    ['none', { tool_choice: 'none' }, { type: 'none' }],
    ['required is any', { tool_choice: 'required' }, { type: 'any' }],
    ['any', { tool_choice: 'any' }, { type: 'any' }],
    ['auto as an object', { tool_choice: { type: 'auto' } }, { type: 'auto' }],
    ['none as an object', { tool_choice: { type: 'none' } }, { type: 'none' }],
    ['any as an object', { tool_choice: { type: 'any' } }, { type: 'any' }],
    ['required as an object is any', { tool_choice: { type: 'required' } }, { type: 'any' }],
    ['a tool as messages name it', { tool_choice: { type: 'tool', name: 'f' } }, { type: 'tool', name: 'f' }],
    [
      'required is auto for a model without forced tools',
      { tool_choice: 'required' },
      { type: 'auto' },
      { forcedTools: 'never' },
    ],
    [
      'required is auto while the model thinks',
      { tool_choice: 'required', reasoning_effort: 'low' },
      { type: 'auto' },
    ],
    [
      'required is any for a model that may be forced while it thinks',
      { tool_choice: 'required', reasoning_effort: 'low' },
      { type: 'any' },
      { forcedTools: 'always' },
    ],
    ['a function', { tool_choice: fn('f') }, { type: 'tool', name: 'f' }],
    [
      'a function is auto for a model without forced tools',
      { tool_choice: fn('f') },
      { type: 'auto' },
      { forcedTools: 'never' },
    ],
    ['a custom tool', { tool_choice: custom('c') }, { type: 'tool', name: 'c' }],
    ['one call at a time', { parallel_tool_calls: false }, { type: 'auto', ...single }],
    ['several calls at a time are the default', { parallel_tool_calls: true }, undefined],
    [
      'none, whatever the calls at a time',
      { parallel_tool_calls: false, tool_choice: 'none' },
      { type: 'none' },
    ],
    [
      'required, one call at a time',
      { parallel_tool_calls: false, tool_choice: 'required' },
      { type: 'any', ...single },
    ],
  ])('towards messages: %s', (_, members, expected, traits) => {
    const { body } = cross('chat', { ...functions, ...members }, traits);
    expect(body.tool_choice).toEqual(expected);
    expect(body.tools).toHaveLength(3);
  });

  it.each<[string, JsonObject]>([
    ['auto', { type: 'auto' }],
    ['required', { type: 'any' }],
  ])('among allowed tools is a shorter list: %s', (mode, expected) => {
    const choice = { type: 'allowed_tools', allowed_tools: { mode, tools: [fn('g'), custom('c')] } };
    const { body, warnings } = cross('chat', { ...functions, tool_choice: choice });
    expect(body.tool_choice).toEqual(expected);
    expect(body.tools).toMatchObject([{ name: 'g' }, { name: 'c' }]);
    expect(warnings).toContainEqual(expect.objectContaining({ effect: 'changed', field: 'toolChoice' }));
  });

  it.each<[name: string, members: JsonObject]>([
    ['auto', { tool_choice: 'auto' }],
    ['required', { tool_choice: 'required', tools: [] }],
    ['one call at a time', { parallel_tool_calls: false }],
  ])('without tools is left out towards messages: %s', (_, members) => {
    expect(cross('chat', members).body).not.toHaveProperty('tool_choice');
  });

  it('in the legacy form is one call', () => {
    const legacy = { functions: [{ name: 'f' }, { name: 'g' }], function_call: { name: 'f' } };
    const { body } = cross('chat', legacy);
    expect(body.tool_choice).toEqual({ type: 'tool', name: 'f', ...single });
    expect(body.tools).toHaveLength(2);
  });

  const tools = [tool('f'), tool('g')];
  it.each<[name: string, members: JsonObject, expected: JsonObject]>([
    ['nothing stays nothing', {}, absent('tool_choice', 'parallel_tool_calls')],
    ['auto', { tool_choice: { type: 'auto' } }, { tool_choice: 'auto', ...absent('parallel_tool_calls') }],
    ['none', { tool_choice: { type: 'none' } }, { tool_choice: 'none' }],
    ['any is required', { tool_choice: { type: 'any' } }, { tool_choice: 'required' }],
    ['a tool is a function', { tool_choice: { type: 'tool', name: 'f' } }, { tool_choice: fn('f') }],
    [
      'any, one call at a time',
      { tool_choice: { type: 'any', ...single } },
      { tool_choice: 'required', parallel_tool_calls: false },
    ],
  ])('towards chat: %s', (_, members, expected) => {
    const { body } = cross('messages', { tools, ...members });
    const found = Object.fromEntries(Object.keys(expected).map((name) => [name, body[name]]));
    expect(found).toEqual(expected);
    expect(body.tools).toHaveLength(2);
  });

  it('names a tool as the provider knows it', () => {
    const name = 'n'.repeat(80);
    const { body } = cross('messages', { tools: [tool(name)], tool_choice: { type: 'tool', name } });
    const [sent] = body.tools as { function: { name: string } }[];
    expect(sent?.function.name).toHaveLength(64);
    expect(body.tool_choice).toEqual(fn(sent?.function.name ?? ''));
  });

  it.each([
    ['any', { type: 'any' }],
    ['a tool', { type: 'tool', name: 'f' }],
  ])('is a wish to a chat model that takes no forced call: %s', (_, choice) => {
    const never = { forcedTools: 'never' } as const;
    const { body, warnings } = cross('messages', { tools, tool_choice: choice }, never);
    expect(body.tool_choice).toBe('auto');
    expect(warnings).toContainEqual(expect.objectContaining({ effect: 'changed', field: 'toolChoice' }));
  });

  it('without tools is left out towards chat', () => {
    const { body } = cross('messages', { tools: [], tool_choice: { type: 'any', ...single } });
    expect(body).not.toHaveProperty('tool_choice');
    expect(body).not.toHaveProperty('parallel_tool_calls');
  });
});

describe('a schema towards messages', () => {
  const written = (schema: JsonObject): JsonValue | undefined => {
    const format = { type: 'json_schema', json_schema: { name: 'n', schema } };
    const { output_config: output } = cross('chat', { response_format: format }).body;
    return ((output as JsonObject).format as JsonObject).schema;
  };
  const closed = { type: 'object', additionalProperties: false };

  it.each<[string, JsonObject]>([
    ['type', { type: ['string', 'null'] }],
    ['title', { type: 'string', title: 't' }],
    ['description', { type: 'string', description: 'd' }],
    ['enum', { enum: ['a', 1, null] }],
    ['const', { const: 'a' }],
    ['default', { type: 'string', default: 'a' }],
    ['anyOf', { anyOf: [{ type: 'string' }, { type: 'null' }] }],
    ['allOf', { allOf: [{ type: 'string' }] }],
    ['minItems 0', { type: 'array', items: { type: 'string' }, minItems: 0 }],
    ['minItems 1', { type: 'array', items: { type: 'string' }, minItems: 1 }],
    ...'date-time time date duration email hostname uri ipv4 ipv6 uuid'
      .split(' ')
      .map((format): [string, JsonObject] => [format, { type: 'string', format }]),
  ])('keeps %s', (_, member) => {
    const schema = { ...closed, properties: { a: member }, required: ['a'] };
    expect(written(schema)).toEqual(schema);
  });

  it('keeps references and what they point to, closed', () => {
    const inner = { type: 'object', properties: {} };
    const properties = { a: { $ref: '#/$defs/x' }, b: { $ref: '#/definitions/y' } };
    expect(written({ type: 'object', properties, $defs: { x: inner }, definitions: { y: inner } })).toEqual({
      ...closed,
      properties,
      $defs: { x: { ...inner, additionalProperties: false } },
      definitions: { y: { ...inner, additionalProperties: false } },
    });
  });

  it('closes every object, whatever the schema allows', () => {
    const properties = { a: { type: ['object', 'null'] }, b: { properties: {}, additionalProperties: true } };
    expect(written({ type: 'object', properties, additionalProperties: true })).toEqual({
      ...closed,
      properties: {
        a: { type: ['object', 'null'], additionalProperties: false },
        b: { properties: {}, additionalProperties: false },
      },
    });
  });

  it('has anyOf for oneOf', () => {
    const one = [{ type: 'string' }, { type: 'object' }];
    expect(written({ type: 'object', properties: { a: { oneOf: one } } })).toEqual({
      ...closed,
      properties: { a: { anyOf: [{ type: 'string' }, closed] } },
    });
  });

  it.each<[string, JsonValue]>([
    ['minimum', 1],
    ['maximum', 1],
    ['exclusiveMinimum', 1],
    ['exclusiveMaximum', 1],
    ['multipleOf', 2],
    ['minLength', 1],
    ['maxLength', 1],
    ['pattern', '^a$'],
    ['format', 'phone'],
    ['minItems', 2],
    ['maxItems', 1],
    ['uniqueItems', true],
    ['minProperties', 1],
    ['patternProperties', {}],
    ['not', { type: 'null' }],
    ['examples', ['a']],
  ])('says %s in words', (name, value) => {
    const said = { description: `d\n\n{${name}: ${JSON.stringify(value)}}` };
    const member = { type: 'string', description: 'd', [name]: value };
    expect(written({ type: 'object', properties: { a: member } })).toEqual({
      ...closed,
      properties: { a: { type: 'string', ...said } },
    });
  });

  it('is a forced tool where it refers to itself', () => {
    const schema = { type: 'object', properties: { a: { $ref: '#' } } };
    const format = { type: 'json_schema', json_schema: { name: 'n', schema } };
    const { body, restore } = cross('chat', { response_format: format });
    expect(body.tool_choice).toMatchObject({ type: 'tool', name: 'n' });
    expect(body).not.toHaveProperty('output_config');
    expect(restore.structuredTool).toBe('n');
  });

  it('is that tool alone where the client wants none of its own called', () => {
    const format = { type: 'json_schema', json_schema: { name: 'out', schema: { type: 'object' } } };
    const asked = { tools: [fn('f')], tool_choice: 'none', response_format: format };
    const { body } = cross('chat', asked, { structuredOutput: false });
    expect(body.tool_choice).toMatchObject({ type: 'tool', name: 'out' });
    expect(body.tools).toMatchObject([{ name: 'f' }, { name: 'out' }]);
  });

  it('of a strict tool is the same, of another stays as it came', () => {
    const parameters = { type: 'object', properties: { a: { type: 'string', maxLength: 2 } } };
    const declared = (strict: boolean): JsonObject => ({
      type: 'function',
      function: { name: 'f', parameters, strict },
    });
    expect(cross('chat', { tools: [declared(false)] }).body.tools).toEqual([
      { name: 'f', input_schema: parameters },
    ]);
    expect(cross('chat', { tools: [declared(true)] }).body.tools).toMatchObject([
      { strict: true, input_schema: { ...closed, properties: { a: { description: '{maxLength: 2}' } } } },
    ]);
  });
});

describe('what a translation changes is in the log', () => {
  const hi = { role: 'user', content: 'hi' };
  const long = 'u'.repeat(65);
  it.each<[name: string, field: string, from: ProtocolName, members: JsonObject, traits?: Partial<Traits>]>([
    ['a limit that messages require', 'maxOutputTokens', 'chat', { max_tokens: null }],
    [
      'a limit of a chat client that is cut',
      'maxOutputTokens',
      'chat',
      { max_tokens: 100 },
      { maxOutput: 64 },
    ],
    [
      'a limit of a messages client that is cut',
      'maxOutputTokens',
      'messages',
      { max_tokens: 100 },
      { maxOutput: 64 },
    ],
    ['a temperature that is cut', 'temperature', 'chat', { temperature: 1.5 }],
    ['a user id that is hashed towards chat', 'user', 'messages', { metadata: { user_id: long } }],
    ['a user id that is hashed towards messages', 'user', 'chat', { user: `${LONG_USER}u` }],
    [
      'stop sequences that the gateway watches itself',
      'stop',
      'messages',
      { stop_sequences: ['1'] },
      { maxStop: 0 },
    ],
    [
      'an answer of any JSON that is asked for in words',
      'responseFormat',
      'chat',
      { response_format: { type: 'json_object' } },
    ],
    [
      'a history that does not begin with the user',
      'messages',
      'chat',
      { messages: [{ role: 'assistant', content: 'a' }, hi] },
    ],
    [
      'a prefill that a model does not take',
      'messages',
      'chat',
      { messages: [hi, { role: 'assistant', content: 'a' }] },
      { prefill: false },
    ],
    ['a custom tool as a function', 'tools', 'chat', { tools: [custom('c')] }],
  ])('%s', (_, field, from, members, traits) => {
    const { warnings } = cross(from, members, traits);
    expect(warnings.filter(({ effect }) => effect === 'changed').map((one) => one.field)).toContain(field);
  });
});

describe('functions towards messages', () => {
  it('keep what describes them, in order', () => {
    const parameters = { type: 'object', properties: { b: {}, a: {} }, required: ['b'] };
    const functions = ['g', 'f'].map((name) => ({ name, description: `does ${name}`, parameters }));
    const tools = functions.map((one) => ({ type: 'function', function: one }));
    const expected = ['g', 'f'].map((name) => ({
      name,
      description: `does ${name}`,
      input_schema: parameters,
    }));
    expect(JSON.stringify(cross('chat', { tools }).body.tools)).toBe(JSON.stringify(expected));
    expect(JSON.stringify(cross('chat', { functions }).body.tools)).toBe(JSON.stringify(expected));
  });
});

describe('tools towards chat', () => {
  it.each(['computer_20250124', 'computer_toolset_20260801', 'browser_toolset_20260801'])(
    'that the client runs by a form nobody else knows are refused: %s',
    (type) => {
      expect(refused('messages', { tools: [{ type, name: 'x' }] })).toBe('tools[0].type');
    },
  );

  it.each(['web_search_1', 'web_fetch_1', 'code_execution_1', 'tool_search_tool_regex_1', 'advisor_1'])(
    'that the provider runs are left out: %s',
    (type) => {
      const { body, dropped } = cross('messages', { tools: [{ type, name: 'x' }, tool('f')] });
      expect(body.tools).toHaveLength(1);
      expect(dropped).toEqual(['tools[]']);
      const choice = { tools: [{ type, name: 'x' }, tool('f')], tool_choice: { type: 'tool', name: 'x' } };
      expect(refused('messages', choice)).toBe('tool_choice');
    },
  );

  it.each<[name: string, members: JsonObject, dropped: string[]]>([
    ['input_examples', { input_examples: [{}] }, ['tools[].input_examples']],
    ['allowed_callers', { allowed_callers: ['code_execution_20260120'] }, ['tools[].allowed_callers']],
    ['eager_input_streaming', { eager_input_streaming: true }, ['tools[].eager_input_streaming']],
    ['defer_loading', { defer_loading: true }, ['tools[].defer_loading']],
    ['an unknown member', { unheard: 1 }, ['tools[].unheard']],
    [
      'nothing for defaults',
      { allowed_callers: ['direct'], eager_input_streaming: false, input_examples: [] },
      [],
    ],
    [
      'nothing for what is carried',
      { defer_loading: false, cache_control: { type: 'ephemeral' }, type: 'custom' },
      [],
    ],
  ])('are reported: %s', (_, members, dropped) => {
    const crossed = cross('messages', { tools: [{ ...tool('f'), ...members }] });
    expect(crossed.dropped).toEqual(dropped);
    expect(crossed.body.tools).toEqual([
      { type: 'function', function: { name: 'f', parameters: { type: 'object' } } },
    ]);
  });
});
