// Takes secrets out of texts before they are written to a tape. What stands in their place says their kind, needs no escape in JSON,
// and is the same each time, so that a replayed request with the same secret is the same request.
import { findSecrets, needlesOf, type KnownSecret, type Span } from './find.ts';

export interface Redactor {
  /** JSON or any other text. */
  text(text: string): string;
  /** Texts that one reader gets in pieces: a secret may begin in one and end in another. */
  pieces(pieces: readonly string[]): string[];
}

/** JSON in JSON in JSON …: what is deeper is searched as it stands. */
const MOST_LEVELS = 4;

export function createRedactor(known: readonly KnownSecret[]): Redactor {
  const needles = needlesOf(known);
  const spansOf = (text: string): Span[] => findSecrets(text, needles);

  /** Strings with escapes are read first: an escape may stand inside a secret. */
  function redact(text: string, levels: number): string {
    const plain = levels === 0 || !text.includes('\\') ? text : eachString(text, unescaped(levels));
    return replaced(plain, spansOf(plain));
  }

  function unescaped(levels: number): (token: string) => string {
    return (token) => {
      const inner = decoded(token);
      if (inner === undefined) return token;
      const clean = redact(inner, levels - 1);
      return clean === inner ? token : JSON.stringify(clean);
    };
  }

  return {
    text: (text) => redact(text, MOST_LEVELS),
    pieces: (pieces) => cut(pieces, spansOf(pieces.join(''))),
  };
}

const standIn = ({ kind }: Span): string => `[secret: ${kind.replace(/[^\w .-]/g, '_')}]`;

function replaced(text: string, spans: readonly Span[]): string {
  let clean = '';
  let at = 0;
  for (const span of spans) {
    clean += text.slice(at, span.start) + standIn(span);
    at = span.end;
  }
  return at === 0 ? text : clean + text.slice(at);
}

/** The stand-in goes to the piece in which the secret begins. */
function cut(pieces: readonly string[], spans: readonly Span[]): string[] {
  if (spans.length === 0) return [...pieces];
  let from = 0;
  let next = 0;
  return pieces.map((piece) => {
    const to = from + piece.length;
    let clean = '';
    let at = from;
    for (let index = next; index < spans.length; index++) {
      const span = spans[index];
      if (span === undefined || span.start >= to) break;
      if (span.start >= from) clean += piece.slice(at - from, span.start - from) + standIn(span);
      at = Math.min(span.end, to);
      if (span.end <= to) next = index + 1;
    }
    clean += piece.slice(at - from);
    from = to;
    return clean;
  });
}

/** Calls `change` with each string of a JSON text that holds an escape, with its quotes. One pass, whatever the text is. */
function eachString(text: string, change: (token: string) => string): string {
  let result = '';
  let copied = 0;
  let at = text.indexOf('"');
  while (at >= 0) {
    let end = at + 1;
    let escapes = false;
    while (end < text.length && text[end] !== '"') {
      if (text[end] === '\\') {
        escapes = true;
        end++;
      }
      end++;
    }
    if (end >= text.length) break;
    if (escapes) {
      result += text.slice(copied, at) + change(text.slice(at, end + 1));
      copied = end + 1;
    }
    at = text.indexOf('"', end + 1);
  }
  return result + text.slice(copied);
}

function decoded(token: string): string | undefined {
  try {
    const value: unknown = JSON.parse(token);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
