// Hashes of a body's bytes without its marks. The bytes are hashed as they stand: nothing is parsed or written anew.
import { crc32 } from 'node:zlib';
import type { Run } from '../../canonical/prompt-print.ts';
import type { Range } from '../json/splice.ts';
import { behindCut, type Mark } from './marks.ts';
import type { MarkShape } from '../interface/prompt.ts';

/** Hashes stretches of one body. */
export class Hasher {
  readonly #bytes: Buffer;
  readonly #marks: readonly Mark[];

  /** `marks`: in order. */
  constructor(bytes: Buffer, marks: readonly Mark[]) {
    this.#bytes = bytes;
    this.#marks = marks;
  }

  /** `seed`: the hash of what comes before. */
  hash(start: number, end: number, seed = 0): number {
    let hash = seed;
    let from = start;
    for (const mark of this.#marks) {
      if (mark.start < start) continue;
      if (mark.start >= end) break;
      hash = this.#piece(from, mark.start, hash);
      from = mark.end;
    }
    return this.#piece(from, end, hash);
  }

  /** From `start` to `end`; `before`: a run that ends at `start`. */
  run(start: number, end: number, before: Run = NOTHING): Run {
    const cuts = [...before.cuts];
    let bytes = before.bytes;
    let from = start;
    for (const mark of this.#marks) {
      if (mark.start < start) continue;
      if (mark.start >= end) break;
      bytes += mark.start - from;
      cuts.push({ at: bytes, kind: mark.kind });
      from = mark.end;
    }
    return { bytes: bytes + end - from, hash: this.hash(start, end, before.hash), cuts };
  }

  #piece(start: number, end: number, seed: number): number {
    return end > start ? crc32(this.#bytes.subarray(start, end), seed) : seed;
  }
}

export const NOTHING: Run = { bytes: 0, hash: 0, cuts: [] };

/**
 * The offset behind the bytes of `run`, if those at `start` are the same, and the run with the marks that stand there now. Where the run
 * had a mark there may be one or none; a mark elsewhere is a difference.
 */
export function behindRun(
  bytes: Buffer,
  { start, end }: Range,
  run: Run,
  shape: MarkShape,
): { at: number; run: Run } | undefined {
  const cuts: Run['cuts'][number][] = [];
  let at = start;
  let done = 0;
  let hash = 0;
  for (let index = 0; index <= run.cuts.length; index++) {
    const cut = run.cuts[index];
    const until = cut?.at ?? run.bytes;
    const next = at + until - done;
    if (next > end) return undefined;
    if (next > at) hash = crc32(bytes.subarray(at, next), hash);
    done = until;
    at = next;
    if (cut === undefined) break;
    const behind = behindCut(bytes, at, cut.kind, shape);
    if (behind === -1 || behind > end) continue;
    cuts.push(cut);
    at = behind;
  }
  return hash === run.hash
    ? { at, run: cuts.length === run.cuts.length ? run : { ...run, cuts } }
    : undefined;
}
