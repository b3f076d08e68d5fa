// "Did you mean …?": finds the known name that a mistyped one is nearest to. Used by configuration faults, routing, the server
// and the command line.

/** The correction of an unknown name: `did you mean X?`, or the known names. */
export function suggest(name: string, known: readonly string[]): string {
  const near = didYouMean(name, known);
  if (near !== undefined) return `did you mean ${near}?`;
  if (known.length === 0) return 'none is known';
  return `known: ${known.slice(0, MAX_LISTED).join(', ')}${known.length > MAX_LISTED ? ', …' : ''}`;
}

const MAX_LISTED = 32;

/** The nearest candidate; undefined if no candidate is similar enough. */
export function didYouMean(name: string, candidates: Iterable<string>): string | undefined {
  return didYouMeanAll(name, candidates, 1)[0];
}

/** Names beyond these are not compared: a client may wait, and the time is not counted against it. */
const MOST_COMPARED = 10_000;

/** Up to `limit` similar candidates, the nearest first; equally near ones in the given order. */
export function didYouMeanAll(name: string, candidates: Iterable<string>, limit: number): string[] {
  const wanted = name.toLowerCase();
  const ranked: { candidate: string; distance: number }[] = [];
  const seen = new Set<string>();
  for (const candidate of candidates) {
    if (seen.has(candidate)) continue;
    if (seen.size === MOST_COMPARED) break;
    seen.add(candidate);
    const distance = distanceOf(wanted, candidate.toLowerCase());
    if (distance !== undefined) ranked.push({ candidate, distance });
  }
  ranked.sort((a, b) => a.distance - b.distance);
  return ranked.slice(0, limit).map(({ candidate }) => candidate);
}

/** Edits are counted for names up to this length only, because a client may wait while thousands of names are compared. */
const MAX_LENGTH = 64;
/** Names that differ by more edits are not similar. */
const MAX_EDITS = 8;

/** The number of edits between two names; for a name that is a part of the other, a number above every number of edits;
 *  undefined: not similar. */
function distanceOf(wanted: string, candidate: string): number | undefined {
  const [short, long] = wanted.length < candidate.length ? [wanted, candidate] : [candidate, wanted];
  const allowed = Math.min(MAX_EDITS, Math.max(1, Math.floor(long.length / 3)));
  if (long.length <= MAX_LENGTH && long.length - short.length <= allowed) {
    const edits = editDistance(wanted, candidate, allowed);
    if (edits <= allowed) return edits;
  }
  if (wanted === candidate) return 0;
  // A part of a name ranks after every misspelling, the longer part first: `sonnet` finds `claude-sonnet-5`.
  return short.length >= 3 && long.includes(short) ? 1000 - short.length / long.length : undefined;
}

/** Three rows of the table, reused by every call. */
const rows = [0, 1, 2].map(() => new Uint8Array(MAX_LENGTH + 1));

/** The number of insertions, deletions, replacements and swaps of neighbours; `limit + 1` if it is above `limit`. Neither text
 *  is longer than MAX_LENGTH. */
function editDistance(a: string, b: string, limit: number): number {
  const beyond = limit + 1;
  let [beforeLast, last, row] = rows as [Uint8Array, Uint8Array, Uint8Array];
  for (let j = 0; j <= b.length; j++) last[j] = Math.min(j, beyond);
  for (let i = 1; i <= a.length; i++) {
    // Cells outside this band need more than `limit` edits.
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
