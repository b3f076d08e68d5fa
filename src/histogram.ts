// Counts of values by ranges. `observe` is cheap enough for each piece of a stream: no labels are hashed, since each series has its own.

export class Histogram {
  readonly bounds: readonly number[];
  /** One more than bounds: the last counts what is above all of them. */
  readonly counts: number[];
  sum = 0;
  /** Values observed. */
  total = 0;

  /** `bounds`: upper bounds of the buckets, ascending. */
  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  /** Counts `value` so many `times`. */
  observe(value: number, times = 1): void {
    const { bounds, counts } = this;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] ?? Infinity)) at += 1;
    counts[at] = (counts[at] ?? 0) + times;
    this.sum += value * times;
    this.total += times;
  }

  /** Counts what `other`, which has the same bounds, has counted. */
  add(other: Histogram): void {
    for (const [at, count] of other.counts.entries()) this.counts[at] = (this.counts[at] ?? 0) + count;
    this.sum += other.sum;
    this.total += other.total;
  }
}
