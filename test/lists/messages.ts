// Messages requests with one long list.
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
  chatUser,
  inMessages,
} from './orders.ts';

const said = (content: JsonValue): JsonObject => ({ role: 'assistant', content });
const toolUse = (id: string): JsonObject => ({ type: 'tool_use', id, name: 'f', input: { a: 1.5 } });
const toolResult = (id: string): JsonObject => ({ type: 'tool_result', tool_use_id: id, content: 'x' });
const asked = (make: (at: number) => JsonValue): Make =>
  list(make, (content) => inMessages([chatUser(content)]));
const answered = (make: (at: number) => JsonValue): Make =>
  list(make, (content) => inMessages([chatUser('a'), said(content), chatUser('b')]));

export const MESSAGES: [string, Make][] = [
  ...eachOrder(
    'calls and results, each a message,',
    { call: (id) => said([toolUse(id)]), result: (id) => chatUser([toolResult(id)]), other: chatUser('a') },
    inMessages,
  ),
  [
    'calls of one message, results of the next',
    (items) =>
      inMessages([
        said(times(items / 2, (at) => toolUse(`t${at}`))),
        chatUser(times(items / 2, (at) => toolResult(`t${items / 2 - 1 - at}`))),
      ]),
  ],
  [
    'calls of one message, results each a message',
    (items) =>
      inMessages([
        said(times(items / 2, (at) => toolUse(`t${at}`))),
        ...times(items / 2, (at) => chatUser([toolResult(`t${at}`)])),
      ]),
  ],
  ['results of one message', asked((at) => toolResult(`t${at}`))],
  [
    'results of parts of one call',
    (items) =>
      inMessages([
        said([toolUse('t')]),
        chatUser(
          times(items, () => ({
            type: 'tool_result',
            tool_use_id: 't',
            content: [{ type: 'text', text: 'x' }],
          })),
        ),
      ]),
  ],
  [
    'parts of one result',
    list(
      (at) => ({ type: 'text', text: `x${at}` }),
      (content) =>
        inMessages([said([toolUse('t')]), chatUser([{ type: 'tool_result', tool_use_id: 't', content }])]),
    ),
  ],
  ['turns', list((at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content: 'a' }), inMessages)],
  ['turns of one side', list(() => chatUser('a'), inMessages)],
  ['blank turns', list(() => chatUser([{ type: 'text', text: ' ' }]), inMessages)],
  ['answers', list(() => said('a'), inMessages)],
  ['texts of one message', asked(() => ({ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }))],
  [
    'pictures of one message',
    asked(() => ({
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
    })),
  ],
  [
    'documents of one message',
    asked((at) => ({
      type: 'document',
      title: `d${at}`,
      source: { type: 'text', media_type: 'text/plain', data: 'a' },
      citations: { enabled: true },
    })),
  ],
  [
    'search results of one message',
    asked((at) => ({
      type: 'search_result',
      source: `https://a.example/${at}`,
      title: 't',
      content: [{ type: 'text', text: 'a' }],
    })),
  ],
  ['texts of an answer', answered(() => ({ type: 'text', text: 'a' }))],
  ['thinking of an answer', answered((at) => ({ type: 'thinking', thinking: 'a', signature: `s${at}` }))],
  ['thinking without a seal', answered(() => ({ type: 'thinking', thinking: 'a', signature: '' }))],
  [
    'thinking without a seal in turns',
    list(
      (at) =>
        at % 2 === 0
          ? chatUser('a')
          : said([
              { type: 'thinking', thinking: 'a', signature: '' },
              { type: 'text', text: 'b' },
            ]),
      inMessages,
    ),
  ],
  ['encrypted thinking', answered((at) => ({ type: 'redacted_thinking', data: `d${at}` }))],
  [
    'thinking, text and calls in turn',
    answered(
      (at) =>
        [
          { type: 'thinking', thinking: 'a', signature: `s${at}` },
          { type: 'text', text: 'a' },
          toolUse(`t${at}`),
        ][at % 3] ?? null,
    ),
  ],
  [
    'tools that the provider ran',
    answered((at) =>
      at % 2 === 0
        ? { type: 'server_tool_use', id: `s${at}`, name: 'web_search', input: { query: 'a' } }
        : {
            type: 'web_search_tool_result',
            tool_use_id: `s${at - 1}`,
            content: [
              { type: 'web_search_result', url: 'https://a.example', title: 't', encrypted_content: 'e' },
            ],
          },
    ),
  ],
  [
    'tools that the provider ran, all before their results',
    (items) =>
      inMessages([
        chatUser('a'),
        said([
          ...times(items / 2, (at) => ({
            type: 'server_tool_use',
            id: `s${at}`,
            name: 'web_search',
            input: { query: 'a' },
          })),
          ...times(items / 2, (at) => ({
            type: 'web_search_tool_result',
            tool_use_id: `s${at}`,
            content: [],
          })),
        ]),
        chatUser('b'),
      ]),
  ],
  [
    'pages of an answer',
    list(
      (at) => ({
        type: 'web_search_result_location',
        url: `https://a.example/${at}`,
        title: 't',
        encrypted_index: 'e',
        cited_text: 'a',
      }),
      (citations) =>
        inMessages([chatUser('a'), said([{ type: 'text', text: 'b', citations }]), chatUser('c')]),
    ),
  ],
  [
    'calls of one id whose input must be looked up, of a body with many members',
    (items) => ({
      ...inMessages(
        times(items / 2, (at) => said([{ type: 'tool_use', name: 'f', input: { 1: at + 0.5 }, id: 't' }])),
      ),
      ...object(items / 2, (at) => [`u${at}`, 1]),
    }),
  ],
  [
    'tools that are added on the way',
    list(
      (at) =>
        chatUser([
          {
            type: 'tool_addition',
            tool: {
              type: 'tool_definition',
              definition: { name: `f${at}`, input_schema: { type: 'object' } },
            },
          },
        ]),
      inMessages,
    ),
  ],
  [
    'tools that are added, of those that there are',
    (items) => ({
      tools: times(items / 2, (at) => ({ name: `f${at}`, input_schema: { type: 'object' } })),
      ...inMessages(
        times(items / 2, (at) =>
          chatUser([{ type: 'tool_addition', tool: { type: 'tool_reference', name: `f${at}` } }]),
        ),
      ),
    }),
  ],
  ['blocks that nobody knows', asked((at) => ({ type: `unknown_${at}`, text: 'a' }))],
  [
    'system blocks',
    list(
      () => ({ type: 'text', text: 'a' }),
      (system) => ({ system }),
    ),
  ],
  ['system messages', list((at) => ({ role: at % 2 === 0 ? 'user' : 'system', content: 'a' }), inMessages)],
  ...eachTool((name, schema) => ({ name, description: 'd', input_schema: schema })),
  [
    'tools of a type',
    list(
      (at) => ({ type: 'web_search_20250305', name: 'web_search', max_uses: at }),
      (tools) => ({ tools }),
    ),
  ],
  [
    'domains of a search',
    list(
      (at) => `a${at}.example`,
      (allowed) => ({
        tools: [{ type: 'web_search_20250305', name: 'web_search', allowed_domains: allowed }],
      }),
    ),
  ],
  ...Object.entries(SCHEMAS).map(([what, schema]): [string, Make] => [
    `an answer's ${what}`,
    (items) => ({ output_config: { format: { type: 'json_schema', schema: schema(items) } } }),
  ]),
  [
    'stop sequences',
    list(
      (at) => `stop${at}`,
      (stop) => ({ stop_sequences: stop }),
    ),
  ],
  [
    'servers of tools',
    list(
      (at) => ({ type: 'url', name: `s${at}`, url: 'https://a.example' }),
      (mcp) => ({ mcp_servers: mcp }),
    ),
  ],
  [
    'edits of the context',
    list(
      (at) => ({ type: 'clear_tool_uses_20250919', keep: at }),
      (edits) => ({ context_management: { edits } }),
    ),
  ],
  ['metadata', metadata],
  ['members that nobody knows', unknown],
  [
    'messages with members that nobody knows',
    list((at) => ({ ...chatUser('a'), [`u${at}`]: 1 }), inMessages),
  ],
];
