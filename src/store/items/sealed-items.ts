// Stores items of accounts encrypted, so that the database alone reveals no content. Items are written in batches outside the
// request path; a look-up also finds items that are not written yet. A large item takes many small steps, between which other requests
// are served.
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import type { Logger } from '../../log.ts';
import { createItemCipher, type ItemCipher } from './cipher.ts';
import { partIdsOf, partsOf } from './parts.ts';
import { ItemQueue, nameOf, WaitingItem } from './queue.ts';
import type { ItemBounds, ItemStore, StoredItem } from '../store.ts';

const MIB = 1024 * 1024;
const BOUNDS: ItemBounds = { account: 64 * MIB, all: 1024 * MIB };

/** Bytes that one step reads or writes. */
const STEP_BYTES = MIB;
/** Rows that one step extends or deletes: large ones have half a MiB at most. */
const STEP_ROWS = 4;
/** An item is extended when this part of its time is over: not at each request of a conversation. */
const EXTEND_AFTER = 1 / 8;

/** The prefix of what `seal` returns. */
const SEALED = 'gw1.';

/** Whose ids they are: a provider's choice of an id must not replace an item of another kind. */
type ItemKind = 'answer' | 'thinking';

/** Bytes, because a row of an index of PostgreSQL holds 2,700. No provider has longer ids; an item with a longer one is not stored. */
const MOST_ID = 1000;
const isStorable = (id: string): boolean => id.length <= MOST_ID && Buffer.byteLength(id) <= MOST_ID;

export interface NewItem {
  kind: ItemKind;
  id: string;
  /** JSON; a function writes it when it is needed. */
  text: string | (() => string);
  /** Characters, about; needed for a function. */
  size?: number;
}

interface FindOptions {
  /** More bytes are not read. */
  most?: number;
  /** The items are needed for `keepMs` from now. */
  keep?: boolean;
}

/** The items that were asked for have more bytes than may be read. */
export class ItemsTooLarge extends Error {
  override readonly name = 'ItemsTooLarge';
}

/** Ids belong to one account: another account neither finds nor opens what is sealed for it. */
export interface SealedItems {
  /** Stores the items for `keepMs` from now; they are found at once, and written within a moment. */
  put(accountId: number, items: readonly NewItem[]): void;
  /** The texts by id; ids that are unknown, expired or cannot be opened have none. Rejects with StoreError or ItemsTooLarge. */
  find(
    accountId: number,
    kind: ItemKind,
    ids: readonly string[],
    options?: FindOptions,
  ): Promise<Map<string, string>>;
  /** Resolves to the number of deleted items. */
  delete(accountId: number, kind: ItemKind, ids: readonly string[]): Promise<number>;
  /** Encrypts a text for a client to hold; only requests of this account can open it again. */
  seal(accountId: number, text: string): string;
  /** undefined: not sealed by this gateway, sealed for another account, or changed. */
  unseal(accountId: number, sealed: string): string | undefined;
  /** Writes the items that wait, at shutdown. Resolves to the number of items that could not be written. */
  flush(): Promise<number>;
}

interface SealedItemsOptions {
  store: Omit<ItemStore, 'pruneItems'>;
  /** Milliseconds, from the current configuration. */
  keepMs: () => number;
  clock: Clock;
  log: Logger;
  bounds?: ItemBounds;
}

export function createSealedItems({
  store,
  keepMs,
  clock,
  log,
  bounds = BOUNDS,
}: SealedItemsOptions): SealedItems {
  const cipher = createItemCipher(() => store.itemKey());
  const queue = new ItemQueue({
    write: (items) => writeInSteps(items, { store, cipher, keepMs: keepMs(), bounds, log }),
    clock,
    log,
  });

  return {
    put(accountId, items) {
      const at = clock.now();
      const storable = items.filter(({ id }) => isStorable(id));
      queue.put(
        storable.map(({ kind, id, text, size = 0 }) => {
          const length = typeof text === 'string' ? text.length : size;
          return new WaitingItem(accountId, storedId(kind, id), at, text, length);
        }),
      );
    },
    async find(accountId, kind, ids, { most = Infinity, keep = false } = {}) {
      const texts = new Map<string, string>();
      const reader = new ItemReader(accountId, most, { store, cipher, now: clock.now() });
      const written: string[] = [];
      for (const id of new Set(ids)) {
        const waiting = queue.get(accountId, storedId(kind, id));
        if (waiting !== undefined) texts.set(id, await reader.waiting(waiting));
        else if (isStorable(id)) written.push(storedId(kind, id));
      }
      if (written.length === 0) return texts;
      const prefix = storedId(kind, '').length;
      for (const [id, text] of await reader.texts(written)) texts.set(id.slice(prefix), text);
      if (keep) await extendInSteps(accountId, reader.rows, keepMs());
      return texts;
    },
    async delete(accountId, kind, ids) {
      const stored = ids.map((id) => storedId(kind, id));
      const removed = await queue.delete(accountId, stored);
      const reader = new ItemReader(accountId, Infinity, { store, cipher, now: clock.now() });
      const parts = await reader.partIds(stored);
      const deleted = await store.deleteItems(accountId, stored);
      for (const step of inSteps(parts)) {
        await yieldToOthers();
        await store.deleteItems(accountId, step);
      }
      return removed + deleted;
    },
    seal: (accountId, text) => SEALED + cipher.seal(text, nameOf(accountId, '')).toString('base64url'),
    unseal(accountId, sealed) {
      if (!sealed.startsWith(SEALED)) return undefined;
      return cipher.open(Buffer.from(sealed.slice(SEALED.length), 'base64url'), nameOf(accountId, ''));
    },
    flush: () => queue.flush(),
  };

  async function extendInSteps(
    accountId: number,
    rows: readonly Pick<StoredItem, 'id' | 'until'>[],
    keep: number,
  ): Promise<void> {
    const until = clock.now() + keep;
    const due = rows.filter((row) => row.until < until - keep * EXTEND_AFTER).map(({ id }) => id);
    const [first, ...others] = inSteps(due);
    if (first !== undefined) await store.extendItems(accountId, first, until);
    for (const step of others) {
      await yieldToOthers();
      await store.extendItems(accountId, step, until);
    }
  }
}

const storedId = (kind: ItemKind, id: string): string => `${kind} ${id}`;

/** Small rows are many, and their ids alone are asked for: a hundred of them take less than four large ones. */
function inSteps(ids: readonly string[]): string[][] {
  const parts = ids.filter((id) => id.startsWith('part '));
  const small = ids.filter((id) => !id.startsWith('part '));
  const steps = small.length === 0 ? [] : [small];
  for (let from = 0; from < parts.length; from += STEP_ROWS) steps.push(parts.slice(from, from + STEP_ROWS));
  return steps;
}

interface WriteOptions {
  store: Pick<ItemStore, 'storeItems'>;
  cipher: ItemCipher;
  keepMs: number;
  bounds: ItemBounds;
  log: Logger;
}

async function writeInSteps(
  items: Iterable<WaitingItem>,
  { store, cipher, keepMs, bounds, log }: WriteOptions,
): Promise<void> {
  let step: StoredItem[] = [];
  let bytes = 0;
  for (const { accountId, id, text, at, version } of items) {
    if (text.length > bounds.account) {
      log.warn('an item is not stored: it alone is more than an account may store', {
        characters: text.length,
      });
      continue;
    }
    for (const part of partsOf({ id, text }, version)) {
      const data = cipher.seal(part.text, nameOf(accountId, part.id));
      step.push({ accountId, id: part.id, at, until: at + keepMs, data });
      bytes += data.length;
      if (bytes < STEP_BYTES) continue;
      await store.storeItems(step, bounds);
      step = [];
      bytes = 0;
      await yieldToOthers();
    }
  }
  if (step.length > 0) await store.storeItems(step, bounds);
}

interface ReadOptions {
  store: Pick<ItemStore, 'findItems'>;
  cipher: ItemCipher;
  now: number;
}

/** Reads one account's items, in steps. */
class ItemReader {
  readonly #accountId: number;
  readonly #options: ReadOptions;
  readonly #most: number;
  #bytes = 0;
  /** That were read. */
  readonly rows: Pick<StoredItem, 'id' | 'until'>[] = [];

  constructor(accountId: number, most: number, options: ReadOptions) {
    this.#accountId = accountId;
    this.#most = most;
    this.#options = options;
  }

  async waiting(item: WaitingItem): Promise<string> {
    this.#count(item.size);
    if (item.size > STEP_BYTES) await yieldToOthers();
    return item.text;
  }

  async texts(ids: readonly string[]): Promise<Map<string, string>> {
    const { whole, split } = await this.#heads(ids);
    for (const [id, parts] of split) {
      const pieces: string[] = [];
      await this.#read(parts, (_, text) => pieces.push(text));
      // A part that is missing was the oldest of its account.
      if (pieces.length === parts.length) whole.set(id, pieces.join(''));
    }
    return whole;
  }

  /** Of large items. */
  async partIds(ids: readonly string[]): Promise<string[]> {
    const { split } = await this.#heads(ids);
    return [...split.values()].flat();
  }

  async #heads(
    ids: readonly string[],
  ): Promise<{ whole: Map<string, string>; split: Map<string, string[]> }> {
    const whole = new Map<string, string>();
    const split = new Map<string, string[]>();
    await this.#read(ids, (id, text) => {
      const parts = partIdsOf({ id, text });
      if (parts === undefined) whole.set(id, text);
      else split.set(id, parts);
    });
    return { whole, split };
  }

  async #read(ids: readonly string[], take: (id: string, text: string) => void): Promise<void> {
    const { store, cipher, now } = this.#options;
    for (let rest = ids; rest.length > 0;) {
      const rows = await store.findItems(this.#accountId, rest, now, STEP_BYTES);
      let bytes = 0;
      for (const { id, until, data } of rows) {
        bytes += data.length;
        this.#count(data.length);
        const text = cipher.open(data, nameOf(this.#accountId, id));
        if (text === undefined) continue;
        this.rows.push({ id, until });
        take(id, text);
      }
      const last = rows.at(-1);
      if (last === undefined || bytes < STEP_BYTES) return;
      rest = rest.slice(rest.indexOf(last.id) + 1);
      await yieldToOthers();
    }
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#most) throw new ItemsTooLarge('the stored items are too large');
  }
}
