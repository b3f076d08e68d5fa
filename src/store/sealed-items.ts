// Stores items of accounts encrypted, so that the database alone reveals no content. Items are written in batches outside the
// request path; a look-up also finds items that are not written yet.
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import { createItemCipher, type ItemCipher } from './item-cipher.ts';
import type { ItemBounds, Store, StoredItem } from './store.ts';
import { WriteQueue } from './write-queue.ts';

const MIB = 1024 * 1024;
const BOUNDS: ItemBounds = { account: 64 * MIB, all: 1024 * MIB };
/** Characters that may wait while the database is not available; above it the oldest items are dropped. */
const MOST_WAITING = 64 * MIB;

/** The prefix of what `seal` returns. */
const SEALED = 'gw1.';

/** Whose ids they are: a provider's choice of an id must not replace an item of another kind. */
export type ItemKind = 'answer' | 'thinking';

/** Bytes, because a row of an index of PostgreSQL holds 2,700. No provider has longer ids; an item with a longer one is not stored. */
const MOST_ID = 1000;
const isStorable = (id: string): boolean => id.length <= MOST_ID && Buffer.byteLength(id) <= MOST_ID;

export interface NewItem {
  kind: ItemKind;
  id: string;
  text: string;
}

/** Ids belong to one account: another account neither finds nor opens what is sealed for it. */
export interface SealedItems {
  /** Stores the items for `keepMs` from now; they are found at once, and written within a moment. */
  put(accountId: number, items: readonly NewItem[]): void;
  /** The texts by id; ids that are unknown, expired or cannot be opened have none. Rejects with StoreError. */
  find(accountId: number, kind: ItemKind, ids: readonly string[]): Promise<Map<string, string>>;
  /** Stores the items for `keepMs` from now instead. */
  extend(accountId: number, kind: ItemKind, ids: readonly string[]): Promise<void>;
  /** Resolves to the number of deleted items. */
  delete(accountId: number, kind: ItemKind, ids: readonly string[]): Promise<number>;
  /** Encrypts a text for a client to hold; only requests of this account can open it again. */
  seal(accountId: number, text: string): string;
  /** undefined: not sealed by this gateway, sealed for another account, or changed. */
  unseal(accountId: number, sealed: string): string | undefined;
  /** Writes the items that wait, at shutdown. Resolves to the number of items that could not be written. */
  flush(): Promise<number>;
}

interface Waiting {
  accountId: number;
  /** With its kind, as it is stored. */
  id: string;
  text: string;
  at: number;
}

export interface SealedItemsOptions {
  store: Pick<Store, 'itemKey' | 'storeItems' | 'findItems' | 'extendItems' | 'deleteItems'>;
  /** Milliseconds, from the current configuration. */
  keepMs: () => number;
  clock: Clock;
  log: Logger;
  bounds?: ItemBounds;
}

export function createSealedItems(options: SealedItemsOptions): SealedItems {
  const { store, keepMs, clock, log, bounds = BOUNDS } = options;
  const cipher = createItemCipher(() => store.itemKey());
  const queue = new ItemQueue({
    write: (items) =>
      store.storeItems(
        items.map((item) => sealItem(item, cipher, keepMs())),
        bounds,
      ),
    clock,
    log,
  });

  return {
    put(accountId, items) {
      const at = clock.now();
      const storable = items.filter(({ id }) => isStorable(id));
      queue.put(storable.map(({ kind, id, text }) => ({ accountId, id: storedId(kind, id), text, at })));
    },
    async find(accountId, kind, ids) {
      const texts = new Map<string, string>();
      const written: string[] = [];
      for (const id of new Set(ids)) {
        const text = queue.textOf(accountId, storedId(kind, id));
        if (text !== undefined) texts.set(id, text);
        else if (isStorable(id)) written.push(storedId(kind, id));
      }
      if (written.length === 0) return texts;
      for (const item of await store.findItems(accountId, written, clock.now())) {
        const text = cipher.open(item.data, nameOf(accountId, item.id));
        if (text !== undefined) texts.set(item.id.slice(storedId(kind, '').length), text);
      }
      return texts;
    },
    async extend(accountId, kind, ids) {
      const stored = ids.map((id) => storedId(kind, id));
      const written = stored.filter((id) => queue.textOf(accountId, id) === undefined);
      if (written.length > 0) await store.extendItems(accountId, written, clock.now() + keepMs());
    },
    async delete(accountId, kind, ids) {
      const stored = ids.map((id) => storedId(kind, id));
      const removed = await queue.delete(accountId, stored);
      return removed + (await store.deleteItems(accountId, stored));
    },
    seal: (accountId, text) => SEALED + cipher.seal(text, nameOf(accountId, '')).toString('base64url'),
    unseal(accountId, sealed) {
      if (!sealed.startsWith(SEALED)) return undefined;
      return cipher.open(Buffer.from(sealed.slice(SEALED.length), 'base64url'), nameOf(accountId, ''));
    },
    flush: () => queue.flush(),
  };
}

const storedId = (kind: ItemKind, id: string): string => `${kind} ${id}`;

/** The name that an item is sealed with, and its key in the queue. */
function nameOf(accountId: number, id: string): string {
  return `${accountId} ${id}`;
}

function sealItem({ accountId, id, text, at }: Waiting, cipher: ItemCipher, keepMs: number): StoredItem {
  return { accountId, id, at, until: at + keepMs, data: cipher.seal(text, nameOf(accountId, id)) };
}

interface QueueOptions {
  write: (items: readonly Waiting[]) => Promise<void>;
  clock: Clock;
  log: Logger;
}

/** Items that wait to be written. A batch that fails waits with the newer items. */
class ItemQueue {
  readonly #log: Logger;
  readonly #queue: WriteQueue<ReadonlyMap<string, Waiting>>;
  /** In order of arrival; a newer item replaces an older one with the same id. */
  #waiting = new Map<string, Waiting>();
  /** Characters in `#waiting`. */
  #size = 0;
  #inProgress: ReadonlyMap<string, Waiting> = new Map();

  constructor({ write, clock, log }: QueueOptions) {
    this.#log = log;
    this.#queue = new WriteQueue({
      take: () => this.#take(),
      write: async (batch) => {
        await write([...batch.values()]);
        this.#inProgress = new Map();
      },
      putBack: (batch) => this.#putBack(batch),
      failure: 'stored items cannot be written; they wait',
      clock,
      log,
    });
  }

  put(items: readonly Waiting[]): void {
    for (const item of items) {
      const name = nameOf(item.accountId, item.id);
      this.#size += item.text.length - (this.#waiting.get(name)?.text.length ?? 0);
      // The newest item is the last of the map: the oldest is dropped first.
      this.#waiting.delete(name);
      this.#waiting.set(name, item);
    }
    if (this.#size > MOST_WAITING) this.#measure();
    this.#queue.wake();
  }

  /** The text of an item that is not in the database yet. */
  textOf(accountId: number, id: string): string | undefined {
    const name = nameOf(accountId, id);
    return (this.#waiting.get(name) ?? this.#inProgress.get(name))?.text;
  }

  /** Removes items that wait, after the write in progress. Resolves to their number. */
  async delete(accountId: number, ids: readonly string[]): Promise<number> {
    await this.#queue.idle;
    const before = this.#waiting.size;
    for (const id of ids) this.#waiting.delete(nameOf(accountId, id));
    this.#measure();
    return before - this.#waiting.size;
  }

  /** Resolves to the number of items that could not be written. */
  async flush(): Promise<number> {
    await this.#queue.flush();
    return this.#waiting.size;
  }

  #take(): ReadonlyMap<string, Waiting> | undefined {
    if (this.#waiting.size === 0) return undefined;
    this.#inProgress = this.#waiting;
    this.#waiting = new Map();
    this.#size = 0;
    return this.#inProgress;
  }

  #putBack(batch: ReadonlyMap<string, Waiting>): void {
    this.#waiting = new Map([...batch, ...this.#waiting]);
    this.#inProgress = new Map();
    this.#measure();
  }

  #measure(): void {
    const { size, dropped } = dropOldest(this.#waiting);
    this.#size = size;
    if (dropped === 0) return;
    this.#log.warn('stored items were dropped: too many wait for the database', { items: dropped });
  }
}

/** Drops the oldest items above the limit. `size`: characters of the rest. */
function dropOldest(waiting: Map<string, Waiting>): { size: number; dropped: number } {
  let size = 0;
  for (const { text } of waiting.values()) size += text.length;
  let dropped = 0;
  for (const [name, { text }] of waiting) {
    if (size <= MOST_WAITING) break;
    waiting.delete(name);
    size -= text.length;
    dropped++;
  }
  return { size, dropped };
}
