// Streams of chat with one long list.
import type { JsonObject } from '../../src/canonical/json.ts';
import { eachOrder, type MakeStream, times } from './stages.ts';

const chunk = (delta: JsonObject, more: JsonObject = {}): string =>
  `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`;
const called = (call: JsonObject): string => chunk({ tool_calls: [call] });
export const chatCall = (at: number): JsonObject => ({
  index: at,
  id: `c${at}`,
  type: 'function',
  function: { name: 'f', arguments: '{"a":1}' },
});
export const page = (at: number): JsonObject => ({
  type: 'url_citation',
  url_citation: { url: `https://a.example/${at}`, title: 't', start_index: 0, end_index: 1 },
});
export const sealed = (at: number): JsonObject => ({
  type: 'reasoning.text',
  text: 'a',
  signature: `s${at}`,
  index: at,
});
const logprob = { token: 'a', logprob: -1, bytes: [97], top_logprobs: [] };

export const CHAT: [string, MakeStream][] = [
  ...eachOrder('calls', {
    start: (at) =>
      called({ index: at, id: `c${at}`, type: 'function', function: { name: 'f', arguments: '' } }),
    piece: (at) => called({ index: at, function: { arguments: ' ' } }),
    end: (at) => called({ index: at, function: { arguments: '{}' } }),
  }),
  ['calls, each whole', (items) => times(items, (at) => called(chatCall(at)))],
  ['calls of one id', (items) => times(items, (at) => called({ ...chatCall(at), id: 'c' }))],
  [
    'calls without index and id',
    (items) => times(items, () => called({ function: { name: 'f', arguments: '{}' } })),
  ],
  ['calls in one chunk', (items) => [chunk({ tool_calls: times(items, chatCall) })]],
  ['texts', (items) => times(items, () => chunk({ content: 'word ' }))],
  ['blank texts', (items) => times(items, () => chunk({ content: ' ' }))],
  [
    'texts between calls',
    (items) => times(items / 2, (at) => [chunk({ content: 'a' }), called(chatCall(at))]).flat(),
  ],
  [
    'thoughts and texts in turn',
    (items) => times(items, (at) => chunk(at % 2 === 0 ? { reasoning_content: 'a' } : { content: 'b' })),
  ],
  ['sealed thoughts', (items) => times(items, (at) => chunk({ reasoning_details: [sealed(at)] }))],
  ['sealed thoughts of one chunk', (items) => [chunk({ reasoning_details: times(items, sealed) })]],
  [
    'pages before the text',
    (items) => [...times(items, (at) => chunk({ annotations: [page(at)] })), chunk({ content: 'a' })],
  ],
  [
    'pages behind the text',
    (items) => [chunk({ content: 'a' }), ...times(items, (at) => chunk({ annotations: [page(at)] }))],
  ],
  ['pages of one chunk', (items) => [chunk({ content: 'a', annotations: times(items, page) })]],
  [
    'probabilities',
    (items) => times(items, () => chunk({ content: 'a' }, { logprobs: { content: [logprob] } })),
  ],
  [
    'probabilities of one chunk',
    (items) => [chunk({ content: 'a' }, { logprobs: { content: times(items, () => logprob) } })],
  ],
  [
    'choices of one chunk',
    (items) => [
      `data: ${JSON.stringify({ id: 'c', choices: times(items, (index) => ({ index, delta: { content: 'a' } })) })}\n\n`,
    ],
  ],
  [
    'usage',
    (items) =>
      times(
        items,
        (at) =>
          `data: ${JSON.stringify({ id: 'c', choices: [], usage: { prompt_tokens: at, completion_tokens: 1 } })}\n\n`,
      ),
  ],
  ['comments', (items) => times(items, () => ': waits\n\n')],
];

export const CHAT_END = [chunk({}, { finish_reason: 'stop' }), 'data: [DONE]\n\n'];
