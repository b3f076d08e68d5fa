// Deltas that differ in their number and their padding beside their text, wherever these members stand. As in a DeltaTemplate, the
// shape of one is learned, and the text of those that follow is cut out of it instead of parsed.
import { decoded, plainEnd, PROBE, probed, standsAt, stringEnd, TRIES } from './delta-template.ts';
import type { Frame } from './splitter.ts';

const QUOTE = 34;
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

/** In the order in which they stand. */
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
