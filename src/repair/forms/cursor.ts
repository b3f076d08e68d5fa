// Reads a text that is not complete yet: what has not come is not known to be missing.
import { endOfJson } from '../json-end.ts';

export class NotThisForm extends Error {}
export class NeedsMore extends Error {}

/** A place in the text. Its methods throw NeedsMore where the text ends too early, and NotThisForm where something else stands. */
export class Cursor {
  readonly text: string;
  at: number;

  constructor(text: string, at: number) {
    this.text = text;
    this.at = at;
  }

  space(): void {
    while (/\s/.test(this.text[this.at] ?? '')) this.at++;
  }

  /** Whether this stands here; throws NeedsMore where the text ends within it. */
  has(word: string): boolean {
    if (this.text.startsWith(word, this.at)) {
      this.at += word.length;
      return true;
    }
    if (word.startsWith(this.text.slice(this.at))) throw new NeedsMore();
    return false;
  }

  /** One of these, tried in their order. */
  hasOne(words: readonly string[]): string | undefined {
    let isOpen = false;
    const rest = this.text.slice(this.at, this.at + LONGEST_WORD);
    for (const word of words) {
      if (rest.startsWith(word)) {
        this.at += word.length;
        return word;
      }
      isOpen ||= word.startsWith(rest);
    }
    if (isOpen) throw new NeedsMore();
    return undefined;
  }

  need(word: string): void {
    if (!this.has(word)) throw new NotThisForm();
  }

  /** The text before the word, which is passed; at most so many characters. */
  until(word: string, most = Infinity): string {
    const end = this.text.indexOf(word, this.at);
    const length = (end < 0 ? this.text.length : end) - this.at;
    if (length > most) throw new NotThisForm();
    if (end < 0) throw new NeedsMore();
    const text = this.text.slice(this.at, end);
    this.at = end + word.length;
    return text;
  }

  /** A JSON value, as text. */
  json(): string {
    const end = endOfJson(this.text, this.at);
    if (end === undefined) throw new NotThisForm();
    if (end === 'more') throw new NeedsMore();
    const text = this.text.slice(this.at, end);
    this.at = end;
    return text;
  }

  /** The text ends here, as far as it came. */
  get isAtEnd(): boolean {
    return this.at >= this.text.length;
  }
}

const LONGEST_WORD = 64;
