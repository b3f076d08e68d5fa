// What a messages client says in mid-conversation and chat has no like of: a compaction, tools that come later, an effort that
// changes, text for one turn alone.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { cross } from './cross.ts';
import { bodyOf } from '../../src/protocols/json/body.ts';

const text = (words: string): JsonObject => ({ type: 'text', text: words });
const user = (...content: JsonObject[]): JsonObject => ({ role: 'user', content });
const assistant = (...content: JsonObject[]): JsonObject => ({ role: 'assistant', content });
const Q = user(text('q'));

function sent(messages: JsonObject[], members: JsonObject = {}): { messages: unknown; dropped: string[] } {
  const { body, dropped } = cross('messages', { ...members, messages });
  return { messages: body.messages, dropped };
}

describe('a compaction', () => {
  const made = (content: string | null): JsonObject => ({
    type: 'compaction',
    content,
    encrypted_content: 'x',
  });

  it.each<[string, JsonObject[], JsonObject[]]>([
    [
      'stands as text in its place',
      [assistant(made('We spoke of Rome.'), text('Go on.')), Q],
      [
        { role: 'assistant', content: 'We spoke of Rome.\n\nGo on.' },
        { role: 'user', content: 'q' },
      ],
    ],
    [
      'stands behind what was said before it',
      [assistant(text('a'), text('b'), made('Rome.')), Q],
      [
        { role: 'assistant', content: 'ab\n\nRome.' },
        { role: 'user', content: 'q' },
      ],
    ],
    ["stands in a user's turn", [user(made('Rome.'))], [{ role: 'user', content: 'Rome.' }]],
    [
      'of nothing is nothing',
      [Q, assistant(made(null), text('a'))],
      [
        { role: 'user', content: 'q' },
        { role: 'assistant', content: 'a' },
      ],
    ],
  ])('%s', (_, messages, expected) => {
    expect(sent(messages)).toEqual({ messages: expected, dropped: [] });
  });
});

describe("a server tool's blocks, which are left out,", () => {
  const search: JsonObject[] = [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
    { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
  ];

  it.each<[string, JsonObject[], string]>([
    [
      'leave a blank line between the texts on their two sides',
      [text('A.'), ...search, text('B.')],
      'A.\n\nB.',
    ],
    ['add no line to a blank line that is there', [text('A.\n'), ...search, text('\nB.')], 'A.\n\nB.'],
    ['leave nothing before the first text', [...search, text('B.'), text('C.')], 'B.C.'],
  ])('%s', (_, content, expected) => {
    expect(sent([Q, assistant(...content), Q])).toEqual({
      messages: [
        { role: 'user', content: 'q' },
        { role: 'assistant', content: expected },
        { role: 'user', content: 'q' },
      ],
      dropped: ['messages[].content[]'],
    });
  });
});

it('the listing of a server of tools is left out and named, as its calls are', () => {
  const listing = { type: 'mcp_tool_listing', mcp_server_name: 's', tools: [] };
  expect(sent([Q, assistant(listing, text('a'))])).toEqual({
    messages: [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: 'a' },
    ],
    dropped: ['messages[].content[]'],
  });
});

describe('an effort that changes on the way', () => {
  const change = (effort: string): JsonObject => ({ role: 'system', output_config: { effort } });

  it.each<[string, JsonObject[], JsonObject, string]>([
    ['holds', [Q, change('high')], {}, 'high'],
    ['holds before that of the request', [Q, change('high')], { output_config: { effort: 'low' } }, 'high'],
    ['holds where it is the newest', [Q, change('high'), assistant(text('a')), Q, change('low')], {}, 'low'],
    ['holds beside text', [Q, { ...change('high'), content: 's' }], {}, 'high'],
  ])('%s', (_, messages, members, effort) => {
    const body = { model: 'm', max_tokens: 9, messages, ...members };
    expect(() => protocols.messages.client.endpoints[0].readEnvelope(bodyOf(body), {})).not.toThrow();
    const crossed = cross('messages', body);
    expect(crossed.body.reasoning_effort).toBe(effort);
    expect(crossed.dropped).toEqual([]);
  });

  it.each<[name: string, role: string, members: JsonObject]>([
    ['a user message with an effort', 'user', { output_config: { effort: 'low' } }],
    ['an empty system message', 'system', {}],
    [
      'a system message with content of another type',
      'system',
      { output_config: { effort: 'low' }, content: 1 },
    ],
  ])('is no excuse for other messages without content: %s', (_, role, members) => {
    const body = { model: 'm', max_tokens: 9, messages: [Q, { role, ...members }] };
    expect(() => protocols.messages.client.endpoints[0].readEnvelope(bodyOf(body), {})).toThrow(
      'messages[1].content',
    );
  });

  it('names what else it says', () => {
    const more = { role: 'system', output_config: { effort: 'low', x: 1 } };
    expect(sent([Q, more]).dropped).toEqual(['messages[].output_config.x']);
  });
});

describe('text for one turn alone', () => {
  const note = { role: 'system', content: 'It is noon.', clear_at: 'next_user_message' };

  it.each<[string, JsonObject[], boolean]>([
    ['is said in that turn', [Q, note], true],
    ['is said while the model answers it', [Q, note, assistant(text('a'))], true],
    ['is no longer said when a later user message exists', [Q, note, assistant(text('a')), Q], false],
    ['stays where it is never cleared', [Q, { ...note, clear_at: 'never' }, assistant(text('a')), Q], true],
  ])('%s', (_, messages, said) => {
    const crossed = sent(messages);
    expect(JSON.stringify(crossed.messages).includes('It is noon.')).toBe(said);
    expect(crossed.dropped).toEqual([]);
  });
});

describe('a tool that is added on the way', () => {
  const definition = { name: 'g', description: 'd', input_schema: { type: 'object' } };
  const adds = (tool: JsonObject): JsonObject => ({
    role: 'system',
    content: [{ type: 'tool_addition', tool }],
  });
  const F = { name: 'f', input_schema: { type: 'object' } };
  const names = (members: JsonObject): unknown[] =>
    ((cross('messages', members).body.tools ?? []) as { function: { name: string } }[]).map(
      (tool) => tool.function.name,
    );

  it('joins the tools with its definition', () => {
    const messages = [Q, adds({ type: 'tool_definition', definition }), user(text('r'))];
    expect(names({ messages })).toEqual(['g']);
    expect(names({ messages, tools: [F] })).toEqual(['f', 'g']);
    expect(sent(messages).dropped).toEqual([]);
    const { needs } = protocols.messages.client.endpoints[0].readEnvelope(
      bodyOf({ model: 'm', max_tokens: 9, messages }),
      {},
    );
    expect(needs.tools).toBe(true);
  });

  it('takes the place of a tool of its name', () => {
    const messages = [Q, adds({ type: 'tool_definition', definition: { ...definition, name: 'f' } })];
    const { body } = cross('messages', { messages, tools: [F] });
    expect(body.tools).toMatchObject([{ function: { name: 'f', description: 'd' } }]);
  });

  it('is one of the tools where it refers to one, else it is named', () => {
    const messages = [Q, adds({ type: 'tool_reference', name: 'f' })];
    expect(sent(messages, { tools: [F] }).dropped).toEqual([]);
    expect(sent(messages).dropped).toEqual(['messages[].content[]']);
  });
});

it('the memory that the client keeps is a tool with a schema', () => {
  const { body, dropped } = cross('messages', { tools: [{ type: 'memory_20250818', name: 'memory' }] });
  expect(dropped).toEqual([]);
  expect(body.tools).toMatchObject([
    { type: 'function', function: { name: 'memory', parameters: { required: ['command'] } } },
  ]);
});
