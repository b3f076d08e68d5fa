// What a relayed body is changed in, for a target that is known to refuse it: single members, all other bytes as they were.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { DEFAULT_TRAITS, type Traits } from '../../src/canonical/traits.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { fitBody } from '../../src/protocols/shared/relay/fit.ts';
import { bodyIn } from '../../src/protocols/json/body.ts';

const TOOL = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } };
const UNION = { anyOf: [{ type: 'object', properties: { a: {} }, required: ['a'] }] };
const JOINED = { properties: { a: {} }, required: ['a'], type: 'object' };
const CALLS = [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }];

interface Case {
  traits: Partial<Traits>;
  before: JsonObject;
  after: JsonObject;
  dropped?: string[];
  changed?: string[];
}

const CHAT: Readonly<Record<string, Case>> = {
  'members of messages': {
    traits: { rejectFields: ['store', 'messages[].name', 'service_tier=flex'] },
    before: {
      store: true,
      service_tier: 'flex',
      messages: [
        { role: 'user', name: 'x', content: 'a' },
        { role: 'user', content: 'b' },
      ],
    },
    after: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'user', content: 'b' },
      ],
    },
    dropped: ['store', 'messages[].name', 'service_tier'],
  },
  'a value that is not the refused one stays': {
    traits: { rejectFields: ['service_tier=flex'] },
    before: { service_tier: 'auto' },
    after: { service_tier: 'auto' },
  },
  'the limit of the output, by its newer name': {
    traits: { maxTokensField: 'max_completion_tokens', maxOutput: 100 },
    before: { max_tokens: 50 },
    after: { max_completion_tokens: 50 },
    changed: ['max_tokens'],
  },
  'more output than the model has': {
    traits: { maxOutput: 100 },
    before: { max_completion_tokens: 500 },
    after: { max_completion_tokens: 100 },
    changed: ['max_completion_tokens'],
  },
  'the nearest effort': {
    traits: { efforts: ['low', 'high'] },
    before: { reasoning_effort: 'xhigh' },
    after: { reasoning_effort: 'high' },
    changed: ['reasoning_effort'],
  },
  'no effort at a model without': {
    traits: { efforts: [] },
    before: { reasoning_effort: 'high' },
    after: {},
    dropped: ['reasoning_effort'],
  },
  'off by another member': {
    traits: { efforts: ['low', 'high'], thinkingForm: 'type', thinksByDefault: true },
    before: { reasoning_effort: 'none' },
    after: { thinking: { type: 'disabled' } },
    dropped: ['reasoning_effort'],
    changed: ['thinking'],
  },
  'off where it cannot be': {
    traits: { efforts: ['low', 'high'], thinkingOff: 'never', thinksByDefault: true },
    before: { reasoning_effort: 'none' },
    after: { reasoning_effort: 'low' },
    changed: ['reasoning_effort'],
  },
  'tools beside thinking': {
    traits: { toolsWhileThinking: 'not_on_chat', thinksByDefault: true },
    before: { tools: [TOOL] },
    after: { tools: [TOOL], reasoning_effort: 'none' },
    changed: ['reasoning_effort'],
  },
  'a forced call of a model that thinks by default, off for the request': {
    traits: { thinksByDefault: true, thinkingForm: 'type' },
    before: { tools: [TOOL], tool_choice: 'required' },
    after: { tools: [TOOL], tool_choice: 'required', thinking: { type: 'disabled' } },
    changed: ['thinking'],
  },
  'a forced call while the client asks to think': {
    traits: { thinksByDefault: true },
    before: { tools: [TOOL], tool_choice: 'required', reasoning_effort: 'high' },
    after: { tools: [TOOL], tool_choice: 'auto', reasoning_effort: 'high' },
    changed: ['tool_choice'],
  },
  'words alone for a choice': {
    traits: { namedToolChoice: false },
    before: {
      tools: [{ type: 'function', function: { name: 'g' } }, TOOL],
      tool_choice: { type: 'function', function: { name: 'f' } },
    },
    after: { tools: [TOOL], tool_choice: 'required' },
    dropped: ['tools[]'],
    changed: ['tool_choice'],
  },
  'a named tool whose schema and members are refused too': {
    traits: {
      namedToolChoice: false,
      schemaRoot: 'object',
      rejectFields: ['tools[].function.strict'],
    },
    before: {
      tools: [
        { type: 'function', function: { name: 'g' } },
        { type: 'function', function: { name: 'f', strict: false, parameters: UNION } },
      ],
      tool_choice: { type: 'function', function: { name: 'f' } },
    },
    after: {
      tools: [{ type: 'function', function: { name: 'f', parameters: JOINED } }],
      tool_choice: 'required',
    },
    dropped: ['tools[]', 'tools[].function.strict'],
    changed: ['tool_choice', 'tools[].function.parameters'],
  },
  'names that every object knows': {
    traits: { rejectFields: ['__proto__', 'constructor', 'messages[].toString'] },
    before: { messages: [{ role: 'user', content: 'Hi' }] },
    after: { messages: [{ role: 'user', content: 'Hi' }] },
  },
  'a union at the root of a schema': {
    traits: { schemaRoot: 'object' },
    before: { tools: [{ type: 'function', function: { name: 'f', parameters: UNION } }] },
    after: { tools: [{ type: 'function', function: { name: 'f', parameters: JOINED } }] },
    changed: ['tools[].function.parameters'],
  },
  sampling: {
    traits: { rejectsSampling: true },
    before: { temperature: 0.3, top_p: 1 },
    after: { top_p: 1 },
    dropped: ['temperature'],
  },
  'late system text, texts in a list, ids and the detail of an image': {
    traits: { lateSystem: 'user', contentLists: false, toolIds: 'mistral' },
    before: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        },
        { role: 'system', content: 'c' },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,', detail: 'original' } }] },
        { role: 'assistant', tool_calls: CALLS },
        { role: 'tool', tool_call_id: 'call_1', content: 'd' },
      ],
    },
    after: {
      messages: [
        { role: 'user', content: 'a\n\nb' },
        { role: 'user', content: '<system>\nc\n</system>' },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,', detail: 'high' } }] },
        {
          role: 'assistant',
          tool_calls: [{ ...CALLS[0], id: expect.stringMatching(/^[\da-zA-Z]{9}$/) as string }],
        },
        { role: 'tool', tool_call_id: expect.stringMatching(/^[\da-zA-Z]{9}$/) as string, content: 'd' },
      ],
    },
    changed: [
      'messages[].role',
      'messages[].content',
      'messages[].content',
      'messages[].tool_calls[].id',
      'messages[].tool_call_id',
      'messages[].content[].image_url.detail',
    ],
  },
  'neighbours of one role, late system text and who speaks first': {
    traits: { strictAlternation: true, replayReasoning: 'always' },
    before: {
      messages: [
        { role: 'system', content: 'a' },
        { role: 'system', content: 'b' },
        { role: 'assistant', content: 'c' },
        { role: 'user', content: 'd' },
        { role: 'system', content: 'e' },
        { role: 'user', name: 'x', content: [{ type: 'image_url', image_url: { url: 'data:,' } }] },
        { role: 'assistant', content: null, tool_calls: CALLS },
        { role: 'tool', tool_call_id: 'call_1', content: 'f' },
        { role: 'tool', tool_call_id: 'call_2', content: 'g' },
        { role: 'assistant', content: 'h', reasoning_content: 'i' },
        { role: 'assistant', content: 'j', reasoning_content: 'k' },
      ],
    },
    after: {
      messages: [
        { role: 'system', content: 'a\nb' },
        { role: 'user', content: '.' },
        { role: 'assistant', content: 'c' },
        {
          role: 'user',
          name: 'x',
          content: [
            { type: 'text', text: 'd\n<system>\ne\n</system>' },
            { type: 'image_url', image_url: { url: 'data:,' } },
          ],
        },
        { role: 'assistant', content: null, tool_calls: CALLS },
        { role: 'tool', tool_call_id: 'call_1', content: 'f' },
        { role: 'tool', tool_call_id: 'call_2', content: 'g' },
        { role: 'assistant', content: 'h\nj', reasoning_content: 'i\nk' },
      ],
    },
    changed: [
      'messages',
      'messages[]',
      'messages[].content',
      'messages[].content',
      'messages[].name',
      'messages[].reasoning_content',
      'messages[].role',
    ],
  },
  'a user after a tool': {
    traits: { userAfterTool: false },
    before: {
      messages: [
        { role: 'assistant', tool_calls: CALLS },
        { role: 'tool', tool_call_id: 'call_1', content: 'a' },
        { role: 'user', content: 'b' },
      ],
    },
    after: {
      messages: [
        { role: 'assistant', tool_calls: CALLS },
        { role: 'tool', tool_call_id: 'call_1', content: 'a' },
        { role: 'assistant', content: 'I have read the results.' },
        { role: 'user', content: 'b' },
      ],
    },
    changed: ['messages'],
  },
  'a conversation that may not end with the assistant': {
    traits: { lastRole: 'user' },
    before: { messages: [{ role: 'assistant', content: 'a' }] },
    after: {
      messages: [
        { role: 'assistant', content: 'a' },
        { role: 'user', content: 'Continue.' },
      ],
    },
    changed: ['messages'],
  },
  'the beginning of an answer that is marked as such stays': {
    traits: { lastRole: 'user' },
    before: { messages: [{ role: 'assistant', content: 'a', prefix: true }] },
    after: { messages: [{ role: 'assistant', content: 'a', prefix: true }] },
  },
  'an effort of a model that thinks and knows no grades': {
    traits: { efforts: [], thinkingForm: 'type', thinksByDefault: true },
    before: { reasoning_effort: 'high' },
    after: {},
    dropped: ['reasoning_effort'],
  },
  'the same, of one that has to be told': {
    traits: { efforts: [], thinkingForm: 'enable_thinking' },
    before: { reasoning_effort: 'high' },
    after: { enable_thinking: true },
    dropped: ['reasoning_effort'],
    changed: ['enable_thinking'],
  },
  'off, of a model that has a switch and no grades': {
    traits: { efforts: [], thinkingForm: 'type', thinksByDefault: true },
    before: { reasoning_effort: 'none' },
    after: { thinking: { type: 'disabled' } },
    dropped: ['reasoning_effort'],
    changed: ['thinking'],
  },
  'an effort where budgets grade': {
    traits: { efforts: [], thinkingForm: 'enable_thinking', thinksByDefault: true, budgetRange: [128, 5000] },
    before: { reasoning_effort: 'high' },
    after: { thinking_budget: 5000 },
    dropped: ['reasoning_effort'],
    changed: ['thinking_budget'],
  },
  'more output than the window holds': {
    traits: { contextWindow: 100 },
    before: { max_tokens: 101 },
    after: { max_tokens: 100 },
    changed: ['max_tokens'],
  },
  'reasoning that must come back': {
    traits: { replayReasoning: 'tool_turns', reasoningFill: ' ', thinksByDefault: true },
    before: {
      messages: [
        { role: 'assistant', tool_calls: CALLS, reasoning_content: '' },
        { role: 'assistant', content: 'x' },
      ],
    },
    after: {
      messages: [
        { role: 'assistant', tool_calls: CALLS, reasoning_content: ' ' },
        { role: 'assistant', content: 'x' },
      ],
    },
    changed: ['messages[].reasoning_content'],
  },
  'reasoning under the name of another server': {
    traits: { replayReasoning: 'always', reasoningField: 'reasoning' },
    before: { messages: [{ role: 'assistant', content: 'x', reasoning_content: 'y' }] },
    after: { messages: [{ role: 'assistant', content: 'x', reasoning: 'y' }] },
    changed: ['messages[].reasoning_content'],
  },
  'stop sequences': {
    traits: { maxStop: 0 },
    before: { stop: ['a'] },
    after: {},
    dropped: ['stop'],
  },
  'a schema where json_object alone is taken': {
    traits: { responseFormats: ['json_object'], rejectFields: ['messages[].name'] },
    before: {
      messages: [{ role: 'user', name: 'x', content: 'a' }],
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' } } },
    },
    after: {
      messages: [
        { role: 'system', content: expect.stringMatching(/JSON schema:\n\{"type":"object"\}$/) as string },
        { role: 'user', content: 'a' },
      ],
      response_format: { type: 'json_object' },
    },
    dropped: ['messages[].name'],
    changed: ['messages', 'response_format'],
  },
  'the word JSON, where it is demanded': {
    traits: { jsonWord: true },
    before: { messages: [{ role: 'user', content: 'a' }], response_format: { type: 'json_object' } },
    after: {
      messages: [
        { role: 'system', content: expect.stringContaining('one JSON object') as string },
        { role: 'user', content: 'a' },
      ],
      response_format: { type: 'json_object' },
    },
    changed: ['messages'],
  },
  'json_object where a schema alone is taken': {
    traits: { responseFormats: ['json_schema'] },
    before: { response_format: { type: 'json_object' } },
    after: {
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' } } },
    },
    changed: ['response_format'],
  },
};

const MESSAGES: Readonly<Record<string, Case>> = {
  'a budget at a model that thinks adaptively': {
    traits: { thinkingBudget: false, thinkingAdaptive: true },
    before: { max_tokens: 9000, thinking: { type: 'enabled', budget_tokens: 4096 } },
    after: { max_tokens: 9000, thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
    changed: ['thinking', 'output_config'],
  },
  'a member of what is set anew': {
    traits: { thinkingBudget: false, thinkingAdaptive: true, rejectFields: ['output_config.format'] },
    before: {
      thinking: { type: 'enabled', budget_tokens: 4096 },
      output_config: { format: { type: 'json_schema' } },
    },
    after: { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
    dropped: ['output_config.format'],
    changed: ['thinking', 'output_config'],
  },
  'adaptive where there are budgets alone': {
    traits: { thinking: true },
    before: { max_tokens: 9000, thinking: { type: 'adaptive' } },
    after: { max_tokens: 9000, thinking: { type: 'enabled', budget_tokens: 8488 } },
    changed: ['thinking'],
  },
  'off where it cannot be': {
    traits: { thinkingOff: 'never' },
    before: { thinking: { type: 'disabled' } },
    after: {},
    dropped: ['thinking'],
  },
  'members of tools': {
    traits: { rejectFields: ['tools[].eager_input_streaming', 'context_management'] },
    before: { context_management: {}, tools: [{ name: 'f', eager_input_streaming: true }] },
    after: { tools: [{ name: 'f' }] },
    dropped: ['tools[].eager_input_streaming', 'context_management'],
  },
  'a turn of the assistant at the end': {
    traits: { lastRole: 'user' },
    before: { messages: [{ role: 'assistant', content: 'a' }] },
    after: {
      messages: [
        { role: 'assistant', content: 'a' },
        { role: 'user', content: 'Continue.' },
      ],
    },
    changed: ['messages'],
  },
  'a turn that the provider paused stays': {
    traits: { lastRole: 'user' },
    before: { messages: [{ role: 'assistant', content: [{ type: 'server_tool_use', id: 'a' }] }] },
    after: { messages: [{ role: 'assistant', content: [{ type: 'server_tool_use', id: 'a' }] }] },
  },
  'late system text': {
    traits: {},
    before: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'system', content: 'b' },
      ],
    },
    after: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'user', content: 'b' },
      ],
    },
    changed: ['messages[].role'],
  },
};

const RESPONSES: Readonly<Record<string, Case>> = {
  'the least output, and the detail of an image': {
    traits: { minOutput: 16 },
    before: {
      max_output_tokens: 1,
      input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:,', detail: 'original' }] }],
    },
    after: {
      max_output_tokens: 16,
      input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:,', detail: 'high' }] }],
    },
    changed: ['max_output_tokens', 'input[].content[].detail'],
  },
  'a forced call of a model that thinks, and no word of its thinking': {
    traits: { forcedTools: 'not_thinking', thinksByDefault: true, efforts: ['none', 'low'] },
    before: { input: 'a', tool_choice: 'required', reasoning: null },
    after: { input: 'a', tool_choice: 'required', reasoning: { effort: 'none' } },
    changed: ['reasoning.effort'],
  },
  'the same, without the member': {
    traits: { forcedTools: 'not_thinking', thinksByDefault: true, efforts: ['none', 'low'] },
    before: { input: 'a', tool_choice: 'required' },
    after: { input: 'a', tool_choice: 'required', reasoning: { effort: 'none' } },
    changed: ['reasoning.effort'],
  },
  'the word JSON, where the input has to say it': {
    traits: { jsonWord: true, systemRole: 'developer' },
    before: { instructions: 'JSON', input: 'a', text: { format: { type: 'json_object' } } },
    after: {
      instructions: 'JSON',
      input: [
        { type: 'message', role: 'developer', content: expect.stringContaining('one JSON object') as string },
        { type: 'message', role: 'user', content: 'a' },
      ],
      text: { format: { type: 'json_object' } },
    },
    changed: ['input'],
  },
  'a schema where json_object alone is taken': {
    traits: { responseFormats: ['json_object'] },
    before: {
      input: [{ role: 'user', content: 'a' }],
      text: { format: { type: 'json_schema', schema: {} } },
    },
    after: {
      input: [
        { type: 'message', role: 'system', content: expect.stringMatching(/JSON schema:\n\{\}$/) as string },
        { role: 'user', content: 'a' },
      ],
      text: { format: { type: 'json_object' } },
    },
    changed: ['input', 'text.format'],
  },
  'json_object where a schema alone is taken': {
    traits: { responseFormats: ['json_schema'] },
    before: { text: { verbosity: 'low', format: { type: 'json_object' } } },
    after: {
      text: {
        verbosity: 'low',
        format: { type: 'json_schema', name: 'answer', schema: { type: 'object' } },
      },
    },
    changed: ['text.format'],
  },
  'roles in turn, late system text, a user after a tool, texts as one': {
    traits: { strictAlternation: true, userAfterTool: false, contentLists: false },
    before: {
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'a' }] },
        { role: 'developer', content: 'b' },
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: 'd' },
        { role: 'user', content: 'e' },
        { role: 'assistant', content: 'f' },
      ],
    },
    after: {
      input: [
        { role: 'user', content: 'a\n<system>\nb\n</system>' },
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: 'd' },
        { type: 'message', role: 'assistant', content: 'I have read the results.' },
        { role: 'user', content: 'e' },
        { role: 'assistant', content: 'f' },
      ],
    },
    changed: ['input', 'input[]', 'input[].content', 'input[].content', 'input[].content', 'input[].role'],
  },
  'off, of a model that a switch turns off on chat': {
    traits: { thinkingForm: 'type', efforts: ['low', 'high'], thinksByDefault: true },
    before: { input: 'a', reasoning: { effort: 'none' } },
    after: { input: 'a', reasoning: { effort: 'none' } },
  },
  'sampling while the model does not think': {
    traits: { rejectsSampling: true },
    before: { input: 'a', reasoning: { effort: 'none' }, temperature: 0.3 },
    after: { input: 'a', reasoning: { effort: 'none' }, temperature: 0.3 },
  },
  'a nested effort': {
    traits: { efforts: ['low', 'medium', 'high'] },
    before: { reasoning: { effort: 'max', summary: 'auto' } },
    after: { reasoning: { effort: 'high', summary: 'auto' } },
    changed: ['reasoning.effort'],
  },
};

const SUITES: readonly (readonly [ProtocolName, Readonly<Record<string, Case>>])[] = [
  ['chat', CHAT],
  ['messages', MESSAGES],
  ['responses', RESPONSES],
];

describe.each(SUITES)('%s', (name, cases) => {
  it.each(Object.entries(cases))('%s', (_, { traits, before, after, dropped = [], changed = [] }) => {
    const bytes = Buffer.from(JSON.stringify({ model: 'm', ...before }, null, 1));
    const body = bodyIn(bytes);
    const fitted = fitBody(
      body,
      { traits: { ...DEFAULT_TRAITS, ...traits }, isKnown: true },
      protocols[name].relay.rules,
    );
    expect(fitted?.body.value ?? body.value).toEqual({ model: 'm', ...after });
    const named = (effect: string) =>
      (fitted?.warnings ?? [])
        .filter((warning) => warning.effect === effect)
        .map(({ field }) => (typeof field === 'string' ? field : field.path))
        .sort();
    expect(named('dropped')).toEqual([...dropped].sort());
    expect(named('changed')).toEqual([...changed].sort());
  });

  it('leaves what nobody refuses', () => {
    const bytes = Buffer.from('{"model":"m" , "temperature":0.5,"x":{"y":[1]}}');
    const body = bodyIn(bytes);
    expect(
      fitBody(body, { traits: DEFAULT_TRAITS, isKnown: false }, protocols[name].relay.rules),
    ).toBeUndefined();
  });
});
