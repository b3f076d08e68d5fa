// "Did you mean …?": whoever mistypes a name is told the nearest one that exists. Pure, shared by faults, routing and the command line.

/** The nearest candidate, or undefined where none is near enough to be meant. */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
  return nearestAll(name, candidates, 1)[0];
}

/** Up to `limit` candidates that may have been meant, the nearest first; among equals in the order given. */
export function nearestAll(name: string, candidates: Iterable<string>, limit: number): string[] {
  const wanted = name.toLowerCase();
  const ranked: { candidate: string; distance: number }[] = [];
  for (const candidate of new Set(candidates)) {
    const distance = strangeness(wanted, candidate.toLowerCase());
    if (distance !== undefined) ranked.push({ candidate, distance });
  }
  ranked.sort((a, b) => a.distance - b.distance);
  return ranked.slice(0, limit).map(({ candidate }) => candidate);
}

/** Edits between the two, a little more for a part of the other name; undefined: not alike. */
function strangeness(wanted: string, candidate: string): number | undefined {
  const allowed = Math.max(1, Math.floor(Math.max(wanted.length, candidate.length) / 3));
  const edits = editDistance(wanted, candidate, allowed);
  if (edits <= allowed) return edits;
  const [short, long] = wanted.length < candidate.length ? [wanted, candidate] : [candidate, wanted];
  // A part counts after every misspelling, the longer part first: `sonnet` means `claude-sonnet-5`.
  return short.length >= 3 && long.includes(short) ? 1000 - short.length / long.length : undefined;
}

/** Insertions, deletions, replacements and swaps of neighbours; any number above `limit` once it is certain to be. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, at(beforeLast, j - 2) + 1);
      row.push(best);
    }
    if (Math.min(...row) > limit) return limit + 1;
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? 0;
}
