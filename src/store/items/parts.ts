// A large text as several rows of bounded size: a row is written, encrypted and read in one step, and no other request is served
// meanwhile.

/** Characters of a row. */
const PART_LENGTH = 256 * 1024;
/** The first character of a row that names others; JSON, which all texts are, never begins with it. */
const MARK = '\0';

interface ItemPart {
  id: string;
  text: string;
}

/** What stands under the item's own id comes last: it is found when all of it is there. `version`: of this text. */
export function* partsOf({ id, text }: ItemPart, version: string): Generator<ItemPart> {
  if (text.length <= PART_LENGTH) {
    yield { id, text };
    return;
  }
  let count = 0;
  for (let from = 0; from < text.length; count++) {
    const to = partEnd(text, from + PART_LENGTH);
    yield { id: partId(id, version, count), text: text.slice(from, to) };
    from = to;
  }
  yield { id, text: `${MARK}${count} ${version}` };
}

/** The ids of the rows that hold the text; undefined: `text` is all of it. */
export function partIdsOf({ id, text }: ItemPart): string[] | undefined {
  if (!text.startsWith(MARK)) return undefined;
  const [count = '', version = ''] = text.slice(MARK.length).split(' ');
  return Array.from({ length: Number(count) }, (_, index) => partId(id, version, index));
}

/** No other item has such an id: those begin with their kind. */
function partId(id: string, version: string, index: number): string {
  return `part ${version}.${index} ${id}`;
}

/** Half a surrogate pair has no UTF-8. */
function partEnd(text: string, end: number): number {
  const code = text.charCodeAt(end);
  return code >= 0xdc00 && code <= 0xdfff ? end - 1 : end;
}
