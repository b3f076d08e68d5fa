// Makes bodies of the three protocols that a strict reader must judge: as clients write them, cut, doubled, deep, and damaged by pieces of
// JSON. The same seed gives the same bodies.

type Name = 'chat' | 'messages' | 'responses';

/** Pieces that damage a body, or are written in it where a text may stand. */
const PIECES = [
  ...'{}[],:"\\-.+0eE1 ',
  '\\u',
  '\\ud83d',
  '\\u00e9',
  '\\"',
  '\\/',
  '\\x',
  'true',
  'nul',
  'NaN',
  '01',
  '1.',
  '-0',
  '1e999',
  '12345678901234567890',
  '"a"',
  '""',
  '{}',
  '[]',
  '[[',
  '"__proto__":1,',
  '"model":"n",',
  '"mod\\u0065l":"n",',
  '\n',
  '\t',
  '\r',
  '\u0000',
  '\u001f',
  '\u000b',
  '\u00a0',
  '\u2028',
  '\ufeff',
  'é',
  '😀',
] as const;

const NAMES = [
  'role',
  'type',
  'content',
  'text',
  'source',
  'file_id',
  'r\\u006fle',
  '__proto__',
  '10',
  'é',
  '',
];
const TYPES = {
  chat: ['text', 'image_url', 'file', 'input_audio'],
  messages: ['text', 'image', 'document', 'tool_use', 'tool_result', 'thinking'],
  responses: ['message', 'input_text', 'input_image', 'function_call', 'function_call_output', 'reasoning'],
} as const;
const ROLES = ['user', 'assistant', 'system', 'tool'] as const;

/** Each call gives the JSON of a body, or what was one. */
export function bodyMaker(name: Name, seed: number): () => string {
  let state = seed;
  const below = (most: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
  const one = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  const times = <T>(most: number, make: () => T): T[] => Array.from({ length: below(most) }, make);
  const space = (): string => one(['', '', '', ' ', '\n\t']);
  const text = (): string => {
    const inner = one([
      '',
      'a',
      'x'.repeat(below(80)),
      'data:application/pdf',
      'data:application\\/pdf',
      '\\n\\"',
      'é😀',
      '\\ud83d',
    ]);
    return `"${inner}${one(['', '', 'y'.repeat(below(40))])}"`;
  };
  const object = (members: readonly string[]): string =>
    `{${space()}${members.join(`${space()},`)}${space()}}`;
  const list = (items: readonly string[]): string => `[${space()}${items.join(`,${space()}`)}]`;
  const member = (key: string, value: string): string => `"${key}"${space()}:${space()}${value}`;
  const any = (depth: number): string => {
    switch (below(depth > 3 ? 4 : 6)) {
      case 0:
        return one(['null', 'true', 'false', '-0', '1e999', '0.5', '12345678901234567890', '7']);
      case 4:
        return list(times(4, () => any(depth + 1)));
      case 5:
        return object(times(4, () => member(one(NAMES), any(depth + 1))));
      default:
        return text();
    }
  };
  const part = (depth: number): string =>
    object([
      member('type', `"${one(TYPES[name])}"`),
      member(one(['text', 'source', 'file', 'image_url', 'content', 'output']), any(depth)),
      ...times(3, () => member(one(NAMES), any(depth))),
    ]);
  const message = (): string =>
    below(12) === 0
      ? any(1)
      : object([
          member('role', `"${one(ROLES)}"`),
          member(
            one(['content', 'content', 'output']),
            below(2) === 0 ? text() : list(times(4, () => part(1))),
          ),
          ...times(2, () => member(one(NAMES), any(2))),
        ]);
  const whole = (): string =>
    object([
      member('model', '"m"'),
      member('max_tokens', '10'),
      member(name === 'responses' ? 'input' : 'messages', list([message(), ...times(6, message)])),
      ...times(3, () =>
        member(one(['tools', 'system', 'instructions', 'metadata', 'stream', 'é', 'x']), any(0)),
      ),
    ]);
  const deep = (body: string): string => {
    const levels = one([3, 508, 509, 510, 511, 512, 600]);
    return body.replace(/\}$/, `,"deep":${'['.repeat(levels)}${']'.repeat(levels)}}`);
  };
  const damaged = (body: string): string => {
    let result = body;
    for (let left = 1 + below(3); left > 0; left--) {
      const at = below(result.length + 1);
      const gone = below(3);
      result = result.slice(0, at) + (below(3) === 0 ? '' : one(PIECES)) + result.slice(at + gone);
    }
    return result;
  };
  return () => {
    const body = whole();
    switch (below(10)) {
      case 0:
        return body.slice(0, below(body.length));
      case 1:
        return body + one(['', ' ', '\n', body, '}', 'x']);
      case 2:
        return body.replace('{', `{"${one(['model', 'mod\\u0065l', 'x', 'max_tokens'])}":1,`);
      case 3:
        return deep(body);
      case 4:
        return one(['', ' \n', '[]', '[{}]', '"text"', '7', 'null', `[${body}]`, `\ufeff${body}`]);
      case 5:
      case 6:
      case 7:
        return damaged(body);
      default:
        return body;
    }
  };
}
