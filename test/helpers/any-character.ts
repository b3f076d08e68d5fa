// Every character of Unicode, for properties: fast-check's own unit `binary` makes a table of a million, most of a second a time.
import fc from 'fast-check';

const SURROGATES = 0x800;
const FIRST_SURROGATE = 0xd800;

export const anyCharacter = fc.integer({ min: 0, max: 0x10ffff - SURROGATES }).map(
  (at) => String.fromCodePoint(at < FIRST_SURROGATE ? at : at + SURROGATES),
  (character) => {
    const at = typeof character === 'string' ? (character.codePointAt(0) ?? -1) : -1;
    if (at < 0 || String.fromCodePoint(at) !== character) throw new Error('not one character');
    return at < FIRST_SURROGATE ? at : at - SURROGATES;
  },
);
