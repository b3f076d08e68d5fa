// Responses requests with one long list.
import type { JsonObject, JsonValue } from '../../src/canonical/json.ts';
import {
  type Make,
  type Kinds,
  times,
  eachOrder,
  list,
  SCHEMAS,
  eachTool,
  unknown,
  metadata,
  PICTURE,
} from './orders.ts';

const inInput = (input: JsonValue[]): JsonObject => ({ input });
const TEXT: JsonObject = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a' }] };
const CALLS: Record<string, Pick<Kinds, 'call' | 'result'>> = {
  function: {
    call: (id) => ({ type: 'function_call', id: `fc_${id}`, call_id: id, name: 'f', arguments: '{"a":1}' }),
    result: (id) => ({ type: 'function_call_output', call_id: id, output: 'x' }),
  },
  'function, whose results name items,': {
    call: (id) => ({ type: 'function_call', id: `fc_${id}`, call_id: id, name: 'f', arguments: '{"a":1}' }),
    result: (id) => ({
      type: 'function_call_output',
      call_id: `fc_${id}`,
      output: [{ type: 'input_text', text: 'x' }],
    }),
  },
  custom: {
    call: (id) => ({ type: 'custom_tool_call', call_id: id, name: 'f', input: 'x' }),
    result: (id) => ({ type: 'custom_tool_call_output', call_id: id, output: 'x' }),
  },
  shell: {
    call: (id) => ({
      type: 'local_shell_call',
      id: `s_${id}`,
      call_id: id,
      status: 'completed',
      action: { type: 'exec', command: ['ls'], env: {} },
    }),
    result: (id) => ({ type: 'local_shell_call_output', id: `s_${id}`, call_id: id, output: 'x' }),
  },
  patch: {
    call: (id) => ({
      type: 'apply_patch_call',
      call_id: id,
      status: 'completed',
      operation: { type: 'delete_file', path: 'a' },
    }),
    result: (id) => ({ type: 'apply_patch_call_output', call_id: id, status: 'completed', output: 'x' }),
  },
  'tool search': {
    call: (id) => ({ type: 'tool_search_call', call_id: id, execution: 'client', arguments: { query: 'a' } }),
    result: (id) => ({
      type: 'tool_search_output',
      call_id: id,
      execution: 'client',
      tools: [{ type: 'function', name: id, parameters: { type: 'object' } }],
    }),
  },
};

const responseTool = (name: string, parameters: JsonObject): JsonObject => ({
  type: 'function',
  name,
  description: 'd',
  parameters,
});

export const RESPONSES: [string, Make][] = [
  ...Object.entries(CALLS).flatMap(([kind, pair]) =>
    eachOrder(`${kind} calls and results,`, { ...pair, other: TEXT }, inInput),
  ),
  ['messages of one side', list(() => TEXT, inInput)],
  [
    'messages in turn',
    list(
      (at) =>
        at % 2 === 0
          ? TEXT
          : { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'b' }] },
      inInput,
    ),
  ],
  [
    'messages without a type',
    list((at) => ({ role: at % 2 === 0 ? 'user' : 'system', content: 'a' }), inInput),
  ],
  [
    'reasoning',
    list((at) => ({ type: 'reasoning', id: `rs_${at}`, summary: [], encrypted_content: `e${at}` }), inInput),
  ],
  [
    'reasoning, texts and calls in turn',
    list(
      (at) =>
        [
          {
            type: 'reasoning',
            id: `rs_${at}`,
            summary: [{ type: 'summary_text', text: 's' }],
            encrypted_content: 'e',
          },
          { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'b' }] },
          { type: 'function_call', call_id: `c${at}`, name: 'f', arguments: '{}' },
          { type: 'function_call_output', call_id: `c${at - 1}`, output: 'x' },
        ][at % 4] ?? null,
      inInput,
    ),
  ],
  [
    'parts of a summary',
    list(
      () => ({ type: 'summary_text', text: 'a' }),
      (summary) => inInput([TEXT, { type: 'reasoning', id: 'rs_1', summary, encrypted_content: 'e' }, TEXT]),
    ),
  ],
  [
    'texts of one message',
    list(
      () => ({ type: 'input_text', text: 'a' }),
      (content) => inInput([{ type: 'message', role: 'user', content }]),
    ),
  ],
  [
    'pictures of one message',
    list(
      () => ({ type: 'input_image', image_url: PICTURE }),
      (content) => inInput([{ type: 'message', role: 'user', content }]),
    ),
  ],
  [
    'files of one message',
    list(
      (at) => ({ type: 'input_file', filename: `f${at}`, file_data: 'data:application/pdf;base64,JVBERi0=' }),
      (content) => inInput([{ type: 'message', role: 'user', content }]),
    ),
  ],
  [
    'pages of an answer',
    list(
      (at) => ({
        type: 'url_citation',
        url: `https://a.example/${at}`,
        title: 't',
        start_index: 0,
        end_index: 1,
      }),
      (annotations) =>
        inInput([
          TEXT,
          { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'b', annotations }] },
          TEXT,
        ]),
    ),
  ],
  [
    'parts of a result',
    list(
      () => ({ type: 'input_text', text: 'a' }),
      (output) =>
        inInput([
          { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
          { type: 'function_call_output', call_id: 'c', output },
        ]),
    ),
  ],
  [
    'results of parts of one call',
    (items) =>
      inInput([
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
        ...times(items, () => ({
          type: 'function_call_output',
          call_id: 'c',
          output: [{ type: 'input_text', text: 'a' }],
        })),
      ]),
  ],
  [
    'searches that the provider made',
    list(
      (at) => ({
        type: 'web_search_call',
        id: `ws_${at}`,
        status: 'completed',
        action: { type: 'search', query: 'a' },
      }),
      inInput,
    ),
  ],
  ['items that nobody knows', list((at) => ({ type: `unknown_${at % 3}_output`, id: `u${at}` }), inInput)],
  ['references', list((at) => ({ type: 'item_reference', id: `rs_${at % 1000}` }), inInput)],
  [
    'items that bring tools',
    list(
      (at) => ({ type: 'additional_tools', tools: [responseTool(`f${at}`, { type: 'object' })] }),
      inInput,
    ),
  ],
  ['items with members that nobody knows', list((at) => ({ ...TEXT, [`u${at}`]: 1 }), inInput)],
  ...eachTool(responseTool),
  [
    'custom tools',
    list(
      (at) => ({ type: 'custom', name: `t${at}`, format: { type: 'text' } }),
      (tools) => ({ tools }),
    ),
  ],
  [
    'tools of one namespace',
    list(
      (at) => responseTool(`t${at}`, { type: 'object' }),
      (tools) => ({ tools: [{ type: 'namespace', name: 'n', description: 'd', tools }] }),
    ),
  ],
  [
    'namespaces of tools',
    list(
      (at) => ({
        type: 'namespace',
        name: `n${at}`,
        description: 'd',
        tools: [responseTool('t', { type: 'object' })],
      }),
      (tools) => ({ tools }),
    ),
  ],
  [
    'namespaces that are allowed',
    (items) => ({
      tools: times(items / 2, (at) => ({
        type: 'namespace',
        name: `n${at}`,
        description: 'd',
        tools: [responseTool('t', { type: 'object' })],
      })),
      tool_choice: {
        type: 'allowed_tools',
        mode: 'auto',
        tools: times(items / 2, (at) => ({ type: 'namespace', name: `n${at}` })),
      },
    }),
  ],
  [
    'tools of the provider',
    list(
      (at) => ({
        type: 'web_search',
        search_context_size: 'low',
        filters: { allowed_domains: [`${at}.example`] },
      }),
      (tools) => ({ tools }),
    ),
  ],
  [
    'allowed tools',
    (items) => ({
      tools: times(items, (at) => responseTool(`f${at}`, { type: 'object' })),
      tool_choice: {
        type: 'allowed_tools',
        mode: 'auto',
        tools: times(items, (at) => ({ type: 'function', name: `f${at}` })),
      },
    }),
  ],
  ...Object.entries(SCHEMAS).map(([what, schema]): [string, Make] => [
    `an answer's ${what}`,
    (items) => ({
      text: { format: { type: 'json_schema', name: 'n', schema: schema(items), strict: true } },
    }),
  ]),
  [
    'what is included',
    list(
      (at) => `a.b${at}`,
      (include) => ({ include }),
    ),
  ],
  ['metadata', metadata],
  ['members that nobody knows', unknown],
];
