// Chat requests with one long list.
import type { JsonObject, JsonValue } from '../../src/canonical/json.ts';
import {
  type Make,
  times,
  eachOrder,
  list,
  object,
  SCHEMAS,
  eachTool,
  unknown,
  metadata,
  PICTURE,
  chatUser,
  inMessages,
} from './orders.ts';

const chatCall = (id: string): JsonObject => ({
  id,
  type: 'function',
  function: { name: 'f', arguments: '{"a":1}' },
});
const chatParts = (make: (at: number) => JsonValue): Make =>
  list(make, (content) => inMessages([chatUser(content)]));

export const CHAT: [string, Make][] = [
  ...eachOrder(
    'calls and results,',
    {
      call: (id) => ({ role: 'assistant', content: null, tool_calls: [chatCall(id)] }),
      result: (id) => ({ role: 'tool', tool_call_id: id, content: 'x' }),
      other: chatUser('a'),
    },
    inMessages,
  ),
  ...eachOrder(
    'calls with thoughts and results of parts,',
    {
      call: (id) => ({ role: 'assistant', content: 'a', reasoning_content: 'b', tool_calls: [chatCall(id)] }),
      result: (id) => ({ role: 'tool', tool_call_id: id, content: [{ type: 'text', text: 'x' }] }),
      other: { role: 'system', content: 'a' },
    },
    inMessages,
  ),
  ...eachOrder(
    'functions of old,',
    {
      call: (id) => ({ role: 'assistant', content: null, function_call: { name: id, arguments: '{}' } }),
      result: (id) => ({ role: 'function', name: id, content: 'x' }),
      other: chatUser('a'),
    },
    inMessages,
  ),
  [
    'calls of one message',
    (items) => {
      const half = items / 2;
      const calls = times(half, (at) => chatCall(`c${at}`));
      const results = times(half, (at) => ({ role: 'tool', tool_call_id: `c${at}`, content: 'x' }));
      return inMessages([{ role: 'assistant', content: null, tool_calls: calls }, ...results]);
    },
  ],
  ['turns', list((at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content: 'a' }), inMessages)],
  ['turns of one side', list(() => chatUser('a'), inMessages)],
  ['turns of named users', list((at) => ({ ...chatUser('a'), name: `n${at % 3}` }), inMessages)],
  ['blank turns', list(() => chatUser(' '), inMessages)],
  ['answers', list(() => ({ role: 'assistant', content: 'a' }), inMessages)],
  ['system messages', list(() => ({ role: 'system', content: 'a' }), inMessages)],
  [
    'system messages between others',
    list((at) => ({ role: at % 2 === 0 ? 'user' : 'developer', content: 'a' }), inMessages),
  ],
  ['texts of one message', chatParts(() => ({ type: 'text', text: 'a' }))],
  ['pictures of one message', chatParts(() => ({ type: 'image_url', image_url: { url: PICTURE } }))],
  [
    'files of one message',
    chatParts((at) => ({
      type: 'file',
      file: { filename: `f${at}.pdf`, file_data: 'data:application/pdf;base64,JVBERi0=' },
    })),
  ],
  [
    'parts of a result',
    list(
      () => ({ type: 'text', text: 'a' }),
      (content) =>
        inMessages([
          { role: 'assistant', content: null, tool_calls: [chatCall('c')] },
          { role: 'tool', tool_call_id: 'c', content },
        ]),
    ),
  ],
  [
    'parts of an answer',
    list(
      (at) => (at % 2 === 0 ? { type: 'text', text: 'a' } : { type: 'refusal', refusal: 'b' }),
      (content) => inMessages([chatUser('a'), { role: 'assistant', content }]),
    ),
  ],
  [
    'sealed thoughts of an answer',
    list(
      (at) => ({ type: 'reasoning.text', text: 'a', signature: `s${at}`, index: at }),
      (details) =>
        inMessages([
          chatUser('a'),
          { role: 'assistant', content: 'b', reasoning_details: details },
          chatUser('c'),
        ]),
    ),
  ],
  [
    'thinking blocks of an answer',
    list(
      (at) => ({ type: 'thinking', thinking: 'a', signature: `s${at}` }),
      (blocks) =>
        inMessages([
          chatUser('a'),
          { role: 'assistant', content: 'b', thinking_blocks: blocks },
          chatUser('c'),
        ]),
    ),
  ],
  [
    'pages of an answer',
    list(
      (at) => ({
        type: 'url_citation',
        url_citation: { url: `https://a.example/${at}`, title: 't', start_index: at, end_index: at + 1 },
      }),
      (annotations) =>
        inMessages([chatUser('a'), { role: 'assistant', content: 'b', annotations }, chatUser('c')]),
    ),
  ],
  ...eachTool((name, parameters) => ({ type: 'function', function: { name, description: 'd', parameters } })),
  [
    'custom tools',
    list(
      (at) => ({ type: 'custom', custom: { name: `t${at}`, format: { type: 'text' } } }),
      (tools) => ({ tools }),
    ),
  ],
  [
    'calls whose arguments must be looked up, of a body with many members',
    (items) => ({
      ...inMessages(
        times(items / 2, (at) => ({
          role: 'assistant',
          tool_calls: [{ ...chatCall(`c${items - at}`), function: { name: 'f', arguments: { 1: 1.5 } } }],
        })),
      ),
      ...object(items / 2, (at) => [`u${at}`, 1]),
    }),
  ],
  [
    'functions',
    list(
      (at) => ({ name: `f${at}`, parameters: { type: 'object' } }),
      (functions) => ({ functions }),
    ),
  ],
  [
    'allowed tools',
    (items) => ({
      tools: times(items, (at) => ({ type: 'function', function: { name: `f${at}` } })),
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: {
          mode: 'auto',
          tools: times(items, (at) => ({ type: 'function', function: { name: `f${at}` } })),
        },
      },
    }),
  ],
  ...Object.entries(SCHEMAS).map(([what, schema]): [string, Make] => [
    `an answer's ${what}`,
    (items) => ({
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'n', schema: schema(items), strict: true },
      },
    }),
  ]),
  [
    'stop sequences',
    list(
      (at) => `stop${at}`,
      (stop) => ({ stop }),
    ),
  ],
  [
    'modalities',
    list(
      () => 'text',
      (modalities) => ({ modalities }),
    ),
  ],
  ['biased tokens', (items) => ({ logit_bias: object(items, (at) => [String(at), 1]) })],
  ['metadata', metadata],
  ['members that nobody knows', unknown],
  [
    'members of a message that nobody knows',
    (items) => inMessages([{ ...chatUser('a'), ...object(items, (at) => [`u${at}`, 1]) }]),
  ],
  [
    'messages with members that nobody knows',
    list((at) => ({ ...chatUser('a'), [`u${at}`]: 1 }), inMessages),
  ],
];
