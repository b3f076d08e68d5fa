// Times to the first byte as counts in fixed ranges: counts of hours, accounts and engines can be added, and percentiles are
// estimated from the sum.

/** Upper ends of the ranges in milliseconds, not included. The last range has no upper end. Stored sums depend on them. */
export const FIRST_BYTE_LIMITS: readonly number[] = [
  5, 25, 50, 100, 150, 250, 400, 600, 1000, 1500, 2500, 4000, 6000, 10_000, 25_000,
];

export const FIRST_BYTE_RANGES = FIRST_BYTE_LIMITS.length + 1;

export const NO_FIRST_BYTES: readonly number[] = Array.from({ length: FIRST_BYTE_RANGES }, () => 0);

/** The time that a share of the requests (0.5, 0.95) does not exceed, in milliseconds: exact to its range, in which times are
 *  taken as evenly spread. null: no request had a first byte. */
export function firstByteAt(counts: readonly number[], share: number): number | null {
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return null;
  let left = all * share;
  for (const [range, count] of counts.entries()) {
    const from = FIRST_BYTE_LIMITS[range - 1] ?? 0;
    if (count > 0 && left <= count) {
      const to = FIRST_BYTE_LIMITS[range] ?? from;
      return from + ((to - from) * left) / count;
    }
    left -= count;
  }
  return FIRST_BYTE_LIMITS.at(-1) ?? null;
}
