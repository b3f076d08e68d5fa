import { describe, expect, it, test } from 'vitest';
import type { JsonObject } from '../../../../src/canonical/json.ts';
import { GatewayError } from '../../../../src/errors.ts';
import { chat } from '../../../../src/protocols/chat/index.ts';
import { bodyOf } from '../../../../src/protocols/json/body.ts';

const user = { role: 'user', content: 'hi' };
const valid: JsonObject = { model: 'm', messages: [user] };

function paramOf(value: JsonObject): unknown {
  try {
    chat.client.endpoints[0].readEnvelope(bodyOf(value), {});
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    expect(error.kind).toBe('invalid_request');
    expect(error.message).toContain(error.options.param);
    return error.options.param;
  }
  return undefined;
}

const messages = (...list: unknown[]) => ({ ...valid, messages: list as JsonObject[] });

test.each<[string, JsonObject]>([
  ['model', { messages: [user] }],
  ['model', { ...valid, model: '' }],
  ['model', { ...valid, model: 5 }],
  ['messages', { model: 'm' }],
  ['messages', { ...valid, messages: 'hi' }],
  ['messages', { ...valid, messages: [] }],
  ['messages[1]', messages(user, 'hi')],
  ['messages[0].role', messages({ content: 'hi' })],
  ['messages[1].role', messages(user, { role: 'robot', content: 'hi' })],
  ['messages[0].content', messages({ role: 'user' })],
  ['messages[0].content', messages({ role: 'user', content: null })],
  ['messages[0].content', messages({ role: 'assistant', content: 5 })],
  ['messages[0].content', messages({ role: 'assistant', content: null })],
  ['messages[0].content', messages({ role: 'assistant', content: null, tool_calls: [] })],
  ['messages[0].content', messages({ role: 'assistant', content: { a: 1 }, refusal: 'no' })],
  ['stream', { ...valid, stream: 'yes' }],
  ['tools', { ...valid, tools: {} }],
  ['tool_choice', { ...valid, tool_choice: 1 }],
  ['tool_choice', { ...valid, tool_choice: [] }],
  ['top_p', { ...valid, top_p: 1.01 }],
  ['top_p', { ...valid, top_p: '1' }],
  ['temperature', { ...valid, temperature: 2.1 }],
  ['temperature', { ...valid, temperature: -0.1 }],
  ['frequency_penalty', { ...valid, frequency_penalty: 2.1 }],
  ['presence_penalty', { ...valid, presence_penalty: -2.1 }],
  ['max_tokens', { ...valid, max_tokens: 0 }],
  ['max_tokens', { ...valid, max_tokens: 1.5 }],
  ['max_completion_tokens', { ...valid, max_completion_tokens: '10' }],
  ['n', { ...valid, n: 0 }],
  ['stop', { ...valid, stop: 5 }],
  ['stop', { ...valid, stop: ['a', 5] }],
])('names %s when it is wrong', (param, value) => {
  expect(paramOf(value)).toBe(param);
});

test.each<[string, JsonObject]>([
  [
    'every role',
    messages(...['developer', 'system', 'user', 'tool', 'function'].map((role) => ({ role, content: '' }))),
  ],
  ['null content beside calls', messages({ role: 'assistant', content: null, tool_calls: [{}] })],
  ['no content beside a legacy call', messages({ role: 'assistant', function_call: { name: 'f' } })],
  ['null content beside a refusal', messages({ role: 'assistant', content: null, refusal: 'no' })],
  ['parts that it does not know', messages({ role: 'user', content: [{ type: 'new' }, 'x'] })],
  [
    'the limits themselves',
    { ...valid, temperature: 2, top_p: 0, frequency_penalty: -2, presence_penalty: 2, n: 1, max_tokens: 1 },
  ],
  [
    'null in every option',
    {
      ...valid,
      stream: null,
      tools: null,
      tool_choice: null,
      top_p: null,
      max_tokens: null,
      stop: null,
      n: null,
    },
  ],
  ['unknown fields', { ...valid, whatever: { deep: [1] } }],
])('takes %s', (_what, value) => {
  expect(paramOf(value)).toBeUndefined();
});

describe('needs', () => {
  const needs = (value: JsonObject) => {
    const found = chat.client.endpoints[0].readEnvelope(bodyOf({ ...valid, ...value }), {}).needs;
    return Object.entries(found).flatMap(([name, needed]) => (needed ? [name] : []));
  };
  const part = (type: string) => messages({ role: 'user', content: [{ type }] });
  it.each<[name: string, expected: string[], value: JsonObject]>([
    ['an empty body: nothing', [], {}],
    ['an image: image', ['image'], part('image_url')],
    [
      'an image in a result: image',
      ['image'],
      messages({ role: 'tool', tool_call_id: 'a', content: [{ type: 'image_url' }] }),
    ],
    ['a file: document', ['document'], part('file')],
    [
      'a PDF in the form of an image: document',
      ['document'],
      messages({
        role: 'user',
        content: [{ type: 'image_url', image_url: { url: 'data:application/pdf;base64,AA' } }],
      }),
    ],
    ['audio: audio', ['audio'], part('input_audio')],
    ['an answer in audio: audio', ['audio'], { modalities: ['text', 'audio'] }],
    ['tools: tools', ['tools'], { tools: [{}] }],
    ['functions: tools', ['tools'], { functions: [{}] }],
    ['empty tools: nothing', [], { tools: [] }],
    ['an effort: thinking', ['thinking'], { reasoning_effort: 'low' }],
    ['the effort none: nothing', [], { reasoning_effort: 'none' }],
    ['a budget of OpenRouter: thinking', ['thinking'], { reasoning: { max_tokens: 2000 } }],
    ['reasoning that is off: nothing', [], { reasoning: { enabled: false } }],
    ['enabled thinking: thinking', ['thinking'], { thinking: { type: 'enabled' } }],
    ['disabled thinking: nothing', [], { thinking: { type: 'disabled' } }],
    ['enable_thinking: thinking', ['thinking'], { enable_thinking: true }],
    [
      'enable_thinking of a chat template: thinking',
      ['thinking'],
      { chat_template_kwargs: { enable_thinking: true } },
    ],
    [
      'an answer of any JSON: structured output',
      ['structuredOutput'],
      { response_format: { type: 'json_object' } },
    ],
    [
      'an answer of a schema: structured output',
      ['structuredOutput'],
      { response_format: { type: 'json_schema', json_schema: {} } },
    ],
    ['an answer of text: nothing', [], { response_format: { type: 'text' } }],
    ['a web search: server tools', ['serverTools'], { web_search_options: {} }],
  ])('of %s', (_, expected, value) => {
    expect(needs(value)).toEqual(expected);
  });
});

test('reads the model and whether to stream', () => {
  expect(chat.client.endpoints[0].readEnvelope(bodyOf({ ...valid, stream: true }), {})).toMatchObject({
    model: 'm',
    stream: true,
  });
  expect(chat.client.endpoints[0].readEnvelope(bodyOf(valid), {}).stream).toBe(false);
});
