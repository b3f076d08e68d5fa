// Items that wait to be written, bounded in characters while the database is away: the oldest are dropped first.
import type { Clock } from '../../clock.ts';
import type { Logger } from '../../log.ts';
import { WriteQueue } from '../write-queue.ts';

const MIB = 1024 * 1024;
/** Characters that may wait while the database is not available; above it the oldest items are dropped. */
const MOST_WAITING = 64 * MIB;

/** The name that an item is sealed with, and its key in the queue. */
export function nameOf(accountId: number, id: string): string {
  return `${accountId} ${id}`;
}

let versions = 0;

export class WaitingItem {
  readonly accountId: number;
  /** With its kind, in the stored form. */
  readonly id: string;
  readonly at: number;
  /** Characters, about. */
  readonly size: number;
  /** A text that is written again keeps it. */
  readonly version: string;
  #text: string | (() => string);

  constructor(accountId: number, id: string, at: number, text: string | (() => string), size: number) {
    this.accountId = accountId;
    this.id = id;
    this.at = at;
    this.size = size;
    this.version = `${at.toString(36)}-${process.pid.toString(36)}-${(versions++).toString(36)}`;
    this.#text = text;
  }

  get text(): string {
    if (typeof this.#text !== 'string') this.#text = this.#text();
    return this.#text;
  }
}

interface QueueOptions {
  write: (items: Iterable<WaitingItem>) => Promise<void>;
  clock: Clock;
  log: Logger;
}

/** A batch that fails waits with the newer items. */
export class ItemQueue {
  readonly #log: Logger;
  readonly #queue: WriteQueue<ReadonlyMap<string, WaitingItem>>;
  /** In order of arrival; a newer item replaces an older one with the same id. */
  #waiting = new Map<string, WaitingItem>();
  /** Characters in `#waiting`. */
  #size = 0;
  #inProgress: ReadonlyMap<string, WaitingItem> = new Map();

  constructor({ write, clock, log }: QueueOptions) {
    this.#log = log;
    this.#queue = new WriteQueue({
      take: () => this.#take(),
      write: async (batch) => {
        await write(batch.values());
        this.#inProgress = new Map();
      },
      putBack: (batch) => this.#putBack(batch),
      failure: 'stored items cannot be written; they wait',
      clock,
      log,
    });
  }

  put(items: readonly WaitingItem[]): void {
    for (const item of items) {
      const name = nameOf(item.accountId, item.id);
      this.#size += item.size - (this.#waiting.get(name)?.size ?? 0);
      // The newest item is the last of the map: the oldest is dropped first.
      this.#waiting.delete(name);
      this.#waiting.set(name, item);
    }
    if (this.#size > MOST_WAITING) this.#measure();
    this.#queue.wake();
  }

  /** An item that is not in the database yet. */
  get(accountId: number, id: string): WaitingItem | undefined {
    const name = nameOf(accountId, id);
    return this.#waiting.get(name) ?? this.#inProgress.get(name);
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

  #take(): ReadonlyMap<string, WaitingItem> | undefined {
    if (this.#waiting.size === 0) return undefined;
    this.#inProgress = this.#waiting;
    this.#waiting = new Map();
    this.#size = 0;
    return this.#inProgress;
  }

  #putBack(batch: ReadonlyMap<string, WaitingItem>): void {
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
function dropOldest(waiting: Map<string, WaitingItem>): { size: number; dropped: number } {
  let size = 0;
  for (const item of waiting.values()) size += item.size;
  let dropped = 0;
  for (const [name, item] of waiting) {
    if (size <= MOST_WAITING) break;
    waiting.delete(name);
    size -= item.size;
    dropped++;
  }
  return { size, dropped };
}
