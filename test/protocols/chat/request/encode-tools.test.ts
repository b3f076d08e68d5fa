import { describe, expect, test } from 'vitest';
import type {
  Message,
  GenerationRequest,
  NativeTool,
  Tool,
  ToolChoice,
} from '../../../../src/canonical/request.ts';
import { encode, dropped, refusal } from './encoded.ts';

describe('tools', () => {
  const native = (kind: string, name = 'web_search'): NativeTool => ({
    type: 'native',
    protocol: 'messages',
    kind,
    name,
    value: { type: kind, name },
  });
  const f: Tool = { type: 'function', name: 'f', parameters: { type: 'object' } };
  test.each<[name: string, over: Partial<GenerationRequest>, choice: unknown]>([
    ['a free choice of tools', { toolChoice: { type: 'auto' } }, 'auto'],
    ['no choice of tools', { toolChoice: { type: 'none' } }, 'none'],
    ['a choice of any tool', { toolChoice: { type: 'required' } }, 'required'],
    [
      'a choice of one tool',
      { toolChoice: { type: 'tool', name: 'f' } },
      { type: 'function', function: { name: 'f' } },
    ],
    [
      'a choice among allowed tools',
      { toolChoice: { type: 'allowed', mode: 'auto', names: ['f'] } },
      {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }] },
      },
    ],
  ])('writes %s', (_, over, choice) => {
    expect(encode({ tools: [f], ...over }, { customTools: true }).body.tool_choice).toEqual(choice);
  });
  test('a server that knows no allowed_tools gets the allowed tools alone', () => {
    const g: Tool = { type: 'function', name: 'g' };
    const toolChoice: ToolChoice = { type: 'allowed', mode: 'required', names: ['g'] };
    const { body } = encode({ tools: [f, g], toolChoice });
    expect(body.tools).toMatchObject([{ function: { name: 'g' } }]);
    expect(body.tool_choice).toBe('required');
  });
  test('a server that knows no custom tools gets a function with one string, calls of the history too', () => {
    const format = { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "a"' } };
    const patch: Tool = { type: 'custom', name: 'patch', description: 'Edits.', format };
    const messages: Message[] = [
      {
        role: 'assistant',
        parts: [{ type: 'tool_call', id: 'c', name: 'patch', arguments: 'a"b', custom: true }],
      },
      { role: 'user', parts: [{ type: 'tool_result', callId: 'c', content: 'done' }] },
    ];
    const { body, restore } = encode({ tools: [patch], messages });
    expect(body.tools).toEqual([
      {
        type: 'function',
        function: {
          name: 'patch',
          description: 'Edits.\n\nThe input must follow this grammar (lark):\nstart: "a"',
          parameters: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] },
        },
      },
    ]);
    expect(body.messages).toMatchObject([
      { tool_calls: [{ type: 'function', function: { name: 'patch', arguments: '{"input":"a\\"b"}' } }] },
      { role: 'tool' },
    ]);
    expect([...restore.customTools]).toEqual(['patch']);
    expect(encode({ tools: [patch] }, { customTools: true }).body.tools).toMatchObject([
      { type: 'custom', custom: { name: 'patch', format } },
    ]);
  });
  test('a model that takes no forced call is asked', () => {
    expect(
      encode({ tools: [f], toolChoice: { type: 'required' } }, { forcedTools: 'never' }).body.tool_choice,
    ).toBe('auto');
  });
  test('one call a turn, only where there are tools', () => {
    expect(encode({ tools: [f], parallelToolCalls: false }).body.parallel_tool_calls).toBe(false);
    expect(encode({ parallelToolCalls: false, toolChoice: { type: 'auto' } }).body).toEqual(encode().body);
  });
  test("a provider's own tools are left out and reported", () => {
    const { body } = encode({ tools: [native('web_search_20250305'), f], toolChoice: { type: 'auto' } });
    expect(body.tools).toEqual([
      { type: 'function', function: { name: 'f', parameters: { type: 'object' } } },
    ]);
    expect(dropped({ tools: [native('web_search_20250305'), f] })).toEqual(['tools']);
    expect(
      encode({ tools: [native('web_search_20250305')], toolChoice: { type: 'auto' } }).body,
    ).not.toHaveProperty('tool_choice');
  });
  test('unless the choice forces one', () => {
    expect(
      refusal({
        tools: [native('web_search_20250305'), f],
        toolChoice: { type: 'tool', name: 'web_search' },
      }),
    ).toMatchObject({ param: 'tool_choice', message: expect.stringContaining('web_search') as string });
    expect(refusal({ tools: [native('web_search_20250305')], toolChoice: { type: 'required' } }).param).toBe(
      'tool_choice',
    );
  });
  test('a web search that the provider can do is no loss', () => {
    expect(
      dropped({ tools: [native('web_search_20250305')], webSearch: {} }, { webSearchOptions: true }),
    ).toEqual([]);
  });
  test("the client's own shell and editor have schemas, others are refused", () => {
    const { body } = encode({
      tools: [native('bash_20250124', 'bash'), native('text_editor_20250728', 'edit')],
    });
    expect(body.tools).toMatchObject([
      { function: { name: 'bash', parameters: { properties: { command: {} } } } },
      { function: { name: 'edit' } },
    ]);
    expect(
      refusal({ tools: [f, { ...native('computer_20250124', 'computer'), ofClient: true }] }).param,
    ).toBe('tools[1].type');
    expect(refusal({ tools: [{ ...native('mcp_toolset'), ofClient: true }] }).param).toBe('tools[0].type');
  });
  test('strict is sent if the schema allows it', () => {
    expect(dropped({ tools: [{ ...f, strict: 'open' }] })).toEqual(['tools.strict']);
    const parameters = { type: 'object', properties: {}, additionalProperties: false };
    expect(encode({ tools: [{ ...f, strict: 'open', parameters }] }).body.tools).toMatchObject([
      { function: { strict: true } },
    ]);
  });
});
