// Ids and secrets are injected, so that tests can predict them.
import { randomBytes } from 'node:crypto';

const CODES = Buffer.from('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 'latin1');

export interface Ids {
  /** `length` characters of base62 from a secure source. */
  random(length: number): string;
}

// 248 = 4 * 62: larger bytes are discarded, so that every character is equally likely.
const LIMIT = 248;
const POOL_BYTES = 4096;

/** Takes ids from a pool of some thousand characters, which costs less than to make each character. */
export function createIds(): Ids {
  let pool = '';
  let at = 0;
  return {
    random(length) {
      while (pool.length - at < length) {
        pool = pool.slice(at) + characters();
        at = 0;
      }
      at += length;
      return pool.slice(at - length, at);
    },
  };
}

function characters(): string {
  const bytes = randomBytes(POOL_BYTES);
  let length = 0;
  for (const byte of bytes) if (byte < LIMIT) bytes[length++] = CODES[byte % CODES.length] ?? 0;
  return bytes.toString('latin1', 0, length);
}
