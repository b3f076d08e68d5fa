// The codes of a sign-in (RFC 8628): a device code, which its client keeps, and a user code, which a person reads. Eight letters are
// found from a plain hash in minutes: the database has them sealed, and looks them up by a hash with its key.
import type { Ids } from '../ids.ts';
import { createItemCipher } from '../store/items/cipher.ts';

/** Without vowels, so that no code is a word; without letters that look alike (RFC 8628, section 6.1). */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const LENGTH = 8;
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** The largest multiple of the letters that base62 holds: other digits are drawn again, so that every letter is equally likely. */
const USED_DIGITS = DIGITS.length - (DIGITS.length % LETTERS.length);

export const DEVICE_PREFIX = 'sk-gwd-';
export const REFRESH_PREFIX = 'sk-gwr-';
/** Base62 characters: 256 bits. */
export const SECRET_LENGTH = 43;

export function newUserCode(ids: Ids): string {
  let code = '';
  while (code.length < LENGTH) {
    const digit = DIGITS.indexOf(ids.random(1));
    if (digit < USED_DIGITS) code += LETTERS.charAt(digit % LETTERS.length);
  }
  return code;
}

/** The letters of a code as a person writes it: in any case, with or without its hyphen. undefined: no code looks like this. */
export function readUserCode(text: string): string | undefined {
  if (text.length > 40) return undefined;
  const letters = text.replace(/[\s-]/g, '').toUpperCase();
  return letters.length === LENGTH && [...letters].every((letter) => LETTERS.includes(letter))
    ? letters
    : undefined;
}

/** `ABCD-EFGH` */
export function shownCode(letters: string): string {
  return `${letters.slice(0, LENGTH / 2)}-${letters.slice(LENGTH / 2)}`;
}

/** How user codes are kept. Every method throws StoreError if the key of the database cannot be used. */
interface CodeSafe {
  /** In hex. */
  hash(letters: string): string;
  /** `device`: the hash of the device code that it belongs to. */
  seal(letters: string, device: string): Buffer;
  /** undefined: sealed with another key. */
  open(sealed: Uint8Array, device: string): string | undefined;
}

export function createCodeSafe(itemKey: () => Buffer): CodeSafe {
  const cipher = createItemCipher(itemKey);
  const nameOf = (device: string): string => `sign-in code ${device}`;
  return {
    hash(letters) {
      const { createHmac } = process.getBuiltinModule('node:crypto');
      const key = createHmac('sha256', itemKey()).update('user codes of sign-ins').digest();
      return createHmac('sha256', key).update(letters).digest('hex');
    },
    seal: (letters, device) => cipher.seal(letters, nameOf(device)),
    open: (sealed, device) => cipher.open(sealed, nameOf(device)),
  };
}
