// What requests of Ollama's clients mean.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/canonical/json.ts';
import { GatewayError } from '../../../src/errors.ts';
import { decodeChat, decodeGenerate } from '../../../src/protocols/ollama/request/decode.ts';
import { readChat, readGenerate } from '../../../src/protocols/ollama/request/envelope.ts';
import { hints } from '../../../src/protocols/ollama/request/hints.ts';
import { bodyOf } from '../../../src/protocols/json/body.ts';

const question = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
const decode = (more: JsonObject) => decodeChat({ ...question, ...more });

function refusal(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof GatewayError) return error.message;
    throw error;
  }
  return 'taken';
}

describe('results of tools', () => {
  const call = (name: string, more: JsonObject = {}) => ({
    function: { name, arguments: { a: 1 } },
    ...more,
  });
  const idsOf = (calls: JsonObject[], results: JsonObject[]) =>
    decodeChat({
      model: 'm',
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: '', tool_calls: calls },
        ...results.map((result) => ({ role: 'tool', content: 'r', ...result })),
      ],
    }).messages.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === 'tool_result' ? [part.callId] : [])),
    );

  it('belong to the call of their name, whatever their order', () => {
    expect(idsOf([call('f'), call('g')], [{ tool_name: 'g' }, { tool_name: 'f' }])).toEqual([
      'call_2',
      'call_1',
    ]);
  });

  it('belong to calls of one name in their order', () => {
    expect(idsOf([call('f'), call('f')], [{ name: 'f' }, { name: 'f' }])).toEqual(['call_1', 'call_2']);
  });

  it('belong to the calls in their order where nothing is named', () => {
    expect(idsOf([call('f'), call('g')], [{}, {}])).toEqual(['call_1', 'call_2']);
  });

  it('belong to the call whose id they bear', () => {
    const calls = [call('f', { id: 'one' }), call('f', { id: 'two' })];
    const results = [{ tool_call_id: 'two', tool_name: 'f' }, { tool_call_id: 'one' }];
    expect(idsOf(calls, results)).toEqual(['two', 'one']);
  });

  it('keep the ids of a history that grows', () => {
    const turn = [
      { role: 'assistant', content: '', tool_calls: [call('f')] },
      { role: 'tool', content: 'r', tool_name: 'f' },
    ];
    const messages = (count: number) =>
      decodeChat({
        model: 'm',
        messages: [...question.messages, ...Array.from({ length: count }, () => turn).flat()],
      }).messages;
    expect(messages(3).slice(0, 5)).toEqual(messages(2));
  });

  it('keep numbers as they were written', () => {
    const body = `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{"n":12345678901234567890,"x":1.0}}}]}]}`;
    const [, { parts } = { parts: [] }] = decodeChat(
      JSON.parse(body) as JsonObject,
      Buffer.from(body),
    ).messages;
    expect(parts).toMatchObject([{ name: 'f', arguments: '{"n":12345678901234567890,"x":1.0}' }]);
  });
});

describe('options', () => {
  it('carry what other protocols have, and name the rest', () => {
    const request = decode({
      options: {
        num_predict: 7,
        temperature: 0.5,
        top_k: 9,
        top_p: 0.1,
        stop: ['x'],
        seed: 3,
        num_ctx: 4096,
      },
      keep_alive: -1,
    });
    expect(request).toMatchObject({ maxOutputTokens: 7, temperature: 0.5, topK: 9, topP: 0.1, stop: ['x'] });
    expect(request.native).toMatchObject([
      { protocol: 'ollama', path: 'keep_alive', fate: 'quiet' },
      { protocol: 'ollama', path: 'options.num_ctx', fate: 'report' },
      { protocol: 'chat', path: 'seed', asked: 'options.seed', value: 3, fate: 'report' },
    ]);
  });

  it.each([-1, -2, 0])('num_predict %d is no limit', (limit) => {
    expect(decode({ options: { num_predict: limit } }).maxOutputTokens).toBeUndefined();
    expect(readChat(bodyOf({ ...question, options: { num_predict: limit } })).outputLimit).toBeUndefined();
  });
});

it.each([
  [true, { mode: 'on' }],
  [false, { mode: 'off' }],
  ['high', { effort: 'high' }],
  [undefined, undefined],
])('think: %s', (think, reasoning) => {
  expect(decode({ think }).reasoning).toEqual(reasoning);
});

it.each([
  ['json', { type: 'json_object' }],
  [{ type: 'object' }, { type: 'json_schema', schema: { type: 'object' } }],
  ['', undefined],
])('format: %j', (format, asked) => {
  expect(decode({ format }).responseFormat).toEqual(asked);
});

it('images stand before the text, with the type that their bytes have', () => {
  const { messages } = decode({ messages: [{ role: 'user', content: 'look', images: ['/9j/AAAA'] }] });
  expect(messages[0]?.parts).toMatchObject([
    { type: 'image', source: { kind: 'base64', mediaType: 'image/jpeg', data: '/9j/AAAA' } },
    { type: 'text', text: 'look' },
  ]);
});

it('images do not count as text', () => {
  const image = 'A'.repeat(1_000_000);
  const withImage = { model: 'm', messages: [{ role: 'user', content: 'hi', images: [image] }] };
  expect(hints.estimate(withImage)).toBeLessThan(3000);
  expect(hints.estimate({ model: 'm', prompt: 'hi', images: [image] })).toBeLessThan(3000);
});

it('a prompt is a message of the user, with the system text before it', () => {
  const { messages } = decodeGenerate({ model: 'm', system: 's', prompt: 'p' });
  expect(messages).toMatchObject([
    { role: 'system', parts: [{ text: 's' }] },
    { role: 'user', parts: [{ text: 'p' }] },
  ]);
});

it('streams unless told not to, and takes the model by its older name', () => {
  expect(readChat(bodyOf(question))).toMatchObject({ model: 'm', stream: true });
  expect(readChat(bodyOf({ ...question, stream: false })).stream).toBe(false);
  expect(readGenerate(bodyOf({ name: 'old', prompt: 'hi' }))).toMatchObject({ model: 'old', stream: true });
});

it.each([
  [{ messages: 'hi' }, 'messages: must be an array'],
  [{ messages: [1] }, 'messages[0]: must be an object'],
  [
    { messages: [{ role: 'robot', content: 'x' }] },
    'messages[0].role: must be one of system, user, assistant, tool',
  ],
  [{ messages: [{ role: 'user', content: [] }] }, 'messages[0].content: must be a text'],
  [{ messages: [{ role: 'user', images: [1] }] }, 'messages[0].images: must be an array of texts in base64'],
  [{ stream: 'yes' }, 'stream: must be true or false'],
  [{ think: 7 }, 'think: must be true, false, or one of low, medium, high, max'],
  [{ format: 'xml' }, 'format: must be "json" or a JSON schema'],
  [{ options: [] }, 'options: must be an object'],
  [{ options: { temperature: 'hot' } }, 'options.temperature: must be a number'],
  [{ options: { stop: [1] } }, 'options.stop: must be a text or an array of texts'],
  [{ model: '' }, 'model: must be a non-empty string'],
])('%j is refused: %s', (more, message) => {
  expect(refusal(() => readChat(bodyOf({ ...question, ...more })))).toBe(message);
});
