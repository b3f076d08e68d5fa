// The simulated tokenizer: a token is four bytes of UTF-8, the last one may be shorter.

const BYTES = 4;

export function tokensOf(texts: readonly string[]): number {
  let bytes = 0;
  for (const text of texts) bytes += Buffer.byteLength(text);
  return Math.ceil(bytes / BYTES);
}

/** Counts down what may still be written. */
export interface Allowance {
  /** The beginning of `text` that still fits; a character is never split. */
  take(text: string): string;
  /** Takes the whole text, or nothing of it. */
  takeWhole(text: string): boolean;
  readonly exhausted: boolean;
}

export function createAllowance(tokens: number | undefined): Allowance {
  let left = tokens === undefined ? Infinity : tokens * BYTES;
  let exhausted = false;
  return {
    take(text) {
      const bytes = Buffer.byteLength(text);
      if (bytes <= left) {
        left -= bytes;
        return text;
      }
      const kept = headOf(text, left);
      left = 0;
      exhausted = true;
      return kept;
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
  // 10xxxxxx: the middle of a character.
  while (end > 0 && ((buffer[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return buffer.toString('utf8', 0, end);
}

/** What a stream carries one by one: words with the space after them; long ones in short runs. Joined, the text again. */
export function wordsOf(text: string): string[] {
  return text.match(/\S{1,24}\s*|\s+/gu) ?? [];
}
