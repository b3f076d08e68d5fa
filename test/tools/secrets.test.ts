// P44: what `gateway connect` prints is what people paste into issues: no value of a secret name is in it, whatever it looks like.
import fc from 'fast-check';
import { stringify } from 'yaml';
import { describe, expect, it, test } from 'vitest';
import type { Editor } from '../../src/tools/texts/document.ts';
import { jsonText } from '../../src/tools/texts/json-text.ts';
import { withoutSecrets } from '../../src/tools/texts/secrets.ts';
import { tomlText } from '../../src/tools/texts/toml-text.ts';
import { yamlText } from '../../src/tools/texts/yaml-text.ts';

const masks = (editor: Editor, rows: readonly (readonly [string, string])[]): void => {
  it.each(rows)('%s', (text, shown) => expect(withoutSecrets(text, editor)).toBe(shown));
};

describe('P44: JSON', () => {
  masks(jsonText, [
    ['{"GITHUB_TOKEN": "ghp_abc", "b": 1}', '{"GITHUB_TOKEN": "…", "b": 1}'],
    ['{"apiKey": "x"}', '{"apiKey": "…"}'],
    ['{"API_KEY": "ABCDEFGHIJKLMNOPQR"}', '{"API_KEY": "…"}'],
    ['{"password": "my secret, \\"phrase\\""}', '{"password": "…"}'],
    ['{"password": 123456}', '{"password": …}'],
    ['{"password": "123456"}', '{"password": "…"}'],
    ['{"token": "$ecret"}', '{"token": "…"}'],
    ['{"apiKey":\n  // on a line of its own\n  "abc"\n}', '{"apiKey":\n  // on a line of its own\n  "…"\n}'],
    ['{"api_keys": {"one": "a", "two": ["b"]}}', '{"api_keys": {"one": "…", "two": ["…"]}}'],
    ['{"name": "GITHUB_TOKEN", "value": "abc"}', '{"name": "GITHUB_TOKEN", "value": "…"}'],
    ['{"args": ["-y", "--api-key", "abc", "x"]}', '{"args": ["-y", "--api-key", "…", "x"]}'],
    ['{"args": ["--token=abc def", "x"]}', '{"args": ["--token=…", "x"]}'],
    ['{"command": "run --token abc file"}', '{"command": "run --token … file"}'],
    ['{"command": "TOKEN=abc run", "b": "c"}', '{"command": "TOKEN=…", "b": "c"}'],
    ['{"headers": {"Authorization": "Basic YTpi"}}', '{"headers": {"Authorization": "…"}}'],
    ['{"x": "Authorization: Bearer abc"}', '{"x": "Authorization: …"}'],
    ['{"url": "https://me:pw@host/v1?api_key=abc"}', '{"url": "https://…@host/v1?api_key=…"}'],
    ['{"note": "gsk_12345678 and xai-12345678"}', '{"note": "… and …"}'],
    ['{"sk-12345678": 1}', '{"…": 1}'],
    ['{\n// "apiKey": "abc",\n"b": 1}', '{\n// "apiKey": "…",\n"b": 1}'],
    ['{ "b": 1 /* token: abc */ }', '{ "b": 1 /* token: …'],
    ['{"ANTHROPIC_AUTH_TOKEN": "sk-gw-abcdefgh"}', '{"ANTHROPIC_AUTH_TOKEN": "sk-gw-…"}'],
  ]);
});

describe('P44: YAML', () => {
  masks(yamlText, [
    ['openai-api-key: AIzaSy\nb: 1\n', 'openai-api-key: …\nb: 1\n'],
    ['password: it\'s "my" phrase\n', 'password: …\n'],
    ['token: |\n  one\n  two\nb: 1\n', 'token: …\nb: 1\n'],
    ['{token: abc, b: 1}\n', '{token: …, b: 1}\n'],
    ['x: &a abc\ntoken: *a\n', 'x: &a …\ntoken: *a\n'],
    ['# token: a b "c"\nb: 1\n', '# token: …\nb: 1\n'],
    ['keys:\n  - a\n  - b: c\n', 'keys:\n  - …\n  - b: …\n'],
  ]);
});

describe('P44: TOML', () => {
  masks(tomlText, [
    ['[a]\nbearer_token = "abc" # token = "x"\n', '[a]\nbearer_token = "…" # token = "…"\n'],
    ['a.api_key = \'x\'\nb = { secret = "y", c = 1 }\n', 'a.api_key = \'…\'\nb = { secret = "…", c = 1 }\n'],
    ['[api_keys]\none = "x"\n', '[api_keys]\none = "…"\n'],
    ['password = """\none\ntwo"""\nb = 1\n', 'password = "…"\nb = 1\n'],
  ]);
});

test('P44: counts, switches and the names of our own variable stay readable', () => {
  const text = JSON.stringify({
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: '89000',
    max_output_tokens: 8192,
    prompt_cache_key: false,
    token: null,
    env_key: 'GATEWAY_KEY',
    api_key: '$GATEWAY_KEY',
    apiKey: '{env:GATEWAY_KEY}',
    security: { auth: { selectedType: 'openai' } },
    base_keymap: 'VSCode',
  });
  expect(withoutSecrets(text, jsonText)).toBe(text);
});

test('P44: a file that is not valid is masked, too', () => {
  expect(withoutSecrets('{"apiKey": "abc", }}\n"token": "x"', jsonText)).toBe(
    '{"apiKey": "…", }}\n"token": "…"',
  );
});

test.each([
  ['JSON', jsonText, (value: unknown) => JSON.stringify(value, null, 2)],
  ['YAML', yamlText, (value: unknown) => stringify(value)],
] as const)('P44: no secret of any text and any place is in what is shown of %s', (_, editor, print) => {
  const names = ['apiKey', 'GITHUB_TOKEN', 'client-secret', 'password', 'key', 'access_token', 'x-api-key'];
  fc.assert(
    fc.property(
      fc.constantFrom(...names),
      fc.stringMatching(/^[!-~]{5,40}$/),
      fc.constantFrom('alone', 'list', 'object'),
      (name, secret, place) => {
        fc.pre(!/GATEWAY_KEY/.test(secret));
        const value = { alone: secret, list: [secret], object: { of: secret } }[place];
        const shown = withoutSecrets(print({ before: 1, [name]: value, after: 'still here' }), editor);
        expect(shown).not.toContain(secret);
        expect(editor.read(shown)).toMatchObject({ before: 1, after: 'still here' });
      },
    ),
  );
});

test('P32: the work grows linearly with the text', () => {
  const time = (count: number): number => {
    const text = `{"a": "${'token: "x" key= --secret '.repeat(count).replaceAll('"', '\\"')}"}`;
    const start = process.cpuUsage().user;
    withoutSecrets(text, jsonText);
    return process.cpuUsage(undefined).user - start;
  };
  time(1000);
  expect(time(40_000)).toBeLessThan(40 * Math.max(time(4000), 2000));
});
