// Reasoning with its signatures, however a compatible server writes it: whole, in a history and in streams.
import { describe, expect, test } from 'vitest';
import type { StreamEvent } from '../../../../src/canonical/reply.ts';
import type { JsonObject } from '../../../../src/canonical/json.ts';
import { createCollector } from '../../../../src/canonical/collect.ts';
import { chat } from '../../../../src/protocols/chat/index.ts';
import { messages } from '../../../../src/protocols/messages/index.ts';
import { cleanBody } from '../../../../src/protocols/messages/relay.ts';
import { chunk, context, decode, DONE, finish } from '../frames.ts';
import { processorTime } from '../../../helpers/growth.ts';
import { bodyOf } from '../../../../src/protocols/json/body.ts';

/** `text`, `text/signature`, `[data]`, `"content"`. */
function brief(parts: readonly { type: string }[]): string[] {
  return (parts as { type: string; text: string; signature?: string; redacted?: string }[]).map((part) => {
    if (part.type === 'text') return JSON.stringify(part.text);
    if (part.type !== 'reasoning') return part.type;
    if (part.redacted !== undefined) return `[${part.redacted}]`;
    return part.signature === undefined ? part.text : `${part.text}/${part.signature}`;
  });
}

function whole(message: JsonObject): string[] {
  const choice = {
    index: 0,
    message: { role: 'assistant', content: 'x', ...message },
    finish_reason: 'stop',
  };
  return brief(chat.provider.decodeReply({ id: 'c', model: 'm', choices: [choice] }).parts);
}

function history(message: JsonObject): string[] {
  const messages = [{ role: 'assistant', content: 'x', ...message }];
  return brief(chat.client.decodeRequest({ model: 'm', messages }).messages[0]?.parts ?? []);
}

function events(deltas: readonly JsonObject[]): StreamEvent[] {
  return decode([...deltas.map((delta) => chunk(delta)), finish('stop'), DONE]);
}

/** What a stream of these deltas says when it is put together. */
function streamed(...deltas: JsonObject[]): string[] {
  const collector = createCollector();
  for (const event of events(deltas)) collector.push(event);
  const result = collector.result();
  return 'reply' in result ? brief(result.reply.parts) : [result.failure.message];
}

const details = (...items: JsonObject[]): JsonObject => ({ reasoning_details: items });
const item = (text: string | undefined, rest: JsonObject = {}): JsonObject => ({
  type: 'reasoning.text',
  ...(text === undefined ? {} : { text }),
  ...rest,
});
const sealed = (data: string, rest: JsonObject = {}): JsonObject => ({
  type: 'reasoning.encrypted',
  data,
  ...rest,
});
const blocks = (...items: JsonObject[]): JsonObject => ({ thinking_blocks: items });
const block = (thinking: string, signature?: string | null): JsonObject => ({
  type: 'thinking',
  thinking,
  ...(signature === undefined ? {} : { signature }),
});
const redacted = (data: string): JsonObject => ({ type: 'redacted_thinking', data });

describe('whole, in an answer and in a history alike', () => {
  test.each<[string, JsonObject, string[]]>([
    ['reasoning_content comes before reasoning', { reasoning: 'b', reasoning_content: 'a' }, ['a']],
    ['plain text comes before unsigned details', { reasoning: 'b', ...details(item('a')) }, ['b']],
    [
      'signed details come before all',
      { reasoning_content: 'b', ...details(item('a', { signature: 's' })) },
      ['a/s'],
    ],
    ['signed blocks come before plain text', { reasoning_content: 'b', ...blocks(block('a', 's')) }, ['a/s']],
    [
      'signed blocks come before unsigned details',
      { ...details(item('b')), ...blocks(block('a', 's')) },
      ['a/s'],
    ],
    [
      'signed details come before signed blocks',
      { ...details(item('a', { signature: 's' })), ...blocks(block('b', 't')) },
      ['a/s'],
    ],
    [
      "litellm's blocks beside the same text",
      { reasoning_content: 'a', ...blocks(block('a', 's')) },
      ['a/s'],
    ],
    [
      "litellm's blocks beside their joined text",
      { reasoning_content: 'ab', ...blocks(block('a', 's'), redacted('d'), block('b', 't')) },
      ['a/s', '[d]', 'b/t'],
    ],
    ['unsigned blocks', blocks(block('a'), block('b', '')), ['ab']],
    ['a signature alone', blocks(block('', 's')), ['/s']],
    [
      'two signed items',
      details(item('a', { signature: 's', index: 0 }), item('b', { signature: 't', index: 1 })),
      ['a/s', 'b/t'],
    ],
    [
      'two signed items without an index',
      details(item('a', { signature: 's' }), item('b', { signature: 't' })),
      ['a/s', 'b/t'],
    ],
    ['an unsigned item before a signed one', details(item('a'), item('b', { signature: 't' })), ['a', 'b/t']],
    [
      'encrypted items where they stand',
      details(
        sealed('d'),
        item('a', { signature: 's' }),
        sealed('e'),
        sealed('f'),
        item('b', { signature: 't' }),
      ),
      ['[d]', 'a/s', '[e]', '[f]', 'b/t'],
    ],
    [
      'encrypted items behind a text that they do not hold',
      { reasoning: 'a', ...details(sealed('d')) },
      ['a', '[d]'],
    ],
    [
      'a signature of the plain text beside it',
      { reasoning: 'a', ...details(item(undefined, { signature: 's' })) },
      ['a/s'],
    ],
    [
      'encrypted items behind plain text that comes before unsigned details',
      { reasoning: 'b', ...details(sealed('d'), item('a')) },
      ['b', '[d]'],
    ],
    [
      'encrypted items around the same text',
      { reasoning: 'a', ...details(sealed('d'), { type: 'reasoning.summary', summary: 'a' }) },
      ['[d]', 'a'],
    ],
    [
      'pieces of one item that a client gathered',
      details(
        item('a', { index: 0 }),
        item('b', { index: 0 }),
        item(undefined, { index: 0, signature: 's' }),
      ),
      ['ab/s'],
    ],
    [
      'pieces of one item, of which the last is signed',
      details(item('a', { index: 0 }), item('b', { index: 0, signature: 's' })),
      ['ab/s'],
    ],
    [
      'an item that is told again with its signature',
      details(item('a'), item('a', { signature: 's' })),
      ['a/s'],
    ],
    [
      'pieces of blocks that a client gathered',
      blocks(block('a', ''), block('b', ''), block('', 's'), block('c', ''), block('', 't')),
      ['ab/s', 'c/t'],
    ],
    [
      'a signature that names an earlier item',
      details(
        item('a', { index: 0 }),
        sealed('d', { index: 1 }),
        item(undefined, { index: 0, signature: 's' }),
      ),
      ['a/s', '[d]'],
    ],
    [
      'a signature that names an earlier item by its id',
      details(item('a', { id: 'p' }), item('b', { id: 'q' }), item(undefined, { id: 'p', signature: 's' })),
      ['a/s', 'b'],
    ],
    ['nothing', { reasoning_details: [null, 3, {}, item('')], thinking_blocks: 'x', reasoning: 7 }, []],
  ])('%s', (_, message, expected) => {
    expect(whole(message)).toEqual([...expected, '"x"']);
    expect(history(message)).toEqual([...expected, '"x"']);
  });

  test('a hundred thousand items take no longer than they must', () => {
    const items = Array.from({ length: 100_000 }, (_, index) =>
      item(index % 2 ? 'a' : undefined, { index, signature: 's' }),
    );
    const time = processorTime(() => {
      expect(whole(details(...items))).toHaveLength(100_001);
    });
    expect(time).toBeLessThan(2000);
  });
});

describe('what another family sealed', () => {
  const both = (format: unknown) =>
    details(
      item('a', { signature: 's', format: format as string }),
      sealed('d', { format: format as string }),
    );
  test.each(['anthropic-claude-v1', 'unknown', null, 3])(
    'is taken unchanged from the format %j',
    (format) => {
      expect(whole(both(format))).toEqual(['a/s', '[d]', '"x"']);
    },
  );
  test.each(['openai-responses-v1', 'google-gemini-v1', 'xai-responses-v1'])(
    "bears the gateway's mark in the format %s, and is taken out where a messages provider would get it",
    (format) => {
      const reply = chat.provider.decodeReply({
        id: 'c',
        model: 'm',
        choices: [
          { index: 0, message: { role: 'assistant', content: 'x', ...both(format) }, finish_reason: 'stop' },
        ],
      });
      const { content } = messages.client.encodeReply(reply, context()) as { content: JsonObject[] };
      expect(content.map(({ type }) => type)).toEqual(['thinking', 'redacted_thinking', 'text']);
      expect(content[0]).toHaveProperty('signature', expect.stringMatching(/.s$/));
      expect(content[1]).toHaveProperty('data', expect.stringMatching(/.d$/));
      const body = {
        messages: [
          { role: 'user', content: 'q' },
          { role: 'assistant', content },
        ],
      };
      const sent = cleanBody(bodyOf(body), 'unsigned').toString();
      expect(JSON.parse(sent)).toEqual({
        messages: [body.messages[0], { role: 'assistant', content: content.slice(2) }],
      });
    },
  );
});

describe('in a stream', () => {
  const text = { content: 'x' };
  test.each<[string, JsonObject[], string[]]>([
    [
      'reasoning_content comes before reasoning',
      [{ reasoning: 'b', reasoning_content: 'a' }, text],
      ['a', '"x"'],
    ],
    [
      "litellm's pieces, the signature last",
      [
        { reasoning_content: 'a', ...blocks(block('a', null)) },
        { reasoning_content: 'b', ...blocks(block('b', '')) },
        { reasoning_content: '', ...blocks(block('', 's')) },
        text,
      ],
      ['ab/s', '"x"'],
    ],
    [
      "litellm's whole block behind the pieces of its text",
      [{ reasoning_content: 'a' }, { reasoning_content: 'b' }, blocks(block('ab', 's')), text],
      ['ab/s', '"x"'],
    ],
    [
      'a whole block whose last piece comes with it',
      [{ reasoning_content: 'a' }, blocks(block('ab', 's')), text],
      ['ab/s', '"x"'],
    ],
    [
      'a last piece with its signature',
      [details(item('a', { index: 0 })), details(item('b', { index: 0, signature: 's' })), text],
      ['ab/s', '"x"'],
    ],
    [
      "litellm's blocks, with one that is redacted between",
      [
        { reasoning_content: 'a', ...blocks(block('a')) },
        blocks(block('', 's')),
        blocks(redacted('d')),
        { reasoning_content: 'b', ...blocks(block('b')) },
        blocks(block('', 't')),
        text,
      ],
      ['a/s', '[d]', 'b/t', '"x"'],
    ],
    [
      'text behind a signature is another block',
      [{ reasoning: 'a' }, details(item(undefined, { signature: 's' })), { reasoning: 'b' }],
      ['a/s', 'b'],
    ],
    [
      'items by their index',
      [
        details(item('a', { index: 0 })),
        details(item(undefined, { index: 0, signature: 's' }), item('b', { index: 1 })),
        details(item('c', { index: 1 })),
        details(item(undefined, { index: 1, signature: 't' })),
        text,
      ],
      ['a/s', 'bc/t', '"x"'],
    ],
    [
      'items by their id',
      [
        details(item('a', { id: 'p' })),
        details(item('b', { id: 'q' })),
        details(item('', { id: 'q', signature: 's' })),
      ],
      ['a', 'b/s'],
    ],
    ['a signature alone', [blocks(block('', 's')), text], ['/s', '"x"']],
    [
      'an item that is told whole beside its signature',
      [
        details(item('a', { index: 0 })),
        details(item('b', { index: 0 })),
        details(item('ab', { index: 0, signature: 's' })),
        text,
      ],
      ['ab/s', '"x"'],
    ],
    [
      'a signature that is told twice',
      [{ reasoning: 'a' }, blocks(block('', 's')), blocks(block('', 's')), text],
      ['a/s', '"x"'],
    ],
    [
      'a signature alone after a block that has its own',
      [{ reasoning: 'a' }, blocks(block('', 's')), text, blocks(block('', 't')), { content: 'y' }],
      ['a/s', '"x"', '/t', '"y"'],
    ],
    [
      'a signature of an item that was not seen',
      [details(item('a', { index: 0 })), text, details(item(undefined, { index: 5, signature: 's' }))],
      ['a', '"x"', '/s'],
    ],
    [
      'an encrypted item closes the open block',
      [{ reasoning: 'a' }, details(sealed('d')), { reasoning: 'b' }, text],
      ['a', '[d]', 'b', '"x"'],
    ],
    [
      'text and signature in the chunk that begins the answer',
      [{ reasoning: 'a' }, { ...details(item(undefined, { signature: 's' })), ...text }],
      ['a/s', '"x"'],
    ],
    [
      "Mistral's chunks",
      [
        { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'a' }] }] },
        {
          content: [
            { type: 'thinking', thinking: 'b' },
            { type: 'text', text: 'x' },
          ],
        },
        { content: [{ type: 'text', text: 'y' }, { type: 'text', text: '' }, null, { type: 'thinking' }] },
      ],
      ['ab', '"xy"'],
    ],
  ])('%s', (_, deltas, expected) => {
    expect(streamed(...deltas)).toEqual(expected);
  });

  test.each<[string, JsonObject[], string[]]>([
    [
      'by its index',
      [details(item('a', { index: 0 })), text, details(item(undefined, { index: 0, signature: 's' }))],
      ['a', '"x"'],
    ],
    [
      'without one',
      [{ reasoning: 'a' }, text, details(item('', { signature: 's' })), { content: 'y' }],
      ['a', '"xy"'],
    ],
    [
      'while the next item is open',
      [
        details(item('a', { index: 0 })),
        details(item('b', { index: 1 })),
        details(item(undefined, { index: 0, signature: 's' })),
        details(item(undefined, { index: 1, signature: 't' })),
      ],
      ['a', 'b/t'],
    ],
  ])('a signature that comes too late, %s, opens no block and is reported', (_, deltas, expected) => {
    expect(streamed(...deltas)).toEqual(expected);
    const last = events(deltas).at(-1);
    expect(last).toMatchObject({ type: 'end', lost: ['the signature of thinking, which came late'] });
  });

  test('a signature in time is complete', () => {
    const last = events([{ reasoning: 'a' }, details(item('', { signature: 's' })), text]).at(-1);
    expect(last).not.toHaveProperty('lost');
  });

  test('reaches a messages client block by block, each with its own signature', () => {
    const encoder = messages.client.createStreamEncoder(context());
    const written = events([
      { reasoning_content: 'a', ...blocks(block('a')) },
      blocks(block('', 's'), redacted('d'), block('b')),
      blocks(block('', 't')),
      text,
    ])
      .map((event) => encoder.push(event))
      .join('');
    const told = written.split('\n').flatMap((line): string[] => {
      if (!line.startsWith('data: ')) return [];
      const {
        type,
        index,
        content_block: start,
        delta,
      } = JSON.parse(line.slice(6)) as Record<string, JsonObject>;
      if (index === undefined) return [];
      const { type: kind, ...rest } = start ?? delta ?? { type };
      return [
        `${JSON.stringify(index)} ${JSON.stringify(kind)} ${Object.values(rest)
          .map((value) => (typeof value === 'string' ? value : ''))
          .join('')}`.trim(),
      ];
    });
    expect(told).toEqual([
      '0 "thinking"',
      '0 "thinking_delta" a',
      '0 "signature_delta" s',
      '0 "content_block_stop"',
      '1 "redacted_thinking" d',
      '1 "content_block_stop"',
      '2 "thinking"',
      '2 "thinking_delta" b',
      '2 "signature_delta" t',
      '2 "content_block_stop"',
      '3 "text"',
      '3 "text_delta" x',
      '3 "content_block_stop"',
    ]);
  });
});

describe('clients that read `reasoning`, as those of OpenRouter and Groq', () => {
  const asked = (members: JsonObject) =>
    chat.client.readAsked(bodyOf({ model: 'm', messages: [], ...members })).readsReasoning;

  test.each<[string, JsonObject, true | undefined]>([
    ["OpenRouter's option", { reasoning: { effort: 'low' } }, true],
    ["OpenRouter's older one", { include_reasoning: true }, true],
    ["Groq's format", { reasoning_format: 'parsed' }, true],
    ['an effort', { reasoning_effort: 'low' }, undefined],
    ["Groq's format without a member", { reasoning_format: 'raw' }, undefined],
    ['nothing', {}, undefined],
  ])('are known by %s', (_, members, expected) => {
    expect(asked(members)).toBe(expected);
    const decoded = chat.client.decodeRequest({ model: 'm', messages: [], ...members });
    expect(decoded.readsReasoning).toBe(expected);
  });
});
