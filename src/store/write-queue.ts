// Writes what waits to the database in batches, off the request path. A batch that fails is put back and written again later. The
// owner decides what a batch is and how much may wait.
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import { messageOf } from '../errors.ts';

const FLUSH_MS = 100;
const RETRY_MS = 1000;

interface WriteQueueOptions<Batch> {
  /** Removes the next batch from what waits. undefined: nothing waits. */
  take: () => Batch | undefined;
  write: (batch: Batch) => Promise<void>;
  /** Puts a batch back that was not written, and bounds what waits. */
  putBack: (batch: Batch) => void | Promise<void>;
  /** Runs after each batch. `recovered`: the write before it failed. */
  written?: (recovered: boolean) => void;
  /** Logged for the first failure in a row. */
  failure: string;
  clock: Clock;
  log: Logger;
}

export class WriteQueue<Batch> {
  readonly #options: WriteQueueOptions<Batch>;
  #writing: Promise<void> = Promise.resolve();
  #scheduled = false;
  #failing = false;
  #ending = false;

  constructor(options: WriteQueueOptions<Batch>) {
    this.#options = options;
  }

  /** To be called when something new waits. */
  wake(): void {
    this.#schedule();
  }

  /** Resolves after the write in progress. */
  get idle(): Promise<void> {
    return this.#writing;
  }

  /** Writes all that waits, at shutdown. A failed write is not repeated. */
  async flush(): Promise<void> {
    this.#ending = true;
    await this.#writing;
    while (await this.#write());
  }

  /** Resolves to whether a batch was written. */
  async #write(): Promise<boolean> {
    this.#scheduled = false;
    const { take, write, putBack, written } = this.#options;
    const batch = take();
    if (batch === undefined) return false;
    try {
      await write(batch);
    } catch (error) {
      this.#reportFailure(error);
      await putBack(batch);
      if (!this.#ending) this.#schedule();
      return false;
    }
    const recovered = this.#failing;
    this.#failing = false;
    written?.(recovered);
    return true;
  }

  #reportFailure(error: unknown): void {
    const { log, failure } = this.#options;
    if (!this.#failing) log.error(failure, { reason: messageOf(error) });
    this.#failing = true;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#options.clock.after(this.#failing ? RETRY_MS : FLUSH_MS, () => {
      this.#writing = this.#writing.then(() => this.#write()).then(() => undefined);
    });
  }
}
