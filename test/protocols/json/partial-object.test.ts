import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isObject } from '../../../src/canonical/json.ts';
import { PartialObject } from '../../../src/protocols/json/partial-object.ts';

function stateOf(...pieces: string[]): PartialObject['state'] {
  const prefix = new PartialObject();
  for (const piece of pieces) prefix.push(piece);
  return prefix.state;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

const number = fc.stringMatching(/^-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?$/);
const string = fc.oneof(
  fc.constantFrom('"\\u00e9\\n\\""', '"{\\\\"', '"]}"', '""', '"é🎉"'),
  fc.string({ maxLength: 4 }).map((text) => JSON.stringify(text)),
);
const space = fc.constantFrom('', '', ' ', '\n\t\r ');
const { object } = fc.letrec<{ any: string; object: string }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.oneof(number, string, fc.constantFrom('true', 'false', 'null')),
    fc
      .tuple(fc.array(tie('any'), { maxLength: 3 }), space)
      .map(([items, gap]) => `[${gap}${items.join(`${gap},`)}]`),
    tie('object'),
  ),
  object: fc.tuple(fc.array(fc.tuple(string, tie('any')), { maxLength: 3 }), space).map(([members, gap]) => {
    const written = members.map(([key, value]) => `${key}${gap}:${gap}${value}`);
    return `${gap}{${gap}${written.join(`${gap},${gap}`)}${gap}}${gap}`;
  }),
}));
/** An object with one place changed: mostly no JSON, sometimes still some. */
const nearly = fc
  .tuple(
    object,
    fc.nat(40),
    fc.nat(3),
    fc.constantFrom('', '}', '{', '"', ',', ':', '0', 'e', '-', '.', ' ', 't', '\\', '\n', 'é'),
  )
  .map(([text, at, length, put]) => text.slice(0, at) + put + text.slice(at + length));

describe('an object in pieces', () => {
  it('is open until its last brace, wherever it is cut', () => {
    fc.assert(
      fc.property(object, fc.nat(60), (text, cut) => {
        const at = cut % (text.length + 1);
        expect(stateOf(text)).toBe('whole');
        expect(stateOf(text.slice(0, at), text.slice(at))).toBe('whole');
        expect(stateOf(...text)).toBe('whole');
        expect(stateOf(text.slice(0, at))).not.toBe('broken');
      }),
      { numRuns: 500 },
    );
  });

  it('is whole where JSON.parse finds an object, and nowhere else', () => {
    fc.assert(
      fc.property(fc.oneof(nearly, fc.json(), fc.string({ maxLength: 6 })), (text) => {
        const state = stateOf(text);
        expect(state === 'whole').toBe(isObject(parsed(text)));
        expect(stateOf(...text)).toBe(state);
      }),
      { numRuns: 1500 },
    );
  });

  it('can be made whole as long as it is open', () => {
    fc.assert(
      fc.property(fc.oneof(nearly, object), fc.nat(60), (text, cut) => {
        const prefix = new PartialObject();
        prefix.push(text.slice(0, cut));
        fc.pre(prefix.state === 'open');
        const { text: rest, empty } = prefix.completion();
        const value = parsed(`${text.slice(0, cut)}${rest}}`);
        expect(isObject(value) && Object.keys(value).length === 0).toBe(empty);
        expect(stateOf(`${text.slice(0, cut)}${rest}${empty ? '' : ','}"_raw":""}`)).toBe('whole');
      }),
      { numRuns: 1500 },
    );
  });

  it.each([
    ['', 'blank'],
    [' \n', 'blank'],
    ['x', 'broken'],
    ['5', 'broken'],
    ['[', 'broken'],
    ['{bad', 'broken'],
    ["{'", 'broken'],
    ['{"a":1 ', 'open'],
    ['{"a":01', 'broken'],
    ['{"a":1.e', 'broken'],
    ['{"a":"\n', 'broken'],
    ['{"a":"\\x', 'broken'],
    ['{"a":True', 'broken'],
    ['{"a":1}}', 'broken'],
    ['{"a":1} \n', 'whole'],
  ])('%j is %s', (text, state) => {
    expect(stateOf(text)).toBe(state);
  });

  it('has at most as many levels as an object of a whole reply', () => {
    expect(stateOf(`{"a":${'['.repeat(511)}`)).toBe('open');
    expect(stateOf(`{"a":${'['.repeat(512)}`)).toBe('broken');
  });
});
