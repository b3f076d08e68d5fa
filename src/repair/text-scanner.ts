// Finds calls in text that comes in pieces. Text is held back only from a character that may begin a form of `TEXT_FORMS`, and no
// longer than it may still become one; whatever the pieces, the result is the same.
import type { OfferedTools } from './offered-tools.ts';
import type { Read, TextForm, WrittenCall } from './forms/form.ts';
import { TEXT_FORMS } from './text-forms.ts';

export type Found = { text: string } | { call: WrittenCall; form: string };

/** Words of a model's template that end a call or a turn, and brackets too many: they are no text. */
const TRAILING = [
  ...[
    '<|im_end|>',
    '<|eot_id|>',
    '<|eom_id|>',
    '<|end|>',
    '<|call|>',
    '<|endoftext|>',
    '</s>',
    '<｜end▁of▁sentence｜>',
  ],
  ...['</tool_call>', '</function>', '<|/tool_call|>', '[/TOOL_CALLS]', '}', ']'],
];
const MOST_TRAILING = 8;
/** Of a fence. */
const MOST_MARKS = 100;
const CANDIDATE = /[<[{`]/g;
/** Characters that may be read again for each character that came: no text, however it is made, takes longer than that. */
const READS_EACH = 24;
const READS_AT_LEAST = 1 << 16;
/** A held text is tried again when it has grown by this much, and where a bracket ends it. */
const GROWTH = 1.25;
const MOST_QUICK_TRIES = 64;
/** The bracket that ends a form is looked for in this many characters. */
const TAIL = 8;
/** Characters of a text that is tried at each piece. */
const SHORT = 400;

export interface ScannerOptions {
  offered: OfferedTools;
  /** The answer is JSON that was asked for: JSON alone is no call. */
  isJsonAsked: boolean;
}

export class TextScanner {
  readonly #options: ScannerOptions;
  readonly #forms: readonly TextForm[];
  readonly #line = new Line();
  #held = '';
  /** The end of what came: reading it from `#held` would put all its pieces together, each time. */
  #tail = '';
  #received = 0;
  #read = 0;
  #nextTry = 0;
  #quickTries = MOST_QUICK_TRIES;

  constructor(options: ScannerOptions) {
    this.#options = options;
    this.#forms = options.isJsonAsked ? TEXT_FORMS.filter(({ standsLast }) => !standsLast) : TEXT_FORMS;
  }

  isHolding(): boolean {
    return this.#held !== '';
  }

  push(piece: string): Found[] {
    this.#received += piece.length;
    this.#held += piece;
    this.#tail = (this.#tail + piece.slice(-TAIL)).slice(-TAIL);
    if (this.#held.length > piece.length && !this.#isWorthATry()) return [];
    return this.#scan(false);
  }

  /** The text ends here. */
  finish(): Found[] {
    return this.#scan(true);
  }

  #isWorthATry(): boolean {
    if (this.#held.length >= this.#nextTry) return true;
    if (this.#quickTries === 0 || !/[>}\]`\n]\s{0,7}$/.test(this.#tail)) return false;
    this.#quickTries--;
    return true;
  }

  #scan(isLast: boolean): Found[] {
    const found: Found[] = [];
    const text = this.#held;
    let from = 0;
    let at = 0;
    const pass = (end: number): void => {
      if (end > from) found.push({ text: text.slice(from, end) });
      this.#line.read(text, from, end);
      from = end;
    };
    for (;;) {
      CANDIDATE.lastIndex = at;
      const next = this.#read > READS_AT_LEAST + READS_EACH * this.#received ? null : CANDIDATE.exec(text);
      if (next === null) break;
      pass(next.index);
      at = next.index + 1;
      if (!this.#line.mayBegin(text[next.index] ?? '')) continue;
      const read = this.#readAt(text.slice(next.index), isLast);
      if (read === 'more') {
        this.#hold(text.slice(next.index));
        return found;
      }
      if (read === undefined) continue;
      found.push(...read.calls.map((call) => ({ call, form: read.form })));
      this.#line.begin();
      from = at = next.index + read.end;
    }
    pass(text.length);
    this.#held = '';
    return found;
  }

  #hold(text: string): void {
    if (text.length < this.#held.length) this.#quickTries = MOST_QUICK_TRIES;
    this.#held = text;
    this.#nextTry = text.length < SHORT ? text.length + 1 : Math.ceil(text.length * GROWTH);
  }

  /** The first form that this text matches; `more` if it may still become one. */
  #readAt(
    text: string,
    isLast: boolean,
  ): (Exclude<Read, 'more' | undefined> & { form: string }) | 'more' | undefined {
    let isOpen = false;
    for (const form of this.#forms) {
      if (!text.startsWith(form.opening)) {
        isOpen ||= !isLast && form.opening.startsWith(text);
        continue;
      }
      this.#read += text.length;
      const read = this.#ended(form, form.read(text, this.#options.offered), text, isLast);
      if (read === 'more') isOpen = true;
      else if (read !== undefined) return { ...read, form: form.name };
    }
    return isOpen ? 'more' : undefined;
  }

  /** What stands behind the form decides, too: a call ends its line, some forms end the answer. */
  #ended(form: TextForm, read: Read, text: string, isLast: boolean): Read {
    if (read === undefined) return undefined;
    if (read === 'more') return isLast ? undefined : 'more';
    const { end, rest } = behind(text, read.end);
    const mayGoOn = rest === '' || TRAILING.some((word) => word.startsWith(rest));
    if (mayGoOn) return isLast ? (rest === '' ? { ...read, end: text.length } : undefined) : 'more';
    if (form.standsLast) return undefined;
    const line = text.slice(end, text.length - rest.length);
    return line.includes('\n') || /^[<[]/.test(rest) ? { ...read, end } : undefined;
  }
}

/** Where the words of `TRAILING` end, and the text behind them and their white space. */
function behind(text: string, from: number): { end: number; rest: string } {
  let end = from;
  for (let count = 0; ; count++) {
    const rest = text.slice(end).trimStart();
    const word = count < MOST_TRAILING ? TRAILING.find((trailing) => rest.startsWith(trailing)) : undefined;
    if (word === undefined) return { end, rest };
    end = text.length - rest.length + word.length;
  }
}

/** What is known of the line that is being written, and whether it stands in a fence. */
class Line {
  /** The marks that opened the fence; empty: none is open. */
  #fence = '';
  /** The first marks of the line, as long as they are the same. */
  #marks = '';
  #isMarksAlone = true;
  #lead = '';
  #last = '';
  #ticks = 0;

  read(text: string, from: number, end: number): void {
    for (let at = from; at < end; at++) {
      const next = text[at] ?? '';
      if (next === '\n') this.#end();
      else if (next !== ' ' && next !== '\t' && next !== '\r') {
        if (this.#lead.length < 3) this.#lead += next;
        if ((next === '`' || next === '~') && this.#isMarksAlone && next === (this.#marks[0] ?? next)) {
          if (this.#marks.length < MOST_MARKS) this.#marks += next;
        } else this.#isMarksAlone = false;
        if (next === '`') this.#ticks++;
        this.#last = next;
      }
    }
  }

  /** A fence ends with its own marks alone, as many or more: one within it has fewer. */
  #end(): void {
    if (this.#fence === '') {
      if (this.#marks.length >= 3) this.#fence = this.#marks;
    } else if (this.#isMarksAlone && this.#marks.startsWith(this.#fence)) this.#fence = '';
    this.begin();
  }

  /** As at the beginning of a line. */
  begin(): void {
    this.#lead = this.#last = this.#marks = '';
    this.#isMarksAlone = true;
    this.#ticks = 0;
  }

  /** Whether a call may begin with this character here: not in code, and not within a sentence. */
  mayBegin(first: string): boolean {
    if (this.#fence !== '' || this.#ticks % 2 === 1) return false;
    if (this.#last === '') return true;
    // A quotation.
    if (/^>+$/.test(this.#lead)) return false;
    return (first === '<' || first === '[') && /[.!?:。！？：>\])]/.test(this.#last);
  }
}
