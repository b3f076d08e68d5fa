// Finds secrets in a text: those that are known, and those that can be known by their looks.
import { SECRET_FORMS } from './forms.data.ts';

/** A part of a text, from `start` to before `end`. */
export interface Span {
  start: number;
  end: number;
  kind: string;
}

/** A secret that this process knows, such as a provider's key. */
export interface KnownSecret {
  kind: string;
  text: string;
}

/** A shorter value is no secret, and taking it out would garble ordinary words. */
const MIN_KNOWN = 6;
/** Characters of base64 that can't be there by chance. */
const MIN_ENCODED = 12;

/** What to look for, made once. */
type Needles = readonly KnownSecret[];

/** The known secrets as they may stand in a text: as they are, in JSON, in a URL, in base64. */
export function needlesOf(known: readonly KnownSecret[]): Needles {
  const found = new Map<string, string>();
  for (const { kind, text } of known) {
    if (text.length < MIN_KNOWN) continue;
    const forms = [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text), ...inBase64(text)];
    for (const form of forms) if (!found.has(form)) found.set(form, kind);
  }
  // A longer one first: it may hold a shorter one.
  return [...found].map(([text, kind]) => ({ kind, text })).sort((a, b) => b.text.length - a.text.length);
}

/** The characters that are the same whatever stands before and after it: of each of the three places in a group of bytes. */
function inBase64(text: string): string[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
    const encoded = bytes.toString('base64').replace(/=+$/, '');
    const from = before === 0 ? 0 : before + 1;
    const to = encoded.length - (bytes.length % 3 === 0 ? 0 : 1);
    const own = encoded.slice(from, to);
    return own.length < MIN_ENCODED ? [] : [own, own.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

/** In order, without overlaps. */
export function findSecrets(text: string, needles: Needles): Span[] {
  const spans: Span[] = [];
  for (const needle of needles) addNeedle(text, needle, spans);
  addPrivateKeys(text, spans);
  for (const { kind, marks, pattern } of SECRET_FORMS) {
    if (!marks.some((mark) => text.includes(mark))) continue;
    for (const match of text.matchAll(pattern)) {
      const [start, end] = match.indices?.[1] ?? match.indices?.[0] ?? [0, 0];
      if (end > start) spans.push({ start, end, kind });
    }
  }
  return withoutOverlaps(spans);
}

function addNeedle(text: string, { text: secret, kind }: KnownSecret, spans: Span[]): void {
  for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + secret.length)) {
    spans.push({ start: at, end: at + secret.length, kind });
  }
}

const BEGIN = /-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----/g;
const END = '-----END ';
/** What is taken of a block whose end is missing. */
const REST = /^(?:[A-Za-z0-9+/=\s:,.-]|\\+[nr]){0,8000}/;

function addPrivateKeys(text: string, spans: Span[]): void {
  if (!text.includes('PRIVATE KEY')) return;
  let reached = 0;
  for (const { index, 0: head } of text.matchAll(BEGIN)) {
    if (index < reached) continue;
    const inside = index + head.length;
    const last = text.indexOf(END, inside);
    const foot = last < 0 ? -1 : text.indexOf('-----', last + END.length);
    const end =
      foot < 0 ? inside + (REST.exec(text.slice(inside, inside + 8000))?.[0].length ?? 0) : foot + 5;
    spans.push({ start: index, end, kind: 'private key' });
    reached = end;
  }
}

/** Of spans that overlap, one from the first start to the last end, with the kind of the earliest. */
function withoutOverlaps(spans: Span[]): Span[] {
  if (spans.length < 2) return spans;
  const sorted = [...spans].sort((a, b) => a.start - b.start);
  const merged: Span[] = [];
  for (const span of sorted) {
    const last = merged.at(-1);
    if (last === undefined || span.start >= last.end) merged.push({ ...span });
    else last.end = Math.max(last.end, span.end);
  }
  return merged;
}
