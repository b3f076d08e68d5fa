// Where a JSON value ends within a text, judged by its brackets and strings alone.

const NEXT = /["'\\[\]{}]/g;

/**
 * The index behind the value that begins at `start`; `more` where the text ends before it; undefined where none begins there.
 */
export function endOfJson(text: string, start: number): number | 'more' | undefined {
  if (!/[[{]/.test(text[start] ?? '')) return undefined;
  let depth = 0;
  NEXT.lastIndex = start;
  for (let found = NEXT.exec(text); found !== null; found = NEXT.exec(text)) {
    const [mark] = found;
    if (mark === '{' || mark === '[') depth++;
    else if (mark === '}' || mark === ']') {
      depth--;
      if (depth === 0) return found.index + 1;
    } else if (mark !== '\\') {
      const end = endOfString(text, found.index);
      if (end === undefined) return 'more';
      NEXT.lastIndex = end;
    }
  }
  return 'more';
}

function endOfString(text: string, start: number): number | undefined {
  const quote = text[start];
  const next = quote === '"' ? /["\\]/g : /['\\]/g;
  next.lastIndex = start + 1;
  for (let found = next.exec(text); found !== null; found = next.exec(text)) {
    if (found[0] === quote) return found.index + 1;
    next.lastIndex = found.index + 2;
  }
  return undefined;
}
