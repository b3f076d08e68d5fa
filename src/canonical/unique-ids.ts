// Results are told apart by the ids of their calls, and some models count theirs anew, or twice within one answer.

/** The first use of an id keeps it; others get `_2`, `_3` … by occurrence. */
export function createUniqueIds(): (id: string) => string {
  const used = new Set<string>();
  const counts = new Map<string, number>();
  return (asked) => {
    let id = asked;
    let count = counts.get(asked) ?? 1;
    while (used.has(id)) id = `${asked}_${++count}`;
    counts.set(asked, count);
    used.add(id);
    return id;
  };
}
