// The door to the translation, as the package's users have it: every case of test/fixtures/cases from every protocol to every other,
// without a server.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PROTOCOL_NAMES, type ProtocolName } from '../../src/canonical/request.ts';
import { GatewayError } from '../../src/errors.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { stringify, translate, type TranslateOptions } from '../../src/protocols/translate.ts';
import {
  CASE_NAMES,
  comparable,
  expectedRequest,
  meaning,
  readCase,
  readJsonCase,
  streamedReply,
} from './cases.ts';
import { cutAt, ids } from './pipeline.ts';

const PAIRS = PROTOCOL_NAMES.flatMap((from) => PROTOCOL_NAMES.map((to) => ({ from, to })));

function optionsOf(from: ProtocolName, to: ProtocolName): TranslateOptions {
  const cacheMarks = to === 'responses' ? 'prompt_cache_breakpoint' : 'cache_control';
  const traits = { maxTokensField: 'max_completion_tokens', cacheMarks, maxOutput: 64_000 } as const;
  return { from, to, model: 'upstream-model', traits, ids, now: () => 1_700_000_000_000 };
}

function opened(name: string, from: ProtocolName, to: ProtocolName, stream: boolean) {
  const usage = from === 'chat' && stream ? { stream_options: { include_usage: true } } : {};
  const more = stream ? { stream, ...usage } : {};
  return translate({ ...readJsonCase(name, `${from}.request.json`), ...more }, optionsOf(from, to));
}

/** What the client gets of a stream that arrives in these pieces. */
function streamed(pieces: readonly Uint8Array[], translation: ReturnType<typeof translate>): string {
  const stream = translation.stream();
  return pieces.map((piece) => stream.push(piece)).join('') + stream.end();
}

describe.each(CASE_NAMES)('%s', (name) => {
  it.each(PAIRS)('$from client, $to provider, whole', ({ from, to }) => {
    const { body, reply } = opened(name, from, to, false);
    expect(comparable(body, to)).toEqual(comparable(expectedRequest(name, from, to, false), to));
    const answer = reply(readJsonCase(name, `${to}.response.json`));
    const expected = protocols[from].provider.decodeReply(readJsonCase(name, `${from}.response.json`));
    expect(meaning(protocols[from].provider.decodeReply(answer))).toEqual(meaning(expected));
  });

  it.each(PAIRS)('$from client, $to provider, streamed, cut anywhere', ({ from, to }) => {
    const translation = opened(name, from, to, true);
    expect(comparable(translation.body, to)).toEqual(comparable(expectedRequest(name, from, to, true), to));
    const bytes = Buffer.from(readCase(name, `${to}.sse`));
    const text = streamed([bytes], translation);
    const expected = protocols[from].provider.decodeReply(readJsonCase(name, `${from}.response.json`));
    expect(meaning(streamedReply(from, text))).toEqual(meaning(expected));
    const single = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
    expect(streamed(single, translation)).toBe(text);
    fc.assert(
      fc.property(fc.array(fc.nat()), (places) => {
        expect(streamed(cutAt(bytes, places), translation)).toBe(text);
      }),
      { numRuns: 5 },
    );
  });
});

const CHAT = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] };
const TO_MESSAGES = { from: 'chat', to: 'messages', model: 'claude' } as const;

describe('what is lost', () => {
  it('is named as the client calls it', () => {
    const { losses } = translate({ ...CHAT, seed: 7, logit_bias: { '5': 1 } }, TO_MESSAGES);
    expect(
      losses
        .filter(({ effect }) => effect === 'dropped')
        .map(({ path }) => path)
        .sort(),
    ).toEqual(['logit_bias', 'seed']);
    for (const { detail } of losses) expect(detail).not.toBe('');
  });

  it('is no number of a text', () => {
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{"n":9007199254740993}' } };
    const messages = [
      ...CHAT.messages,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: 'ok' },
    ];
    const { body } = translate(JSON.stringify({ ...CHAT, messages }), TO_MESSAGES);
    expect(stringify(body)).toContain('9007199254740993');
  });

  it('leaves the request as it was', () => {
    const request = structuredClone(CHAT);
    const { body } = translate(request, TO_MESSAGES);
    body.messages = [];
    expect(request).toEqual(CHAT);
  });
});

function refusal(act: () => unknown): GatewayError {
  try {
    act();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('what cannot be translated is an error that says what and where', () => {
  const deep = '['.repeat(600) + ']'.repeat(600);
  const circle: Record<string, unknown> = {};
  circle.circle = circle;

  it.each([
    ['a field of the wrong form', { ...CHAT, messages: 'x' }, TO_MESSAGES, 'messages: must be an array'],
    ['several choices', { ...CHAT, n: 2 }, TO_MESSAGES, 'n'],
    ['a text that is no JSON', '{', TO_MESSAGES, 'the request is not JSON'],
    ['a text that is no object', '[]', TO_MESSAGES, 'the request must be a JSON object'],
    ['nothing', undefined, TO_MESSAGES, 'the request is not JSON'],
    ['a circle', circle, TO_MESSAGES, 'the request is not JSON'],
    ['too many levels', `{"model":"m","x":${deep}}`, TO_MESSAGES, 'deeper than 512 levels'],
    ['an unknown protocol', CHAT, { from: 'chat', to: 'gemini' }, 'to: "gemini"'],
    ['a name of Object.prototype', CHAT, { from: 'constructor', to: 'chat' }, 'from: "constructor"'],
    ['no protocol', CHAT, { to: 'chat' }, 'from: is missing'],
    ['an unknown trait', CHAT, { ...TO_MESSAGES, traits: { max_stop: 1 } }, '"max_stop"'],
  ])('%s', (_, request, options, words) => {
    const error = refusal(() => translate(request as never, options as TranslateOptions));
    expect(error.kind).toBe('invalid_request');
    expect(error.message).toContain(words);
  });

  it.each([
    ['an error', { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }, 'Overloaded'],
    ['no answer', { hello: 1 }, 'message'],
    ['no JSON', '<html>', 'the answer is not JSON'],
  ])('a whole answer that is %s', (_, answer, words) => {
    const { reply } = translate(CHAT, TO_MESSAGES);
    expect(refusal(() => reply(answer)).message).toContain(words);
  });
});

describe('a stream that fails', () => {
  const start =
    'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}\n\n';
  const error =
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n';

  it.each([
    ['by an error event', start + error, 'Overloaded'],
    ['by breaking off', start, 'error'],
    ['without anything', '', 'error'],
    [
      'by an event with too many levels',
      `${start}data: {"type":"ping","x":${'['.repeat(40_000)}${']'.repeat(40_000)}}\n\n`,
      '512 levels',
    ],
  ])('%s ends with an error event, once', (_, sse, words) => {
    const stream = translate({ ...CHAT, stream: true }, TO_MESSAGES).stream();
    const text = stream.push(Buffer.from(sse)) + stream.end();
    const errors = text.split('\n\n').filter((frame) => frame.includes('"error"'));
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(words);
    expect(text).not.toContain('[DONE]');
    expect(stream.push(Buffer.from(start)) + stream.end()).toBe('');
  });
});
