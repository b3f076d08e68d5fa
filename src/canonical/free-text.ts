// The text of a custom tool's call, out of the `{"input": "…"}` of the function that stood for it: also while it streams.

export interface FreeText {
  /** What of the text is known with this piece of the arguments. */
  push(piece: string): string;
  /** The rest; arguments of another form come as they are. */
  finish(): string;
}

const HEAD = /^\s*\{\s*"input"\s*:\s*"/;
/** Everything that can still become HEAD. */
const HEAD_SO_FAR = /^\s*(?:$|\{\s*(?:$|"(?:$|i$|in$|inp$|inpu$|input(?:$|"\s*(?:$|:\s*$)))))/;
/** Up to the closing quote or an escape that is not whole yet. */
const BODY = /^(?:[^"\\]|\\(?:u[0-9a-fA-F]{4}|[^u]))*/;

export function createFreeText(): FreeText {
  let phase: 'head' | 'body' | 'over' | 'other' = 'head';
  let raw = '';
  /** The first half of a pair of surrogates, which must not go out alone. */
  let half = '';

  function readBody(): string {
    const body = BODY.exec(raw)?.[0] ?? '';
    raw = raw.slice(body.length);
    if (raw.startsWith('"')) phase = 'over';
    // An escape that JSON does not know would hold everything back for ever.
    else if (/^\\u(?![0-9a-fA-F]{0,3}$)/.test(raw)) {
      const text = half + unescapeText(body) + raw.slice(0, 2);
      raw = raw.slice(2);
      half = '';
      return text + readBody();
    }
    const text = half + unescapeText(body);
    half = phase === 'body' && /[\ud800-\udbff]$/.test(text) ? text.slice(-1) : '';
    return half === '' ? text : text.slice(0, -1);
  }

  return {
    push(piece) {
      if (phase === 'over') return '';
      raw += piece;
      if (phase === 'head') {
        const head = HEAD.exec(raw);
        if (head !== null) {
          phase = 'body';
          raw = raw.slice(head[0].length);
        } else if (!HEAD_SO_FAR.test(raw)) phase = 'other';
      }
      return phase === 'body' ? readBody() : '';
    },
    finish() {
      if (phase === 'over') return '';
      if (phase === 'body') return half + raw;
      return inputOf(raw);
    },
  };
}

function inputOf(text: string): string {
  try {
    const value = JSON.parse(text) as { input?: unknown } | null;
    return typeof value?.input === 'string' ? value.input : text;
  } catch {
    return text;
  }
}

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

function unescapeText(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|([^]))/g, (_, code: string | undefined, letter: string) =>
    code === undefined ? (ESCAPES[letter] ?? letter) : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
