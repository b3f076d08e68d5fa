// Streams take turns: in one turn of the event loop each gives its reader a share of what came. The rest waits for the next turn, so
// that a provider that sends fast does not keep other streams waiting (docs/decisions/0022).

/** The chunk that reaches it is given whole. */
const SHARE_BYTES = 8 * 1024;

/** Of the event loop. */
let turn = 0;
let scheduled = false;
let waiting: (() => void)[] = [];

function schedule(): void {
  if (scheduled) return;
  scheduled = true;
  setImmediate(advance);
}

function advance(): void {
  scheduled = false;
  turn += 1;
  const tasks = waiting;
  waiting = [];
  for (const task of tasks) task();
}

/** One stream's. */
export class TurnShare {
  /** In which bytes were given last. */
  #turn = -1;
  #given = 0;
  #waits = false;

  get isLeft(): boolean {
    schedule();
    if (turn !== this.#turn) {
      this.#turn = turn;
      this.#given = 0;
    }
    return this.#given < SHARE_BYTES;
  }

  /** Until the next turn. */
  get waits(): boolean {
    return this.#waits;
  }

  take(bytes: number): void {
    this.#given += bytes;
  }

  /** Calls `task` in the next turn, once, behind the streams that wait already. */
  wait(task: () => void): void {
    if (this.#waits) return;
    this.#waits = true;
    waiting.push(() => {
      this.#waits = false;
      task();
    });
    schedule();
  }
}
