// The conversation towards a provider of this protocol: turns, parts, media and cache marks.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/canonical/json.ts';
import { signAsGateway } from '../../../../src/canonical/thinking-signature.ts';
import type { Message, Part, GenerationRequest } from '../../../../src/canonical/request.ts';
import type { Traits } from '../../../../src/canonical/traits.ts';
import { GatewayError } from '../../../../src/errors.ts';
import { encode, warningsOf } from '../support.ts';

const text = (value: string): Part => ({ type: 'text', text: value });
const user = (...parts: (Part | string)[]): Message => turn('user', parts);
const assistant = (...parts: (Part | string)[]): Message => turn('assistant', parts);
const system = (...parts: (Part | string)[]): Message => turn('system', parts);
function turn(role: Message['role'], parts: (Part | string)[]): Message {
  return { role, parts: parts.map((part) => (typeof part === 'string' ? text(part) : part)) };
}
const call = (id: string): Part => ({ type: 'tool_call', id, name: 'f', arguments: '{}' });
const result = (callId: string): Part => ({ type: 'tool_result', callId, content: 'r' });

/** Turns as `role: block block`, a text block as its text. */
function shape(list: Message[], traits: Partial<Traits> = {}): string[] {
  const { body } = encode({ messages: list, tools: [{ type: 'function', name: 'f' }] }, traits);
  return (body.messages as { role: string; content: JsonObject[] }[]).map(
    ({ role, content }) =>
      `${role}: ${content.map((block) => (block.type === 'text' ? String(block.text as string) : String(block.type as string))).join(' | ')}`,
  );
}

const TAGGED = '<system_message>\ns\n</system_message>';

describe('turns', () => {
  it.each<[string, Message[], string[], Partial<Traits>?]>([
    [
      'alternate',
      [user('a'), user('b'), assistant('c'), assistant('d'), user('e')],
      ['user: a | b', 'assistant: c | d', 'user: e'],
    ],
    [
      'bring all results of calls in one user turn, first',
      [user('a'), assistant(call('1'), call('2')), user(result('1')), user('b', result('2')), user('c')],
      ['user: a', 'assistant: tool_use | tool_use', 'user: tool_result | tool_result | b | c'],
    ],
    [
      'lose empty text, and themselves when nothing is left',
      [user('a'), assistant(' \n'), user('', 'b')],
      ['user: a | b'],
    ],
    ['begin with the user', [assistant('a'), user('b')], ['user: .', 'assistant: a', 'user: b']],
    ['are there at all', [system('s')], ['user: .']],
    [
      'tag system text in mid-conversation',
      [user('a'), assistant('b'), system('s'), user('c')],
      ['user: a', 'assistant: b', `user: ${TAGGED} | c`],
    ],
    [
      'keep results first before tagged system text',
      [user('a'), assistant(call('1')), system('s'), user(result('1'))],
      ['user: a', 'assistant: tool_use', `user: tool_result | ${TAGGED}`],
    ],
    [
      'leave system text in place where the model takes it',
      [user('a'), system('s'), assistant('b'), user('c')],
      ['user: a', 'system: s', 'assistant: b', 'user: c'],
      { midSystem: true },
    ],
    [
      'tag it where it would not stand after a user turn',
      [user('a'), assistant('b'), system('s'), user('c')],
      ['user: a', 'assistant: b', `user: ${TAGGED} | c`],
      { midSystem: true },
    ],
    [
      'end with what the model shall go on from, without white space',
      [user('a'), assistant('b '), assistant('c \n')],
      ['user: a', 'assistant: b  | c'],
    ],
    [
      'end with the user where the model does not go on',
      [user('a'), assistant('b')],
      ['user: a', 'assistant: b', 'user: Continue.'],
      { prefill: false },
    ],
    [
      'have a text beside a document',
      [user({ type: 'document', source: { kind: 'text', text: 'd' } })],
      ['user: document | .'],
    ],
  ])('%s', (_, list, expected, traits) => {
    expect(shape(list, traits)).toEqual(expected);
  });

  it('end with the user where the answer has a form, beside which no provider takes a beginning of it', () => {
    const responseFormat = { type: 'json_schema', schema: { type: 'object', properties: {} } } as const;
    const list = [user('a'), assistant('{')];
    const last = (traits: Partial<Traits>) => {
      const { body } = encode({ messages: list, responseFormat }, traits);
      return (body.messages as { role: string }[]).at(-1)?.role;
    };
    expect(last({})).toBe('user');
    expect(last({ structuredOutput: false })).toBe('assistant');
  });

  it('say of each change that it was made', () => {
    const encoded = encode({ messages: [assistant('a'), system('s'), assistant('b')] }, { prefill: false });
    const told = encoded.warnings.map(({ field, detail }) => `${field as string}: ${detail}`);
    expect(told).toEqual([
      'messages: system text in mid-conversation was put into a user turn, tagged',
      'messages: a user turn was put before the first turn',
      'messages: the conversation ended with the assistant: a user turn "Continue." was added',
    ]);
  });

  it('say nothing of blank system text, which is not there', () => {
    expect(warningsOf(encode({ messages: [user('a'), assistant('b'), system(' '), user('c')] }))).toEqual([]);
  });

  it('keep every leading system text as a block of its own', () => {
    const { body } = encode({ messages: [system('a', 'b'), { ...system('c'), developer: true }, user('d')] });
    expect(body.system).toEqual(['a', 'b', 'c'].map((value) => ({ type: 'text', text: value })));
    expect(encode({ messages: [system(''), user('d')] }).body).not.toHaveProperty('system');
  });

  it('lose the names of authors, and say so', () => {
    const encoded = encode({ messages: [{ ...user('a'), name: 'bob' }] });
    expect(JSON.stringify(encoded.body)).not.toContain('bob');
    expect(warningsOf(encoded)).toEqual(['dropped messages.name']);
  });
});

const PNG = 'iVBORw0KGgoAAAANSUhEUgAA';
const JPEG = '/9j/4AAQSkZJRgABAQAAAQABAAD';
const WEBP = Buffer.from('RIFF\x24\x00\x00\x00WEBPVP8 ', 'latin1').toString('base64');
const PDF = Buffer.from('%PDF-1.7').toString('base64');
const AT = 'messages[3].content[1]';

describe('parts', () => {
  function block(part: Part, request: Partial<GenerationRequest> = {}, traits: Partial<Traits> = {}) {
    const encoded = encode({ ...request, messages: [user(part)] }, traits);
    const [first] = encoded.body.messages as { content: JsonObject[] }[];
    return { block: first?.content[0], warnings: warningsOf(encoded) };
  }
  const image = (mediaType: string, data: string, detail?: string): Part => ({
    type: 'image',
    source: { kind: 'base64', mediaType, data },
    at: AT,
    ...(detail !== undefined && { detail }),
  });
  const base64 = (media_type: string, data: string) => ({ type: 'base64', media_type, data });

  it.each<[string, Part, object, string[]]>([
    ['an image', image('image/png', PNG), { type: 'image', source: base64('image/png', PNG) }, []],
    [
      'an image that is not what it says',
      image('image/png', JPEG),
      { source: base64('image/jpeg', JPEG) },
      ['changed messages.image'],
    ],
    [
      'an image of an unknown type that is known',
      image('application/octet-stream', WEBP),
      { source: base64('image/webp', WEBP) },
      ['changed messages.image'],
    ],
    ['image/jpg', image('image/jpg', JPEG), { source: base64('image/jpeg', JPEG) }, []],
    ['detail auto', image('image/png', PNG, 'auto'), {}, ['quiet messages.image.detail']],
    ['detail low', image('image/png', PNG, 'low'), {}, ['dropped messages.image.detail']],
    [
      'an image by URL',
      { type: 'image', source: { kind: 'url', url: 'https://a' } },
      { source: { type: 'url', url: 'https://a' } },
      [],
    ],
    [
      'a PDF',
      {
        type: 'document',
        source: { kind: 'base64', mediaType: 'application/octet-stream', data: PDF },
        title: 'a.pdf',
      },
      { type: 'document', source: base64('application/pdf', PDF), title: 'a.pdf' },
      [],
    ],
    [
      'a file of text',
      { type: 'document', source: { kind: 'base64', mediaType: 'text/csv', data: 'YSxi' } },
      { source: { type: 'text', media_type: 'text/plain', data: 'a,b' } },
      [],
    ],
    [
      'a result, empty and failed',
      { type: 'tool_result', callId: 'a', content: '', isError: true },
      { type: 'tool_result', tool_use_id: 'a', content: '', is_error: true },
      [],
    ],
    [
      'a result of parts',
      { type: 'tool_result', callId: 'a', content: [text('a'), text(''), image('image/png', PNG)] },
      { content: [{ type: 'text', text: 'a' }, { type: 'image' }] },
      [],
    ],
    [
      'arguments that are no object',
      { type: 'tool_call', id: 'a', name: 'f', arguments: '[1]' },
      { input: { value: [1] } },
      ['changed messages.toolCall'],
    ],
    [
      'a custom call',
      { type: 'tool_call', id: 'a', name: 'f', arguments: 'free', custom: true },
      { input: { input: 'free' } },
      [],
    ],
    [
      'members of another provider',
      { type: 'tool_call', id: 'a', name: 'f', arguments: '', extra: { google: 1 } },
      { input: {} },
      ['quiet messages.toolCall.extra'],
    ],
  ])('%s', (_, part, expected, warnings) => {
    const written = block(part);
    expect(written.block).toMatchObject(expected);
    expect(written.warnings).toEqual(warnings);
  });

  it.each<[string, Part, Partial<Traits>]>([
    ['an image of another type', image('image/tiff', 'AAAA'), {}],
    [
      'an image by URL where none is taken',
      { type: 'image', source: { kind: 'url', url: 'u' }, at: AT },
      { imageUrl: false },
    ],
    [
      'an image by file id',
      { type: 'image', source: { kind: 'file', protocol: 'chat', id: 'u' }, at: AT },
      {},
    ],
    [
      'a PDF where none is taken',
      { type: 'document', source: { kind: 'base64', mediaType: 'application/pdf', data: PDF }, at: AT },
      { pdfInput: false },
    ],
    [
      'a document of another type',
      { type: 'document', source: { kind: 'base64', mediaType: 'application/zip', data: 'AA' }, at: AT },
      {},
    ],
    [
      'a document by file id',
      { type: 'document', source: { kind: 'file', protocol: 'chat', id: 'u' }, at: AT },
      {},
    ],
    ['audio', { type: 'audio', source: { kind: 'base64', format: 'wav', data: '' }, at: AT }, {}],
    ['a part of another protocol', { type: 'native', protocol: 'chat', kind: 'x', value: {}, at: AT }, {}],
  ])('%s is refused, by its place', (_, part, traits) => {
    let error: unknown;
    try {
      block(part, {}, traits);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(GatewayError);
    expect((error as GatewayError).options.param).toBe(AT);
  });

  it('of thinking go back only where a provider of this protocol signed them', () => {
    const list = [
      user('a'),
      assistant(
        { type: 'reasoning', text: 'hm', signature: 's' },
        { type: 'reasoning', text: '', redacted: 'zzz' },
        { type: 'reasoning', text: 'un' },
        { type: 'reasoning', text: 'own', signature: signAsGateway('s') },
        'b',
      ),
      user('c'),
    ];
    const types = (protocol: GenerationRequest['protocol']) =>
      (encode({ protocol, messages: list }).body.messages as { content: JsonObject[] }[])[1]?.content.map(
        (item) => item.type,
      );
    expect(types('messages')).toEqual(['thinking', 'redacted_thinking', 'text']);
    expect(types('chat')).toEqual(['thinking', 'redacted_thinking', 'text']);
  });

  it('never have citations in what a user says', () => {
    const cited: Part = {
      type: 'text',
      text: 'a',
      citations: [{ protocol: 'messages', raw: { type: 'char_location' } }],
    };
    const [first, second] = encode({
      protocol: 'messages',
      messages: [user(cited), assistant(cited), user('b')],
    }).body.messages as { content: JsonObject[] }[];
    expect(first?.content[0]).not.toHaveProperty('citations');
    expect(second?.content[0]?.citations).toEqual([{ type: 'char_location' }]);
  });
});

describe('cache marks', () => {
  const marked = (value: string): Part => ({ type: 'text', text: value, cache: {} });
  const MARK = { type: 'ephemeral' };
  /** The texts and names that are marked, in the order of the prompt. */
  function marks(request: Partial<GenerationRequest>, traits: Partial<Traits> = {}): string[] {
    const { body } = encode(request, traits);
    const found: string[] = [];
    JSON.stringify([body.tools, body.system, body.messages], (_, value: unknown) => {
      const block = value as JsonObject | null;
      if (block !== null && typeof block === 'object' && block.cache_control !== undefined) {
        expect(block.cache_control).toEqual(MARK);
        found.push((block.text ?? block.name) as string);
      }
      return value;
    });
    return found;
  }
  const tools: GenerationRequest['tools'] = [
    { type: 'function', name: 'f', cache: {} },
    { type: 'function', name: 'g', cache: {} },
  ];

  it('are sent up to four', () => {
    expect(marks({ tools, messages: [system(marked('s')), user(marked('a'))] })).toEqual([
      'f',
      'g',
      's',
      'a',
    ]);
  });

  it('beyond four are the last tool, the last system text and the two newest', () => {
    const request: Partial<GenerationRequest> = {
      tools,
      messages: [
        system(marked('s'), marked('t')),
        user(marked('a')),
        assistant(marked('b')),
        user(marked('c')),
      ],
    };
    expect(marks(request)).toEqual(['g', 't', 'b', 'c']);
    expect(warningsOf(encode(request))).toEqual(['dropped tools.cache', 'dropped messages.cache']);
  });

  it("leave one place for the request's own", () => {
    const request: Partial<GenerationRequest> = {
      cache: { ttl: '1h' },
      tools,
      messages: [system(marked('s')), user(marked('a'))],
    };
    expect(encode(request).body.cache_control).toEqual({ type: 'ephemeral', ttl: '1h' });
    expect(marks(request)).toEqual(['g', 's', 'a']);
  });

  const long = 'x'.repeat(5000);
  const chat: Partial<GenerationRequest> = {
    tools: [{ type: 'function', name: 'f' }],
    messages: [system(long), user('a'), assistant('b'), user('c'), assistant('d'), user('e')],
  };
  it('are added for chat clients, on what comes again', () => {
    expect(marks(chat, { promptCache: 'auto' })).toEqual(['f', long, 'c', 'e']);
  });

  it.each<[string, Partial<GenerationRequest>, Partial<Traits>]>([
    ['where they are off', chat, { promptCache: 'off' }],
    ['below the least size', chat, { promptCache: 'auto', minCacheTokens: 4096 }],
    ['for messages clients', { ...chat, marksCache: true }, { promptCache: 'auto' }],
  ])('are not added %s', (_, request, traits) => {
    expect(marks(request, traits)).toEqual([]);
  });

  it('of a client are the only ones', () => {
    expect(marks({ ...chat, messages: [system(long), user(marked('a'))] }, { promptCache: 'auto' })).toEqual([
      'a',
    ]);
  });
});

describe('the bytes', () => {
  it('are the same for the same request, and the request is not touched', () => {
    const request: Partial<GenerationRequest> = {
      tools: [{ type: 'function', name: 'f', cache: {} }],
      messages: [
        system('s'),
        user({
          type: 'native',
          protocol: 'messages',
          kind: 'search_result',
          value: {
            type: 'search_result',
            content: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }],
          },
        }),
        assistant(call('1')),
        user(result('1')),
      ],
    };
    const before = structuredClone(request);
    const write = () => JSON.stringify(encode(request, { promptCache: 'auto', minCacheTokens: 1 }).body);
    expect(write()).toBe(write());
    expect(request).toEqual(before);
  });
});
