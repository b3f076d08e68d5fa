// What is refused at the door, by name, and what a request is found to need.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/canonical/json.ts';
import { NO_NEEDS, type Needs } from '../../../../src/canonical/traits.ts';
import { GatewayError } from '../../../../src/errors.ts';
import { messages } from '../../../../src/protocols/messages/index.ts';
import { readCountEnvelope } from '../../../../src/protocols/messages/request/envelope.ts';
import { bodyOf } from '../../../../src/protocols/json/body.ts';

const GOOD = { model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] };

function refusal(value: JsonObject): GatewayError | undefined {
  try {
    messages.client.endpoints[0].readEnvelope(bodyOf(value), {});
    return undefined;
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

describe('the envelope', () => {
  it.each<[string, JsonObject]>([
    ['model', { model: '' }],
    ['model', { model: 3 }],
    ['max_tokens', { max_tokens: null }],
    ['max_tokens', { max_tokens: 1.5 }],
    ['max_tokens', { max_tokens: -1 }],
    ['max_tokens', { max_tokens: '10' }],
    ['messages', { messages: [] }],
    ['messages', { messages: 'hi' }],
    ['messages', { messages: undefined }],
    ['messages[0]', { messages: ['hi'] }],
    ['messages[1].role', { messages: [GOOD.messages[0] ?? null, { role: 'tool', content: 'x' }] }],
    ['messages[0].content', { messages: [{ role: 'user' }] }],
    ['messages[0].content', { messages: [{ role: 'assistant', content: null }] }],
    ['stream', { stream: 'yes' }],
    ['tools', { tools: {} }],
    ['tool_choice', { tool_choice: 'auto' }],
    ['tool_choice', { tool_choice: [] }],
    ['top_p', { top_p: 1.1 }],
    ['temperature', { temperature: 1.01 }],
    ['temperature', { temperature: '1' }],
    ['top_k', { top_k: -1 }],
    ['system', { system: {} }],
    ['stop_sequences', { stop_sequences: 'x' }],
    ['stop_sequences[1]', { stop_sequences: ['x', 1] }],
    ['thinking', { thinking: true }],
  ])('names %s when it is wrong', (param, wrong) => {
    const error = refusal({ ...GOOD, ...wrong });
    expect(error?.kind).toBe('invalid_request');
    expect(error?.options.param).toBe(param);
    expect(error?.message).toContain(param);
  });

  it('takes null for absence, a system role, a cache filling request and unknown fields', () => {
    const value = {
      ...GOOD,
      max_tokens: 0,
      messages: [{ role: 'system', content: 'a' }, ...GOOD.messages],
      stream: null,
      tools: null,
      tool_choice: null,
      top_p: null,
      temperature: null,
      top_k: null,
      system: null,
      stop_sequences: null,
      thinking: null,
      whatever: 1,
    };
    expect(refusal(value)).toBeUndefined();
  });

  it('counts tokens without max_tokens, but not without messages', () => {
    expect(readCountEnvelope(bodyOf({ model: 'm', messages: GOOD.messages })).model).toBe('m');
    expect(() => readCountEnvelope(bodyOf({ model: 'm' }))).toThrow('messages');
  });

  const image = { type: 'image', source: { type: 'url', url: 'https://a/b.png' } };
  it.each<[string, JsonObject, Partial<Needs>]>([
    ['nothing', {}, {}],
    ['an image', { messages: [{ role: 'user', content: [image] }] }, { image: true }],
    [
      'an image in a tool result',
      {
        messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [image] }] }],
      },
      { image: true },
    ],
    [
      'a PDF',
      { messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'base64' } }] }] },
      { document: true },
    ],
    [
      'a document that is text',
      { messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'text', data: 'a' } }] }] },
      {},
    ],
    ['tools', { tools: [{ name: 'a', input_schema: {} }] }, { tools: true }],
    [
      'server tools alone',
      { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
      { serverTools: true },
    ],
    ['thinking', { thinking: { type: 'adaptive' } }, { thinking: true }],
    ['thinking switched off', { thinking: { type: 'disabled' } }, {}],
    [
      'a format',
      { output_config: { format: { type: 'json_schema', schema: {} } } },
      { structuredOutput: true },
    ],
    ['a format in its older place', { output_format: { type: 'json_schema' } }, { structuredOutput: true }],
  ])('finds that a request needs %s', (_, value, needs) => {
    expect(messages.client.endpoints[0].readEnvelope(bodyOf({ ...GOOD, ...value }), {}).needs).toEqual({
      ...NO_NEEDS,
      ...needs,
    });
  });
});
