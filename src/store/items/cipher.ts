// Encrypts and decrypts stored items with AES-256-GCM as NIST SP 800-38D defines it: a random nonce of 96 bits, a tag of 128. The
// key of a SQLite database is in a file beside it, which only its owner may read.
import {
  closeSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
  type Stats,
} from 'node:fs';
import { dirname } from 'node:path';
import { isForeign, othersCanReplaceIn } from '../../folders.ts';
import { StoreError } from '../store.ts';
import { messageOf } from '../../errors.ts';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Commands that open a database seldom need it. */
const crypto = () => process.getBuiltinModule('node:crypto');

/** Throws StoreError if the key file cannot be used. `name` is authenticated: a text opens only under the name it was sealed with. */
export interface ItemCipher {
  seal(text: string, name: string): Buffer;
  /** undefined: sealed with another key or name, or changed. */
  open(sealed: Uint8Array, name: string): string | undefined;
}

/** The key is read when it is first needed. */
export function createItemCipher(readKey: () => Buffer): ItemCipher {
  let key: Buffer | undefined;
  return {
    seal: (text, name) => seal(text, (key ??= readKey()), name),
    open: (sealed, name) => open(sealed, (key ??= readKey()), name),
  };
}

/** Nonce, ciphertext and tag. */
function seal(text: string, key: Buffer, name: string): Buffer {
  const { createCipheriv, randomBytes } = crypto();
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(name));
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

function open(sealed: Uint8Array, key: Buffer, name: string): string | undefined {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const end = sealed.length - TAG_BYTES;
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const decipher = crypto()
    .createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(name))
    .setAuthTag(sealed.subarray(end));
  try {
    return decipher.update(sealed.subarray(NONCE_BYTES, end), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return undefined;
  }
}

/** The key in a file with the mode 0600. Creates the file if it is missing. If two processes create it at once, both use the first one. */
export function readItemKey(file: string): Buffer {
  const existing = keyIn(file);
  if (existing !== undefined) return existing;
  const own = `${file}.${process.pid}`;
  try {
    const handle = openSync(own, 'wx', 0o600);
    try {
      writeSync(handle, `${crypto().randomBytes(KEY_BYTES).toString('base64')}\n`);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    linkSync(own, file);
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw unusable(file, messageOf(error), error);
  } finally {
    rmSync(own, { force: true });
  }
  const made = keyIn(file);
  if (made === undefined) throw unusable(file, 'it could not be made');
  return made;
}

/** Whoever chose the key can read what it seals: one that another user made, or could have made, is refused. */
function keyIn(file: string): Buffer | undefined {
  const text = readOwn(file);
  if (text === undefined) return undefined;
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length !== KEY_BYTES) {
    throw unusable(file, 'it does not hold a key of 32 bytes; delete it, and stored items are forgotten');
  }
  return key;
}

function readOwn(file: string): string | undefined {
  try {
    const folder = dirname(file);
    if (othersCanReplaceIn(statSync(folder)))
      throw unusable(file, `other users can change ${folder}; if it is yours: chmod go-w ${folder}`);
    const entry = lstatSync(file, { throwIfNoEntry: false });
    if (entry === undefined) return undefined;
    checkOwn(file, entry);
    // A link of this user's.
    if (entry.isSymbolicLink()) checkOwn(file, statSync(file));
    const handle = openSync(file, 'r');
    try {
      checkOwn(file, fstatSync(handle));
      const text = readFileSync(handle, 'utf8');
      fchmodSync(handle, 0o600);
      return text;
    } finally {
      closeSync(handle);
    }
  } catch (error) {
    if (error instanceof StoreError) throw error;
    if (isCode(error, 'ENOENT')) return undefined;
    throw unusable(file, messageOf(error), error);
  }
}

function checkOwn(file: string, stat: Stats): void {
  if (isForeign(stat))
    throw unusable(file, 'it belongs to another user; delete it, and stored items are forgotten');
  if (!stat.isFile() && !stat.isSymbolicLink()) throw unusable(file, 'it is not a file');
}

function unusable(file: string, reason: string, cause?: unknown): StoreError {
  return new StoreError('unavailable', `the key of stored items ${file} cannot be used: ${reason}`, cause);
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
