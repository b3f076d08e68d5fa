import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/canonical/json.ts';
import { requestBytes } from '../../../src/protocols/json/raw-json.ts';

const LONG = 200_000;

function plain(body: JsonObject): string {
  return JSON.stringify(body);
}

describe('jsonBytes', () => {
  const json = fc.jsonValue() as fc.Arbitrary<JsonValue>;
  const members = fc.dictionary(fc.string(), json, { maxKeys: 4 });
  const list = fc.array(fc.oneof(json, fc.constantFrom('é', '🎉', '"', '\ud800', null)), { maxLength: 20 });

  it('writes what JSON.stringify writes, wherever the messages stand and however they are cut', () => {
    fc.assert(
      fc.property(
        members,
        list,
        members,
        fc.integer({ min: 1, max: 30 }),
        (before, messages, after, times) => {
          const body: JsonObject = { ...before, messages, ...after, absent: undefined };
          expect(requestBytes(body, LONG * times).toString()).toBe(Buffer.from(plain(body)).toString());
        },
      ),
      { numRuns: 300 },
    );
  });

  it.each([1, LONG])('writes no halves of surrogate pairs beside the messages (%d bytes)', (about) => {
    const whole = 'a \u{1f389} and the words \\ud83d \\\\ud83d';
    const words = (tail: string) => ({
      messages: [{ role: 'user', content: whole }],
      tools: [{ description: `${whole}${tail}`, [`k${tail}`]: { pattern: [`${tail}x`] } }],
      stop: [`${tail}`],
      text: whole,
    });
    const parse = (bytes: Buffer) => JSON.parse(bytes.toString()) as unknown;
    expect(parse(requestBytes(words('\ud83d'), about))).toEqual(words('\ufffd'));
    expect(parse(requestBytes(words('\udc00\ud800'), about))).toEqual(words('\ufffd\ufffd'));
    expect(requestBytes(words('\ud83d'), about).toString()).not.toMatch(/(?<!\\)\\ud/);
  });

  it.each<[string, JsonObject]>([
    ['no list of messages', { model: 'm', messages: 'none' }],
    ['no messages', { model: 'm', messages: [] }],
    ['nothing else', { messages: [1, 2, 3] }],
  ])('takes a body with %s', (_, body) => {
    expect(requestBytes(body, LONG).toString()).toBe(plain(body));
  });

  it('writes a long conversation in several pieces', () => {
    const messages = Array.from({ length: 900 }, (_, at) => ({ role: 'user', content: `${at} `.repeat(60) }));
    const body = { model: 'm', messages, stream: true };
    const whole = plain(body);
    expect(requestBytes(body, whole.length).equals(Buffer.from(whole))).toBe(true);
  });
});
