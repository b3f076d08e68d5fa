// A file that is not YAML: which of the parser's complaints are worth a line, and in which words.

/** What the parser says: its code, and where in the text. */
export interface SyntaxFault {
  code: string;
  pos: readonly [number, number];
}

/** A text in quotes: where its first quote is, and all of it. */
export interface Quoted {
  start: number;
  source: string;
}

/**
 * YAML's own messages repeat the text, which may be a secret: said in our own words. One slip breaks much of what follows,
 * so only the first counts, and every key that is there twice. `quoted`: what is in quotes in the text.
 */
export function syntaxFaults(
  errors: readonly SyntaxFault[],
  text: string,
  quoted: () => readonly Quoted[],
): { offset: number; message: string }[] {
  const first = errors.find(({ code }) => code !== 'DUPLICATE_KEY');
  const faults = errors
    .filter(({ code }) => code === 'DUPLICATE_KEY')
    // The place of a key without a value is given as the end of the line before.
    .map(({ code, pos: [offset] }) => ({
      offset: offset + (/^\s*/.exec(text.slice(offset))?.[0].length ?? 0),
      why: YAML_FAULTS[code],
    }));
  if (first !== undefined) faults.push(causeOf(first, text, quoted()));
  return faults
    .sort((a, b) => a.offset - b.offset)
    .map(({ offset, why }) => ({
      offset,
      message: `is not valid YAML: ${why ?? 'check quotes, brackets and indentation here'}`,
    }));
}

/** The parser notices an open quote where the text ends, or where the next quote closes it. */
function causeOf(
  { code, pos: [offset] }: SyntaxFault,
  text: string,
  quoted: readonly Quoted[],
): { offset: number; why: string | undefined } {
  const open = quoted.find(({ start, source }) => {
    if (start > offset) return false;
    const closed = source.length > 1 && source.endsWith(source.charAt(0));
    const end = start + source.length;
    return !closed || (source.includes('\n') && end <= offset && !text.slice(end, offset).includes('\n'));
  });
  if (open !== undefined)
    return { offset: open.start, why: 'a quote is opened here and not closed; close it' };
  if (text.slice(offset - 1, offset + 1) === '${')
    return { offset, why: '${NAME} within { } or [ ] needs quotes; write "${NAME}"' };
  return { offset, why: YAML_FAULTS[code] };
}

const YAML_FAULTS: Readonly<Record<string, string>> = {
  BAD_INDENT: 'the indentation is off, or a bracket is not closed; align with spaces, close it',
  TAB_AS_INDENT: 'a tab indents; use spaces',
  DUPLICATE_KEY: 'this key is there twice; keep one',
  MISSING_CHAR: 'a bracket, colon or space is missing; add it',
  MULTILINE_IMPLICIT_KEY: 'a key runs over several lines; is a colon missing?',
  BLOCK_AS_IMPLICIT_KEY: 'two mappings are on one line; quote the text, or break the line',
  BAD_ALIAS: 'a text that begins with * or & needs quotes; add them',
  MULTIPLE_DOCS: 'the file holds several documents (---); keep one',
  BAD_DQ_ESCAPE: 'an escape in double quotes is unknown; use single quotes',
  UNEXPECTED_TOKEN: 'something here is too much; check quotes, brackets and indentation',
};
