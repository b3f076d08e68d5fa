// Ids and secrets: made of random characters, injected, so that tests can predict them; and redacted in places where no key belongs,
// such as a model's name or a path: there they are never logged or sent back.

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export interface Ids {
  /** `length` characters of base62 from a secure source. */
  random(length: number): string;
}

// 248 = 4 * 62: larger bytes have no character, so that every character is equally likely.
const CODES = new Uint8Array(256);
CODES.set(Buffer.from(DIGITS.repeat(4), 'latin1'));
/** A command takes an id or two, a server thousands. */
const FIRST_POOL_BYTES = 256;
const POOL_BYTES = 4096;

/** Takes ids from a pool of some thousand characters, which costs less than to make each character. */
export function createIds(): Ids {
  let pool = '';
  let at = 0;
  let bytes = FIRST_POOL_BYTES;
  return {
    random(length) {
      while (pool.length - at < length) {
        pool = pool.slice(at) + characters(bytes);
        bytes = POOL_BYTES;
        at = 0;
      }
      at += length;
      return pool.slice(at - length, at);
    },
  };
}

/** Without a branch for each byte, which the processor would guess wrong at every discarded one. */
function characters(count: number): string {
  // Most commands need no id, and do without this module.
  const { randomBytes } = process.getBuiltinModule('node:crypto');
  const bytes = randomBytes(count);
  let length = 0;
  for (let at = 0; at < count; at++) {
    const code = CODES[bytes[at] ?? 0] ?? 0;
    bytes[length] = code;
    length += code === 0 ? 0 : 1;
  }
  return bytes.toString('latin1', 0, length);
}

const REQUEST = 'req_';
/** Base62 digits of a time in milliseconds; enough until the year 2081. */
const TIME_DIGITS = 7;
const RANDOM_DIGITS = 17;

/** Ids of requests: `req_`, the time of arrival and random characters. Since the id holds the time, a request is found in the
 *  database by its id without an index of ids. */
export function createRequestIds(ids: Ids, now: () => number): () => string {
  let at = -1;
  let prefix = '';
  return () => {
    const time = now();
    if (time !== at) {
      at = time;
      prefix = REQUEST + base62(time);
    }
    return prefix + ids.random(RANDOM_DIGITS);
  };
}

function base62(time: number): string {
  let rest = Math.max(0, Math.floor(time));
  let text = '';
  while (text.length < TIME_DIGITS) {
    text = DIGITS.charAt(rest % DIGITS.length) + text;
    rest = Math.floor(rest / DIGITS.length);
  }
  return text;
}

interface RequestIdPrefix {
  prefix: string;
  /** Not only the beginning of an id. */
  isWhole: boolean;
  /** Requests whose ids begin with it arrived in this time, in milliseconds since the epoch. */
  from: number;
  to: number;
}

/** Reads a request's id or the beginning of one, with or without `req_`. undefined: no id begins like this. */
export function readRequestId(text: string): RequestIdPrefix | undefined {
  const digits = text.startsWith(REQUEST) ? text.slice(REQUEST.length) : text;
  if (!/^[0-9A-Za-z]+$/.test(digits) || digits.length > TIME_DIGITS + RANDOM_DIGITS) return undefined;
  const time = digits.slice(0, TIME_DIGITS);
  return {
    prefix: REQUEST + digits,
    isWhole: digits.length === TIME_DIGITS + RANDOM_DIGITS,
    from: timeOf(time.padEnd(TIME_DIGITS, DIGITS.charAt(0))),
    to: timeOf(time.padEnd(TIME_DIGITS, DIGITS.slice(-1))),
  };
}

function timeOf(digits: string): number {
  let time = 0;
  for (const digit of digits) time = time * DIGITS.length + DIGITS.indexOf(digit);
  return time;
}

/** A key, or a secret of the admin API (`sk-gwa-…`), or more of it than the prefix that is shown to people. In a path it may be percent-encoded; before an ellipsis it is cut. */
const KEY =
  /(?:s|%73)(?:k|%6b)(?:-|%2d)(?:g|%67)(?:w|%77)(?:[a-z]|%6[1-9a-f]|%7[0-9a])?(?:-|%2d)(?:(?:[0-9A-Za-z]|%[0-9a-f]{2}){10,}|(?:[0-9A-Za-z]|%[0-9a-f]{2})+(?=…))/gi;

export function withoutKeys(text: string): string {
  return text.includes('gw') || text.includes('%') ? text.replace(KEY, 'sk-gw-[redacted]') : text;
}
