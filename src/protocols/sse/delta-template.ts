// Text deltas of one stream usually differ only in their text, or in their text, number and padding. The form of one frame is
// learned, and the text of later frames is cut out without parsing JSON (docs/decisions/0012). A frame of another form is decoded
// as usual.
import { isObject, type JsonObject } from '../../canonical/json.ts';
import type { Frame } from './splitter.ts';

/** Stands for the text while it is found out where the text is. */
const PROBE = 'probe';
/** Of a JSON string, from behind its first quote, all that needs no decoding. */
const PLAIN = /[ !#-[\]-\x7f]*/y;
const QUOTE = 34;
const BACKSLASH = 92;
/** What providers put behind a text to hide its length: a member of random letters, spaces before the last brace. */
const PADDING = /"obfuscation": ?"([^"\\]*)"|"\}( *)\}\s*$/d;
// eslint-disable-next-line no-control-regex -- a raw control character is no JSON
const PADS = /^[^"\\\x00-\x1f]*$/;
const SPACES = /^ *$/;

/** After so many learned forms that matched no later frame, learning stops for this stream. */
const TRIES = 16;

export class DeltaTemplate {
  readonly #member: RegExp;
  readonly #isText: (value: JsonObject, text: string) => boolean;
  /** The frame up to the text; '' while no shape is known. */
  #before = '';
  /** From behind the text to the padding, and what follows that. */
  #after = '';
  #end = '';
  #padding = SPACES;
  #learned = 0;
  #read = 0;

  /**
   * `member`: the name before the text, up to its first quote. `isText(value, text)`: whether `text` stands where the decoder
   * reads a delta's text, and nothing else that it would act on stands in the frame.
   */
  constructor(member: RegExp, isText: (value: JsonObject, text: string) => boolean) {
    this.#member = member;
    this.#isText = isText;
  }

  /** The text of a frame of the shape that was learned; never ''. Undefined: another frame. */
  read(frame: Frame): string | undefined {
    if (this.#before === '') return undefined;
    const { text } = frame;
    const from = this.#before.length;
    if (!standsAt(text, 0, this.#before)) return undefined;
    let to = plainEnd(text, from);
    const plain = text.charCodeAt(to) === QUOTE;
    if (!plain) to = stringEnd(text, to);
    if (to === from || !this.#goesOn(text, to)) return undefined;
    const read = plain ? text.slice(from, to) : decoded(text.slice(from, to));
    if (read !== undefined) this.#read++;
    return read;
  }

  /** Something else came: what it changed could be undone by nothing but decoding. */
  forget(): void {
    this.#before = '';
  }

  /** `frame` was decoded, and was a piece of text alone. */
  learn(frame: Frame): void {
    this.forget();
    if (this.#learned >= TRIES && this.#read < 4 * this.#learned) return;
    this.#learned++;
    const { text } = frame;
    const data = text.indexOf('data:');
    const found = this.#member.exec(text);
    if (found === null || data === -1 || (data > 0 && text[data - 1] !== '\n')) return;
    const from = found.index + found[0].length;
    const to = stringEnd(text, from);
    const value = probed(text.slice(data + 5, from) + PROBE + text.slice(to));
    if (value === undefined || !this.#isText(value, PROBE)) return;
    this.#before = text.slice(0, from);
    this.#splitPadding(text.slice(to));
  }

  #splitPadding(rest: string): void {
    const [from, to] = paddingIn(rest);
    this.#padding = rest[from - 1] === '}' ? SPACES : PADS;
    this.#after = rest.slice(0, from);
    this.#end = rest.slice(to);
  }

  #goesOn(text: string, at: number): boolean {
    const from = at + this.#after.length;
    const to = text.length - this.#end.length;
    if (from > to || !standsAt(text, at, this.#after) || !standsAt(text, to, this.#end)) return false;
    return from === to || (this.#end !== '' && this.#padding.test(text.slice(from, to)));
  }
}

/** `startsWith`, several times faster: in optimised code V8 compares character by character. */
function standsAt(text: string, at: number, part: string): boolean {
  return text.slice(at, at + part.length) === part;
}

function plainEnd(text: string, from: number): number {
  PLAIN.lastIndex = from;
  PLAIN.test(text);
  return PLAIN.lastIndex;
}

/** The next quote that is not escaped; `from` is not behind a backslash. */
function stringEnd(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
    let before = at;
    while (before > from && text.charCodeAt(before - 1) === BACKSLASH) before--;
    if ((at - before) % 2 === 0) return at;
  }
  return text.length;
}

/** The offset of the padding, which may be empty; the end of the text if there is no padding. */
function paddingIn(rest: string): readonly [number, number] {
  const places = PADDING.exec(rest)?.indices;
  return places?.[1] ?? places?.[2] ?? [rest.length, rest.length];
}

/** What is in one `data:` line with nothing but the blank line behind it: line ends would be no JSON. */
function probed(json: string): JsonObject | undefined {
  const end = json.trimEnd();
  if (end.includes('\n') || end.includes('\r')) return undefined;
  return parsed(end, isObject);
}

/** `latin1`: a JSON string as its bytes came, without its quotes. */
function decoded(latin1: string): string | undefined {
  const text = Buffer.from(latin1, 'latin1').toString('utf8');
  return parsed(`"${text}"`, (value) => typeof value === 'string');
}

function parsed<Kind>(json: string, is: (value: unknown) => value is Kind): Kind | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return is(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const ZERO = 48;
const NINE = 57;
/** Every number of so many digits is exact. */
const MOST_DIGITS = 15;

type Kind = 'text' | 'number' | 'pad';

/** A place where frames differ, and what stands between it and the one before. */
interface Slot {
  readonly kind: Kind;
  readonly before: string;
}

const MEMBERS: Record<Kind, RegExp> = {
  text: /"delta": ?"/,
  number: /"sequence_number": ?(?=\d)/,
  pad: /"obfuscation": ?"/,
};
const NAMES = { text: 'delta', number: 'sequence_number', pad: 'obfuscation' } as const;
/** They stand for the values while it is found out where these are. */
const PROBES = { text: PROBE, number: 4711, pad: 'pad' } as const;
// eslint-disable-next-line no-control-regex -- a raw control character is no JSON
const PAD = /[^"\\\x00-\x1f]*/y;

/** For deltas whose number and padding differ, too, wherever these members stand. */
export class NumberedDelta {
  /** Empty while no shape is known. */
  #slots: readonly Slot[] = [];
  /** Behind the last slot. */
  #end = '';
  #learned = 0;
  #read = 0;

  /** The text of a frame of the shape that was learned; never ''. Undefined: another frame. */
  read({ text }: Frame): string | undefined {
    if (this.#slots.length === 0) return undefined;
    let at = 0;
    let piece: string | undefined;
    for (const { kind, before } of this.#slots) {
      if (!standsAt(text, at, before)) return undefined;
      const from = at + before.length;
      at = endOf(kind, text, from);
      if (at === -1) return undefined;
      if (kind === 'text') piece = text.slice(from, at);
    }
    if (text.length !== at + this.#end.length || !standsAt(text, at, this.#end)) return undefined;
    const read = piece === undefined ? undefined : unescaped(piece);
    if (read !== undefined) this.#read++;
    return read;
  }

  /** Something else came: what it changed could be undone by nothing but decoding. */
  forget(): void {
    this.#slots = [];
  }

  /** `frame` was decoded, and was the next piece of what is open, and nothing else. */
  learn({ text }: Frame): void {
    this.forget();
    if (this.#learned >= TRIES && this.#read < 4 * this.#learned) return;
    this.#learned++;
    const data = text.indexOf('data:');
    if (data === -1 || (data > 0 && text[data - 1] !== '\n')) return;
    const slots: Slot[] = [];
    let at = 0;
    let json = '';
    for (const { kind, from, to } of placesIn(text)) {
      // Members inside one another.
      if (from < at || from < data + 5) return;
      slots.push({ kind, before: text.slice(at, from) });
      json += text.slice(at === 0 ? data + 5 : at, from) + String(PROBES[kind]);
      at = to;
    }
    const value = at === 0 ? undefined : probed(json + text.slice(at));
    // Nested members of these names mean something else.
    if (value === undefined || !slots.every(({ kind }) => value[NAMES[kind]] === PROBES[kind])) return;
    if (value.delta !== PROBE) return;
    this.#slots = slots;
    this.#end = text.slice(at);
  }
}

/** In their order in the frame. */
function placesIn(text: string): { kind: Kind; from: number; to: number }[] {
  const places: { kind: Kind; from: number; to: number }[] = [];
  for (const kind of ['text', 'number', 'pad'] as const) {
    const found = MEMBERS[kind].exec(text);
    if (found === null) continue;
    const from = found.index + found[0].length;
    const to = endOf(kind, text, from);
    if (to !== -1) places.push({ kind, from, to });
  }
  return places.sort((a, b) => a.from - b.from);
}

/** Where the value that begins at `from` ends; -1 if it is not a value that can be replaced. */
function endOf(kind: Kind, text: string, from: number): number {
  if (kind === 'number') return numberEnd(text, from);
  if (kind === 'text') {
    const end = plainEnd(text, from);
    const to = text.charCodeAt(end) === QUOTE ? end : stringEnd(text, end);
    return to === from ? -1 : to;
  }
  PAD.lastIndex = from;
  PAD.test(text);
  return PAD.lastIndex;
}

function numberEnd(text: string, from: number): number {
  let at = from;
  for (let code = text.charCodeAt(at); code >= ZERO && code <= NINE; code = text.charCodeAt(at)) at++;
  const digits = at - from;
  if (digits === 0 || digits > MOST_DIGITS) return -1;
  return digits > 1 && text.charCodeAt(from) === ZERO ? -1 : at;
}

function unescaped(piece: string): string | undefined {
  return plainEnd(piece, 0) === piece.length ? piece : decoded(piece);
}
