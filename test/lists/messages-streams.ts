// Streams of messages with one long list.
import type { JsonObject } from '../../src/canonical/json.ts';
import { eachOrder, event, type MakeStream, times } from './stages.ts';

const started = (index: number, block: JsonObject): string =>
  event({ type: 'content_block_start', index, content_block: block });
const delta = (index: number, value: JsonObject): string =>
  event({ type: 'content_block_delta', index, delta: value });
const stopped = (index: number): string => event({ type: 'content_block_stop', index });
export const cited = (at: number): JsonObject => ({
  type: 'web_search_result_location',
  url: `https://a.example/${at}`,
  title: 't',
  encrypted_index: 'e',
  cited_text: 'a',
});
export const found = (at: number): JsonObject => ({
  type: 'web_search_result',
  url: `https://a.example/${at}`,
  title: 't',
  encrypted_content: 'e',
});

export const MESSAGES: [string, MakeStream][] = [
  ...eachOrder('blocks of text', {
    start: (at) => started(at, { type: 'text', text: '' }),
    piece: (at) => delta(at, { type: 'text_delta', text: 'a' }),
    end: stopped,
  }),
  ...eachOrder('calls', {
    start: (at) => started(at, { type: 'tool_use', id: `t${at}`, name: 'f', input: {} }),
    piece: (at) => delta(at, { type: 'input_json_delta', partial_json: ' ' }),
    end: stopped,
  }),
  ...eachOrder('thoughts', {
    start: (at) => started(at, { type: 'thinking', thinking: '' }),
    piece: (at) => delta(at, { type: 'thinking_delta', thinking: 'a' }),
    end: (at) => delta(at, { type: 'signature_delta', signature: `s${at}` }) + stopped(at),
  }),
  ...eachOrder('texts with pages', {
    start: (at) => started(at, { type: 'text', text: 'a' }),
    piece: (at) => delta(at, { type: 'citations_delta', citation: cited(at) }),
    end: stopped,
  }),
  [
    'tools that the provider ran',
    (items) =>
      times(items / 4, (at) => [
        started(2 * at, { type: 'server_tool_use', id: `s${at}`, name: 'web_search', input: { query: 'a' } }),
        stopped(2 * at),
        started(2 * at + 1, { type: 'web_search_tool_result', tool_use_id: `s${at}`, content: [found(at)] }),
        stopped(2 * at + 1),
      ]).flat(),
  ],
  [
    'pages of one result',
    (items) => [
      started(0, { type: 'web_search_tool_result', tool_use_id: 's', content: times(items, found) }),
      stopped(0),
    ],
  ],
  ['pings', (items) => times(items, () => event({ type: 'ping' }))],
  [
    'usage',
    (items) =>
      times(items, (at) => event({ type: 'message_delta', delta: {}, usage: { output_tokens: at } })),
  ],
];

export const MESSAGES_START = [
  event({
    type: 'message_start',
    message: { id: 'm', type: 'message', role: 'assistant', content: [], usage: {} },
  }),
];
export const MESSAGES_END = [
  event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } }),
  event({ type: 'message_stop' }),
];
