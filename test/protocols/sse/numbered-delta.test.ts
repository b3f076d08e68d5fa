// Text that is cut out of numbered frames must be what decoding them gives. The decoder is held against itself: a number in a
// comment before each frame makes no two alike, so that all are decoded.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/canonical/json.ts';
import { NumberedDelta } from '../../../src/protocols/sse/delta-template.ts';
import { createSplitter, type Frame } from '../../../src/protocols/sse/splitter.ts';
import { cutAt, eventsIn, mover, send } from '../../translation/pipeline.ts';

const piece = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 6 }).map((text) => JSON.stringify(text)),
  fc
    .constantFrom(' word', '', '"', '\\', '\n', '🎉', '\ud800', 'é', '\x7f')
    .map((text) => JSON.stringify(text)),
  fc.constantFrom(
    '"\\u00e9"',
    '"a\tb"',
    '"a\\x"',
    '"a","delta":"b"',
    '"\\"',
    'null',
    '7',
    '"a"}',
    '{"delta":"a"}',
  ),
);
const number = fc.oneof(
  { weight: 9, arbitrary: fc.nat(2000).map((value) => `"sequence_number":${value}`) },
  fc.constantFrom(
    '"sequence_number": 7',
    '"sequence_number":07',
    '"sequence_number":1.5',
    '"sequence_number":-1',
    '"sequence_number":"7"',
    '"sequence_number":12345678901234567890',
    '"sequence_number":1,"sequence_number":2',
    '"x":{"sequence_number":3}',
    '"x":1',
  ),
);
const pad = fc.oneof(
  { weight: 5, arbitrary: fc.stringMatching(/^[a-zA-Z0-9]{0,9}$/).map((text) => `"obfuscation":"${text}"`) },
  fc.constantFrom(
    '"obfuscation":"a\\"b"',
    '"obfuscation":null',
    '"obfuscation":"\t"',
    '"x":{"obfuscation":"a"}',
  ),
);
const TYPES = [
  'output_text',
  'refusal',
  'reasoning_summary_text',
  'reasoning_text',
  'function_call_arguments',
] as const;

/** The members in one of some orders, the same for most frames of a stream. */
const delta = fc
  .tuple(
    piece,
    number,
    pad,
    fc.constantFrom(0, 0, 0, 0, 1, 2),
    fc.constantFrom(0, 0, 0, 0, 1),
    fc.constantFrom(...TYPES),
  )
  .chain(([text, count, letters, order, output, type]) => {
    const name = `response.${type}.delta`;
    const place = `"item_id":"i_${output}","output_index":${output},"content_index":0`;
    const orders = [
      [`"type":"${name}"`, count, place, `"delta":${text}`, '"logprobs":[]', letters],
      [`"type":"${name}"`, `"delta":${text}`, place, letters, count],
      [letters, count, `"delta":${text}`, `"type":"${name}"`, place],
    ];
    return fc.constant(`event: ${name}\ndata: {${(orders[order] ?? []).join(',')}}`);
  });
const ITEMS: JsonObject[] = [
  { type: 'message', id: 'i_0', role: 'assistant', content: [] },
  { type: 'function_call', id: 'i_1', call_id: 'c', name: 'f', arguments: '' },
  { type: 'reasoning', id: 'i_1', summary: [] },
];
function of(type: string, members: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}`;
}
const other = fc.oneof(
  fc
    .constantFrom(...ITEMS)
    .map((item) => of('response.output_item.added', { output_index: item.id === 'i_0' ? 0 : 1, item })),
  fc
    .constantFrom(...ITEMS)
    .map((item) => of('response.output_item.done', { output_index: item.id === 'i_0' ? 0 : 1, item })),
  fc.constantFrom(': waiting', of('response.content_part.done', {}), of('error', { message: 'no' })),
);
/** Runs of one delta that repeats, as providers write them, and anything between. */
const frames = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.tuple(delta, fc.array(fc.tuple(piece, fc.nat(99)), { maxLength: 5 })) },
      other.map((one) => [one, []] as const),
    ),
    { maxLength: 6 },
  )
  .map((list) =>
    list.flatMap(([first, more]) => [
      first,
      ...more.map(([text, count]) =>
        first
          .replace(/"delta":"[a-z ]*"/, () => `"delta":${text}`)
          .replace(/"sequence_number":\d+/, () => `"sequence_number":${count}`),
      ),
    ]),
  );

const START = [
  of('response.created', { response: { id: 'resp_1', model: 'm', output: [] } }),
  ...ITEMS.slice(0, 2).map((item, at) => of('response.output_item.added', { output_index: at, item })),
];

function stream(list: readonly string[], end: string, comments: boolean): Buffer {
  const numbered = [...START, ...list]
    .map((frame, at) => `${comments ? `: ${at}\n` : ''}${frame}\n\n`)
    .join('');
  return Buffer.from(numbered.replaceAll('\n', end));
}

it('is what decoding gives, for any frames', () => {
  fc.assert(
    fc.property(frames, fc.constantFrom('\n', '\n', '\r\n', '\r'), (list, end) => {
      expect(eventsIn('responses', stream(list, end, false))).toEqual(
        eventsIn('responses', stream(list, end, true)),
      );
    }),
    { numRuns: 600 },
  );
});

it('gives the client the same bytes, cut anywhere and broken anywhere', () => {
  const damage = fc.option(
    fc.tuple(fc.nat(20), fc.nat(300), fc.constantFrom('"', '\\', '\x80', '\n', 'x', '0')),
  );
  fc.assert(
    fc.property(frames, fc.array(fc.nat(5000), { maxLength: 6 }), damage, (list, places, broken) => {
      const damaged = list.map((frame, at) => {
        if (broken?.[0] !== at) return frame;
        const place = broken[1] % frame.length;
        return frame.slice(0, place) + broken[2] + frame.slice(place + 1);
      });
      const decoded = send([stream(damaged, '\n', true)], mover('chat', 'responses'));
      expect(send(cutAt(stream(damaged, '\n', false), places), mover('chat', 'responses'))).toEqual(decoded);
    }),
    { numRuns: 500 },
  );
});

function frameOf(body: string): Frame {
  const [frame] = createSplitter({ maxFrame: 1 << 26 }).push(Buffer.from(`${body}\n\n`));
  if (frame === undefined) throw new Error('no frame');
  return frame;
}

describe('a numbered shape', () => {
  it.each([
    [
      'reads a delta behind its number',
      '{"sequence_number":9,"delta":"one"}',
      '{"sequence_number":10,"delta":"two"}',
      'two',
    ],
    [
      'reads a delta before its number',
      '{"delta":"one","sequence_number":9}',
      '{"delta":"two","sequence_number":10}',
      'two',
    ],
    [
      'reads a delta between obfuscation and number',
      '{"obfuscation":"a","delta":"one","sequence_number":9}',
      '{"obfuscation":"","delta":"ü","sequence_number":0}',
      'ü',
    ],
    ['reads a delta without a number', '{"delta":"one"}', '{"delta":"two"}', 'two'],
    [
      'does not read a number with a leading zero',
      '{"sequence_number":9,"delta":"one"}',
      '{"sequence_number":010,"delta":"two"}',
      undefined,
    ],
    [
      'does not read an empty number',
      '{"sequence_number":9,"delta":"one"}',
      '{"sequence_number":,"delta":"two"}',
      undefined,
    ],
    [
      'does not read an empty delta',
      '{"sequence_number":9,"delta":"one"}',
      '{"sequence_number":10,"delta":""}',
      undefined,
    ],
    [
      'does not read a frame with a member more',
      '{"sequence_number":9,"delta":"one"}',
      '{"sequence_number":10,"delta":"two","x":1}',
      undefined,
    ],
    [
      'learns nothing of a number within another member',
      '{"x":{"sequence_number":9},"delta":"one"}',
      '{"x":{"sequence_number":10},"delta":"two"}',
      undefined,
    ],
    [
      'learns nothing of a delta within another member',
      '{"x":{"delta":"one"},"delta":"one"}',
      '{"x":{"delta":"two"},"delta":"one"}',
      undefined,
    ],
  ])('%s', (_, learned, next, expected) => {
    const known = new NumberedDelta();
    known.learn(frameOf(`data: ${learned}`));
    expect(known.read(frameOf(`data: ${next}`))).toBe(expected);
  });

  it('holds for a frame of many megabytes', () => {
    const known = new NumberedDelta();
    known.learn(frameOf('data: {"sequence_number":1,"delta":"one"}'));
    for (const long of ['x'.repeat(4e6), `ü${'x'.repeat(4e6)}`, '\\\\'.repeat(2e6)]) {
      const read = known.read(frameOf(`data: {"sequence_number":2,"delta":"${long}"}`));
      expect(read === JSON.parse(`"${long}"`)).toBe(true);
    }
  });
});
