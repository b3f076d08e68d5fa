// Changes members of a JSON body by their paths, in its bytes: all other bytes stay.
import { rangesOf, cutsOf, splice, type Edit, type Member } from './splice.ts';

/** What happens to the member or element at a path. */
export type PathEdit = { path: readonly (string | number)[] } & (
  | { does: 'remove' }
  /** In place of its value; a member that is not there is added. */
  | { does: 'set'; text: string }
  | { does: 'rename'; to: string }
  /** A further element, before those of the list. */
  | { does: 'prepend'; text: string }
);

/** The edits of one value, and of those below it by name or index. A value may be set and its member renamed. */
interface Branch {
  edits: PathEdit[];
  children: Map<string, Branch>;
}

const newBranch = (): Branch => ({ edits: [], children: new Map() });

export function editPaths(bytes: Buffer, edits: readonly PathEdit[]): Buffer {
  const root = newBranch();
  for (const edit of edits) {
    let branch = root;
    for (const step of edit.path) {
      let child = branch.children.get(String(step));
      if (child === undefined) branch.children.set(String(step), (child = newBranch()));
      branch = child;
    }
    branch.edits = [...branch.edits.filter(({ does }) => does !== edit.does), edit];
  }
  const found: Edit[] = [];
  collect(bytes, root, { start: firstByte(bytes), end: bytes.length }, found);
  return found.length === 0 ? bytes : splice(bytes, found);
}

function firstByte(bytes: Buffer): number {
  let at = 0;
  while ((bytes[at] ?? 0x21) <= 0x20) at++;
  return at;
}

const OPEN_OBJECT = 0x7b;

function collect(bytes: Buffer, branch: Branch, at: { start: number; end: number }, found: Edit[]): void {
  const items = rangesOf(bytes, at.start, at.end);
  const gone: number[] = [];
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    const child = branch.children.get(item.name);
    if (child === undefined) continue;
    seen.add(item.name);
    const { edits } = child;
    if (edits.some(({ does }) => does === 'remove')) gone.push(index);
    else {
      for (const edit of edits) found.push(editOf(edit, item, bytes));
      if (!edits.some(({ does }) => does === 'set')) collect(bytes, child, item, found);
    }
  }
  for (const span of cuts(items, gone, bytes[at.start] === OPEN_OBJECT)) found.push({ ...span, text: '' });
  const added = [...branch.children].flatMap(([name, { edits }]) =>
    seen.has(name)
      ? []
      : edits.flatMap((edit) => (edit.does === 'set' ? [`${JSON.stringify(name)}:${edit.text}`] : [])),
  );
  if (added.length === 0 || bytes[at.start] !== OPEN_OBJECT) return;
  const start = items.at(-1)?.end ?? at.start + 1;
  found.push({ start, end: start, text: (items.length > gone.length ? ',' : '') + added.join(',') });
}

function editOf(edit: PathEdit, item: Member, bytes: Buffer): Edit {
  const { nameStart, start, end } = item;
  switch (edit.does) {
    case 'set':
      return { start, end, text: edit.text };
    case 'rename':
      return { start: nameStart, end: start, text: `${JSON.stringify(edit.to)}:` };
    case 'prepend':
      return {
        start: start + 1,
        end: start + 1,
        text: rangesOf(bytes, start, end).length === 0 ? edit.text : `${edit.text},`,
      };
    case 'remove':
      return { start, end, text: '' };
  }
}

/** `cutsOf` leaves the last: here all may go. */
function cuts(
  items: readonly Member[],
  gone: readonly number[],
  named: boolean,
): { start: number; end: number }[] {
  const spans = items.map(({ nameStart, start, end }) => ({ start: named ? nameStart : start, end }));
  const [first] = spans;
  const last = spans.at(-1);
  if (gone.length < spans.length || first === undefined || last === undefined) return cutsOf(spans, gone);
  return [{ start: first.start, end: last.end }];
}
