import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameTooLarge, createSplitter } from '../../../src/protocols/sse/splitter.ts';
import type { Frame } from '../../../src/protocols/sse/splitter.ts';
import { anyCharacter } from '../../helpers/any-character.ts';

const LIMIT = { maxFrame: 1 << 20 };

interface Seen {
  bytes: string;
  event: string;
  data: string;
}

function seen(frame: Frame): Seen {
  // `text` last: the other getters must not depend on it.
  const { event, data } = frame;
  expect(frame.text).toBe(frame.bytes.toString('latin1'));
  return { bytes: frame.bytes.toString('latin1'), event, data };
}

function split(pieces: readonly Buffer[]): Seen[] {
  const splitter = createSplitter(LIMIT);
  return [...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.finish()].map(seen);
}

function fields(input: string | Buffer): { event: string; data: string }[] {
  return split([Buffer.from(input)]).map(({ event, data }) => ({ event, data }));
}

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((start, at) => bytes.subarray(start, places[at] ?? bytes.length));
}

describe('fields', () => {
  it.each([
    ['data: a\n\n', '', 'a'],
    ['data:a\n\n', '', 'a'],
    ['data:  a\n\n', '', ' a'],
    ['data\n\n', '', ''],
    ['data:\n\n', '', ''],
    ['data: \n\n', '', ''],
    ['data: a\ndata: b\ndata:\n\n', '', 'a\nb\n'],
    ['data:\ndata: b\n\n', '', '\nb'],
    ['event: one\nevent: two\ndata: x\n\n', 'two', 'x'],
    ['event: ping\n\n', 'ping', ''],
    ['id: 7\nretry: 10\nfoo: bar\nbare\ndata: x\n\n', '', 'x'],
    ['database: x\neventful: y\ndata : z\n\n', '', ''],
    [': a comment\n\n', '', ''],
    [': a comment\ndata: x\n\n', '', 'x'],
    ['event: a\r\ndata: b\r\ndata: c\r\n\r\n', 'a', 'b\nc'],
    ['event: a\rdata: b\r\r', 'a', 'b'],
    ['event: a\rdata: b\n\r\n', 'a', 'b'],
    ['\ufeffdata: x\n\n', '', 'x'],
    ['\ufeffevent: e\r\ndata: x\r\n\r\n', 'e', 'x'],
    ['data: grüße 🎉\n\n', '', 'grüße 🎉'],
    ['data: forgotten blank line', '', 'forgotten blank line'],
    ['data: forgotten blank line\n', '', 'forgotten blank line'],
  ])('of %j', (input, event, data) => {
    expect(fields(input)).toEqual([{ event, data }]);
  });

  it('takes a byte order mark for one only at the start of the stream', () => {
    expect(fields('data: 1\n\n\ufeffdata: 2\n\n').map(({ data }) => data)).toEqual(['1', '']);
  });

  it('replaces what is not UTF-8 and goes on', () => {
    const bytes = Buffer.concat([
      Buffer.from('data: a'),
      Buffer.from([0xff]),
      Buffer.from('b\n\ndata: c\n\n'),
    ]);
    expect(fields(bytes).map(({ data }) => data)).toEqual(['a\ufffdb', 'c']);
  });
});

describe('frames', () => {
  it('makes one of each blank line, so that keep-alives are seen when they come', () => {
    const splitter = createSplitter(LIMIT);
    expect(splitter.push(Buffer.from(': waiting\n\n')).map(seen)).toEqual([
      { bytes: ': waiting\n\n', event: '', data: '' },
    ]);
    expect(splitter.push(Buffer.from('\n')).map(seen)).toEqual([{ bytes: '\n', event: '', data: '' }]);
    expect(splitter.push(Buffer.from('data: x\n\n\n')).map(({ bytes }) => bytes.toString())).toEqual([
      'data: x\n\n',
      '\n',
    ]);
  });

  it('gives a frame with the chunk that completes it', () => {
    const splitter = createSplitter(LIMIT);
    expect(splitter.push(Buffer.from('data: a\n'))).toEqual([]);
    expect(splitter.push(Buffer.from('\ndata: b')).map(({ data }) => data)).toEqual(['a']);
    expect(splitter.push(Buffer.from('\n\ndata: c\n\n')).map(({ data }) => data)).toEqual(['b', 'c']);
    expect(splitter.finish()).toEqual([]);
  });

  it('waits with a \\r at the end of a chunk for the \\n that belongs to it', () => {
    const splitter = createSplitter(LIMIT);
    expect(splitter.push(Buffer.from('data: a\r\n\r'))).toEqual([]);
    expect(splitter.push(Buffer.from('\ndata: b\r\n\r\n')).map(({ bytes }) => bytes.toString())).toEqual([
      'data: a\r\n\r\n',
      'data: b\r\n\r\n',
    ]);
  });

  it('dispatches what is left at the end once', () => {
    const splitter = createSplitter(LIMIT);
    splitter.push(Buffer.from('data: a\n\ndata: b'));
    expect(splitter.finish().map(({ data }) => data)).toEqual(['b']);
    expect(splitter.finish()).toEqual([]);
  });
});

describe('the limit of a frame', () => {
  const frame = Buffer.from('data: 12345\n\n');

  it('lets a frame of exactly the limit pass', () => {
    expect(createSplitter({ maxFrame: frame.length }).push(frame)).toHaveLength(1);
  });

  it('refuses a longer one, whole or in pieces', () => {
    const maxFrame = frame.length - 1;
    expect(() => createSplitter({ maxFrame }).push(frame)).toThrow(FrameTooLarge);
    const splitter = createSplitter({ maxFrame });
    splitter.push(frame.subarray(0, maxFrame));
    expect(() => splitter.push(frame.subarray(maxFrame))).toThrow(FrameTooLarge);
  });

  it('holds for runs as well', () => {
    const splitter = createSplitter({ maxFrame: frame.length - 1 });
    expect(splitter.run(frame)).toBeUndefined();
    splitter.run(Buffer.from('data:1\n\nda'));
    expect(() => splitter.push(Buffer.from('ta: 4567890\n\n'))).toThrow(FrameTooLarge);
  });

  it('gives the frames before it first', () => {
    const splitter = createSplitter({ maxFrame: 12 });
    const frames = splitter.push(Buffer.from(`data: 1\n\n${frame.toString()}data: 2\n\n`));
    expect(frames.map(({ data }) => data)).toEqual(['1']);
    expect(() => splitter.push(Buffer.from('data: 3\n\n'))).toThrow(FrameTooLarge);
    expect(() => splitter.finish()).toThrow(FrameTooLarge);
  });

  it('stops a line without end in time that grows with its length only', () => {
    const splitter = createSplitter({ maxFrame: 8 << 20 });
    const piece = Buffer.alloc(64, 'x');
    let pushed = 0;
    expect(() => {
      for (;;) {
        splitter.push(piece);
        pushed += piece.length;
      }
    }).toThrow(FrameTooLarge);
    expect(pushed).toBe(8 << 20);
  });
});

describe('laws', () => {
  const line = fc.oneof(
    fc.constantFrom('data: {"a":1}', 'data:', 'event: ping', ': hi', '', '', 'data: ü🎉', '\ufeff', 'x'),
    fc.string({ unit: anyCharacter, maxLength: 6 }),
  );
  const stream = fc
    .array(fc.tuple(line, fc.constantFrom('\n', '\n', '\r\n', '\r')), { maxLength: 14 })
    .map((lines) => Buffer.from(lines.flat().join('')));

  it('any split gives the same frames', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(200), { maxLength: 8 }), (bytes, cuts) => {
        expect(split(cutAt(bytes, cuts))).toEqual(split([bytes]));
      }),
      { numRuns: 500 },
    );
  });

  it('one byte at a time gives the same frames', () => {
    fc.assert(
      fc.property(stream, (bytes) => {
        expect(split([...bytes].map((byte) => Buffer.of(byte)))).toEqual(split([bytes]));
      }),
      { numRuns: 500 },
    );
  });

  it('runs are the frames that push gives', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(200), { maxLength: 4 }), (bytes, cuts) => {
        const splitter = createSplitter(LIMIT);
        const frames = cutAt(bytes, cuts).flatMap((piece) => {
          const run = splitter.run(piece);
          if (run === undefined) return splitter.push(piece);
          expect(run.text).toBe(run.bytes.toString('latin1'));
          const told = run.frames();
          expect(Buffer.concat(told.map((frame) => frame.bytes))).toEqual(run.bytes);
          return told;
        });
        expect([...frames, ...splitter.finish()].map(seen)).toEqual(split([bytes]));
      }),
      { numRuns: 1000 },
    );
  });

  it('frames put together are the stream again', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(200), { maxLength: 4 }), (bytes, cuts) => {
        const all = split(cutAt(bytes, cuts)).map((frame) => frame.bytes);
        expect(all.join('')).toBe(bytes.toString('latin1'));
      }),
    );
  });

  it('reads what the specification says, whatever the line ends', () => {
    fc.assert(
      fc.property(stream, (bytes) => {
        const ours = split([bytes]).filter(({ event, data }) => event !== '' || data !== '');
        const theirs = bySpecification(bytes.toString('utf8'));
        expect(ours.map(({ event, data }) => ({ event, data }))).toEqual(theirs);
      }),
      { numRuns: 500 },
    );
  });
});

/** The specification's algorithm on a whole text, line by line. */
function bySpecification(text: string): { event: string; data: string }[] {
  const found: { event: string; data: string }[] = [];
  let event = '';
  let data: string[] = [];
  const dispatch = (): void => {
    if (event !== '' || data.join('\n') !== '') found.push({ event, data: data.join('\n') });
    event = '';
    data = [];
  };
  for (const line of text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/)) {
    if (line === '') dispatch();
    const [, name, value] = /^([^:]*):? ?([^]*)$/.exec(line) ?? [];
    if (name === 'event') event = value ?? '';
    if (name === 'data') data.push(value ?? '');
  }
  dispatch();
  return found;
}
