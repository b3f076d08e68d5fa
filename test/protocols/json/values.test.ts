// Names with escapes are not left to JSON.parse, which takes one for another in some V8; all else is as it reads it.
import { isDeepStrictEqual } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { bodyIn } from '../../../src/protocols/json/body.ts';
import { parseJson } from '../../../src/protocols/json/values.ts';
import { argumentsToObject } from '../../../src/protocols/shared/tools/tool-names.ts';

afterEach(() => void vi.restoreAllMocks());

const ESCAPED_NAME = /\\(?:[^"\\]|\\.)*"\s*:/;

/** From now on JSON.parse fails where it may misread. */
function breakParse(): void {
  const parse = JSON.parse.bind(JSON);
  vi.spyOn(JSON, 'parse').mockImplementation((text: string) => {
    if (ESCAPED_NAME.test(text)) throw new Error(`misread: ${text}`);
    return parse(text) as unknown;
  });
}

const TEXTS = [
  String.raw`{"mod\u0065l":"m"}`,
  String.raw`{"a":[{"\"":1},{"\\":2},{"\/":3},{"\u0061":4}],"b":{"":{"c\n" :[]}}}`,
  String.raw`[{"x\u0061":-0,"y":1e999,"z":12345678901234567890,"n":null,"t":[true,false,[[]],{}]},"\ud83d\ude00\ud83d",1.50]`,
  String.raw`{"__pr\u006fto__":{"x":1},"constructor":1,"10":1,"b":2,"2":3,"b":4,"\u0062":5,"\u0031":6}`,
  String.raw`{"\ud800":1,"é\u00e9":"名前","\uD83D\uDE00":{"\u540d":"\u0000"}}`,
  `{"\\u0061":"${'long, '.repeat(30)}","half":"\ud83d","\ud83d\\n":1}`,
];

describe.each(TEXTS)('%s', (text) => {
  it('is what JSON.parse makes of it, in its order', () => {
    const expected = JSON.parse(text) as object;
    breakParse();
    const found = parseJson(text);
    expect(isDeepStrictEqual(found, expected), JSON.stringify(found)).toBe(true);
    expect(JSON.stringify(found)).toBe(JSON.stringify(expected));
  });
});

it('makes members of their own', () => {
  const value = parseJson(String.raw`{"\u0061":1,"__proto__":{"x":1}}`) as Record<string, unknown>;
  expect([Object.keys(value), value.x]).toEqual([['a', '__proto__'], undefined]);
});

it.each([
  String.raw`{"\u0061":1,}`,
  String.raw`{"\u006":1}`,
  String.raw`{"\x":1}`,
  String.raw`{"\u0061":1} x`,
  `{"\\u0061":"\n"}`,
  '',
])('says of %j what JSON.parse says', (text) => {
  let message = '';
  try {
    JSON.parse(text);
  } catch (error) {
    ({ message } = error as Error);
  }
  expect(() => parseJson(text)).toThrow(message);
});

it('goes down any number of levels', () => {
  const levels = 200_000;
  let value: unknown = parseJson(`{"\\u0061":${'['.repeat(levels)}${']'.repeat(levels)}}`);
  value = (value as Record<string, unknown>).a;
  let found = 0;
  for (; Array.isArray(value); value = (value as unknown[])[0]) found++;
  expect(found).toBe(levels);
});

it.each(['', 'x'.repeat(10_000)])('holds for bodies, small and large', (filling) => {
  const text = String.raw`{"mod\u0065l":"m","deep":[{"str\u0065am":true}],"plain":{"a\"":1},"x":"${filling}"}`;
  const expected = JSON.parse(text) as object;
  breakParse();
  const body = bodyIn(Buffer.from(text));
  expect({ ...body.value }).toEqual(expected);
  expect(body.member('deep')?.value).toEqual([{ stream: true }]);
});

it('holds for the arguments of calls that a provider gets as an object', () => {
  breakParse();
  const text = String.raw`{"\u540d":"x","\"":{"\\":"y"}}`;
  expect(argumentsToObject(text)).toEqual({ value: { 名: 'x', '"': { '\\': 'y' } }, repaired: false });
});
