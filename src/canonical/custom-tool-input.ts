// The text of a custom tool's call, out of the `{"input": "…"}` of the function that stood for it: also while it streams. Each
// character is looked at once, however the text is cut into pieces.
import { isObject } from './json.ts';

export interface CustomToolInput {
  /** The text that this piece of the arguments adds. */
  push(piece: string): string;
  /** The rest. Arguments of another form are returned unchanged. */
  finish(): string;
}

/** What stands before the text, with white space before each of them. */
const HEAD: readonly string[] = ['{', '"input"', ':', '"'];
const SPACE = /\s/;
/** Of a JSON string, all that is nothing but itself. */
const PLAIN = /[^"\\]*/y;
const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

export function createCustomToolInput(): CustomToolInput {
  let phase: 'head' | 'body' | 'over' | 'other' = 'head';
  /** In the head and in another form: everything. In the body: the beginning of an escape. */
  let raw = '';
  /** How much of HEAD was met: whole tokens, and characters of the next one. */
  let tokens = 0;
  let met = 0;
  /** The first half of a pair of surrogates, which must not go out alone. */
  let half = '';

  /** Where the body begins in `piece`; its length while that is not known. */
  function readHead(piece: string): number {
    for (let at = 0; at < piece.length; at++) {
      const char = piece.charAt(at);
      if (met === 0 && SPACE.test(char)) continue;
      const token = HEAD[tokens] ?? '';
      if (char !== token[met]) {
        phase = 'other';
        return piece.length;
      }
      met++;
      if (met < token.length) continue;
      met = 0;
      tokens++;
      if (tokens < HEAD.length) continue;
      phase = 'body';
      return at + 1;
    }
    return piece.length;
  }

  function readBody(piece: string): string {
    const { text, rest, closed } = unescaped(raw + piece);
    raw = rest;
    if (closed) phase = 'over';
    const whole = half + text;
    half = !closed && endsInHalf(whole) ? whole.slice(-1) : '';
    return half === '' ? whole : whole.slice(0, -1);
  }

  return {
    push(piece) {
      if (phase === 'over') return '';
      if (phase === 'body') return readBody(piece);
      raw += piece;
      if (phase === 'other') return '';
      const body = readHead(piece);
      // `readHead` changes the phase, which the compiler does not see.
      if (phase !== ('body' as typeof phase)) return '';
      raw = '';
      return readBody(piece.slice(body));
    },
    finish() {
      if (phase === 'over') return '';
      if (phase === 'body') return half + raw;
      return inputOf(raw);
    },
  };
}

/** The beginning of an escape by a code, which further characters may make whole. */
const CODE_SO_FAR = /^\\u[0-9a-fA-F]{0,3}$/;

/** `json` from within a string: its text up to the closing quote, or to an escape that is not whole yet. */
function unescaped(json: string): { text: string; rest: string; closed: boolean } {
  let at = 0;
  for (;;) {
    PLAIN.lastIndex = at;
    PLAIN.test(json);
    at = PLAIN.lastIndex;
    const open = at === json.length;
    if (open || json[at] === '"') return { text: plain(json.slice(0, at)), rest: '', closed: !open };
    if (at + 1 === json.length || CODE_SO_FAR.test(json.slice(at, at + 6))) {
      return { text: plain(json.slice(0, at)), rest: json.slice(at), closed: false };
    }
    at += 2;
  }
}

function plain(json: string): string {
  if (!json.includes('\\')) return json;
  return json.replace(
    /\\(?:u([0-9a-fA-F]{4})|([^]))/g,
    (escape, code: string | undefined, letter: string) => {
      if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
      // An escape that JSON does not know would hold everything back for ever.
      return letter === 'u' ? escape : (ESCAPES[letter] ?? letter);
    },
  );
}

function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}

/** What models call the text of tools that they know from elsewhere, as the `patch` of an `apply_patch`. */
const OTHER_NAMES: ReadonlySet<string> = new Set([
  'patch',
  'diff',
  'content',
  'text',
  'code',
  'command',
  'cmd',
]);

/** `{}`: the model gave the tool nothing. */
function inputOf(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return text;
    const [name, ...more] = Object.keys(value);
    if (name === undefined) return '';
    const given = more.length === 0 && OTHER_NAMES.has(name) ? value[name] : value.input;
    return typeof given === 'string' ? given : text;
  } catch {
    return text;
  }
}
