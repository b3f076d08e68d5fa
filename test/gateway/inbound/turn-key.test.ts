// The key of a turn names stored thinking: it must stay what it was for what is stored, and the same for each way to write a call.
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isObject, type JsonValue } from '../../../src/canonical/json.ts';
import { sameValue, turnKey } from '../../../src/gateway/inbound/turn-key.ts';

/** With the names of members sorted, as pairs. */
function sorted(_: string, value: unknown): unknown {
  return isObject(value) ? Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)) : value;
}

describe('the key of a turn', () => {
  it('is that of the turns that are stored', () => {
    const calls = [
      { id: 'call_0', name: 'read', arguments: '{"path": "a", "10": [1.50, {"b": null, "a": "\\u00e9"}]}' },
      { id: 'call_1', name: 'no arguments', arguments: '' },
      { id: 'call_2', name: 'text', arguments: ' not JSON ' },
    ];
    const written = [
      '["call_0",3]',
      '["read","[[\\"10\\",[1.5,[[\\"a\\",\\"é\\"],[\\"b\\",null]]]],[\\"path\\",\\"a\\"]]"]',
      '["no arguments","{}"]',
      '["text","not JSON"]',
    ];
    const hash = createHash('sha256');
    for (const text of written) hash.update(text);
    expect(turnKey(calls)).toBe(hash.digest('base64url'));
    expect(turnKey([])).toBeUndefined();
  });

  it('is the same whatever the order of members and the white space', () => {
    const key = (written: string) => turnKey([{ id: 'a', name: 'b', arguments: written }]);
    expect(key('{"b":1,"a":{"d":2,"c":[3]}}')).toBe(key(' { "a": {"c":[3], "d":2}, "b": 1.0 }\n'));
    expect(key('{"a":[1,2]}')).not.toBe(key('{"a":[2,1]}'));
    expect(key('{"a":{"b":1}}')).not.toBe(key('{"a":[["b",1]],"c":0}'));
  });
});

it('a value is written as JSON.stringify writes its sorted pairs', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const value = JSON.parse(text) as JsonValue;
      expect(sameValue(value)).toBe(JSON.stringify(value, sorted));
    }),
  );
  const odd = JSON.parse(
    '{"__proto__":{"2":-0,"1":1e999},"\\ud83d":"\\ud83d","toJSON":1,"":[]}',
  ) as JsonValue;
  expect(sameValue(odd)).toBe(JSON.stringify(odd, sorted));
});
