// Media and results of tools where the other protocol has another place or name for them.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import { translated } from './translated.ts';

const text = (value: string): JsonObject => ({ type: 'text', text: value });
const base64 = (media_type: string, data: string): JsonObject => ({ type: 'base64', media_type, data });
const PDF = Buffer.from('%PDF-1.7').toString('base64');
const GIF = Buffer.from('GIF89a\x01\x00\x01\x00', 'latin1').toString('base64');
const image = { type: 'image', source: base64('image/png', 'AAAA') };
const imageWire = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };

/** What a chat provider gets after the question of a conversation with one tool call. */
function afterCall(result: JsonObject, ...rest: JsonObject[]): JsonObject[] {
  const messages = [
    { role: 'user', content: 'q' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', ...result }] },
    ...rest,
  ];
  return translated('messages', { messages }).messages.slice(2);
}

describe('results of tools towards chat', () => {
  it('point to a PDF that follows them', () => {
    const document = { type: 'document', title: 'a.pdf', source: base64('application/pdf', PDF) };
    const file = { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` };
    expect(afterCall({ content: [text('see'), document] })).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'see\n[document attached below]' },
      { role: 'user', content: [{ type: 'file', file }] },
    ]);
  });

  it.each<[string, JsonObject[], string]>([
    ['of text', [text('no such'), text('file')], 'Error: no such\nfile'],
    ['of text that says so itself', [text('error: none')], 'error: none'],
    ['of an image', [image], 'Error: [image attached below]'],
    ['of nothing', [], 'Error: '],
  ])('say that they are an error where they are made of blocks: %s', (_, content, written) => {
    expect(afterCall({ is_error: true, content })[0]).toMatchObject({ role: 'tool', content: written });
  });

  it('have their images before system text that comes next, so that nothing parts them', () => {
    const system = { role: 'system', content: 'be brief' };
    expect(afterCall({ content: [image] }, system, { role: 'user', content: 'go' })).toEqual([
      { role: 'tool', tool_call_id: 'a', content: '[image attached below]' },
      { role: 'user', content: [imageWire] },
      system,
      { role: 'user', content: 'go' },
    ]);
  });

  it('have them there too where system text must stand in a user’s message', () => {
    const messages = [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [image] }] },
      { role: 'system', content: 'be brief' },
    ];
    expect(translated('messages', { messages }, { strictAlternation: true }).messages.at(-1)).toEqual({
      role: 'user',
      content: [imageWire, text('<system>\nbe brief\n</system>')],
    });
  });
});

describe('a GIF towards messages is recognised by its bytes', () => {
  it.each([
    ['image/png', 'wrong'],
    ['application/octet-stream', 'none of an image'],
    ['', 'missing'],
  ])('where its type is %j: %s', (type) => {
    const url = `data:${type};base64,${GIF}`;
    const content = [{ type: 'image_url', image_url: { url } }];
    const { messages, reports } = translated('chat', { messages: [{ role: 'user', content }] });
    expect(messages[0]?.content).toEqual([{ type: 'image', source: base64('image/gif', GIF) }]);
    expect(reports).toEqual(['changed messages.image']);
  });
});
