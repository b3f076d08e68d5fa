import { describe, expect, it, test } from 'vitest';
import type { Part } from '../../src/canonical/request.ts';
import { sizeOf, promptOf } from '../../src/sim/prompt.ts';
import { ask } from './requests.ts';

const png = Buffer.concat([
  Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1'),
  Buffer.from([0, 0, 2, 0x80, 0, 0, 1, 0xe0, 8, 2, 0, 0, 0]),
]);
const bytes = (...parts: (string | number[])[]): Buffer =>
  Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))),
  );

describe('the size of a picture', () => {
  test.each<[string, Buffer, [number, number] | undefined]>([
    ['png', png, [640, 480]],
    ['gif', bytes('GIF89a', [0x40, 1, 0xf0, 0]), [320, 240]],
    ['jpeg', bytes([0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xc0, 0, 11, 8, 0, 0x64, 0, 0xc8]), [200, 100]],
    ['jpeg with fill bytes', bytes([0xff, 0xd8, 0xff, 0xff, 0xc2, 0, 11, 8, 0, 1, 0, 2]), [2, 1]],
    [
      'webp, lossy',
      bytes('RIFF\0\0\0\0WEBPVP8 \0\0\0\0', [0, 0, 0, 0x9d, 1, 0x2a, 0x40, 1, 0xf0, 0]),
      [320, 240],
    ],
    ['webp, lossless', bytes('RIFF\0\0\0\0WEBPVP8L\0\0\0\0/', [0x3f, 0xc1, 0x3b, 0]), [320, 240]],
    [
      'webp, extended',
      bytes('RIFF\0\0\0\0WEBPVP8X\0\0\0\0', [0, 0, 0, 0, 0x3f, 1, 0, 0xef, 0, 0]),
      [320, 240],
    ],
    ['something else', bytes('BM12345678901234567890'), undefined],
    ['nothing', bytes(''), undefined],
    ['jpeg without a frame', bytes([0xff, 0xd8, 0xff, 0xd9]), undefined],
  ])('%s', (_, file, size) => {
    expect(sizeOf(file)).toEqual(size && { width: size[0], height: size[1] });
  });

  it('is unknown where the header is cut, never a failure', () => {
    for (let end = 0; end < png.length; end += 1) expect(() => sizeOf(png.subarray(0, end))).not.toThrow();
    expect(sizeOf(png.subarray(0, 20))).toBeUndefined();
  });
});

describe('what echo says of media', () => {
  const data = png.toString('base64');
  test.each<[string, Part, string]>([
    [
      'an image',
      { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data } },
      '[image: image/png, 29 bytes, 640 x 480]',
    ],
    [
      'an image elsewhere',
      { type: 'image', source: { kind: 'url', url: 'https://example.com/a.png' } },
      '[image: https://example.com/a.png]',
    ],
    [
      'a document',
      {
        type: 'document',
        title: 'a.pdf',
        source: { kind: 'base64', mediaType: 'application/pdf', data: 'AAAA' },
      },
      '[document: "a.pdf", application/pdf, 3 bytes]',
    ],
    [
      'a text document',
      { type: 'document', source: { kind: 'text', text: 'é' } },
      '[document: text/plain, 2 bytes]',
    ],
    [
      'a document of parts',
      { type: 'document', source: { kind: 'parts', parts: [{ type: 'text', text: 'a' }] } },
      '[document: a]',
    ],
    [
      'a file that the provider holds',
      { type: 'document', source: { kind: 'file', protocol: 'chat', id: 'f1' } },
      '[document: file f1]',
    ],
    [
      'a sound',
      { type: 'audio', source: { kind: 'base64', format: 'wav', data: 'AAAA' } },
      '[audio: wav, 3 bytes]',
    ],
    [
      'a block of one protocol alone',
      { type: 'native', protocol: 'messages', kind: 'search_result', value: {} },
      '[search_result]',
    ],
  ])('%s', (_, part, line) => {
    expect(promptOf(ask([part])).answer).toBe(line);
    expect(promptOf(ask([{ type: 'text', text: 'what is it?' }, part])).answer).toBe(`what is it?\n${line}`);
  });
});
