// One scan of a JSON object's bytes that finds where its members stand, so that a body can be changed without being written
// anew. It only finds: whether the bytes are JSON at all, JSON.parse says afterwards.

export interface Range {
  start: number;
  /** Behind the last byte. */
  end: number;
}

/** A member: the range of its value, and its name without escapes. */
export interface Member extends Range {
  name: string;
  /** Where the name's quote stands. */
  nameStart: number;
}

export interface Members {
  list: readonly Member[];
  /** The member that JSON.parse would give: the last of its name. */
  get(name: string): Member | undefined;
  /** Names that are there more than once. */
  duplicates: readonly string[];
  /** More levels than allowed: the scan stopped there. */
  tooDeep: boolean;
  /** Offsets of the object's braces; -1 where there is none. */
  open: number;
  close: number;
}

export interface Edit extends Range {
  text: string | Buffer;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

/** Short strings are cheaper to walk than to search. */
const WALK = 16;

/** The members of the object in `bytes`. `maxDepth` counts levels of objects and arrays; the object itself is the first. */
export function scanMembers(bytes: Buffer, maxDepth: number): Members {
  const open = skipSpace(bytes, 0);
  const isObject = bytes[open] === OPEN_OBJECT;
  const found = isObject ? readItems(bytes, open, maxDepth) : { items: [], close: -1, tooDeep: false };
  const byName = new Map<string, Member>();
  const duplicates = new Set<string>();
  for (const member of found.items) {
    if (byName.has(member.name)) duplicates.add(member.name);
    byName.set(member.name, member);
  }
  return {
    list: found.items,
    get: (name) => byName.get(name),
    duplicates: [...duplicates],
    tooDeep: found.tooDeep,
    open: isObject ? open : -1,
    close: found.close,
  };
}

/** What stands in the object or array at `start`: members, or elements whose names are their indexes. None in other values. */
export function rangesOf(bytes: Buffer, start: number, end: number): Member[] {
  return readItems(bytes.subarray(0, end), start, Infinity).items;
}

/** `bytes` with every edit's range replaced by its text. Ranges must not overlap. */
export function splice(bytes: Buffer, edits: readonly Edit[]): Buffer {
  const pieces: Buffer[] = [];
  let at = 0;
  for (const { start, end, text } of [...edits].sort((a, b) => a.start - b.start)) {
    if (start < at || end < start || end > bytes.length)
      throw new RangeError('edits overlap or leave the bytes');
    pieces.push(bytes.subarray(at, start), typeof text === 'string' ? Buffer.from(text) : text);
    at = end;
  }
  pieces.push(bytes.subarray(at));
  return Buffer.concat(pieces);
}

interface Items {
  items: Member[];
  close: number;
  tooDeep: boolean;
}

function readItems(bytes: Buffer, open: number, maxDepth: number): Items {
  const items: Member[] = [];
  const kind = bytes[open];
  const named = kind === OPEN_OBJECT;
  if (!named && kind !== OPEN_ARRAY) return { items, close: -1, tooDeep: false };
  const last = named ? CLOSE_OBJECT : CLOSE_ARRAY;
  let at = skipSpace(bytes, open + 1);
  if (maxDepth < 1) return { items, close: -1, tooDeep: true };
  if (bytes[at] === last) return { items, close: at, tooDeep: false };
  while (at < bytes.length) {
    const nameStart = at;
    let name = named ? '' : String(items.length);
    if (named) {
      if (bytes[at] !== QUOTE) break;
      const nameEnd = skipString(bytes, at);
      name = readName(bytes, at, nameEnd);
      at = skipSpace(bytes, nameEnd);
      if (bytes[at] !== COLON) break;
      at = skipSpace(bytes, at + 1);
    }
    const end = skipValue(bytes, at, maxDepth - 1);
    if (end < 0) return { items, close: -1, tooDeep: true };
    items.push({ name, nameStart, start: at, end });
    at = skipSpace(bytes, end);
    if (bytes[at] === last) return { items, close: at, tooDeep: false };
    if (bytes[at] !== COMMA) break;
    at = skipSpace(bytes, at + 1);
  }
  return { items, close: -1, tooDeep: false };
}

function readName(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start + 1, end - 1);
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  for (;;) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at++;
  }
}

/** Behind the string whose opening quote stands at `open`; the end of the bytes where it is never closed. */
function skipString(bytes: Buffer, open: number): number {
  let at = open + 1;
  for (;;) {
    const walk = Math.min(at + WALK, bytes.length);
    let quote = at;
    while (quote < walk && bytes[quote] !== QUOTE) quote++;
    if (quote === walk) {
      quote = bytes.indexOf(QUOTE, walk);
      if (quote === -1) return bytes.length;
    }
    let slash = quote;
    while (slash > at && bytes[slash - 1] === BACKSLASH) slash--;
    if ((quote - slash) % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

/** Behind the value at `from`, or -1 where it has more than `levels` levels. */
function skipValue(bytes: Buffer, from: number, levels: number): number {
  const first = bytes[from];
  if (first === QUOTE) return skipString(bytes, from);
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return skipScalar(bytes, from);
  let depth = 0;
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = skipString(bytes, at);
      continue;
    }
    at++;
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (++depth > levels) return -1;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (--depth === 0) return at;
    }
  }
  return at;
}

function skipScalar(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte === undefined || byte <= 0x20 || byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY)
      break;
    at++;
  }
  return at;
}
