import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { estimateBody, estimateText, isAtLeast } from '../../../src/protocols/shared/hints.ts';
import type { JsonObject } from '../../../src/canonical/json.ts';

const WORDS = 'the quick brown fox jumps over the lazy dog '.repeat(100);
const TOKENS = WORDS.length / 4;

function chat(content: JsonObject['content']): JsonObject {
  return { model: 'm', messages: [{ role: 'user', content }] };
}

describe('estimateText', () => {
  it('counts bytes of UTF-8, so that other scripts weigh more', () => {
    expect(estimateText('abcdefgh')).toBe(2);
    expect(estimateText('日本語日')).toBe(3);
    expect(estimateText('')).toBe(0);
    expect(estimateText(1000)).toBe(250);
  });
});

describe('estimateBody', () => {
  it.each<[string, JsonObject]>([
    ['a string', chat(WORDS)],
    ['parts', chat([{ type: 'text', text: WORDS }])],
    ['a system prompt', { system: WORDS, messages: [] }],
    ['system blocks', { system: [{ type: 'text', text: WORDS, cache_control: { type: 'ephemeral' } }] }],
    ['a tool result', chat([{ type: 'tool_result', tool_use_id: 'toolu_1', content: WORDS }])],
    [
      'arguments',
      { messages: [{ role: 'assistant', tool_calls: [{ id: 'c', function: { arguments: WORDS } }] }] },
    ],
    ['a description of a tool', { tools: [{ name: 'x', description: WORDS }] }],
    ['a legacy function', { functions: [{ name: 'x', description: WORDS }] }],
    ["a chat client's schema of the answer", { response_format: { json_schema: { description: WORDS } } }],
    ["a messages client's", { output_config: { format: { schema: { description: WORDS } } } }],
    ['the older form of it', { output_format: { schema: { description: WORDS } } }],
  ])('finds the text of %s', (_, body) => {
    expect(estimateBody(body)).toBeGreaterThanOrEqual(TOKENS);
    expect(estimateBody(body)).toBeLessThan(TOKENS + 20);
  });

  it('counts the names that a model reads in a schema and in the input of a call', () => {
    const name = 'member'.repeat(100);
    expect(estimateBody({ tools: [{ input_schema: { properties: { [name]: {} } } }] })).toBeGreaterThan(150);
    expect(estimateBody(chat([{ type: 'tool_use', input: { [name]: 1 } }]))).toBeGreaterThan(150);
  });

  it('counts what stands around each message', () => {
    const messages = Array.from({ length: 100 }, () => ({ role: 'user', content: '' }));
    expect(estimateBody({ messages })).toBe(400);
  });

  it('does not count what the model never reads', () => {
    expect(estimateBody({ ...chat('hi'), metadata: { note: WORDS }, model: WORDS })).toBeLessThan(10);
    expect(estimateBody(chat([{ type: 'thinking', thinking: '', signature: WORDS }]))).toBeLessThan(10);
  });

  const base64 = 'A'.repeat(400_000);
  it.each<[string, JsonObject]>([
    ['chat', { type: 'image_url', image_url: { url: `data:image/png;base64,${base64}` } }],
    ['messages', { type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64 } }],
    ['a URL', { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }],
  ])('counts an image as a picture, not as its base64 (%s)', (_, part) => {
    expect(estimateBody(chat([part]))).toBeGreaterThan(1400);
    expect(estimateBody(chat([part]))).toBeLessThan(1600);
  });

  it.each<[string, JsonObject]>([
    [
      'chat',
      { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${base64}` } },
    ],
    [
      'messages',
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: base64 } },
    ],
  ])('counts a PDF by its size (%s)', (_, part) => {
    expect(estimateBody(chat([part]))).toBeGreaterThan(8_000);
    expect(estimateBody(chat([part]))).toBeLessThan(12_000);
  });

  it('counts audio by its size', () => {
    const tokens = estimateBody(
      chat([{ type: 'input_audio', input_audio: { data: base64, format: 'mp3' } }]),
    );
    expect(tokens).toBeGreaterThan(100);
    expect(tokens).toBeLessThan(1_000);
  });

  it('takes any JSON', () => {
    expect(estimateBody({})).toBe(0);
    expect(estimateBody({ messages: null, tools: 'x', system: [null, 1, [true]] })).toBeLessThan(5);
  });
});

describe('isAtLeast', () => {
  it('says what the whole estimate would say, wherever it stops counting', () => {
    const members = fc.record({
      system: fc.jsonValue(),
      messages: fc.array(fc.jsonValue()),
      tools: fc.jsonValue(),
      response_format: fc.jsonValue(),
    });
    fc.assert(
      fc.property(members, (body) => {
        const whole = estimateBody(body);
        for (const tokens of [0, 1, whole - 1, whole, whole + 1])
          expect(isAtLeast(body as JsonObject, tokens)).toBe(tokens <= whole);
      }),
      { examples: [[{ system: null, messages: [], tools: null, response_format: null }]] },
    );
  });
});
