// What was asked under which Idempotency-Key: a request that is repeated is neither sent nor counted again. Answers are kept in memory, in
// bounded bytes; that a key was used is remembered for longer.
import type { Clock } from './clock.ts';

export interface KeptAnswer {
  /** Flat: name, value, name, value. */
  headers: string[];
  body: Buffer;
  stream: boolean;
}

export type Claim =
  /** Nobody asked that before: `finish` must be called once. */
  | { kind: 'first' }
  /** The same request waits for its answer. */
  | { kind: 'under_way' }
  /** undefined: it was answered, and the answer is not kept any more. */
  | { kind: 'answered'; answer: KeptAnswer | undefined }
  /** Another request has this key. */
  | { kind: 'other' };

export interface Repeats {
  claim(id: string, fingerprint: string): Claim | Promise<Claim>;
  /** Resolves when the request under way is over, however it ends. */
  whenOver(id: string): Promise<void>;
  /** `failed`: the key is free again. `unkept`: answered, with an answer that is too large to keep. */
  finish(id: string, how: KeptAnswer | 'unkept' | 'failed'): void;
}

/** Bytes of one answer. */
export const MOST_KEPT = 4 * 1024 * 1024;
const MOST_BYTES = 32 * 1024 * 1024;
const MOST_KEYS = 10_000;
const DAY_MS = 24 * 60 * 60 * 1000;

interface Entry {
  fingerprint: string;
  /** undefined: it is over. */
  waiting: (() => void)[] | undefined;
  answer: KeptAnswer | undefined;
  since: number;
}

export function createRepeats(clock: Pick<Clock, 'monotonic'>, mostBytes = MOST_BYTES): Repeats {
  // Ordered by their beginning: the first is forgotten first.
  const entries = new Map<string, Entry>();
  let bytes = 0;

  function drop(id: string): void {
    bytes -= sizeOf(entries.get(id)?.answer);
    entries.delete(id);
  }

  function forgetOld(): void {
    for (const [id, { since, waiting }] of entries) {
      if (clock.monotonic() - since < DAY_MS && entries.size <= MOST_KEYS) return;
      // The number of requests under way is bounded by itself.
      if (waiting === undefined) drop(id);
      else if (entries.size <= MOST_KEYS) return;
    }
  }

  function makeRoom(): void {
    for (const entry of entries.values()) {
      if (bytes <= mostBytes) return;
      bytes -= sizeOf(entry.answer);
      entry.answer = undefined;
    }
  }

  return {
    claim(id, fingerprint) {
      forgetOld();
      const entry = entries.get(id);
      if (entry === undefined) {
        entries.set(id, { fingerprint, waiting: [], answer: undefined, since: clock.monotonic() });
        return { kind: 'first' };
      }
      if (entry.fingerprint !== fingerprint) return { kind: 'other' };
      return entry.waiting === undefined ? { kind: 'answered', answer: entry.answer } : { kind: 'under_way' };
    },
    whenOver(id) {
      const waiting = entries.get(id)?.waiting;
      return waiting === undefined ? Promise.resolve() : new Promise((resolve) => void waiting.push(resolve));
    },
    finish(id, how) {
      const entry = entries.get(id);
      if (entry?.waiting === undefined) return;
      const { waiting } = entry;
      entry.waiting = undefined;
      if (how === 'failed') drop(id);
      else if (how !== 'unkept') {
        entry.answer = how;
        bytes += sizeOf(how);
        makeRoom();
      }
      for (const tell of waiting) tell();
    },
  };
}

/** A header takes some hundred bytes with its text. */
function sizeOf(answer: KeptAnswer | undefined): number {
  return answer === undefined ? 0 : answer.body.length + 100 * answer.headers.length;
}
