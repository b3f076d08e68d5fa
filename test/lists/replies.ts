// Whole answers of each protocol with one long list.
import type { JsonObject, JsonValue } from '../../src/canonical/json.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { chatCall, page, sealed } from './chat-streams.ts';
import { cited, found } from './messages-streams.ts';
import { functionCall, said, thought, urlCitation } from './responses-streams.ts';
import { times } from './stages.ts';

export type MakeReply = (items: number) => JsonObject;

const chatReply = (message: JsonObject): JsonObject => ({
  id: 'c',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', ...message } }],
  usage: {},
});
const messagesReply = (content: JsonValue[]): JsonObject => ({
  id: 'm',
  type: 'message',
  role: 'assistant',
  stop_reason: 'end_turn',
  content,
  usage: {},
});
const responsesReply = (output: JsonValue[]): JsonObject => ({
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  output,
  usage: {},
});

export const REPLIES: Record<ProtocolName, readonly [string, MakeReply][]> = {
  chat: [
    ['calls', (items) => chatReply({ content: 'a', tool_calls: times(items, chatCall) })],
    [
      'calls of one id',
      (items) => chatReply({ tool_calls: times(items, (at) => ({ ...chatCall(at), id: 'c' })) }),
    ],
    ['texts', (items) => chatReply({ content: times(items, () => ({ type: 'text', text: 'a' })) })],
    ['sealed thoughts', (items) => chatReply({ content: 'a', reasoning_details: times(items, sealed) })],
    ['pages', (items) => chatReply({ content: 'a', annotations: times(items, page) })],
    [
      'choices',
      (items) => ({
        id: 'c',
        choices: times(items, (index) => ({
          index,
          finish_reason: 'stop',
          message: { role: 'assistant', content: 'a' },
        })),
      }),
    ],
  ],
  messages: [
    ['texts', (items) => messagesReply(times(items, () => ({ type: 'text', text: 'a' })))],
    [
      'calls',
      (items) =>
        messagesReply(
          times(items, (at) => ({ type: 'tool_use', id: `t${at}`, name: 'f', input: { 1: 1.5 } })),
        ),
    ],
    [
      'calls of one id',
      (items) => messagesReply(times(items, () => ({ type: 'tool_use', id: 't', name: 'f', input: {} }))),
    ],
    [
      'thoughts',
      (items) =>
        messagesReply(times(items, (at) => ({ type: 'thinking', thinking: 'a', signature: `s${at}` }))),
    ],
    [
      'texts with pages',
      (items) => messagesReply(times(items, (at) => ({ type: 'text', text: 'a', citations: [cited(at)] }))),
    ],
    [
      'pages of one text',
      (items) => messagesReply([{ type: 'text', text: 'a', citations: times(items, cited) }]),
    ],
    [
      'tools that the provider ran',
      (items) =>
        messagesReply(
          times(items / 2, (at) => [
            { type: 'server_tool_use', id: `s${at}`, name: 'web_search', input: { query: 'a' } },
            { type: 'web_search_tool_result', tool_use_id: `s${at}`, content: [found(at)] },
          ]).flat(),
        ),
    ],
  ],
  responses: [
    ['messages', (items) => responsesReply(times(items, (at) => said(at, 'a')))],
    ['calls', (items) => responsesReply(times(items, (at) => functionCall(at, '{"1":1.5}')))],
    ['reasoning', (items) => responsesReply(times(items, (at) => thought(at, 'a')))],
    [
      'parts of one message',
      (items) =>
        responsesReply([
          {
            ...said(0, 'a'),
            content: times(items, () => ({ type: 'output_text', text: 'a', annotations: [] })),
          },
        ]),
    ],
    [
      'pages of one text',
      (items) =>
        responsesReply([
          {
            ...said(0, 'a'),
            content: [{ type: 'output_text', text: 'a', annotations: times(items, urlCitation) }],
          },
        ]),
    ],
    [
      'parts of one summary',
      (items) =>
        responsesReply([
          { ...thought(0, 'a'), summary: times(items, () => ({ type: 'summary_text', text: 'a' })) },
          said(1, 'a'),
        ]),
    ],
  ],
};
