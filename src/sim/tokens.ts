// Counts tokens as UTF-8 bytes divided by four, rounded up, and cuts text at a token limit.

const BYTES_PER_TOKEN = 4;

export function tokensOf(texts: readonly string[]): number {
  let bytes = 0;
  for (const text of texts) bytes += Buffer.byteLength(text);
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** What is left of the limit on output tokens. */
interface TokenBudget {
  /** Returns the start of `text` that still fits; never splits a character. */
  take(text: string): string;
  /** Takes the whole text, or returns false and takes nothing. */
  takeWhole(text: string): boolean;
  readonly exhausted: boolean;
}

export function createTokenBudget(tokens: number | undefined): TokenBudget {
  let left = tokens === undefined ? Infinity : tokens * BYTES_PER_TOKEN;
  let exhausted = false;
  return {
    take(text) {
      const bytes = Buffer.byteLength(text);
      if (bytes <= left) {
        left -= bytes;
        return text;
      }
      const head = headOf(text, left);
      left = 0;
      exhausted = true;
      return head;
    },
    takeWhole(text) {
      const bytes = Buffer.byteLength(text);
      if (exhausted || bytes > left) {
        exhausted = true;
        return false;
      }
      left -= bytes;
      return true;
    },
    get exhausted() {
      return exhausted;
    },
  };
}

function headOf(text: string, bytes: number): string {
  const buffer = Buffer.from(text);
  let end = bytes;
  // A byte 10xxxxxx continues a character.
  while (end > 0 && ((buffer[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return buffer.toString('utf8', 0, end);
}

/** The deltas of a stream: words with the space after them, long words in parts. Joined, they are the text. */
export function wordsOf(text: string): string[] {
  return text.match(/\S{1,24}\s*|\s+/gu) ?? [];
}
