// What a translation says of itself: a change of form goes to the log, a loss to the client too.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import type { Traits } from '../../src/canonical/traits.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { translated } from './translated.ts';

const turn = (role: string, ...content: JsonObject[]): JsonObject => ({ role, content });
const text = (value: string): JsonObject => ({ type: 'text', text: value });
const ask = turn('user', text('q'));
const say = turn('assistant', text('a'));
const call = { type: 'tool_use', id: 'a', name: 'f', input: {} };
const result = (...content: JsonObject[]): JsonObject => ({ type: 'tool_result', tool_use_id: 'a', content });
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
const note = {
  type: 'document',
  title: 'Notes',
  source: { type: 'text', media_type: 'text/plain', data: 'n' },
};
const found = { type: 'search_result', title: 'T', source: 'https://x', content: [text('s')] };

interface Row {
  from: ProtocolName;
  messages: JsonObject[];
  traits?: Partial<Traits>;
  reports: string[];
  last: JsonObject;
}

const ROWS: Record<string, Row> = {
  'text that is moved before a call': {
    from: 'messages',
    messages: [ask, turn('assistant', call, text('after')), turn('user', result(text('r')))],
    reports: ['changed messages'],
    last: { role: 'tool', tool_call_id: 'a', content: 'r' },
  },
  'no text that stood there': {
    from: 'messages',
    messages: [ask, turn('assistant', text('before'), call), turn('user', result(text('r')))],
    reports: [],
    last: { role: 'tool', tool_call_id: 'a', content: 'r' },
  },
  'no users that stand apart because the system text between them was lost': {
    from: 'messages',
    messages: [ask, turn('system', { type: 'tool_addition', tool: {} }), turn('user', text('r'))],
    reports: ['dropped messages.native'],
    last: { role: 'user', content: 'q\nr' },
  },
  'no turn in two pieces because the system text between them was lost': {
    from: 'messages',
    messages: [
      ask,
      say,
      turn('system', { type: 'tool_addition', tool: {} }),
      turn('assistant', text('more')),
    ],
    reports: ['dropped messages.native'],
    last: { role: 'assistant', content: 'a\nmore' },
  },
  'a word of the user that a chat model needs': {
    from: 'messages',
    messages: [ask, say],
    traits: { prefill: false },
    reports: ['changed messages'],
    last: { role: 'user', content: 'Continue.' },
  },
  'a word of the user that a messages model needs': {
    from: 'chat',
    messages: [ask, say],
    traits: { prefill: false },
    reports: ['changed messages'],
    last: turn('user', text('Continue.')),
  },
  'system text in mid-conversation that a messages model takes only from a user': {
    from: 'chat',
    messages: [ask, say, turn('system', text('s'))],
    reports: ['changed messages'],
    last: turn('user', text('<system_message>\ns\n</system_message>')),
  },
  'no system text in its place': {
    from: 'chat',
    messages: [ask, turn('system', text('s'))],
    traits: { midSystem: true },
    reports: [],
    last: turn('system', text('s')),
  },
  'system text in mid-conversation that a chat server takes only from a user': {
    from: 'messages',
    messages: [ask, say, turn('system', text('s'))],
    traits: { strictAlternation: true },
    reports: ['changed messages'],
    last: { role: 'user', content: '<system>\ns\n</system>' },
  },
  'a document of text that is sent as text': {
    from: 'messages',
    messages: [turn('user', note)],
    reports: ['changed messages.document'],
    last: { role: 'user', content: '[Notes]\nn' },
  },
  'a search result that is sent as text': {
    from: 'messages',
    messages: [turn('user', found)],
    reports: ['changed messages.native'],
    last: { role: 'user', content: 'T\nhttps://x\ns' },
  },
  'a search result of a tool that is sent as text': {
    from: 'messages',
    messages: [ask, turn('assistant', call), turn('user', result(found))],
    reports: ['changed messages.native'],
    last: { role: 'tool', tool_call_id: 'a', content: 'T\nhttps://x\ns' },
  },
  'an image of a tool result that follows it': {
    from: 'messages',
    messages: [ask, turn('assistant', call), turn('user', result(image))],
    reports: ['changed messages.toolResult'],
    last: turn('user', { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }),
  },
};

describe('a translation reports', () => {
  it.each(Object.entries(ROWS))('%s', (_, { from, messages, traits, reports, last }) => {
    const encoded = translated(from, { messages }, traits);
    expect(encoded.messages.at(-1)).toEqual(last);
    expect(encoded.reports).toEqual(reports);
  });
});

it('a call that comes behind such system text is of the turn before it', () => {
  const silent = turn('system', { type: 'tool_addition', tool: {} });
  const messages = [ask, say, silent, turn('assistant', call), turn('user', result(text('r')))];
  const encoded = translated('messages', { messages }, { strictAlternation: true });
  expect(encoded.messages).toEqual([
    { role: 'user', content: 'q' },
    {
      role: 'assistant',
      content: 'a',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'a', content: 'r' },
  ]);
});

describe('of blocks that chat has no like of, the translation leaves out and reports', () => {
  const shown = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] };
  it.each<[string, string, JsonObject]>([
    ['server_tool_use', 'assistant', { id: 'srvtoolu_1', name: 'web_search', input: {} }],
    ['web_search_tool_result', 'assistant', shown],
    ['code_execution_tool_result', 'assistant', { ...shown, content: { type: 'code_execution_result' } }],
    ['mcp_tool_use', 'assistant', { id: 'mcptoolu_1', name: 'f', server_name: 's', input: {} }],
    ['mcp_tool_result', 'assistant', { tool_use_id: 'mcptoolu_1', is_error: false, content: [] }],
    ['mcp_tool_listing', 'assistant', { mcp_server_name: 's', tools: [] }],
    ['fallback', 'assistant', {}],
    ['container_upload', 'user', { file_id: 'file_1' }],
    ['tool_addition', 'system', { tool: { type: 'tool_reference', tool_name: 'f' } }],
    ['tool_removal', 'system', { tool: { type: 'tool_reference', tool_name: 'f' } }],
  ])('%s', (type, role, members) => {
    const around = (...content: JsonObject[]) =>
      translated('messages', { messages: [ask, turn(role, text('kept'), ...content), ask] });
    expect(around({ ...members, type })).toEqual({ ...around(), reports: ['dropped messages.native'] });
  });

  it.each<[string, string[], JsonObject[]]>([
    ['a call of the user', ['dropped messages.native'], [turn('user', text('kept'), call)]],
    ['a call of the system', ['dropped messages.native'], [turn('system', text('kept'), call)]],
    ['an image of the assistant', ['dropped messages.image'], [turn('assistant', text('kept'), image)]],
    ['a document of the assistant', ['dropped messages.document'], [turn('assistant', text('kept'), note)]],
    [
      'citations that were asked of a search result',
      ['changed messages.native', 'dropped messages.document.citations'],
      [turn('user', text('kept'), { ...found, citations: { enabled: true } })],
    ],
    [
      'a call within a result',
      ['dropped messages.native'],
      [turn('assistant', call), turn('user', result(text('kept'), { ...call, id: 'b' }))],
    ],
  ])('%s', (_, reports, messages) => {
    const encoded = translated('messages', { messages: [ask, ...messages, say, ask] });
    expect(encoded.reports).toEqual(reports);
    expect(JSON.stringify(encoded.messages)).toContain('kept');
  });

  it('under the path that the client knows', () => {
    expect(protocols.messages.client.wirePath('messages.native')).toBe('messages[].content[]');
  });
});

describe('members that the other protocol does not know', () => {
  it.each(['chat', 'messages'] as const)('of a %s client are named and not sent', (from) => {
    const { body, reports } = translated(from, { made_up: { deep: 'secret-word' } });
    expect(JSON.stringify(body)).not.toContain('secret-word');
    expect(reports).toContain('dropped made_up');
  });
});

it('thinking between tool calls alone is left out on chat, and reported', () => {
  const { body, reports } = translated('messages', { thinking: { type: 'between_tools' } });
  expect(body.reasoning_effort).toBe('none');
  expect(reports).toContain('changed reasoning');
});

it('a field that is refused is named once', () => {
  expect(() => translated('messages', { container: 'c_1' })).toThrow(/^container: (?!container:)/);
});
