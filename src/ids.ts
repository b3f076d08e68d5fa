// Ids and secrets are injected, so that tests can predict them.
import { randomBytes } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export interface Ids {
  /** `length` characters of base62 from a secure source. */
  random(length: number): string;
}

// 248 = 4 * 62: bytes beyond it are thrown away, so that every character is equally likely.
const LIMIT = 248;
const POOL_BYTES = 4096;

export function createIds(): Ids {
  let pool = Buffer.alloc(0);
  let at = 0;
  return {
    random(length) {
      let text = '';
      while (text.length < length) {
        if (at === pool.length) {
          pool = randomBytes(POOL_BYTES);
          at = 0;
        }
        const byte = pool[at++] ?? LIMIT;
        if (byte < LIMIT) text += ALPHABET[byte % 62];
      }
      return text;
    },
  };
}
