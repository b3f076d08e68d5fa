// Encrypts items of accounts before they reach the database, so that the database alone reveals no content. Items are written
// in batches outside the request path; a look-up also finds items that are not written yet.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import { StoreError, type ItemBounds, type Store, type StoredItem } from './store.ts';

const FLUSH_MS = 100;
const RETRY_MS = 1000;
const MIB = 1024 * 1024;
const BOUNDS: ItemBounds = { account: 64 * MIB, all: 1024 * MIB };
/** Characters that wait for a database that is away; above it the oldest are dropped. */
const MOST_WAITING = 64 * MIB;

// AES-256-GCM as NIST SP 800-38D has it: a random nonce of 96 bits, a tag of 128.
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** What `seal` gives begins with it. */
const SEALED = 'gw1.';

export interface NewItem {
  id: string;
  text: string;
}

/** Ids are of one account: another account neither finds nor opens what is sealed for it. */
export interface SealedItems {
  /** Keeps the items for `keepMs` from now; they are found at once, and written within a moment. */
  put(accountId: number, items: readonly NewItem[]): void;
  /** The texts by id; ids that are unknown, expired or cannot be opened have none. Rejects with StoreError. */
  find(accountId: number, ids: readonly string[]): Promise<Map<string, string>>;
  /** The items last for `keepMs` from now. */
  extend(accountId: number, ids: readonly string[]): Promise<void>;
  /** Gives the number of items that were deleted. */
  delete(accountId: number, ids: readonly string[]): Promise<number>;
  /** A text that only this account's requests can open again, for a client to hold. */
  seal(accountId: number, text: string): string;
  /** undefined: not ours, of another account, or changed. */
  unseal(accountId: number, sealed: string): string | undefined;
  /** Writes what waits, for shutdown. Gives the number of items that could not be written. */
  flush(): Promise<number>;
}

interface Waiting extends NewItem {
  accountId: number;
  at: number;
}

export interface SealedItemsOptions {
  store: Pick<Store, 'storeItems' | 'findItems' | 'extendItems' | 'deleteItems'>;
  /** Made with the mode 0600 when it is first needed. */
  keyFile: string;
  /** Milliseconds, as the configuration has them now. */
  keepMs: () => number;
  clock: Clock;
  log: Logger;
  bounds?: ItemBounds;
}

export function createSealedItems(options: SealedItemsOptions): SealedItems {
  const { store, keyFile, keepMs, clock, log, bounds = BOUNDS } = options;
  /** In the order in which they came; a newer one of the same id stands for the older. */
  let waiting = new Map<string, Waiting>();
  let writingNow: ReadonlyMap<string, Waiting> = new Map();
  let waitingSize = 0;
  let scheduled = false;
  let failing = false;
  let ending = false;
  let writing: Promise<void> = Promise.resolve();
  let key: Buffer | undefined;

  const keyOf = (): Buffer => (key ??= readKey(keyFile));

  async function write(): Promise<void> {
    scheduled = false;
    if (waiting.size === 0) return;
    const batch = waiting;
    writingNow = batch;
    waiting = new Map();
    waitingSize = 0;
    try {
      await store.storeItems(
        Array.from(batch.values(), (item) => sealItem(item, keyOf(), keepMs())),
        bounds,
      );
      failing = false;
    } catch (error) {
      const newer = waiting;
      waiting = new Map(batch);
      for (const [id, item] of newer) waiting.set(id, item);
      measure();
      if (!failing) log.error('stored items cannot be written; they wait', { reason: reasonOf(error) });
      failing = true;
      if (!ending) schedule(RETRY_MS);
    } finally {
      writingNow = new Map();
    }
  }

  /** Counts what waits, and drops the oldest above the bound. */
  function measure(): void {
    waitingSize = 0;
    for (const { text } of waiting.values()) waitingSize += text.length;
    let dropped = 0;
    for (const [id, { text }] of waiting) {
      if (waitingSize <= MOST_WAITING) break;
      waiting.delete(id);
      waitingSize -= text.length;
      dropped++;
    }
    if (dropped > 0)
      log.warn('stored items were dropped: too many wait for the database', { items: dropped });
  }

  function schedule(ms: number): void {
    if (scheduled) return;
    scheduled = true;
    clock.after(ms, () => {
      writing = writing.then(write);
    });
  }

  function waitingText(accountId: number, id: string): string | undefined {
    const name = nameOf(accountId, id);
    return (waiting.get(name) ?? writingNow.get(name))?.text;
  }

  return {
    put(accountId, items) {
      const at = clock.now();
      for (const { id, text } of items) {
        const name = nameOf(accountId, id);
        // The newest stands last: the oldest is dropped first.
        waitingSize += text.length - (waiting.get(name)?.text.length ?? 0);
        waiting.delete(name);
        waiting.set(name, { accountId, id, text, at });
      }
      if (waitingSize > MOST_WAITING) measure();
      schedule(failing ? RETRY_MS : FLUSH_MS);
    },
    async find(accountId, ids) {
      const texts = new Map<string, string>();
      const asked: string[] = [];
      for (const id of ids) {
        const text = waitingText(accountId, id);
        if (text === undefined) asked.push(id);
        else texts.set(id, text);
      }
      if (asked.length === 0) return texts;
      for (const item of await store.findItems(accountId, asked, clock.now())) {
        const text = open(item.data, keyOf(), nameOf(accountId, item.id));
        if (text !== undefined) texts.set(item.id, text);
      }
      return texts;
    },
    async extend(accountId, ids) {
      const written = ids.filter((id) => waitingText(accountId, id) === undefined);
      if (written.length > 0) await store.extendItems(accountId, written, clock.now() + keepMs());
    },
    async delete(accountId, ids) {
      await writing;
      const before = waiting.size;
      for (const id of ids) waiting.delete(nameOf(accountId, id));
      measure();
      return before - waiting.size + (await store.deleteItems(accountId, ids));
    },
    seal: (accountId, text) => SEALED + seal(text, keyOf(), nameOf(accountId, '')).toString('base64url'),
    unseal(accountId, sealed) {
      if (!sealed.startsWith(SEALED)) return undefined;
      return open(Buffer.from(sealed.slice(SEALED.length), 'base64url'), keyOf(), nameOf(accountId, ''));
    },
    async flush() {
      ending = true;
      await writing;
      await write();
      return waiting.size;
    },
  };
}

/** What is sealed is bound to it. */
function nameOf(accountId: number, id: string): string {
  return `${accountId} ${id}`;
}

function sealItem({ accountId, id, text, at }: Waiting, key: Buffer, keepMs: number): StoredItem {
  return { accountId, id, at, until: at + keepMs, data: seal(text, key, nameOf(accountId, id)) };
}

/** Nonce, ciphertext and tag. */
function seal(text: string, key: Buffer, name: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(name));
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

function open(sealed: Uint8Array, key: Buffer, name: string): string | undefined {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const end = sealed.length - TAG_BYTES;
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(name))
    .setAuthTag(sealed.subarray(end));
  try {
    return decipher.update(sealed.subarray(NONCE_BYTES, end), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return undefined;
  }
}

/** Makes the key where there is none. Two processes may do it at once: the first one's is everybody's. */
function readKey(file: string): Buffer {
  const existing = keyIn(file);
  if (existing !== undefined) return existing;
  const own = `${file}.${process.pid}`;
  try {
    const handle = openSync(own, 'wx', 0o600);
    try {
      writeSync(handle, `${randomBytes(KEY_BYTES).toString('base64')}\n`);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    linkSync(own, file);
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw unusable(file, reasonOf(error), error);
  } finally {
    rmSync(own, { force: true });
  }
  const made = keyIn(file);
  if (made === undefined) throw unusable(file, 'it could not be made');
  return made;
}

function keyIn(file: string): Buffer | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
    chmodSync(file, 0o600);
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw unusable(file, reasonOf(error), error);
  }
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length !== KEY_BYTES) {
    throw unusable(file, 'it does not hold a key of 32 bytes; delete it, and stored items are forgotten');
  }
  return key;
}

function unusable(file: string, reason: string, cause?: unknown): StoreError {
  return new StoreError('unavailable', `the key of stored items ${file} cannot be used: ${reason}`, cause);
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
