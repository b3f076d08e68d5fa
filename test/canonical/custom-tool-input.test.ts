import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCustomToolInput } from '../../src/canonical/custom-tool-input.ts';
import { anyCharacter } from '../helpers/any-character.ts';

function read(pieces: readonly string[]): string {
  const input = createCustomToolInput();
  return pieces.map((piece) => input.push(piece)).join('') + input.finish();
}

describe('the text of a custom tool', () => {
  it('is the same however the arguments are cut and spaced', () => {
    const arguments_ = fc.record({ text: fc.string({ unit: anyCharacter }), space: fc.constantFrom(0, 2) });
    fc.assert(
      fc.property(arguments_, fc.array(fc.nat(60), { maxLength: 6 }), ({ text, space }, cuts) => {
        const json = JSON.stringify({ input: text }, null, space);
        const ends = [...cuts.map((cut) => cut % (json.length + 1)), json.length].sort((a, b) => a - b);
        expect(read(ends.map((end, index) => json.slice(ends[index - 1] ?? 0, end)))).toBe(text);
      }),
    );
  });

  it.each([
    ['no input', '{}', ''],
    ['no input, spaced', ' { } ', ''],
    ['nothing', '', ''],
    ['a later input', '{"note":1,"input":"ls"}', 'ls'],
    ['the name of another tool', '{"patch":"*** Begin Patch\\n"}', '*** Begin Patch\n'],
    ['such a name beside others', '{"command":"ls","timeout":1}', '{"command":"ls","timeout":1}'],
    ['such a name of no text', '{"command":["ls"]}', '{"command":["ls"]}'],
    ['a name that says nothing', '{"key":"ls"}', '{"key":"ls"}'],
    ['a list', '["ls"]', '["ls"]'],
    ['a text', '"ls"', '"ls"'],
    ['no JSON', 'ls -l', 'ls -l'],
    ['an input that is cut off', '{"input":"ls -', 'ls -'],
  ])('of arguments with %s', (_, json, text) => {
    expect(read([json])).toBe(text);
  });
});
