// The difference of two texts, for people: the changed lines with two around them.

export interface DiffLine {
  kind: '+' | '-' | ' ' | '…';
  text: string;
}

const AROUND = 2;
/** Beyond, a changed part counts as replaced whole. */
const MAX_CELLS = 4_000_000;

export function diffLines(before: string, after: string): DiffLine[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end))
    end += 1;
  const all: DiffLine[] = [
    ...old.slice(0, start).map(same),
    ...changed(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...old.slice(old.length - end).map(same),
  ];
  return withContext(all);
}

const same = (text: string): DiffLine => ({ kind: ' ', text });

const linesOf = (text: string): string[] => {
  const lines = text.split(/\r?\n/);
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
};

/** The longest common subsequence stays. */
function changed(old: readonly string[], now: readonly string[]): DiffLine[] {
  const out = (lines: readonly string[], kind: '+' | '-'): DiffLine[] =>
    lines.map((text) => ({ kind, text }));
  if (old.length * now.length > MAX_CELLS) return [...out(old, '-'), ...out(now, '+')];
  const width = now.length + 1;
  const lengths = new Uint32Array((old.length + 1) * width);
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  for (let row = old.length - 1; row >= 0; row -= 1) {
    for (let column = now.length - 1; column >= 0; column -= 1) {
      const longest =
        old[row] === now[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
      lengths[row * width + column] = longest;
    }
  }
  const result: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < old.length && column < now.length) {
    if (old[row] === now[column]) {
      result.push(same(old[row] ?? ''));
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) result.push({ kind: '-', text: old[row++] ?? '' });
    else result.push({ kind: '+', text: now[column++] ?? '' });
  }
  return [...result, ...out(old.slice(row), '-'), ...out(now.slice(column), '+')];
}

function withContext(lines: readonly DiffLine[]): DiffLine[] {
  const near = lines.map((_, at) =>
    lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some(({ kind }) => kind !== ' '),
  );
  const result: DiffLine[] = [];
  for (const [at, line] of lines.entries()) {
    if (near[at]) result.push(line);
    else if (result.at(-1)?.kind !== '…') result.push({ kind: '…', text: '' });
  }
  return result.length === 1 && result[0]?.kind === '…' ? [] : result;
}
