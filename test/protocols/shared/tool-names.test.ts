import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { argumentsToObject, fitToolId, fitToolName } from '../../../src/protocols/shared/tools/tool-names.ts';
import type { ToolIdRule } from '../../../src/protocols/shared/tools/tool-names.ts';
import { anyCharacter } from '../../helpers/any-character.ts';

describe('fitToolName', () => {
  it('leaves a legal name alone', () => {
    expect(fitToolName('read_file-2', 64)).toBe('read_file-2');
    expect(fitToolName('a'.repeat(64), 64)).toBe('a'.repeat(64));
  });

  it('cuts a long name and keeps it apart from another with the same beginning', () => {
    const one = fitToolName(`${'a'.repeat(80)}1`, 64);
    const two = fitToolName(`${'a'.repeat(80)}2`, 64);
    expect(one).toMatch(/^a{55}_[0-9a-f]{8}$/);
    expect(two).not.toBe(one);
  });

  it('replaces characters that no wire takes', () => {
    expect(fitToolName('mcp.files/read', 64)).toMatch(/^mcp_files_read_[0-9a-f]{8}$/);
    expect(fitToolName('mcp.files/read', 64)).not.toBe(fitToolName('mcp/files.read', 64));
  });

  it('always gives a legal name, and the same one for the same name', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 90 }), fc.constantFrom(64, 128), (name, max) => {
        const fitted = fitToolName(name, max);
        expect(fitted).toMatch(/^[a-zA-Z0-9_-]+$/);
        expect(fitted.length).toBeLessThanOrEqual(max);
        expect(fitToolName(name, max)).toBe(fitted);
        expect(fitToolName(fitted, max)).toBe(fitted);
      }),
    );
  });
});

describe('fitToolId', () => {
  it.each<[string, ToolIdRule]>([
    ['functions.Read:0', 'any'],
    ['toolu_01A-b', 'messages'],
    ['functions.Read:0', 'openai'],
    ['x'.repeat(40), 'openai'],
    ['aB3dE6gH9', 'mistral'],
  ])('passes %s for %s unchanged', (id, rule) => {
    expect(fitToolId(id, rule)).toBe(id);
  });

  it.each<[string, ToolIdRule, RegExp]>([
    ['functions.Read:0', 'messages', /^call_[0-9A-Za-z]{22}$/],
    ['x'.repeat(41), 'openai', /^call_[0-9A-Za-z]{22}$/],
    ['toolu_01ABCDEF', 'mistral', /^[0-9A-Za-z]{9}$/],
    ['', 'any', /^call_[0-9A-Za-z]{22}$/],
  ])('maps %s for %s', (id, rule, form) => {
    expect(fitToolId(id, rule)).toMatch(form);
  });

  it.each<[ToolIdRule, RegExp]>([
    ['any', /^[^]+$/],
    ['messages', /^[a-zA-Z0-9_-]+$/],
    ['openai', /^[^]{1,40}$/],
    ['mistral', /^[a-zA-Z0-9]{9}$/],
  ])('takes for %s what matches %s, character by character', (rule, valid) => {
    for (let code = 0; code < 0x180; code++) {
      for (const id of [
        String.fromCharCode(code),
        `call_${String.fromCharCode(code)}`,
        `a${String.fromCharCode(code)}3456789`,
      ]) {
        expect([id, fitToolId(id, rule) === id]).toEqual([id, valid.test(id)]);
      }
    }
    for (const id of ['x'.repeat(40), 'x'.repeat(41), '\n'])
      expect(fitToolId(id, rule) === id).toBe(valid.test(id));
  });

  it('strips a signature that another gateway packed into an id', () => {
    expect(fitToolId('call_abc__thought__Q2lQ/+==', 'messages')).toBe('call_abc');
    expect(fitToolId('a.b__thought__Q2lQ', 'messages')).toBe(fitToolId('a.b', 'messages'));
  });

  it('is idempotent and keeps different ids different', () => {
    const rule = fc.constantFrom<ToolIdRule>('any', 'messages', 'openai', 'mistral');
    const id = fc.string({ maxLength: 60 }).filter((text) => !text.includes('__thought__'));
    fc.assert(
      fc.property(id, id, rule, (one, two, as) => {
        const fitted = fitToolId(one, as);
        expect(fitToolId(fitted, as)).toBe(fitted);
        if (one !== two) expect(fitToolId(two, as)).not.toBe(fitted);
      }),
    );
  });
});

describe('argumentsToObject', () => {
  it.each([
    ['empty arguments as an empty object', '', {}, false],
    ['blank arguments as an empty object', ' \n', {}, false],
    ['an object', '{"b":1,"a":[2]}', { b: 1, a: [2] }, false],
    ['an object that breaks off as raw text', '{"path": "x', { _raw: '{"path": "x' }, true],
    ['a list as a value', '[1]', { value: [1] }, true],
    ['null as a value', 'null', { value: null }, true],
    ['a text as a value', '"text"', { value: 'text' }, true],
  ])('reads %s', (_, text, value, repaired) => {
    expect(argumentsToObject(text)).toEqual({ value, repaired });
  });

  it('replaces them in the names of members, too', () => {
    expect(argumentsToObject('{"\\ud800":{"\\udc00b":1}}').value).toEqual({ '\ufffd': { '\ufffdb': 1 } });
  });

  it('replaces halves of surrogate pairs and keeps whole ones', () => {
    const text = '{"a":["\\ud83c"],"b":"\\ud83c\\udf89"}';
    expect(argumentsToObject(text).value).toEqual({ a: ['\ufffd'], b: '🎉' });
  });

  it('keeps the order of members', () => {
    expect(JSON.stringify(argumentsToObject('{"z":1,"a":2}').value)).toBe('{"z":1,"a":2}');
  });
});
