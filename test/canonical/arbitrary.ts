// Replies of every shape, for laws.
import fc from 'fast-check';
import type { Reply, ReplyPart } from '../../src/canonical/reply.ts';

const words = fc.oneof(
  fc.constantFrom('a', 'STOP', 'ST', ' ', 'ü🎉', '"\\', '\n', 'END', 'E'),
  fc.string({ unit: 'grapheme', maxLength: 4 }),
);
export const texts = fc.array(words, { minLength: 1, maxLength: 6 }).map((list) => list.join(''));

const part: fc.Arbitrary<ReplyPart> = fc.oneof(
  texts.filter((text) => text !== '').map((text): ReplyPart => ({ type: 'text', text })),
  texts.filter((text) => text !== '').map((text): ReplyPart => ({ type: 'text', text, refusal: true })),
  texts.map((text): ReplyPart => ({
    type: 'text',
    text,
    citations: [{ protocol: 'chat', raw: { url: text } }],
  })),
  fc.tuple(texts, fc.option(texts, { nil: undefined })).map(([text, signature]): ReplyPart => ({
    type: 'reasoning',
    text,
    ...(signature !== undefined && { signature }),
  })),
  texts.map((data): ReplyPart => ({ type: 'reasoning', text: '', redacted: data })),
  fc.tuple(texts, texts).map(([id, path]): ReplyPart => ({
    type: 'tool_call',
    id,
    name: 'read',
    arguments: JSON.stringify({ path }),
  })),
  texts.map((text): ReplyPart => ({
    type: 'tool_call',
    id: 'c',
    name: 'free',
    arguments: text,
    custom: true,
    extra: { a: 1 },
  })),
  texts.map((text): ReplyPart => ({
    type: 'native',
    protocol: 'messages',
    kind: 'server_tool_use',
    value: { type: 'server_tool_use', text },
  })),
);

export const replies: fc.Arbitrary<Reply> = fc
  .record({
    id: texts,
    model: texts,
    parts: fc.array(part, { maxLength: 5 }),
    reason: fc.constantFrom('end', 'length', 'tool_calls'),
    told: fc.boolean(),
  })
  .map(({ id, model, parts, reason, told }) => ({
    id,
    model,
    parts,
    stop: { reason: reason },
    ...(told && { usage: { input: 1, output: 2 }, created: 5, serviceTier: 'default' }),
  }));
