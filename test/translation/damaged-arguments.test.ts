// Arguments of calls that a model damaged never make a conversation unusable: every target gets a JSON object in their place.
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/canonical/json.ts';
import { PROTOCOL_NAMES, type ProtocolName } from '../../src/canonical/request.ts';
import { DEFAULT_TRAITS } from '../../src/canonical/traits.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { fitBody } from '../../src/protocols/shared/relay/fit.ts';
import { translate } from '../../src/protocols/translate.ts';
import { mendArguments } from '../../src/repair/damaged-arguments.ts';
import { objectOf, object, withCall } from './damaged.ts';
import { bodyOf } from '../../src/protocols/json/body.ts';

const DEEP = `{"a":${'['.repeat(600)}${']'.repeat(600)}}`;
const DEEP_DAMAGE = '{"a":'.repeat(600);

/** What the client sends, and what the provider gets. */
const KINDS: Readonly<Record<string, readonly [JsonValue, JsonObject]>> = {
  'cut off in a text': ['{"path":"a.txt","content":"hello wor', { path: 'a.txt', content: 'hello wor' }],
  'cut off between members': ['{"path":"a.txt","lines":[1,2', { path: 'a.txt', lines: [1, 2] }],
  'a comma too many': ['{"path":"a.txt",,"n":1,}', { path: 'a.txt', n: 1 }],
  'a brace too many': ['{"path":"a.txt"}}', { path: 'a.txt' }],
  'single quotes': [`{'path': 'it"s a.txt'}`, { path: 'it"s a.txt' }],
  'encoded twice': [JSON.stringify('{"path":"a.txt"}'), { path: 'a.txt' }],
  'encoded twice, the inner one cut': [JSON.stringify('{"path":"a.txt"'), { path: 'a.txt' }],
  empty: ['', {}],
  'white space': [' \n', {}],
  'no value': [null, {}],
  'null in a text': ['null', {}],
  'a list': [[1, { a: 2 }], { value: [1, { a: 2 }] }],
  'a list in a text': ['[1, {"a":2}]', { value: [1, { a: 2 }] }],
  'a number': ['5', { value: 5 }],
  'a bare word': ['ls', { _raw: 'ls' }],
  'no JSON at all': ['rm -rf "build" {now}', { _raw: 'rm -rf "build" {now}' }],
  'text around it': ['Sure!\n```json\n{"path":"a.txt"}\n```', { path: 'a.txt' }],
  'an empty object before it': ['{}{"path":"a.txt"}', { path: 'a.txt' }],
  'trailing junk': ['{"path":"a.txt"}</tool_call> done', { path: 'a.txt' }],
  "Python's and JavaScript's constants": [
    '{"a":None,"b":True,"c":False,"d":NaN,"e":undefined,"f":-Infinity}',
    { a: null, b: true, c: false, d: null, e: null, f: null },
  ],
  'invalid escapes': [
    String.raw`{"path":"C:\dir\x","re":"\d+\u12"}`,
    { path: 'C:\\dir\\x', re: '\\d+\\u12' },
  ],
  'control characters': ['{"text":"a\nb\tc\u0001"}', { text: 'a\nb\tc\u0001' }],
  'a bare name': ['{path: "a.txt"}', { path: 'a.txt' }],
  'very deep': [DEEP, { _raw: DEEP }],
  'very deep, and damaged': [DEEP_DAMAGE, { _raw: DEEP_DAMAGE }],
  'very deep, in a text': [JSON.stringify(DEEP), { _raw: JSON.stringify(DEEP) }],
};
/** Forms that need no word: nothing was damaged, or what stands for them says the same. */
const IN_ORDER = new Set(['empty', 'no value']);

const PAIRS = PROTOCOL_NAMES.flatMap((from) => PROTOCOL_NAMES.map((to) => [from, to] as const));

function relayed(name: ProtocolName, request: JsonObject, strictArguments: boolean) {
  return fitBody(
    bodyOf(request),
    { traits: { ...DEFAULT_TRAITS, strictArguments }, isKnown: true },
    protocols[name].relay.rules,
  );
}

describe.each(PAIRS)('%s to %s', (from, to) => {
  it.each(Object.entries(KINDS))('%s', (kind, [given, expected]) => {
    const request = withCall(from, given);
    if (from === to) {
      const fitted = relayed(to, request, true);
      expect(objectOf(to, fitted?.body.value ?? request)).toEqual(expected);
      expect(fitted?.warnings.map(({ effect }) => effect)).toEqual(['changed']);
      // All but the arguments is as it was.
      expect(JSON.stringify(fitted?.body.value).length).toBe(fitted?.body.bytes.length);
      return;
    }
    const { body, losses } = translate(request, { from, to });
    expect(objectOf(to, body)).toEqual(expected);
    const changed = losses.filter(({ effect, path }) => effect === 'changed' && /call|input/.test(path));
    expect(changed).toHaveLength(IN_ORDER.has(kind) ? 0 : 1);
  });

  it('arguments in order stay to the letter', () => {
    const text = '{ "path": "a", "limit": 12345678901234567890, "n": 1.0 }';
    if (from === to) {
      const given = from === 'messages' ? object : text;
      expect(relayed(to, withCall(from, given), true)).toBeUndefined();
      expect(relayed(to, withCall(from, '{"a'), false)).toBeUndefined();
      return;
    }
    const { body, losses } = translate(withCall(from, text), { from, to });
    if (to !== 'messages') expect(JSON.stringify(body)).toContain(JSON.stringify(text));
    expect(losses.filter(({ detail }) => detail.includes('arguments'))).toEqual([]);
  });
});

it.each(['chat', 'responses'] as const)('%s: an object in place of its text is that text', (name) => {
  const fitted = relayed(name, withCall(name, object), true);
  expect(objectOf(name, fitted?.body.value ?? {})).toEqual(object);
});

it('the single call of older chat clients, too', () => {
  const message = { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{"a":1' } };
  const request = { model: 'm', messages: [{ role: 'user', content: 'Go' }, message] };
  expect(relayed('chat', request, true)?.body.value).toMatchObject({
    messages: [{}, { function_call: { name: 'f', arguments: '{"a":1}' } }],
  });
});

it('the input of a custom tool is a text of its own', () => {
  const call = { type: 'custom_tool_call', call_id: 'c1', name: 'f', input: '{"a' };
  const result = { type: 'custom_tool_call_output', call_id: 'c1', output: 'x' };
  const request = { model: 'm', input: [{ role: 'user', content: 'Go' }, call, result] };
  const { body } = translate(request, { from: 'responses', to: 'messages' });
  expect(objectOf('messages', body)).toEqual({ input: '{"a' });
});

it('a text of more empty objects than anybody sends is kept as it is', () => {
  const text = `x${'{}'.repeat(200)}`;
  expect(mendArguments(text)).toBe(JSON.stringify({ _raw: text }));
});

it('what was mended is in order', () => {
  for (const [given] of Object.values(KINDS)) {
    const mended = typeof given === 'string' ? mendArguments(given) : undefined;
    if (mended !== undefined) expect(mendArguments(mended)).toBeUndefined();
  }
});
