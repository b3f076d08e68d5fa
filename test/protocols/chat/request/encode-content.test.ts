import { describe, expect, test } from 'vitest';
import { isObject, type JsonObject } from '../../../../src/canonical/json.ts';
import type { Message, Part, GenerationRequest } from '../../../../src/canonical/request.ts';
import { type Traits } from '../../../../src/canonical/traits.ts';
import {
  text,
  user,
  assistant,
  call,
  result,
  image,
  EPHEMERAL,
  imageWire,
  encode,
  history,
  dropped,
  refusal,
} from './encoded.ts';

describe('parts', () => {
  const one = (part: Part, traits: Partial<Traits> = {}, over: Partial<GenerationRequest> = {}) =>
    encode({ messages: [user(part)], ...over }, traits).body.messages as JsonObject[];
  const pdf: Part = {
    type: 'document',
    source: { kind: 'base64', mediaType: 'application/pdf', data: 'JVBERi0=' },
    at: 'messages[0].content[0]',
  };
  test.each<[name: string, part: Part, content: unknown]>([
    ['an image', image, [imageWire]],
    [
      'an image of another type',
      { type: 'image', source: { kind: 'base64', mediaType: 'image/webp', data: 'UklG' } },
      [{ type: 'image_url', image_url: { url: 'data:image/webp;base64,UklG' } }],
    ],
    [
      'an image by URL with its detail',
      { type: 'image', source: { kind: 'url', url: 'https://a.example/b.png' }, detail: 'low' },
      [{ type: 'image_url', image_url: { url: 'https://a.example/b.png', detail: 'low' } }],
    ],
    [
      'a document with its title',
      { ...pdf, title: 'a.pdf' },
      [{ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } }],
    ],
    [
      'a document without a title',
      pdf,
      [
        {
          type: 'file',
          file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
        },
      ],
    ],
    [
      'a document of text as text',
      { type: 'document', source: { kind: 'text', text: 'body' }, title: 'T' },
      '[T]\nbody',
    ],
    [
      'a document of parts as those parts',
      { type: 'document', source: { kind: 'parts', parts: [text('a'), image] } },
      [text('a'), imageWire],
    ],
    [
      'audio',
      { type: 'audio', source: { kind: 'base64', format: 'mp3', data: 'AA' } },
      [{ type: 'input_audio', input_audio: { data: 'AA', format: 'mp3' } }],
    ],
    [
      'a search result as text',
      {
        type: 'native',
        protocol: 'messages',
        kind: 'search_result',
        value: { title: 'T', source: 's', content: [{ type: 'text', text: 'c' }] },
      },
      'T\ns\nc',
    ],
  ])('writes %s', (_, part, content) => {
    expect(one(part)).toEqual([{ role: 'user', content }]);
  });
  test.each<[name: string, part: Part, traits: Partial<Traits>, param: string]>([
    [
      'an image by URL for a server that fetches none',
      { type: 'image', source: { kind: 'url', url: 'https://a.example/b.png' }, at: 'p' },
      { imageUrl: false },
      'p',
    ],
    [
      'an image by file id',
      { type: 'image', source: { kind: 'file', protocol: 'messages', id: 'f' }, at: 'p' },
      {},
      'p',
    ],
    [
      'a document by file id',
      { type: 'document', source: { kind: 'file', protocol: 'messages', id: 'f' }, at: 'p' },
      {},
      'p',
    ],
    [
      'a document by URL',
      { type: 'document', source: { kind: 'url', url: 'https://a.example/b.pdf' }, at: 'p' },
      {},
      'p',
    ],
    ['a PDF for a model that reads none', pdf, { pdfInput: false }, 'messages[0].content[0]'],
    [
      'a part of another protocol',
      { type: 'native', protocol: 'messages', kind: 'strange', value: {}, at: 'p' },
      {},
      'p.type',
    ],
  ])('%s is refused by its path', (_, part, traits, param) => {
    expect(refusal({ messages: [user(part)] }, traits).param).toBe(param);
  });
  test('what a provider’s own tools did is left out and reported', () => {
    const part: Part = { type: 'native', protocol: 'messages', kind: 'server_tool_use', value: {} };
    expect(dropped({ messages: [assistant(text('a'), part)] })).toEqual(['messages.native']);
  });
  test('what a document asks beyond its text is reported', () => {
    const part: Part = {
      type: 'document',
      source: { kind: 'text', text: 'x' },
      context: 'c',
      citations: true,
    };
    expect(dropped({ messages: [user(part)] })).toEqual([
      'messages.document.context',
      'messages.document.citations',
    ]);
  });
  test('cache marks in the form that the provider takes', () => {
    const marked: Part = { type: 'text', text: 'a', cache: { ttl: '1h' } };
    expect(one(marked)).toEqual([{ role: 'user', content: 'a' }]);
    expect(one(marked, { cacheMarks: 'prompt_cache_breakpoint' })[0]?.content).toEqual([
      { type: 'text', text: 'a', prompt_cache_breakpoint: { mode: 'explicit' } },
    ]);
    expect(one(marked, { cacheMarks: 'cache_control' })[0]?.content).toEqual([
      { type: 'text', text: 'a', cache_control: { type: 'ephemeral', ttl: '1h' } },
    ]);
    expect(dropped({ messages: [user(marked)] })).toEqual([]);
  });
  test.each<[string, Message[], unknown]>([
    ['text', [user(text('a'))], [{ type: 'text', text: 'a', cache_control: EPHEMERAL }]],
    [
      'a part',
      [user(text('a'), text('b'))],
      [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b', cache_control: EPHEMERAL },
      ],
    ],
    [
      'a result',
      [user(text('a')), assistant(call('c')), user(result('c', 'r'))],
      [{ type: 'text', text: 'r', cache_control: EPHEMERAL }],
    ],
  ])('the mark of the whole request stands on the last part: %s', (_, messages, content) => {
    const over: Partial<GenerationRequest> = { messages, cache: {} };
    const marked = encode(over, { cacheMarks: 'cache_control' });
    expect((marked.body.messages as JsonObject[]).at(-1)?.content).toEqual(content);
    expect(marked.warnings).toEqual([]);
    const plain = encode(over);
    expect(JSON.stringify(plain.body)).not.toContain('cache_control');
    expect(plain.warnings).toMatchObject([{ effect: 'quiet', field: 'cache' }]);
  });
  test('of too many marks the first and the newest stay', () => {
    const messages = ['a', 'b', 'c', 'd', 'e'].map((value) => user({ type: 'text', text: value, cache: {} }));
    const written = history(messages, { cacheMarks: 'prompt_cache_breakpoint' });
    const marked = written.map(
      ({ content }) =>
        Array.isArray(content) && isObject(content[0]) && content[0].prompt_cache_breakpoint !== undefined,
    );
    expect(marked).toEqual([true, false, false, true, true]);
  });
});

describe('an image whose bytes are of another type than was declared', () => {
  test.each([
    ['a GIF that is called PNG is sent as GIF', 'image/png', 'R0lGODlhAQAB', 'image/gif'],
    ['a PNG without a type is sent as PNG', '', 'iVBORw0KGgoA', 'image/png'],
    ['a JPEG that is called PNG is sent as JPEG', 'image/png', '/9j/4AAQ', 'image/jpeg'],
    ['an image of unknown bytes is sent with its own type', 'image/png', 'AAAA', 'image/png'],
    ['a PDF that is called PNG is sent with its own type', 'image/png', 'JVBERi0x', 'image/png'],
  ])('%s', (_, mediaType, data, type) => {
    const part: Part = { type: 'image', source: { kind: 'base64', mediaType, data }, at: 'messages[0]' };
    const { body, warnings } = encode({ messages: [user(part)] });
    expect(JSON.stringify(body)).toContain(`"data:${type};base64,${data}"`);
    expect(warnings.some(({ effect }) => effect === 'changed')).toBe(type !== mediaType);
  });
});
