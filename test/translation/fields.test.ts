// Members of a request that are easily lost without a word: each is carried, or its path is named to the client.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import type { Traits } from '../../src/canonical/traits.ts';
import { cross, refused } from './cross.ts';

const MARK = { type: 'ephemeral' } as const;

describe('tools that are no plain functions', () => {
  it('keep the cache mark of a custom tool', () => {
    const tool = { type: 'custom', custom: { name: 'patch' }, cache_control: { ...MARK, ttl: '1h' } };
    const { body, dropped } = cross('chat', { tools: [tool] });
    expect(body.tools).toMatchObject([{ name: 'patch', cache_control: { type: 'ephemeral', ttl: '1h' } }]);
    expect(dropped).toEqual([]);
  });

  it('name the members of a custom tool that messages do not know', () => {
    const custom = { name: 'patch', colour: 'crimson', nothing: null };
    const { body, dropped } = cross('chat', { tools: [{ type: 'custom', custom, shade: 1 }] });
    expect(dropped).toEqual(['tools[].custom.colour', 'tools[].shade']);
    expect(JSON.stringify(body)).not.toContain('crimson');
  });

  it("name the members of the client's own typed tools that chat does not know", () => {
    const tool = {
      type: 'text_editor_20250728',
      name: 'str_replace_based_edit_tool',
      max_characters: 100,
      cache_control: MARK,
      defer_loading: true,
      strict: true,
      input_examples: [{}],
    };
    const { body, dropped, warnings } = cross('messages', { tools: [tool] });
    expect(body.tools).toMatchObject([{ function: { name: 'str_replace_based_edit_tool' } }]);
    expect(dropped).toEqual([
      'tools[].defer_loading',
      'tools[].input_examples',
      'tools[].max_characters',
      'tools[].strict',
    ]);
    expect(warnings).toContainEqual(expect.objectContaining({ effect: 'quiet', field: 'tools.cache' }));
  });

  it('name nothing of a typed tool that asks for nothing more', () => {
    const tool = { type: 'bash_20250124', name: 'bash', cache_control: MARK, allowed_callers: ['direct'] };
    expect(cross('messages', { tools: [tool] }).dropped).toEqual([]);
  });
});

describe('the form of the answer', () => {
  const schema = { type: 'object', properties: {} };

  it.each<[name: string, format: JsonObject, paths: string[]]>([
    [
      'beside the schema',
      { type: 'json_schema', json_schema: { name: 'n', schema }, x: 1 },
      ['response_format.x'],
    ],
    [
      'within the description of the schema',
      { type: 'json_schema', json_schema: { name: 'n', schema, x: 1 } },
      ['response_format.json_schema.x'],
    ],
    [
      'a schema that is no object',
      { type: 'json_schema', json_schema: { name: 'n', schema: true } },
      ['response_format.json_schema.schema'],
    ],
    [
      'nothing for strict: null',
      { type: 'json_schema', json_schema: { name: 'n', schema, strict: null } },
      [],
    ],
    ['a schema of any JSON', { type: 'json_object', schema }, ['response_format.schema']],
    ['a member of text', { type: 'text', x: 1 }, ['response_format.x']],
    ['an unknown format', { type: 'grammar', grammar: 'g' }, ['response_format']],
  ])('names further members of the format of chat: %s', (_, format, paths) => {
    expect(cross('chat', { response_format: format }).dropped).toEqual(paths);
  });

  it('names what messages say more', () => {
    const format = { type: 'json_schema', schema, x: 1 };
    expect(cross('messages', { output_config: { format } }).dropped).toEqual(['output_config.format.x']);
    expect(cross('messages', { output_format: format }).dropped).toEqual(['output_format.x']);
  });

  it('is read from the newer member first', () => {
    const older = { type: 'json_schema', schema: { type: 'object', title: 'older' } };
    const newer = { type: 'json_schema', schema: { type: 'object', title: 'newer' } };
    const { body } = cross('messages', { output_format: older, output_config: { format: newer } });
    expect(body.response_format).toMatchObject({ json_schema: { schema: newer.schema } });
    expect(cross('messages', { output_format: older }).body.response_format).toMatchObject({
      json_schema: { schema: older.schema },
    });
  });
});

describe('a web search', () => {
  const place = { city: 'Bern', country: 'CH', region: 'BE', timezone: 'Europe/Zurich' };

  it('is the newest of the official tools, called without a sandbox, where the user is', () => {
    const options = { user_location: { type: 'approximate', approximate: place } };
    const { body, dropped } = cross('chat', { web_search_options: options }, { serverTools: true });
    expect(body.tools).toEqual([
      {
        type: 'web_search_20260318',
        name: 'web_search',
        allowed_callers: ['direct'],
        user_location: { type: 'approximate', ...place },
      },
    ]);
    expect(dropped).toEqual([]);
  });

  it('names what messages cannot say of it', () => {
    const approximate = { ...place, street: 'x' };
    const options = { search_context_size: 'low', user_location: { type: 'approximate', approximate }, x: 1 };
    const { body, dropped } = cross('chat', { web_search_options: options }, { serverTools: true });
    expect(JSON.stringify(body)).not.toContain('street');
    expect(dropped).toEqual([
      'web_search_options.search_context_size',
      'web_search_options.user_location.approximate.street',
      'web_search_options.x',
    ]);
  });

  it('stands back where the client has a tool of that name', () => {
    const tools = [{ type: 'function', function: { name: 'web_search' } }];
    const { body, dropped } = cross('chat', { tools, web_search_options: {} }, { serverTools: true });
    expect(body.tools).toMatchObject([{ name: 'web_search', input_schema: {} }]);
    expect(dropped).toEqual(['web_search_options']);
  });

  const search = {
    type: 'web_search_20250305',
    name: 'web_search',
    max_uses: 3,
    user_location: { type: 'approximate', ...place, street: 'x' },
  };

  it('tells chat where the user is, and names its limits', () => {
    const tools = [{ ...search, allowed_domains: ['a.example'], blocked_domains: ['b.example'] }];
    const { body, dropped } = cross('messages', { tools }, { webSearchOptions: true });
    expect(body.web_search_options).toEqual({
      user_location: { type: 'approximate', approximate: place },
    });
    expect(body).not.toHaveProperty('tools');
    expect(dropped).toEqual([
      'tools[].allowed_domains',
      'tools[].blocked_domains',
      'tools[].max_uses',
      'tools[].user_location.street',
    ]);
  });

  it('is named as a whole where chat does not search', () => {
    expect(cross('messages', { tools: [search] }).dropped).toEqual(['tools[]']);
  });
});

describe('structured output of a model that has none', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } };
  const chatTool = (name: string): JsonObject => ({ type: 'function', function: { name } });
  const formless = { structuredOutput: false } as const;
  const messages = { output_config: { format: { type: 'json_schema', schema } } };
  const chat = { response_format: { type: 'json_schema', json_schema: { name: 'place', schema } } };
  const mine = [{ name: 'f', input_schema: { type: 'object' } }];
  const yours = [chatTool('f')];

  it.each<[string, JsonObject, JsonObject]>([
    ['alone', {}, { tool_choice: chatTool('structured_output'), tools: [chatTool('structured_output')] }],
    [
      "beside the client's tools",
      { tools: mine },
      { tool_choice: 'required', tools: [chatTool('f'), chatTool('structured_output')] },
    ],
    [
      'beside tools that may not be called',
      { tools: mine, tool_choice: { type: 'none' } },
      { tool_choice: chatTool('structured_output'), tools: [chatTool('f'), chatTool('structured_output')] },
    ],
    [
      'beside a tool of its name',
      { tools: [{ name: 'structured_output', input_schema: {} }] },
      { tools: [chatTool('structured_output'), chatTool('structured_output_')] },
    ],
  ])('is a tool that chat must call, %s', (_, more, expected) => {
    const { body, restore, dropped } = cross('messages', { ...messages, ...more }, formless);
    expect(body).toMatchObject(expected);
    expect(body).not.toHaveProperty('response_format');
    const last = (body.tools as { function: JsonObject }[]).at(-1)?.function;
    expect(last?.parameters).toEqual(schema);
    expect(restore.structuredTool).toBe(last?.name);
    expect(dropped).toEqual([]);
  });

  it.each<[string, JsonObject, JsonObject]>([
    ['alone', {}, { tool_choice: { type: 'tool', name: 'place' }, tools: [{ name: 'place' }] }],
    [
      "beside the client's tools",
      { tools: yours },
      { tool_choice: { type: 'any' }, tools: [{ name: 'f' }, { name: 'place' }] },
    ],
    [
      'beside tools that may not be called',
      { tools: yours, tool_choice: 'none' },
      { tool_choice: { type: 'tool', name: 'place' }, tools: [{ name: 'f' }, { name: 'place' }] },
    ],
  ])('is a tool that messages must call, %s', (_, more, expected) => {
    const { body, restore, dropped } = cross('chat', { ...chat, ...more }, formless);
    expect(body).toMatchObject(expected);
    expect(restore.structuredTool).toBe('place');
    expect(dropped).toEqual([]);
  });

  it.each<[string, ProtocolName, JsonObject]>([
    ['chat', 'messages', { ...messages, tools: mine, tool_choice: { type: 'any' } }],
    ['chat', 'messages', { ...messages, tools: mine, tool_choice: { type: 'tool', name: 'f' } }],
    ['messages', 'chat', { ...chat, tools: yours, tool_choice: 'required' }],
    ['messages', 'chat', { ...chat, tools: yours, tool_choice: chatTool('f') }],
  ])('has no say where the client forces a call, towards %s', (_, from, members) => {
    const { restore, dropped } = cross(from, members, formless);
    expect(restore.structuredTool).toBeUndefined();
    expect(dropped).toEqual([from === 'chat' ? 'response_format' : 'output_config.format']);
  });

  it.each<[name: string, traits: Partial<Traits>]>([
    ['a model without forced tools', { forcedTools: 'never' }],
    ['a model without tools', { tools: false }],
  ])('is refused by chat, and asked of messages in words, if no tool can be forced: %s', (_, traits) => {
    expect(refused('messages', messages, { ...formless, ...traits })).toBe('output_config.format');
    const { body, dropped } = cross('chat', chat, { ...formless, ...traits });
    expect(JSON.stringify(body.system)).toContain('JSON schema');
    expect(body).not.toHaveProperty('tool_choice');
    expect(dropped).toEqual([]);
  });
});

describe('turns that lose all that they held', () => {
  const searched = {
    role: 'assistant',
    content: [{ type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }],
  };
  const upload = { role: 'user', content: [{ type: 'container_upload', file_id: 'file_1' }] };
  const ask = (content: string): JsonObject => ({ role: 'user', content });
  const say = (content: string): JsonObject => ({ role: 'assistant', content });

  it.each<[string, JsonObject[], JsonObject[]]>([
    ['the user goes on in one message', [ask('a'), searched, ask('b')], [ask('a\nb')]],
    ['the user is answered', [ask('a'), searched], [ask('a')]],
    [
      'the assistant is not made to speak twice',
      [ask('a'), say('b'), upload, say('c')],
      [ask('a'), say('b'), ask('.'), say('c')],
    ],
    ['the model answers the user', [ask('a'), say('b'), upload], [ask('a'), say('b'), ask('.')]],
    ['a conversation begins with the user', [upload, say('b'), ask('c')], [ask('.'), say('b'), ask('c')]],
  ])('leave roles in turn: %s', (_, messages, expected) => {
    expect(cross('messages', { messages }).body.messages).toEqual(expected);
    expect(cross('messages', { messages }, { strictAlternation: true }).body.messages).toEqual(expected);
  });

  it('add nothing after results', () => {
    const call = { type: 'tool_use', id: 'a', name: 'f', input: {} };
    const result = { type: 'tool_result', tool_use_id: 'a', content: 'r' };
    const messages = [
      ask('a'),
      { role: 'assistant', content: [call] },
      { role: 'user', content: [result, ...upload.content] },
    ];
    expect(cross('messages', { messages }).body.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant' },
      { role: 'tool' },
    ]);
  });
});
