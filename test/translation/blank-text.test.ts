// Text of white space alone: a messages provider refuses it when a client sends its history, so that none is given to clients
// of messages. What a visible character follows is kept to the last space.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../src/canonical/reply.ts';
import { isObject, type JsonObject } from '../../src/canonical/json.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { collected, context, eventsIn, mover, send, written } from './pipeline.ts';

type Part = { text: string[] } | { reasoning: string } | { call: string };

function eventsOf(parts: readonly Part[]): StreamEvent[] {
  const events: StreamEvent[] = [{ type: 'start', id: 'msg_1', model: 'm' }];
  parts.forEach((part, index) => {
    if ('text' in part) {
      events.push({ type: 'text_start', index });
      for (const text of part.text) events.push({ type: 'text_delta', index, text });
      events.push({ type: 'text_end', index });
    } else if ('reasoning' in part) {
      events.push({ type: 'reasoning_start', index });
      events.push({ type: 'reasoning_delta', index, text: part.reasoning });
      events.push({ type: 'reasoning_end', index });
    } else {
      events.push({ type: 'tool_start', index, id: `${part.call}${index}`, name: 'f' });
      events.push({ type: 'tool_delta', index, text: '{}' });
      events.push({ type: 'tool_end', index });
    }
  });
  return [...events, { type: 'end', stop: { reason: 'end' }, usage: { input: 1, output: 1 } }];
}

/** The content of both forms of an answer to a client of messages, which must be one. */
function contentOf(parts: readonly Part[]): JsonObject[] {
  const events = eventsOf(parts);
  const whole = protocols.messages.client.encodeReply(collected(events), context('messages'));
  const streamed = collected(eventsIn('messages', written('messages', events)));
  const again = protocols.messages.client.encodeReply(streamed, context('messages'));
  expect(again.content).toEqual(whole.content);
  return Array.isArray(whole.content) ? whole.content.filter(isObject) : [];
}

const textOf = (blocks: readonly JsonObject[]) =>
  blocks.map(({ type, text }) => (type === 'text' && typeof text === 'string' ? text : '')).join('');

const CALL = { call: 'a' };

describe('white space', () => {
  it.each<[string, Part[], string[]]>([
    ['before a call', [{ text: ['\n\n'] }, CALL], ['tool_use']],
    ['in pieces before a call', [{ text: ['\n', ' ', '\t\n'] }, CALL], ['tool_use']],
    ['between calls', [CALL, { text: ['\n'] }, { call: 'b' }], ['tool_use', 'tool_use']],
    ['as the whole answer', [{ text: ['\n\n'] }], []],
    ['after reasoning', [{ reasoning: 'hm' }, { text: ['\n'] }], ['thinking']],
    ['after text', [{ text: ['a'] }, CALL, { text: ['\n'] }], ['text', 'tool_use']],
  ])('alone is not written: %s', (_, parts, types) => {
    expect(contentOf(parts).map(({ type }) => type)).toEqual(types);
  });

  it.each<[string, Part[], string[]]>([
    ['in its own piece', [{ text: ['\n\n', 'Hello', ' '] }], ['\n\nHello ']],
    ['in one piece', [{ text: ['  Hello\n\n'] }], ['  Hello\n\n']],
    ['across reasoning', [{ text: ['\n'] }, { reasoning: 'hm' }, { text: [' ', 'x'] }], ['\n x']],
    ['across a call', [{ text: ['\n'] }, CALL, { text: ['x'] }], ['\nx']],
  ])('before a visible character is sent: %s', (_, parts, texts) => {
    expect(contentOf(parts).flatMap(({ type, text }) => (type === 'text' ? [text] : []))).toEqual(texts);
  });

  it('is held, not delayed with what follows: the first visible character begins the answer', () => {
    const encoder = protocols.messages.client.createStreamEncoder(context('messages'));
    const [start, open] = eventsOf([{ text: ['x'] }]);
    for (const event of [start, open]) if (event !== undefined) encoder.push(event);
    expect(encoder.push({ type: 'text_delta', index: 0, text: '\n' })).toBe('');
    expect(encoder.push({ type: 'text_delta', index: 0, text: 'x' })).toContain('message_start');
    expect(encoder.push({ type: 'text_delta', index: 0, text: ' ' })).toContain('"text":" "');
  });
});

const piece = fc.constantFrom('\n', ' ', '\n\n', 'a', ' b', 'c\n', '\u00a0');
const part = fc.oneof<fc.Arbitrary<Part>[]>(
  fc.record({ text: fc.array(piece, { minLength: 1, maxLength: 4 }) }),
  fc.record({ reasoning: fc.constant('hm') }),
  fc.record({ call: fc.constantFrom('a', 'b', 'c') }),
);

describe('any answer', () => {
  it('has no blank block for a client of messages, and loses nothing that a visible character follows', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 7 }), (parts) => {
        const content = contentOf(parts);
        for (const block of content) if (block.type === 'text') expect(textOf([block]).trim()).not.toBe('');
        const said = parts.map((one) => ('text' in one ? one.text.join('') : '')).join('');
        const kept = textOf(content);
        expect(said.startsWith(kept)).toBe(true);
        expect(said.slice(kept.length).trim()).toBe('');
      }),
    );
  });

  it('of a chat provider is the same whole and streamed', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 4 }), fc.boolean(), (pieces, calls) => {
        const parts: Part[] = [{ text: pieces }, ...(calls ? [CALL] : [])];
        const stream = Buffer.from(written('chat', eventsOf(parts)));
        const reply = protocols.chat.provider.decodeReply(
          protocols.chat.client.encodeReply(collected(eventsOf(parts)), context('chat')),
        );
        const whole = protocols.messages.client.encodeReply(reply, context('messages'));
        const streamed = collected(eventsIn('messages', send([stream], mover('messages', 'chat')).text));
        expect(protocols.messages.client.encodeReply(streamed, context('messages')).content).toEqual(
          whole.content,
        );
      }),
    );
  });

  it('of blank text goes to a chat client unchanged', () => {
    expect(written('chat', eventsOf([{ text: ['\n\n'] }]))).toContain('{"content":"\\n\\n"}');
  });
});
