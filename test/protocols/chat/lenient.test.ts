// What compatible servers send in place of chat's own members, for chunks and whole replies alike.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/canonical/json.ts';
import { strictChunk, strictReply } from '../../../src/protocols/chat/lenient.ts';
import { chunk } from './frames.ts';

const usage = { prompt_tokens: 10, completion_tokens: 2 };
const zeros = { prompt_tokens: 0, completion_tokens: 0 };
const reply = (message: JsonObject): JsonObject => ({
  choices: [{ index: 0, message, finish_reason: 'stop' }],
});
/** The strict form of a delta, and of the same members in a whole message. */
const both = (message: JsonObject): unknown[] => [
  strictChunk(chunk(message)).choices,
  strictReply(reply(message)).choices,
];
const expected = (message: JsonObject): unknown[] => [chunk(message).choices, reply(message).choices];

describe('the same object is returned for', () => {
  it.each<[string, JsonObject]>([
    ['text', { content: 'a' }],
    ['a role', { role: 'assistant', content: '', refusal: null, audio: null }],
    ['reasoning', { reasoning_content: 'a', reasoning: null }],
    ['items of reasoning', { reasoning_details: [{ type: 'reasoning.text', text: 'a' }] }],
    ['a call', { tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '' } }] }],
    ['a custom call', { tool_calls: [{ index: 0, id: 'a', custom: { name: 'f', input: '' } }] }],
  ])('%s', (_, message) => {
    const [asChunk, asReply] = [chunk(message), reply(message)];
    expect(strictChunk(asChunk)).toBe(asChunk);
    expect(strictReply(asReply)).toBe(asReply);
  });

  it("usage in its place, whatever stands in a vendor's member", () => {
    const value = chunk({}, { usage, x_groq: { id: 'req', usage: zeros } });
    expect(strictChunk(value)).toBe(value);
  });
});

describe('usage is found', () => {
  it.each<[string, JsonObject]>([
    ["under Groq's name", { choices: [], x_groq: { usage } }],
    ["under Groq's name beside null", { choices: [], usage: null, x_groq: { usage } }],
    ['in a choice', { choices: [{ index: 0, delta: {}, usage }] }],
    ['in a choice beside zeros', { usage: zeros, choices: [{ index: 0, delta: {}, usage }] }],
  ])('%s', (_, value) => {
    expect(strictChunk(value).usage).toEqual(usage);
    expect(strictReply(value).usage).toEqual(usage);
  });
});

it("an error under Groq's name is the whole chunk", () => {
  const error = { message: 'busy' };
  expect(strictChunk(chunk({}, { x_groq: { error } }))).toEqual({ error });
});

it('an empty finish reason counts as absent, and a message in a chunk as its delta', () => {
  expect(strictChunk(chunk({ content: 'a' }, { finish_reason: '' }))).toEqual(chunk({ content: 'a' }));
  const message = { content: 'a' };
  const value = { choices: [{ index: 0, message, finish_reason: null }] };
  expect(strictChunk(value).choices).toMatchObject([{ delta: message }]);
});

describe('reasoning has two members, whatever a server calls them', () => {
  const details = [{ type: 'reasoning.text', text: 'a' }];
  const blocks = [{ type: 'thinking', thinking: 'a', signature: 's' }];

  it.each<[string, JsonObject, JsonObject]>([
    ['plain text', { reasoning: 'a' }, { reasoning_content: 'a' }],
    ['both names', { reasoning: 'a', reasoning_content: 'b' }, { reasoning_content: 'b' }],
    ['blocks', { thinking_blocks: blocks }, { reasoning_details: blocks }],
    [
      'blocks with more signatures than the details',
      { reasoning_details: details, thinking_blocks: blocks },
      { reasoning_details: blocks },
    ],
    [
      'blocks with no more than the details',
      { reasoning_details: blocks, thinking_blocks: details },
      { reasoning_details: blocks },
    ],
  ])('%s', (_, message, strict) => {
    expect(both(message)).toEqual(expected(strict));
  });
});

it('members whose value is a zero are absent', () => {
  const call = { index: 0, id: 'a', function: { name: 'f', arguments: '{}' } };
  const message = {
    content: 'a',
    audio: { id: '', data: '' },
    images: [{ url: '' }],
    function_call: { name: '', arguments: '' },
    tool_calls: [{ ...call, custom: { name: '', input: '' } }],
  };
  expect(both(message)).toEqual(expected({ content: 'a', tool_calls: [call] }));
});
