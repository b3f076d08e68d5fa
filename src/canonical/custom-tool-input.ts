// The text of a custom tool's call, out of the `{"input": "…"}` of the function that stood for it: also while it streams. Each
// character is looked at once, however the text is cut into pieces.

export interface CustomToolInput {
  /** What of the text is known with this piece of the arguments. */
  push(piece: string): string;
  /** The rest; arguments of another form come as they are. */
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

/** `json` from within a string: its text up to the closing quote, or to an escape that is not whole yet. */
function unescaped(json: string): { text: string; rest: string; closed: boolean } {
  let text = '';
  let at = 0;
  while (at < json.length) {
    PLAIN.lastIndex = at;
    PLAIN.test(json);
    text += json.slice(at, PLAIN.lastIndex);
    at = PLAIN.lastIndex;
    if (at === json.length) break;
    if (json[at] === '"') return { text, rest: '', closed: true };
    const letter = json[at + 1];
    if (letter === undefined) return { text, rest: '\\', closed: false };
    if (letter !== 'u') {
      text += ESCAPES[letter] ?? letter;
      at += 2;
      continue;
    }
    const digits = json.slice(at + 2, at + 6);
    if (/^[0-9a-fA-F]{4}$/.test(digits)) {
      text += String.fromCharCode(Number.parseInt(digits, 16));
      at += 6;
    } else if (at + 2 + digits.length === json.length && /^[0-9a-fA-F]*$/.test(digits) && digits.length < 4) {
      return { text, rest: json.slice(at), closed: false };
    } else {
      // An escape that JSON does not know would hold everything back for ever.
      text += '\\u';
      at += 2;
    }
  }
  return { text, rest: '', closed: false };
}

function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}

function inputOf(text: string): string {
  try {
    const value = JSON.parse(text) as { input?: unknown } | null;
    return typeof value?.input === 'string' ? value.input : text;
  } catch {
    return text;
  }
}
