// "Did you mean …?": whoever mistypes a name is told the nearest one that exists. Pure, shared by faults, routing and the command line.

/** The nearest candidate, or undefined where none is near enough to be meant. */
export function didYouMean(name: string, candidates: Iterable<string>): string | undefined {
  return didYouMeanAll(name, candidates, 1)[0];
}

/** Up to `limit` candidates that may have been meant, the nearest first; among equals in the order given. */
export function didYouMeanAll(name: string, candidates: Iterable<string>, limit: number): string[] {
  const wanted = name.toLowerCase();
  const ranked: { candidate: string; distance: number }[] = [];
  for (const candidate of new Set(candidates)) {
    const distance = strangeness(wanted, candidate.toLowerCase());
    if (distance !== undefined) ranked.push({ candidate, distance });
  }
  ranked.sort((a, b) => a.distance - b.distance);
  return ranked.slice(0, limit).map(({ candidate }) => candidate);
}

/** Longer names are recognised by a part alone: what is compared may be thousands of names, while a client waits. */
const LONGEST = 64;
/** More edits make another name. */
const MOST_EDITS = 8;

/** Edits between the two, a little more for a part of the other name; undefined: not alike. */
function strangeness(wanted: string, candidate: string): number | undefined {
  const [short, long] = wanted.length < candidate.length ? [wanted, candidate] : [candidate, wanted];
  const allowed = Math.min(MOST_EDITS, Math.max(1, Math.floor(long.length / 3)));
  if (long.length <= LONGEST && long.length - short.length <= allowed) {
    const edits = editDistance(wanted, candidate, allowed);
    if (edits <= allowed) return edits;
  }
  if (wanted === candidate) return 0;
  // A part counts after every misspelling, the longer part first: `sonnet` means `claude-sonnet-5`.
  return short.length >= 3 && long.includes(short) ? 1000 - short.length / long.length : undefined;
}

/** Three rows of the table, each used again. */
const rows = [0, 1, 2].map(() => new Uint8Array(LONGEST + 1));

/** Insertions, deletions, replacements and swaps of neighbours; any number above `limit` once it is certain to be. Neither text
 *  is longer than LONGEST. */
function editDistance(a: string, b: string, limit: number): number {
  const beyond = limit + 1;
  let [beforeLast, last, row] = rows as [Uint8Array, Uint8Array, Uint8Array];
  for (let j = 0; j <= b.length; j++) last[j] = Math.min(j, beyond);
  for (let i = 1; i <= a.length; i++) {
    // No way of at most `limit` edits leaves this band.
    const from = Math.max(1, i - limit);
    const to = Math.min(b.length, i + limit);
    row[from - 1] = from === 1 ? Math.min(i, beyond) : beyond;
    let least = at(row, from - 1);
    for (let j = from; j <= to; j++) {
      const cost = a.charCodeAt(i - 1) === b.charCodeAt(j - 1) ? 0 : 1;
      let best = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + cost, beyond);
      if (i > 1 && j > 1 && cost === 1 && isSwap(a, b, i, j))
        best = Math.min(best, at(beforeLast, j - 2) + 1);
      row[j] = best;
      if (best < least) least = best;
    }
    if (to < b.length) row[to + 1] = beyond;
    if (least > limit) return beyond;
    [beforeLast, last, row] = [last, row, beforeLast];
  }
  return at(last, b.length);
}

function isSwap(a: string, b: string, i: number, j: number): boolean {
  return a.charCodeAt(i - 1) === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === b.charCodeAt(j - 1);
}

function at(row: Uint8Array, index: number): number {
  return row[index] ?? 0;
}
