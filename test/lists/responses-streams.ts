// Streams of responses with one long list.
import type { JsonObject, JsonValue } from '../../src/canonical/json.ts';
import { eachOrder, event, type MakeStream, times } from './stages.ts';

const added = (at: number, item: JsonObject): string =>
  event({ type: 'response.output_item.added', output_index: at, item });
const done = (at: number, item: JsonObject): string =>
  event({ type: 'response.output_item.done', output_index: at, item });
export const functionCall = (at: number, args: string): JsonObject => ({
  type: 'function_call',
  id: `fc_${at}`,
  call_id: `c${at}`,
  name: 'f',
  arguments: args,
  status: args === '' ? 'in_progress' : 'completed',
});
export const said = (at: number, text: string): JsonObject => ({
  type: 'message',
  id: `msg_${at}`,
  role: 'assistant',
  status: text === '' ? 'in_progress' : 'completed',
  content: text === '' ? [] : [{ type: 'output_text', text, annotations: [] }],
});
export const thought = (at: number, text: string): JsonObject => ({
  type: 'reasoning',
  id: `rs_${at}`,
  summary: text === '' ? [] : [{ type: 'summary_text', text }],
  encrypted_content: 'e',
});
export const urlCitation = (at: number): JsonObject => ({
  type: 'url_citation',
  url: `https://a.example/${at}`,
  title: 't',
  start_index: 0,
  end_index: 1,
});
const part = (at: number, content: number, text = ''): JsonObject => ({
  item_id: `msg_${at}`,
  output_index: at,
  content_index: content,
  ...(text !== '' && { delta: text }),
});

export const RESPONSES: [string, MakeStream][] = [
  ...eachOrder('calls', {
    start: (at) => added(at, functionCall(at, '')),
    piece: (at) =>
      event({
        type: 'response.function_call_arguments.delta',
        item_id: `fc_${at}`,
        output_index: at,
        delta: ' ',
      }),
    end: (at) => done(at, functionCall(at, ' {}')),
  }),
  ...eachOrder('messages', {
    start: (at) =>
      added(at, said(at, '')) +
      event({
        type: 'response.content_part.added',
        ...part(at, 0),
        part: { type: 'output_text', text: '', annotations: [] },
      }),
    piece: (at) => event({ type: 'response.output_text.delta', ...part(at, 0, 'a') }),
    end: (at) => done(at, said(at, 'a')),
  }),
  ...eachOrder('parts of one message', {
    start: (at) =>
      (at === 0 ? added(0, said(0, '')) : '') +
      event({
        type: 'response.content_part.added',
        ...part(0, at),
        part: { type: 'output_text', text: '', annotations: [] },
      }),
    piece: (at) => event({ type: 'response.output_text.delta', ...part(0, at, 'a') }),
    end: (at) =>
      event({
        type: 'response.content_part.done',
        ...part(0, at),
        part: { type: 'output_text', text: 'a', annotations: [] },
      }),
  }),
  ...eachOrder('reasoning', {
    start: (at) => added(at, thought(at, '')),
    piece: (at) =>
      event({
        type: 'response.reasoning_summary_text.delta',
        item_id: `rs_${at}`,
        output_index: at,
        summary_index: 0,
        delta: 'a',
      }),
    end: (at) => done(at, thought(at, 'a')),
  }),
  ...eachOrder('parts of one summary', {
    start: (at) =>
      (at === 0 ? added(0, thought(0, '')) : '') +
      event({
        type: 'response.reasoning_summary_part.added',
        item_id: 'rs_0',
        output_index: 0,
        summary_index: at,
        part: { type: 'summary_text', text: '' },
      }),
    piece: (at) =>
      event({
        type: 'response.reasoning_summary_text.delta',
        item_id: 'rs_0',
        output_index: 0,
        summary_index: at,
        delta: 'a',
      }),
    end: (at) =>
      event({
        type: 'response.reasoning_summary_part.done',
        item_id: 'rs_0',
        output_index: 0,
        summary_index: at,
        part: { type: 'summary_text', text: 'a' },
      }),
  }),
  [
    'pages of one text',
    (items) => [
      added(0, said(0, '')),
      event({ type: 'response.output_text.delta', ...part(0, 0, 'a') }),
      ...times(items, (at) =>
        event({
          type: 'response.output_text.annotation.added',
          ...part(0, 0),
          annotation_index: at,
          annotation: urlCitation(at),
        }),
      ),
      done(0, said(0, 'a')),
    ],
  ],
  [
    'searches',
    (items) =>
      times(items / 3, (at) => {
        const item = {
          type: 'web_search_call',
          id: `ws_${at}`,
          status: 'completed',
          action: { type: 'search' },
        };
        return [
          added(at, item),
          event({ type: 'response.web_search_call.searching', item_id: item.id, output_index: at }),
          done(at, item),
        ];
      }).flat(),
  ],
  [
    'states',
    (items) => times(items, () => event({ type: 'response.in_progress', response: { id: 'resp_1' } })),
  ],
];

export const RESPONSES_START = [
  event({
    type: 'response.created',
    response: { id: 'resp_1', object: 'response', status: 'in_progress', output: [] },
  }),
];
export const completed = (output: JsonValue[]): string =>
  event({
    type: 'response.completed',
    response: { id: 'resp_1', object: 'response', status: 'completed', output, usage: {} },
  });

/** The list is in the last event alone, as some servers do. */
export const LAST_ALONE: [string, MakeStream][] = [
  ['calls of the last event', (items) => [completed(times(items, (at) => functionCall(at, '{}')))]],
  ['messages of the last event', (items) => [completed(times(items, (at) => said(at, 'a')))]],
  ['reasoning of the last event', (items) => [completed(times(items, (at) => thought(at, 'a')))]],
];
