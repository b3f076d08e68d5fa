// Text that is cut out of frames must be what decoding them gives. The decoders are held against themselves: a number in a
// comment before each frame makes no two alike, so that all are decoded.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ProtocolName } from '../../../src/canonical/request.ts';
import { isObject } from '../../../src/canonical/json.ts';
import { createSplitter, type Frame } from '../../../src/protocols/sse/splitter.ts';
import { DeltaTemplate } from '../../../src/protocols/sse/delta-template.ts';
import { BOTH, type OneOfBoth, cutAt, eventsIn, mover, NOTHING, send } from '../../translation/pipeline.ts';
import { anyCharacter } from '../../helpers/any-character.ts';

/** A JSON string in one of the ways to write it. */
const written = fc
  .tuple(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 6 }),
      fc.string({ unit: anyCharacter, maxLength: 4 }),
      fc.constantFrom(' word', '', '"', '\\', '\n', '🎉', '\ud800', 'é', 'STOP', '\u2028', '\x7f', '</p>'),
    ),
    fc.constantFrom('plain', 'ascii', 'slash'),
  )
  .map(([text, how]) => {
    const json = JSON.stringify(text);
    if (how === 'slash') return json.replaceAll('/', '\\/');
    if (how === 'plain') return json;
    return json.replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
  });

const odd = fc.constantFrom(
  '"a\tb"',
  '"a\\x"',
  '"a","content":"b"',
  '"a","text":"b"',
  '"\\"',
  'null',
  '7',
  '"a"}',
);
const pad = fc.constantFrom('', '', ' ', '     ');
const extra = fc.oneof(
  { weight: 4, arbitrary: fc.constant('') },
  fc.stringMatching(/^[a-zA-Z0-9]{0,9}$/).map((letters) => `,"obfuscation":"${letters}"`),
  fc.constantFrom(',"service_tier":"default"', ',"service_tier":"flex"', ',"usage":null', ',"error":null'),
  fc.constantFrom(
    ',"usage":{"prompt_tokens":3,"completion_tokens":1}',
    ',"obfuscation":"a\\"b"',
    ',"x":{"content":"no"}',
  ),
);

const CHAT: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc
      .tuple(fc.oneof({ weight: 9, arbitrary: written }, odd), extra)
      .map(
        ([text, more]) =>
          `data: {"id":"c","created":1,"model":"m","choices":[{"index":0,"delta":{"content":${text}},"finish_reason":null}]${more}}`,
      ),
  },
  written.map((text) => `data: {"id":"c","choices":[{"index":0,"delta":{"reasoning_content":${text}}}]}`),
  written.map((text) => `data: {"id":"c","choices":[{"index":0,"delta":{"refusal":${text}}}]}`),
  fc.constantFrom(
    'data: {"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"f","arguments":"{}"}}]}}]}',
    'data: {"id":"c","choices":[{"index":0,"delta":{"content":"a","reasoning":"b"}}]}',
    'data: {"id":"c","choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}]}',
    'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
    ': waiting',
    'event: error\ndata: {"error":{"message":"no"}}',
    'data: [DONE]',
  ),
);

const MESSAGES: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc
      .tuple(fc.oneof({ weight: 9, arbitrary: written }, odd), pad, fc.constantFrom(0, 0, 0, 1))
      .map(
        ([text, spaces, index]) =>
          `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"text_delta","text":${text}}${spaces}}`,
      ),
  },
  fc
    .nat(2)
    .map(
      (index) =>
        `event: content_block_start\ndata: {"type":"content_block_start","index":${index},"content_block":{"type":"text","text":""}}`,
    ),
  fc.nat(1).map((index) => `event: content_block_stop\ndata: {"type":"content_block_stop","index":${index}}`),
  fc.constantFrom(
    'event: ping\ndata: {"type":"ping"}',
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"char_location","cited_text":"text"}}}',
    'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}}',
    'event: message_stop\ndata: {"type":"message_stop"}',
  ),
);

const START: Record<OneOfBoth, string> = {
  chat: 'data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}',
  messages:
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}',
};
const FRAMES: Record<OneOfBoth, fc.Arbitrary<string>> = { chat: CHAT, messages: MESSAGES };

function stream(frames: readonly string[], end: string, comments: boolean): Buffer {
  const numbered = frames.map((frame, at) => `${comments ? `: ${at}\n` : ''}${frame}\n\n`).join('');
  return Buffer.from(numbered.replaceAll('\n', end));
}

describe.each(BOTH)('text cut out of %s frames', (protocol) => {
  const client = protocol === 'chat' ? 'messages' : 'chat';
  const frames = fc.array(FRAMES[protocol], { maxLength: 14 }).map((list) => [START[protocol], ...list]);
  const end = fc.constantFrom('\n', '\n', '\r\n', '\r');

  it('is what decoding gives, for any frames', () => {
    fc.assert(
      fc.property(frames, end, (list, lineEnd) => {
        const decoded = eventsIn(protocol, stream(list, lineEnd, true));
        expect(eventsIn(protocol, stream(list, lineEnd, false))).toEqual(decoded);
      }),
      { numRuns: 500 },
    );
  });

  it('gives the client the same bytes, cut anywhere, broken anywhere, with stop sequences or without', () => {
    const cuts = fc.array(fc.nat(5000), { maxLength: 6 });
    const stops = fc.constantFrom<string[]>([], ['STOP', ' w']);
    const damage = fc.option(
      fc.tuple(fc.nat(13), fc.nat(300), fc.constantFrom('"', '\\', '\x80', '\n', 'x')),
    );
    fc.assert(
      fc.property(frames, cuts, stops, damage, (list, places, stop, broken) => {
        const damaged = list.map((frame, at) => {
          if (broken?.[0] !== at) return frame;
          const place = broken[1] % frame.length;
          return frame.slice(0, place) + broken[2] + frame.slice(place + 1);
        });
        const restore = { ...NOTHING, stop };
        const decoded = send([stream(damaged, '\n', true)], mover(client, protocol, restore));
        const cut = send(cutAt(stream(damaged, '\n', false), places), mover(client, protocol, restore));
        expect(cut).toEqual(decoded);
      }),
      { numRuns: 500 },
    );
  });

  it('is so for bytes that are no UTF-8', () => {
    const [before = '', after = ''] = text(protocol, 'X').split('X');
    const bytes = fc.uint8Array({ minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(fc.array(bytes, { maxLength: 6 }), (list) => {
        const whole = (comments: boolean): Buffer =>
          Buffer.concat([
            stream([START[protocol], text(protocol, 'one'), text(protocol, 'two')], '\n', false),
            ...list.flatMap((piece, at) => [
              Buffer.from(comments ? `: ${at}\n` : ''),
              Buffer.from(before),
              piece,
              Buffer.from(after),
              Buffer.from('\n\n'),
            ]),
          ]);
        expect(eventsIn(protocol, whole(false))).toEqual(eventsIn(protocol, whole(true)));
      }),
      { numRuns: 500 },
    );
  });
});

function text(protocol: ProtocolName, piece: string): string {
  if (protocol === 'chat') return `data: {"id":"c","choices":[{"index":0,"delta":{"content":"${piece}"}}]}`;
  return `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${piece}"}}`;
}

function frameOf(body: string): Frame {
  const [frame] = createSplitter({ maxFrame: 1 << 26 }).push(Buffer.from(`${body}\n\n`));
  if (frame === undefined) throw new Error('no frame');
  return frame;
}

describe('a shape', () => {
  const shape = (): DeltaTemplate =>
    new DeltaTemplate(/"t": ?"/, ({ d }, piece) => isObject(d) && d.t === piece);

  it.each([
    [
      'reads the text of a frame of the same shape',
      'data: {"d":{"t":"one"}}',
      'data: {"d":{"t":"two"}}',
      'two',
    ],
    [
      'reads a frame with a blank before the text',
      'data: {"d":{"t": "one"}}',
      'data: {"d":{"t": "two"}}',
      'two',
    ],
    [
      'reads a frame where the learned one had a blank',
      'data: {"d":{"t":"one"}  }',
      'data: {"d":{"t":"two"}}',
      'two',
    ],
    ['reads a frame that has a blank more', 'data: {"d":{"t":"one"}}', 'data: {"d":{"t":"two"}     }', 'two'],
    [
      'reads a frame with other obfuscation',
      'data: {"d":{"t":"one"},"obfuscation":"x"}',
      'data: {"d":{"t":"two"},"obfuscation":"abc"}',
      'two',
    ],
    [
      'reads a frame with empty obfuscation',
      'data: {"d":{"t":"one"},"obfuscation":"x"}',
      'data: {"d":{"t":"two"},"obfuscation":""}',
      'two',
    ],
    ['reads escapes', 'data: {"d":{"t":"one"}}', 'data: {"d":{"t":"\\u00fc\\"\\n"}}', 'ü"\n'],
    ['reads text beyond ASCII', 'data: {"d":{"t":"one"}}', 'data: {"d":{"t":"ü🎉"}}', 'ü🎉'],
    ['does not read an empty text', 'data: {"d":{"t":"one"}}', 'data: {"d":{"t":""}}', undefined],
    [
      'does not read a frame with a member more',
      'data: {"d":{"t":"one"}}',
      'data: {"d":{"t":"two","u":1}}',
      undefined,
    ],
    [
      'does not read a frame with an event name',
      'data: {"d":{"t":"one"}}',
      'event: x\ndata: {"d":{"t":"two"}}',
      undefined,
    ],
    [
      'does not read a frame of two lines of data',
      'data: {"d":{"t":"one"}}',
      'data: {"d":{"t":"two"}}\ndata: {}',
      undefined,
    ],
    [
      'learns nothing of a frame with the member in two objects',
      'data: {"x":{"t":"no"},"d":{"t":"one"}}',
      'data: {"x":{"t":"no"},"d":{"t":"two"}}',
      undefined,
    ],
    [
      'learns nothing of a frame with a member twice',
      'data: {"d":{"t":"one"},"d":{}}',
      'data: {"d":{"t":"two"},"d":{}}',
      undefined,
    ],
  ])('%s', (_, learned, next, expected) => {
    const known = shape();
    known.learn(frameOf(learned));
    expect(known.read(frameOf(next))).toBe(expected);
  });

  it('is not looked for without end where no two frames are alike', () => {
    const known = shape();
    const read = Array.from({ length: 40 }, (_, at) => {
      const frame = frameOf(`data: {"n":${at},"d":{"t":"one"}}`);
      const found = known.read(frame);
      if (found === undefined) known.learn(frame);
      return found;
    });
    expect(read.filter((found) => found !== undefined)).toEqual([]);
    known.learn(frameOf('data: {"d":{"t":"one"}}'));
    expect(known.read(frameOf('data: {"d":{"t":"two"}}'))).toBeUndefined();
  });

  it('holds for a frame of many megabytes', () => {
    const known = shape();
    known.learn(frameOf('data: {"d":{"t":"one"}}'));
    for (const long of ['x'.repeat(4e6), `ü${'x'.repeat(4e6)}`, '\\\\'.repeat(2e6)]) {
      const read = known.read(frameOf(`data: {"d":{"t":"${long}"}}`));
      expect(read === JSON.parse(`"${long}"`)).toBe(true);
    }
  });
});
