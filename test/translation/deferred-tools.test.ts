// A client that declares many tools and loads a few: what a provider without a tool search gets of them.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { DEFAULT_TRAITS } from '../../src/canonical/traits.ts';
import { cross, crossTo } from './cross.ts';

const tool = (name: string, members: JsonObject = {}): JsonObject => ({
  name,
  description: `does ${name}`,
  input_schema: { type: 'object', properties: {} },
  ...members,
});
const later = (name: string): JsonObject => tool(name, { defer_loading: true });
const PLACEHOLDER = tool('DeferredToolPlaceholder', { defer_loading: true });
const SEARCH = tool('ToolSearch');

const asks: JsonObject = { role: 'user', content: 'hi' };
const searches = (id: string): JsonObject => ({
  role: 'assistant',
  content: [{ type: 'tool_use', id, name: 'ToolSearch', input: { query: id } }],
});
const finds = (id: string, ...names: string[]): JsonObject => ({
  role: 'user',
  content: [
    {
      type: 'tool_result',
      tool_use_id: id,
      content: names.map((name) => ({ type: 'tool_reference', tool_name: name })),
    },
  ],
});

const namesOf = ({ tools }: JsonObject): unknown[] =>
  (tools as JsonObject[]).map(({ name, function: own }) => name ?? (own as JsonObject).name);

const OTHERS = ['chat', 'responses'] as const satisfies readonly ProtocolName[];
const IN_PLACE = { ...DEFAULT_TRAITS, additionalTools: true };

describe.each(OTHERS)('deferred tools of a messages client at a %s provider', (to) => {
  const sent = (members: JsonObject) => crossTo('messages', to, members);

  it('are left out until the conversation names them, and so is the placeholder', () => {
    const { body, dropped, warnings } = sent({
      tools: [later('a'), SEARCH, PLACEHOLDER, tool('Read')],
      messages: [asks],
    });
    expect(namesOf(body)).toEqual(['ToolSearch', 'Read']);
    expect(dropped).toEqual([]);
    expect(warnings).toContainEqual(expect.objectContaining({ effect: 'changed', field: 'tools' }));
  });

  it('stand behind the others in the order of their references, whatever their place in the list', () => {
    const tools = [later('a'), later('b'), SEARCH, later('c'), tool('Read')];
    const first = [asks, searches('1'), finds('1', 'c')];
    const second = [...first, searches('2'), finds('2', 'a', 'c')];
    expect(namesOf(sent({ tools, messages: first }).body)).toEqual(['ToolSearch', 'Read', 'c']);
    expect(namesOf(sent({ tools, messages: second }).body)).toEqual(['ToolSearch', 'Read', 'c', 'a']);
    const named = sent({ tools, messages: second });
    expect(named.dropped).toEqual([]);
    const grown = [...tools, tool('Write')];
    expect(namesOf(sent({ tools: grown, messages: first }).body)).toEqual([
      'ToolSearch',
      'Read',
      'Write',
      'c',
    ]);
  });

  it('join tools that are added on the way, in one order', () => {
    const adds = (definition: JsonObject): JsonObject => ({
      role: 'system',
      content: [{ type: 'tool_addition', tool: { type: 'tool_definition', definition } }],
    });
    const messages = [asks, searches('1'), finds('1', 'a'), adds(tool('x')), searches('2'), finds('2', 'b')];
    const { body } = sent({ tools: [later('b'), SEARCH, later('a')], messages });
    expect(namesOf(body)).toEqual(['ToolSearch', 'a', 'x', 'b']);
  });

  it('are sent where the history calls them, where the choice names them, and where a search of the vendor found them', () => {
    const tools = [later('called'), later('forced'), later('found'), later('none'), SEARCH];
    const call: JsonObject = {
      role: 'assistant',
      content: [{ type: 'tool_use', id: '1', name: 'called', input: {} }],
    };
    const result: JsonObject = {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: '1', content: 'ok' }],
    };
    const ofVendor: JsonObject = {
      role: 'assistant',
      content: [
        {
          type: 'tool_search_tool_result',
          tool_use_id: 's',
          content: {
            type: 'tool_search_tool_search_result',
            tool_references: [{ type: 'tool_reference', tool_name: 'found' }],
          },
        },
        { type: 'text', text: 'found' },
      ],
    };
    const { body } = sent({
      tools,
      messages: [asks, call, result, ofVendor, asks],
      tool_choice: { type: 'tool', name: 'forced' },
    });
    expect(namesOf(body)).toEqual(['ToolSearch', 'called', 'found', 'forced']);
  });

  it('are sent at once, and named, where only the vendor can search, or where nothing can', () => {
    const search = { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' };
    const searched = sent({ tools: [search, later('a'), tool('Read'), PLACEHOLDER], messages: [asks] });
    expect(namesOf(searched.body)).toEqual(['a', 'Read']);
    expect(searched.dropped).toEqual(['tools[]', 'tools[].defer_loading']);
    const alone = sent({ tools: [later('a')], messages: [asks] });
    expect(namesOf(alone.body)).toEqual(['a']);
    expect(alone.dropped).toEqual(['tools[].defer_loading']);
  });

  it('leave a request without any as it is', () => {
    const tools = [tool('b'), tool('a', { defer_loading: false })];
    expect(namesOf(sent({ tools, messages: [asks] }).body)).toEqual(['b', 'a']);
  });
});

describe('a responses provider that takes tools on the way', () => {
  const tools = [later('a'), SEARCH, later('b')];
  const first = [asks, searches('1'), finds('1', 'b')];
  const second = [
    ...first,
    { role: 'assistant', content: 'there it is' },
    asks,
    searches('2'),
    finds('2', 'a'),
  ];
  const sent = (messages: JsonObject[]) =>
    crossTo('messages', 'responses', { tools, messages }, IN_PLACE).body;

  it('gets a found tool at its place, and an unchanged list', () => {
    const body = sent(first);
    expect(namesOf(body)).toEqual(['ToolSearch']);
    expect((body.input as JsonObject[]).at(-2)).toMatchObject({ type: 'function_call_output' });
    expect((body.input as JsonObject[]).at(-1)).toEqual({
      type: 'additional_tools',
      role: 'developer',
      tools: [expect.objectContaining({ type: 'function', name: 'b', description: 'does b' })],
    });
  });

  it('gets the same bytes as before for all that it had, so that its cache holds', () => {
    const before = sent(first);
    const after = sent(second);
    expect(JSON.stringify(after.tools)).toBe(JSON.stringify(before.tools));
    const had = before.input as JsonObject[];
    expect(JSON.stringify((after.input as JsonObject[]).slice(0, had.length))).toBe(JSON.stringify(had));
    expect((after.input as JsonObject[]).filter(({ type }) => type === 'additional_tools')).toHaveLength(2);
  });

  it('gets it after the results and before what the user adds to them', () => {
    const [found] = [finds('1', 'b')];
    const messages = [
      asks,
      searches('1'),
      { ...found, content: [...(found.content as JsonObject[]), { type: 'text', text: 'go on' }] },
    ];
    const kinds = (sent(messages).input as JsonObject[]).map(({ type }) => type);
    expect(kinds.slice(-3)).toEqual(['function_call_output', 'additional_tools', 'message']);
  });
});

describe('deferred tools of a responses client', () => {
  const flat = (name: string, members: JsonObject = {}): JsonObject => ({
    type: 'function',
    name,
    parameters: { type: 'object', properties: {} },
    ...members,
  });
  const search = { type: 'tool_search', execution: 'client' };
  const user: JsonObject = { role: 'user', content: 'hi' };
  const call = { type: 'tool_search_call', call_id: '1', execution: 'client', arguments: { query: 'a' } };
  const output = (...names: string[]): JsonObject => ({
    type: 'tool_search_output',
    call_id: '1',
    execution: 'client',
    tools: names.map((name) => flat(name, { defer_loading: true })),
  });
  const tools = [flat('a', { defer_loading: true }), search, flat('b', { defer_loading: true }), flat('z')];

  it.each(['chat', 'messages'] as const)('join the list of a %s provider at its end, once loaded', (to) => {
    const before = crossTo('responses', to, { tools, input: [user] });
    expect(namesOf(before.body)).toEqual(['tool_search', 'z']);
    expect(before.dropped).toEqual([]);
    const after = crossTo('responses', to, { tools, input: [user, call, output('a')] });
    expect(namesOf(after.body)).toEqual(['tool_search', 'z', 'a']);
  });

  it('are sent at once where the provider itself would search', () => {
    const { body, dropped } = crossTo('responses', 'chat', {
      tools: [flat('a', { defer_loading: true }), { type: 'tool_search' }, flat('z')],
      input: [user],
    });
    expect(namesOf(body)).toEqual(['a', 'z']);
    expect(dropped).toEqual(['tools[]', 'tools[].defer_loading']);
  });
});

it('a list of ten thousand deferred tools and as many references takes linear time', () => {
  const names = Array.from({ length: 10_000 }, (_, at) => `t${at}`);
  const messages = [asks, searches('1'), finds('1', ...[...names].reverse())];
  const { body } = cross('messages', { tools: [SEARCH, ...names.map(later)], messages });
  expect(namesOf(body)).toEqual(['ToolSearch', ...[...names].reverse()]);
});
