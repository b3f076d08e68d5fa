// What is seen in frames that pass, and what is taken out of a body that passes.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { signAsGateway } from '../../../src/canonical/thinking-signature.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../src/canonical/json.ts';
import { messages } from '../../../src/protocols/messages/index.ts';
import { cleanBody } from '../../../src/protocols/messages/relay.ts';
import type { FrameClass } from '../../../src/protocols/interface/stream.ts';
import type { Frame } from '../../../src/protocols/sse/frame.ts';
import { frame, frameOf } from './support.ts';
import { bodyIn } from '../../../src/protocols/json/body.ts';

const start: JsonObject = {
  type: 'message_start',
  message: {
    usage: {
      input_tokens: 10,
      cache_creation_input_tokens: 4,
      cache_creation: { ephemeral_1h_input_tokens: 1 },
      output_tokens: 1,
    },
  },
};
const delta: JsonObject = {
  type: 'message_delta',
  delta: { stop_reason: 'end_turn' },
  usage: { output_tokens: 30, output_tokens_details: { thinking_tokens: 6 } },
};

const createClassifier = () => messages.relay.createClassifier({ usageAsked: true });
const TEXT = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } };

/** What a frame is behind content. */
function later(item: Frame): FrameClass {
  const classifier = createClassifier();
  classifier.classify(frame(TEXT));
  return classifier.classify(item);
}

describe('the classifier of a relayed stream', () => {
  it('remembers usage over the whole stream, and sees the stop and the end', () => {
    const classifier = createClassifier();
    const first = { input: 10, cacheWrite: 4, cacheWrite1h: 1, output: 1 };
    expect(classifier.classify(frame(start))).toEqual({ kind: 'quiet' });
    expect(classifier.usage()).toEqual(first);
    expect(classifier.classify(frame(delta))).toEqual({ kind: 'finish' });
    expect(classifier.usage()).toEqual({ ...first, output: 30, reasoning: 6 });
    expect(classifier.classify(frame({ type: 'message_stop' }))).toEqual({ kind: 'end' });
  });

  it.each<[string, string, string, FrameClass]>([
    [
      'a delta, even one that speaks of usage',
      'content_block_delta',
      '{"delta":{"text":"\\"usage\\":{\\"stop_reason\\":\\"x\\""}}',
      { kind: 'quiet' },
    ],
    ['a comment', '', '', { kind: 'quiet' }],
    ['a ping', 'ping', '{"type":"ping"}', { kind: 'quiet' }],
    ['an unknown event', 'vendor', '{"type":"vendor","a":1}', { kind: 'quiet' }],
    [
      'a message_delta that has no stop reason yet',
      'message_delta',
      '{"type":"message_delta","delta":{"stop_reason":null}}',
      { kind: 'quiet' },
    ],
    [
      'usage that is null',
      'message_start',
      '{"type":"message_start","message":{"usage":null}}',
      { kind: 'quiet' },
    ],
    ['frames without event names', '', '{"type":"message_stop"}', { kind: 'end' }],
    [
      'a stop reason without an event name',
      '',
      '{"type":"message_delta","delta":{"stop_reason":"end_turn"}}',
      { kind: 'finish' },
    ],
    [
      'an error',
      'error',
      '{"type":"error","error":{"type":"overloaded_error","message":"busy"}}',
      { kind: 'error', failure: { kind: 'overloaded', message: 'busy' } },
    ],
    [
      'an error without an event name',
      '',
      '{"error":{"message":"busy"}}',
      { kind: 'error', failure: { kind: 'failed', message: 'busy' } },
    ],
    [
      'an error that is no JSON',
      'error',
      'busy',
      { kind: 'error', failure: { kind: 'failed', message: 'busy' } },
    ],
  ])('sees %s', (_, event, data, expected) => {
    expect(later(frameOf(event, data))).toEqual(expected);
  });

  it.each<[name: string, kind: FrameClass['kind'], value: JsonObject]>([
    ['message_start', 'quiet', start],
    ['a ping', 'quiet', { type: 'ping' }],
    [
      'the start of an empty text',
      'quiet',
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ],
    [
      'the start of a text with content',
      'content',
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'a' } },
    ],
    [
      'the start of thinking',
      'quiet',
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'thinking', thinking: '', signature: '' },
      },
    ],
    [
      'the start of a call',
      'content',
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', name: 'f' } },
    ],
    [
      'an empty piece of text',
      'quiet',
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '' } },
    ],
    ['a piece of text', 'content', TEXT],
    [
      'a signature',
      'content',
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 's' } },
    ],
    ['the end of a block', 'quiet', { type: 'content_block_stop', index: 0 }],
    ['message_delta', 'finish', delta],
    ['an error', 'error', { type: 'error', error: {} }],
  ])('reads %s as %s', (_, kind, value) => {
    expect(createClassifier().classify(frame(value)).kind).toBe(kind);
  });

  it('reads a first frame as quiet: a comment', () => {
    expect(createClassifier().classify(frameOf('', ''))).toEqual({ kind: 'quiet' });
  });
});

function clean(text: string): string {
  return cleanBody(bodyIn(Buffer.from(text)), 'unsigned').toString();
}

describe('the body of a relayed request', () => {
  it('is the very same buffer where all thinking is signed', () => {
    const text =
      '{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"s"}]}]}';
    const bytes = Buffer.from(text);
    expect(cleanBody(bodyIn(bytes), 'unsigned')).toBe(bytes);
  });

  const OWN = signAsGateway('c2ln');
  const unsigned = '{ "signature" : "", "type":"thinking", "thinking":"],}\\"{[" }';
  it.each<[string, string, string]>([
    ['before other blocks', `[${unsigned}, {"type":"text","text":"a"}]`, '[{"type":"text","text":"a"}]'],
    ['after other blocks', `[ {"type":"text","text":"a"} , ${unsigned} ]`, '[ {"type":"text","text":"a"} ]'],
    ['between, and twice', `[1.0,${unsigned},${unsigned} , "ü",${unsigned}]`, '[1.0 , "ü"]'],
    ['at both ends', `[${unsigned},${unsigned},2e3,${unsigned}]`, '[2e3]'],
    ['without a signature', '[{"type":"thinking","thinking":"a"},3]', '[3]'],
    [
      "with the gateway's own signature",
      `[{"type":"thinking","thinking":"a","signature":"${OWN}"},3]`,
      '[3]',
    ],
    ["with the gateway's own data", `[3 ,{"type":"redacted_thinking","data":"${OWN}"}]`, '[3]'],
    ['without data', '[{"type":"redacted_thinking","data":""},{"type":"redacted_thinking"},3]', '[3]'],
    [
      'that a provider redacted not',
      '[{"type":"redacted_thinking","data":"d"},3]',
      '[{"type":"redacted_thinking","data":"d"},3]',
    ],
  ])('loses unsigned thinking %s, and no other byte', (_, content, expected) => {
    const body = (inner: string) =>
      `{"x":{"messages":1} , "messages": [{"role":"user","content":"a"} ,{"content":${inner},"role":"assistant"}], "max_tokens":1.50}`;
    expect(clean(body(content))).toBe(body(expected));
  });

  it('loses a turn that was nothing but unsigned thinking: an empty one would be refused', () => {
    const turn = (role: string, content: string) => `{"role":"${role}","content":${content}}`;
    const text = `{"messages":[${turn('user', '"a"')},${turn('assistant', `[${unsigned}]`)},${turn('user', '"b"')}]}`;
    expect(clean(text)).toBe(`{"messages":[${turn('user', '"a"')},${turn('user', '"b"')}]}`);
  });

  it('keeps unsigned thinking of a user, and a body of nothing else', () => {
    for (const text of [
      `{"messages":[{"role":"user","content":[${unsigned}]}]}`,
      `{"messages":[{"role":"assistant","content":[${unsigned}]}]}`,
    ]) {
      expect(clean(text)).toBe(text);
    }
  });

  const leaf = fc.oneof(fc.string(), fc.integer(), fc.constant(null), fc.constant({ a: [1, { b: '}' }] }));
  const thinking = fc.record({
    type: fc.constant('thinking'),
    thinking: fc.string(),
    signature: fc.constantFrom('', 's'),
  });
  const turn = fc.record({
    role: fc.constantFrom('user', 'assistant'),
    content: fc.oneof(fc.string(), fc.array(fc.oneof(leaf, thinking), { minLength: 1, maxLength: 5 })),
  });

  it('is always what filtering the parsed body gives', () => {
    const isUnsigned = (block: JsonValue) =>
      isObject(block) && block.type === 'thinking' && block.signature === '';
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 5 }), fc.constantFrom(undefined, 1, '\t'), (turns, space) => {
        const kept = (turns as JsonObject[])
          .map((item): JsonObject => {
            if (item.role !== 'assistant' || !Array.isArray(item.content)) return item;
            return { ...item, content: item.content.filter((block) => !isUnsigned(block)) };
          })
          .filter((item) => !Array.isArray(item.content) || item.content.length > 0);
        const text = JSON.stringify({ model: 'm', messages: turns, end: 1 }, null, space);
        const expected = kept.length === 0 ? turns : kept;
        expect(JSON.parse(clean(text))).toEqual({ model: 'm', messages: expected, end: 1 });
      }),
    );
  });
});
