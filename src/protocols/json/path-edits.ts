// Changes members of a JSON body by their paths, in its bytes: all other bytes stay.
import { cutsOf, itemsAt, JsonSource, splice, type Edit, type Member } from './splice.ts';

/** What happens to the member or element at a path. */
export type PathEdit = { path: readonly (string | number)[] } & (
  | { does: 'remove' }
  /** In place of its value; a member that is not there is added, in new objects where those around it are missing or null. */
  | { does: 'set'; text: string }
  | { does: 'rename'; to: string }
  /** A further element: before those of the list, after them, or before the element at the path. */
  | { does: 'prepend' | 'append' | 'before'; text: string }
);

/** The edits of one value, and of those below it by name or index. A value may be set and its member renamed. */
interface Branch {
  edits: PathEdit[];
  children: Map<string, Branch>;
}

const newBranch = (): Branch => ({ edits: [], children: new Map() });

/** Of two edits of one kind at one path the later counts. What is edited below a value that is set is edited in that. */
export function editPaths(bytes: Buffer, edits: readonly PathEdit[]): Buffer {
  const root = newBranch();
  for (const edit of edits) {
    let branch = root;
    for (const step of edit.path) {
      let child = branch.children.get(String(step));
      if (child === undefined) branch.children.set(String(step), (child = newBranch()));
      branch = child;
    }
    const same = branch.edits.findIndex(({ does }) => does === edit.does);
    if (same === -1) branch.edits.push(edit);
    else branch.edits[same] = edit;
  }
  return applied(bytes, root);
}

function applied(bytes: Buffer, branch: Branch): Buffer {
  const found: Edit[] = [];
  collect(new JsonSource(bytes), branch, firstByte(bytes), found);
  return found.length === 0 ? bytes : splice(bytes, found);
}

function firstByte(bytes: Buffer): number {
  let at = 0;
  while ((bytes[at] ?? 0x21) <= 0x20) at++;
  return at;
}

const OPEN_OBJECT = 0x7b;

const NULL = 0x6e;

function collect(source: JsonSource, branch: Branch, at: number, found: Edit[]): void {
  const { bytes } = source;
  const items = itemsAt(source, at);
  const named = bytes[at] === OPEN_OBJECT;
  const gone: number[] = [];
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    const child = branch.children.get(item.name);
    if (child === undefined) continue;
    if (named) seen.add(item.name);
    if (child.edits.some(({ does }) => does === 'remove')) {
      gone.push(index);
      continue;
    }
    for (const edit of child.edits) {
      if (edit.does !== 'set') found.push(editOf(edit, item, source));
    }
    const text = bytes[item.start] === NULL || isSet(child) ? created(child) : undefined;
    if (text !== undefined) found.push({ start: item.start, end: item.end, text });
    else if (child.children.size > 0) collect(source, child, item.start, found);
  }
  for (const span of cuts(items, gone, named)) found.push({ ...span, text: '' });
  if (!named) return;
  const added: string[] = [];
  for (const [name, child] of branch.children) {
    const text = seen.has(name) ? undefined : created(child);
    if (text !== undefined) added.push(`${JSON.stringify(name)}:${text}`);
  }
  if (added.length === 0) return;
  const start = items.at(-1)?.end ?? at + 1;
  found.push({ start, end: start, text: (items.length > gone.length ? ',' : '') + added.join(',') });
}

const isSet = ({ edits }: Branch): boolean => edits.some(({ does }) => does === 'set');

/** The value to set at a missing place; undefined: nothing is set there or below. */
function created({ edits, children }: Branch): string | undefined {
  for (const edit of edits) {
    if (edit.does !== 'set') continue;
    return children.size === 0
      ? edit.text
      : applied(Buffer.from(edit.text), { edits: [], children }).toString();
  }
  const members = [...children].flatMap(([name, child]) => {
    const text = created(child);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
  });
  return members.length === 0 ? undefined : `{${members.join(',')}}`;
}

function editOf(
  edit: Exclude<PathEdit, { does: 'set' }>,
  { nameStart, start, end }: Member,
  source: JsonSource,
): Edit {
  switch (edit.does) {
    case 'before':
      return { start, end: start, text: `${edit.text},` };
    case 'append': {
      const last = itemsAt(source, start).at(-1);
      const place = last?.end ?? start + 1;
      return { start: place, end: place, text: last === undefined ? edit.text : `,${edit.text}` };
    }
    case 'rename':
      return { start: nameStart, end: start, text: `${JSON.stringify(edit.to)}:` };
    case 'prepend': {
      const text = itemsAt(source, start).length === 0 ? edit.text : `${edit.text},`;
      return { start: start + 1, end: start + 1, text };
    }
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
