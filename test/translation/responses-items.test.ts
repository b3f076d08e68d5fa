// Input items of responses clients, one row for each type, and laws over made-up conversations of them: what is said reaches the
// provider or is named, and a call bears the name that its tool has in the list.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import { DEFAULT_TRAITS } from '../../src/canonical/traits.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { crossTo } from './cross.ts';
import { NO_ARGUMENTS } from '../../src/protocols/shared/tools/function-tools.ts';

const ask = { role: 'user', content: 'hi' };
const so = { role: 'user', content: 'so?' };
const call = (type: string, more: JsonObject): JsonObject => ({ type, call_id: 'c1', ...more });
const asChat = (name: string, args: string, output: string): JsonObject[] => [
  { tool_calls: [{ id: 'c1', type: 'function', function: { name, arguments: args } }] },
  { role: 'tool', tool_call_id: 'c1', content: output },
];
const found = { type: 'function', name: 'found', parameters: null };
const client = { execution: 'client' };

interface Row {
  items: JsonObject[];
  tools?: JsonObject[];
  /** What stands between the first question and the last one on chat. */
  chat: JsonObject[];
  dropped?: string[];
}

const SILENT = [
  'web_search_call',
  'file_search_call',
  'computer_call',
  'computer_call_output',
  'code_interpreter_call',
  'image_generation_call',
  'mcp_call',
  'mcp_list_tools',
  'mcp_approval_request',
  'mcp_approval_response',
  'program',
];

const ROWS: Record<string, Row> = {
  'a message without a type': {
    items: [{ role: 'assistant', content: 'x' }],
    chat: [{ role: 'assistant', content: 'x' }],
  },
  'a message with a type': {
    items: [{ type: 'message', role: 'developer', content: 'x' }],
    chat: [{ role: 'system', content: 'x' }],
  },
  'an echoed answer': {
    items: [
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'x', annotations: [], logprobs: [], parsed: { a: 1 } }],
      },
    ],
    chat: [{ role: 'assistant', content: 'x' }],
  },
  'a refusal': {
    items: [{ role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] }],
    chat: [{ role: 'assistant', refusal: 'no' }],
  },
  function_call: {
    items: [
      call('function_call', {
        name: 'f',
        arguments: '{"a":1}',
        parsed_arguments: { a: 1 },
        status: 'completed',
      }),
      call('function_call_output', { output: 'r' }),
    ],
    chat: asChat('f', '{"a":1}', 'r'),
  },
  'function_call with parts as output': {
    items: [
      call('function_call', { name: 'f', arguments: '' }),
      call('function_call_output', { output: [{ type: 'input_text', text: 'r' }] }),
    ],
    chat: asChat('f', '{}', 'r'),
  },
  'function_call of a namespace': {
    tools: [{ type: 'namespace', name: 'n', tools: [found] }],
    items: [
      call('function_call', { name: 'found', namespace: 'n', arguments: '{}' }),
      call('function_call_output', { output: 'r' }),
    ],
    chat: asChat('n__found', '{}', 'r'),
  },
  'function_call of the namespace functions': {
    tools: [{ type: 'namespace', name: 'functions', tools: [found] }],
    items: [
      call('function_call', { name: 'found', namespace: 'functions', arguments: '{}' }),
      call('function_call_output', { output: 'r' }),
    ],
    chat: asChat('found', '{}', 'r'),
  },
  custom_tool_call: {
    tools: [{ type: 'custom', name: 'p' }],
    items: [
      call('custom_tool_call', { name: 'p', input: 'raw' }),
      call('custom_tool_call_output', { output: 'r' }),
    ],
    chat: asChat('p', '{"input":"raw"}', 'r'),
  },
  tool_search_call: {
    tools: [{ type: 'tool_search', ...client }],
    items: [
      call('tool_search_call', { ...client, arguments: { query: 'q' } }),
      call('tool_search_output', { ...client, tools: [found] }),
    ],
    chat: asChat('tool_search', '{"query":"q"}', 'These tools can be called now: found'),
  },
  local_shell_call: {
    tools: [{ type: 'local_shell' }],
    items: [
      call('local_shell_call', { action: { type: 'exec', command: ['ls'] } }),
      call('local_shell_call_output', { output: 'r' }),
    ],
    chat: asChat('local_shell', '{"command":["ls"]}', 'r'),
  },
  shell_call: {
    tools: [{ type: 'shell' }],
    items: [
      call('shell_call', { action: { commands: ['ls'] } }),
      call('shell_call_output', { output: [{ stdout: 'r' }] }),
    ],
    chat: asChat('shell', '{"commands":["ls"]}', '[{"stdout":"r"}]'),
  },
  apply_patch_call: {
    tools: [{ type: 'apply_patch' }],
    items: [
      call('apply_patch_call', { operation: { type: 'delete_file', path: 'p' } }),
      call('apply_patch_call_output', { status: 'completed', output: null }),
    ],
    chat: asChat('apply_patch', '{"type":"delete_file","path":"p"}', 'completed'),
  },
  'reasoning that nobody can read': {
    items: [{ type: 'reasoning', id: 'rs_1', summary: [], content: null, encrypted_content: 'OPAQUE' }],
    chat: [],
    dropped: ['input[]'],
  },
  'a reference to reasoning': {
    items: [{ type: 'item_reference', id: 'rs_1' }],
    chat: [],
    dropped: ['input[]'],
  },
  additional_tools: { items: [{ type: 'additional_tools', role: 'developer', tools: [found] }], chat: [] },
  agent_message: {
    items: [
      { type: 'agent_message', author: 'a', recipient: 'b', content: [{ type: 'input_text', text: 'x' }] },
    ],
    chat: [{ role: 'system', content: 'x' }],
  },
  ...Object.fromEntries(
    SILENT.map((type): [string, Row] => [
      type,
      { items: [{ type, id: 'x_1', output: 'hidden' }], chat: [], dropped: ['input[]'] },
    ]),
  ),
};

describe.each(Object.entries(ROWS))('%s', (_, { items, tools = [], chat, dropped = [] }) => {
  const members = { tools, input: [ask, ...items, so] };

  it('is what chat has for it', () => {
    const crossed = crossTo('responses', 'chat', members);
    // Two questions in a row are one.
    const both = { role: 'user', content: expect.anything() as unknown };
    expect(crossed.body.messages).toMatchObject(chat.length === 0 ? [both] : [ask, ...chat, so]);
    expect(JSON.stringify(crossed.body)).not.toMatch(/OPAQUE|hidden/);
    expect(crossed.dropped).toEqual(dropped);
  });

  it('is the same value read, written and read again', () => {
    const { body } = crossTo('responses', 'chat', members);
    const request = protocols.responses.client.decodeRequest({ model: 'm', ...members });
    const again = protocols.responses.provider.encodeRequest(request, 'm', DEFAULT_TRAITS);
    expect(crossTo('responses', 'chat', again.body).body).toEqual(body);
  });
});

describe('what comes twice', () => {
  const first = { type: 'function', name: 'f', description: 'old' };
  const newer = { type: 'function', name: 'f', description: 'new' };

  it.each<[string, JsonObject]>([
    ['in the list', { tools: [first, newer] }],
    [
      'in the course of the conversation',
      { tools: [first], input: [ask, { type: 'additional_tools', tools: [newer] }] },
    ],
    ['in one namespace', { tools: [{ type: 'namespace', name: 'functions', tools: [first, newer] }] }],
  ])('a tool is sent once, as it was defined last: %s', (_, members) => {
    expect(crossTo('responses', 'chat', members).body.tools).toEqual([
      { type: 'function', function: { name: 'f', description: 'new', parameters: NO_ARGUMENTS } },
    ]);
    expect(crossTo('responses', 'messages', members).body.tools).toMatchObject([
      { name: 'f', description: 'new' },
    ]);
  });

  it.each(['chat', 'messages'] as const)('a call is answered once on %s', (to) => {
    const once = [
      call('function_call', { name: 'f', arguments: '{}' }),
      call('function_call_output', { output: 'r' }),
    ];
    const { body } = crossTo('responses', to, { input: [ask, ...once, ...once, so] });
    const ids = JSON.stringify(body.messages).match(/"(?:tool_call_id|tool_use_id)":"[^"]*"/g) ?? [];
    expect(new Set(ids).size).toBe(ids.length);
  });
});

// -- made-up conversations --

const word = fc.stringMatching(/^[a-z]{6}$/).map((text) => `w${text}.`);
const name = fc.constantFrom('read', 'mail.send', 'x'.repeat(66), '__b', 'a__b', 'shell');
const tool = fc.record({
  name,
  namespace: fc.constantFrom(undefined, 'functions', 'n', 'a', `mcp__${'y'.repeat(60)}__`),
});
type MadeTool = typeof tool extends fc.Arbitrary<infer T> ? T : never;
const listed = ({ name: own, namespace }: MadeTool): JsonObject =>
  namespace === undefined
    ? { type: 'function', name: own }
    : { type: 'namespace', name: namespace, tools: [{ type: 'function', name: own }] };
const step = fc.oneof(
  word.map((content) => ({ say: [{ role: 'user', content }] })),
  word.map((content) => ({ say: [{ role: 'developer', content }] })),
  word.map((content) => ({
    say: [{ role: 'assistant', content: [{ type: 'output_text', text: content, annotations: [] }] }],
  })),
  word.map((id) => ({ say: [{ type: 'web_search_call', id }] })),
  fc.record({ use: fc.nat(5), args: word, output: word }),
);

/** Items, and the words in them that must arrive. */
function conversation(
  steps: (typeof step extends fc.Arbitrary<infer T> ? T : never)[],
  tools: MadeTool[],
): JsonObject[] {
  return steps.flatMap((one, index): JsonObject[] => {
    if ('say' in one) return one.say;
    const used = tools[one.use % Math.max(1, tools.length)];
    if (used === undefined) return [];
    return [
      { type: 'function_call', call_id: `c${index}`, ...used, arguments: JSON.stringify({ a: one.args }) },
      { type: 'function_call_output', call_id: `c${index}`, output: one.output },
    ];
  });
}

describe('a made-up conversation', () => {
  const made = fc.tuple(fc.array(tool, { maxLength: 5 }), fc.array(step, { maxLength: 8 }));

  it.each(['chat', 'messages'] as const)(
    'reaches %s word by word, and calls by the names of their tools',
    (to) => {
      fc.assert(
        fc.property(made, ([own, steps]) => {
          const input = [...conversation(steps, own), { role: 'user', content: 'wlast.' }];
          const { body, dropped } = crossTo('responses', to, { input, tools: own.map(listed) });
          const searched = input.some(({ type }) => type === 'web_search_call');
          expect(dropped).toEqual(searched ? ['input[]'] : []);
          const sent = JSON.stringify(body);
          const said = JSON.stringify(input.filter(({ type }) => type !== 'web_search_call'));
          for (const text of said.match(/w[a-z]{6}\./g) ?? []) expect(sent).toContain(text);
          const names = new Set((body.tools as JsonObject[] | undefined)?.map((one) => nameOf(one)));
          expect(names.size).toBe(new Set(own.map((one) => JSON.stringify([one.name, spaceOf(one)]))).size);
          for (const { tool_calls: calls, content } of body.messages as JsonObject[]) {
            const blocks = (Array.isArray(content) ? content : []) as JsonObject[];
            const made = [
              ...((calls ?? []) as JsonObject[]),
              ...blocks.filter(({ type }) => type === 'tool_use'),
            ];
            for (const one of made) expect(names).toContain(nameOf(one));
          }
        }),
      );
    },
  );

  it('is the same conversation read, written and read again', () => {
    fc.assert(
      fc.property(made, ([own, steps]) => {
        const input = [...conversation(steps, own), { role: 'user', content: 'wlast.' }];
        const { client: reader, provider } = protocols.responses;
        const request = reader.decodeRequest({ model: 'm', input, tools: own.map(listed) });
        const { body } = provider.encodeRequest(request, 'm', DEFAULT_TRAITS);
        const again = reader.decodeRequest(body);
        const meant = (messages: typeof request.messages): unknown =>
          JSON.parse(JSON.stringify(messages, (key, value: unknown) => (key === 'at' ? undefined : value)));
        expect(meant(again.messages)).toEqual(meant(request.messages));
        expect(again.tools).toEqual(request.tools);
      }),
    );
  });
});

function nameOf({ function: func, name: own }: JsonObject): unknown {
  return own ?? (func as JsonObject).name;
}

/** Tools of the namespace `functions` are those without one. */
function spaceOf({ namespace }: MadeTool): string | undefined {
  return namespace === 'functions' ? undefined : namespace;
}
