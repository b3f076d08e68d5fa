// Writes requests that were refused to the store, off their path. Like refusals of a minute are one row with their number, and the rows of
// a minute are bounded: clients that ask again and again make neither the database large nor others wait.
import type { Clock } from '../clock.ts';
import type { RefusedRequest } from '../accounts/request-json.ts';
import type { Asked } from '../errors.ts';
import type { Observer } from '../gateway/trace.ts';
import type { Logger } from '../log.ts';
import type { RefusalRow } from '../store/holds/refusals.ts';
import type { Store } from '../store/store.ts';
import { MAX_MODEL_LENGTH } from '../store/usage-columns.ts';
import { WriteQueue } from '../store/write-queue.ts';

const MINUTE_MS = 60_000;

/** Rows of one minute. */
const MOST_OF_ACCOUNT = 20;
const MOST_OF_ALL = 500;
/** Rows that wait while the store is unavailable; the oldest are then left out. */
const MOST_WAITING = 2000;
/** Rows of one transaction. */
const MOST_WRITTEN = 100;
/** Characters of a message. */
const MOST_MESSAGE = 500;

export interface RefusalRecorder extends Required<Pick<Observer, 'wasRefused'>> {
  /** Writes what waits, for shutdown. */
  flush(): Promise<void>;
}

export function createRefusalRecorder({
  store,
  clock,
  log,
}: {
  store: Pick<Store, 'recordRefusals'>;
  clock: Clock;
  log: Logger;
}): RefusalRecorder {
  let minute: Minute | undefined;
  /** Rows to be written; their `times` may still grow. */
  const waiting = new Set<RefusalRow>();

  const queue = new WriteQueue<readonly RefusalRow[]>({
    take() {
      const rows = [...waiting].slice(0, MOST_WRITTEN);
      for (const row of rows) waiting.delete(row);
      return rows.length === 0 ? undefined : rows;
    },
    write: (rows) => store.recordRefusals(rows),
    putBack(rows) {
      for (const row of rows) waiting.add(row);
      for (const row of waiting) {
        if (waiting.size <= MOST_WAITING) break;
        waiting.delete(row);
      }
    },
    written() {
      if (waiting.size > 0) queue.wake();
    },
    failure: 'refused requests cannot be written; they wait',
    clock,
    log,
  });

  return {
    wasRefused(request) {
      const { asked, at } = request;
      if (asked === undefined) return;
      const number = Math.floor(at / MINUTE_MS);
      if (minute?.number !== number) minute = new Minute(number);
      const row = minute.count(request, asked);
      if (row === undefined) return;
      waiting.add(row);
      queue.wake();
    },
    flush: () => queue.flush(),
  };
}

/** The rows of a minute, by what their requests have in common. */
class Minute {
  readonly number: number;
  readonly #rows = new Map<string, RefusalRow>();
  readonly #ofAccount = new Map<number, number>();

  constructor(number: number) {
    this.number = number;
  }

  /** undefined: the minute has too many rows, of which none is like it. */
  count(
    { at, requestId, path, status, kind, message }: RefusedRequest,
    asked: Asked,
  ): RefusalRow | undefined {
    const { accountId, keyId, endpoint, model, conversation, label, client } = asked;
    const like = JSON.stringify([accountId, keyId, kind, endpoint, model, conversation, label]);
    const known = this.#rows.get(like);
    if (known !== undefined) return oneMore(known);
    const rows = this.#ofAccount.get(accountId) ?? 0;
    const row: RefusalRow = {
      ...{ at, requestId, accountId, keyId, endpoint: endpoint ?? path, label, client, status, error: kind },
      ...{ message: message.slice(0, MOST_MESSAGE), times: 1, conversation },
      modelAsked: model?.slice(0, MAX_MODEL_LENGTH) ?? null,
    };
    if (rows < MOST_OF_ACCOUNT) return this.#add(like, row);
    const others = JSON.stringify([accountId, kind]);
    const other = this.#rows.get(others);
    if (other !== undefined) return oneMore(other);
    return this.#add(others, { ...row, keyId: null, modelAsked: null, conversation: null });
  }

  #add(like: string, row: RefusalRow): RefusalRow | undefined {
    if (this.#rows.size >= MOST_OF_ALL) return undefined;
    this.#rows.set(like, row);
    this.#ofAccount.set(row.accountId, (this.#ofAccount.get(row.accountId) ?? 0) + 1);
    return row;
  }
}

function oneMore(row: RefusalRow): RefusalRow {
  row.times += 1;
  return row;
}
