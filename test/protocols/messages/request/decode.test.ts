// What clients send, as the canonical request; and that the ledger of fields says what decoding does.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/canonical/json.ts';
import type { GenerationRequest } from '../../../../src/canonical/request.ts';
import { GatewayError } from '../../../../src/errors.ts';
import { messages } from '../../../../src/protocols/messages/index.ts';
import { MESSAGES_FIELDS } from '../../../../src/protocols/messages/fields.ts';

function decode(value: JsonObject = {}): GenerationRequest {
  return messages.client.decodeRequest({
    model: 'm',
    max_tokens: 5,
    messages: [{ role: 'user', content: 'hi' }],
    ...value,
  });
}

function paramOf(value: JsonObject): string | undefined {
  try {
    decode(value);
  } catch (error) {
    if (error instanceof GatewayError) return error.options.param;
    throw error;
  }
  return undefined;
}

/** The parts of one user message. */
function parts(...content: JsonObject[]): unknown {
  return decode({ messages: [{ role: 'user', content }] }).messages[0]?.parts;
}

describe('content', () => {
  it.each<[string, JsonObject, object]>([
    ['text', { type: 'text', text: 'a' }, { type: 'text', text: 'a' }],
    [
      'a cache mark',
      { type: 'text', text: 'a', cache_control: { type: 'ephemeral', ttl: '1h' } },
      { type: 'text', text: 'a', cache: { ttl: '1h' } },
    ],
    [
      'an image',
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA' } },
      {
        type: 'image',
        source: { kind: 'base64', mediaType: 'image/png', data: 'AA' },
        at: 'messages[0].content[0]',
      },
    ],
    [
      'an image by URL',
      { type: 'image', source: { type: 'url', url: 'u' } },
      { type: 'image', source: { kind: 'url', url: 'u' }, at: 'messages[0].content[0]' },
    ],
    [
      'a file',
      { type: 'document', source: { type: 'file', file_id: 'f' } },
      {
        type: 'document',
        source: { kind: 'file', protocol: 'messages', id: 'f' },
        at: 'messages[0].content[0]',
      },
    ],
    [
      'a document with all that belongs to it',
      {
        type: 'document',
        source: { type: 'text', media_type: 'text/plain', data: 'a' },
        title: 't',
        context: 'c',
        citations: { enabled: true },
      },
      {
        type: 'document',
        source: { kind: 'text', text: 'a' },
        title: 't',
        context: 'c',
        citations: true,
        at: 'messages[0].content[0]',
      },
    ],
    [
      'a document of blocks',
      { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'a' }] }, title: null },
      {
        type: 'document',
        source: { kind: 'parts', parts: [{ type: 'text', text: 'a' }] },
        at: 'messages[0].content[0]',
      },
    ],
    [
      'thinking',
      { type: 'thinking', thinking: 'a', signature: '' },
      { type: 'reasoning', text: 'a', signature: '' },
    ],
    [
      'redacted thinking',
      { type: 'redacted_thinking', data: 'z' },
      { type: 'reasoning', text: '', redacted: 'z' },
    ],
    [
      'a call, its arguments in order',
      { type: 'tool_use', id: 'a', name: 'f', input: { z: 1, a: 2 } },
      { type: 'tool_call', id: 'a', name: 'f', arguments: '{"z":1,"a":2}' },
    ],
    [
      'a result without content',
      { type: 'tool_result', tool_use_id: 'a' },
      { type: 'tool_result', callId: 'a', content: '' },
    ],
    [
      'a failed result of blocks',
      {
        type: 'tool_result',
        tool_use_id: 'a',
        is_error: true,
        content: [{ type: 'tool_reference', tool_name: 'g' }],
      },
      {
        type: 'tool_result',
        callId: 'a',
        isError: true,
        content: [
          {
            type: 'native',
            protocol: 'messages',
            kind: 'tool_reference',
            value: { type: 'tool_reference', tool_name: 'g' },
            at: 'messages[0].content[0].content[0]',
          },
        ],
      },
    ],
    [
      'a block that only this protocol knows',
      { type: 'search_result', title: 't' },
      {
        type: 'native',
        protocol: 'messages',
        kind: 'search_result',
        value: { type: 'search_result', title: 't' },
        at: 'messages[0].content[0]',
      },
    ],
  ])('is %s', (_, block, part) => {
    expect(parts(block)).toEqual([part]);
  });

  it.each<[string, JsonObject[]]>([
    ['messages[0].content[1]', [{ type: 'text', text: 'a' }, 'b' as never]],
    ['messages[0].content[0].type', [{ text: 'a' }]],
    ['messages[0].content[0].source', [{ type: 'image', source: { type: 'base46' } }]],
    ['messages[0].content[0].source', [{ type: 'document' }]],
    ['messages[0].content[0].name', [{ type: 'tool_use', id: 'a', input: {} }]],
    ['messages[0].content[0].tool_use_id', [{ type: 'tool_result', content: 'a' }]],
    ['messages[0].content[0].content[0].type', [{ type: 'tool_result', tool_use_id: 'a', content: [{}] }]],
  ])('is refused at %s', (param, content) => {
    expect(paramOf({ messages: [{ role: 'user', content }] })).toBe(param);
  });

  it('of system text stands first, block by block, and stays in place where it stood later', () => {
    const request = decode({
      system: [
        { type: 'text', text: 'x-anthropic-billing-header: cc_version=1' },
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b', cache_control: { type: 'ephemeral' } },
      ],
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'system', content: 'c' },
      ],
    });
    expect(request.messages).toEqual([
      {
        role: 'system',
        parts: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b', cache: {} },
        ],
      },
      { role: 'user', parts: [{ type: 'text', text: 'hi' }] },
      { role: 'system', parts: [{ type: 'text', text: 'c' }] },
    ]);
    // It changes with every call: another provider's prompt cache would never hit.
    expect(request.native).toMatchObject([{ path: 'system[]', fate: 'quiet' }]);
  });
});

describe('options', () => {
  it.each<[name: string, value: JsonObject, expected: Partial<GenerationRequest>]>([
    [
      'sampling options and stop sequences',
      { temperature: 0.5, top_p: 0.9, top_k: 5, stop_sequences: ['a'] },
      { temperature: 0.5, topP: 0.9, topK: 5, stop: ['a'] },
    ],
    [
      'a limit of zero and a stream',
      { max_tokens: 0, stream: true },
      { maxOutputTokens: 0, stream: true, includeUsage: true },
    ],
    [
      'a budget',
      { thinking: { type: 'enabled', budget_tokens: 2000 } },
      { reasoning: { mode: 'on', budgetTokens: 2000 } },
    ],
    [
      'adaptive thinking with effort and display',
      { thinking: { type: 'adaptive', display: 'omitted' }, output_config: { effort: 'xhigh' } },
      { reasoning: { mode: 'adaptive', display: 'omitted', effort: 'xhigh' } },
    ],
    ['disabled thinking', { thinking: { type: 'disabled' } }, { reasoning: { mode: 'off' } }],
    [
      'thinking between tools',
      { thinking: { type: 'between_tools' } },
      { reasoning: { mode: 'between_tools' } },
    ],
    ['an effort alone', { output_config: { effort: 'low' } }, { reasoning: { effort: 'low' } }],
    [
      'an answer of a schema',
      { output_config: { format: { type: 'json_schema', schema: { a: 1 } } } },
      { responseFormat: { type: 'json_schema', schema: { a: 1 } } },
    ],
    [
      'an answer of a schema in the old member',
      { output_format: { type: 'json_schema', schema: { a: 1 } } },
      { responseFormat: { type: 'json_schema', schema: { a: 1 } } },
    ],
    [
      'user, tier and cache',
      { metadata: { user_id: 'u' }, service_tier: 'standard_only', cache_control: { type: 'ephemeral' } },
      { user: 'u', serviceTier: 'default', cache: {} },
    ],
    [
      'a choice of any tool, one at a time',
      { tool_choice: { type: 'any', disable_parallel_tool_use: true } },
      { toolChoice: { type: 'required' }, parallelToolCalls: false },
    ],
    [
      'a choice of one tool',
      { tool_choice: { type: 'tool', name: 'f' } },
      { toolChoice: { type: 'tool', name: 'f' } },
    ],
    ['no choice of tools', { tool_choice: { type: 'none' } }, { toolChoice: { type: 'none' } }],
  ])('reads %s', (_, value, expected) => {
    const request = decode(value);
    expect(request).toMatchObject(expected);
    expect(request.native).toEqual([]);
  });

  it('reads tools, and keeps whole what the provider defines', () => {
    const search = {
      type: 'web_search_20250305',
      name: 'web_search',
      user_location: { type: 'approximate', city: 'Bern' },
    };
    const request = decode({
      tools: [
        {
          name: 'f',
          description: 'd',
          input_schema: { type: 'object' },
          strict: true,
          defer_loading: true,
          cache_control: { type: 'ephemeral' },
          input_examples: [{}],
        },
        search,
      ],
    });
    expect(request.tools).toMatchObject([
      {
        type: 'function',
        name: 'f',
        description: 'd',
        parameters: { type: 'object' },
        strict: 'open',
        cache: {},
        native: [
          { path: 'tools[].defer_loading', fate: 'report' },
          { path: 'tools[].input_examples', fate: 'report' },
        ],
      },
      { type: 'native', kind: 'web_search_20250305', name: 'web_search', value: search },
    ]);
    expect(request.webSearch).toEqual({ location: { city: 'Bern' } });
  });

  it.each<[string, JsonObject]>([
    [
      'tools[1].name',
      {
        tools: [
          { name: 'f', input_schema: {} },
          { name: 'f', input_schema: {} },
        ],
      },
    ],
    ['tools[0].name', { tools: [{ name: '', input_schema: {} }] }],
    ['tools[0]', { tools: ['f'] }],
    ['tool_choice.type', { tool_choice: { type: 'sometimes' } }],
    ['tool_choice.name', { tool_choice: { type: 'tool' } }],
  ])('refuses %s', (param, value) => {
    expect(paramOf(value)).toBe(param);
  });

  it('tells the official SDK to go on without threads', () => {
    expect(decode({ thread: { type: 'create' } }).native).toMatchObject([
      {
        path: 'thread',
        fate: 'reject',
        details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
      },
    ]);
  });

  it.each<[name: string, value: JsonObject, expected: string[]]>([
    ['the usual speed', { speed: 'standard' }, []],
    ['another speed', { speed: 'fast' }, ['report speed']],
    ['no MCP servers', { mcp_servers: [] }, []],
    ['an MCP server', { mcp_servers: [{}] }, ['reject mcp_servers']],
    ['no container', { container: null }, []],
    [
      'an unknown effort and a task budget',
      { output_config: { effort: 'extreme', task_budget: 1 } },
      ['report output_config.effort', 'report output_config.task_budget'],
    ],
    ['an unknown kind of thinking', { thinking: { type: 'deep' } }, ['report thinking']],
    ['metadata beyond the user', { metadata: { user_id: 'a', team: 'b' } }, ['report metadata.team']],
    [
      'names of Object.prototype',
      { constructor: 1, toString: 'x' },
      ['report constructor', 'report toString'],
    ],
    [
      'unknown members of messages and parts',
      {
        messages: [
          {
            role: 'user',
            name: 'n',
            content: [
              { type: 'text', text: 'a', zoom: 1 },
              { type: 'text', text: 'b', zoom: 1 },
            ],
          },
        ],
      },
      ['report messages[].content[].zoom', 'report messages[].name'],
    ],
  ])('of %s, reports what changes the answer', (_, value, expected) => {
    expect(
      decode(value)
        .native.map((field) => `${field.fate} ${field.path}`)
        .sort(),
    ).toEqual(expected);
  });
});

describe('the ledger of fields', () => {
  const rows = Object.entries(MESSAGES_FIELDS);
  const natives = rows.filter(([, row]) => row.fate !== 'carried' && row.fate !== 'mapped');
  const FATE = { 'left out': 'report', quiet: 'quiet', rejected: 'reject', carried: '', mapped: '' } as const;

  /** A request with this field, set to a value that says something. */
  function withField(path: string): JsonObject {
    const value = path === 'mcp_servers' ? [{}] : path === 'speed' ? 'fast' : { a: 1 };
    const name = path.slice(path.lastIndexOf('.') + 1);
    if (path.startsWith('tools[].')) return { tools: [{ name: 'f', input_schema: {}, [name]: value }] };
    if (path.startsWith('messages[].content[].')) {
      return { messages: [{ role: 'user', content: [{ type: 'text', text: 'a', [name]: value }] }] };
    }
    return path === name ? { [name]: value } : { [path.slice(0, -name.length - 1)]: { [name]: value } };
  }

  it.each(natives)('says of %s what decoding does', (path, row) => {
    const request = decode(withField(path));
    const tools =
      request.tools?.flatMap((tool) => (tool.type === 'function' ? (tool.native ?? []) : [])) ?? [];
    expect([...request.native, ...tools]).toMatchObject([{ path, fate: FATE[row.fate] }]);
  });

  it('leaves out and names what it does not know', () => {
    expect(decode({ something_new: 1 }).native).toMatchObject([{ path: 'something_new', fate: 'report' }]);
  });

  it('gives every canonical place a name of this protocol that it knows', () => {
    const known = new Set([
      ...Object.keys(MESSAGES_FIELDS),
      'tools[]',
      'messages[]',
      'messages[].content[]',
      'messages[].name',
    ]);
    for (const field of [
      'maxOutputTokens',
      'tools',
      'reasoning',
      'messages.image',
      'messages.name',
      'cacheKey',
    ] as const) {
      expect(known).toContain(messages.client.wirePath(field));
    }
  });
});
