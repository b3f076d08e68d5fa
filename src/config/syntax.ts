// A file that is not YAML: which of the parser's complaints are worth a line, and in which words.

/** What the parser says: its code, and where in the text. */
export interface SyntaxFault {
  code: string;
  pos: readonly [number, number];
}

/**
 * YAML's own messages repeat the text, which may be a secret: said in our own words. One slip breaks much of what follows,
 * so only the first counts, and every key that is there twice.
 */
export function syntaxFaults(
  errors: readonly SyntaxFault[],
  text: string,
): { offset: number; message: string }[] {
  const first = errors.find(({ code }) => code !== 'DUPLICATE_KEY');
  return errors
    .filter((error) => error === first || error.code === 'DUPLICATE_KEY')
    .map(({ code, pos: [offset] }) => ({
      // The place of a key without a value is given as the end of the line before.
      offset: code === 'DUPLICATE_KEY' ? offset + (/^\s*/.exec(text.slice(offset))?.[0].length ?? 0) : offset,
      message: `is not valid YAML: ${YAML_FAULTS[code] ?? 'check quotes, brackets and indentation here'}`,
    }));
}

const YAML_FAULTS: Readonly<Record<string, string>> = {
  BAD_INDENT: 'the indentation is off, or a bracket is not closed; align with spaces, close it',
  TAB_AS_INDENT: 'a tab indents; use spaces',
  DUPLICATE_KEY: 'this key is there twice; keep one',
  MISSING_CHAR: 'a quote, bracket, colon or space is missing; add it',
  MULTILINE_IMPLICIT_KEY: 'a key runs over several lines; is a colon missing?',
  BLOCK_AS_IMPLICIT_KEY: 'two mappings are on one line; quote the text, or break the line',
  BAD_ALIAS: 'a text that begins with * or & needs quotes; add them',
  MULTIPLE_DOCS: 'the file holds several documents (---); keep one',
  BAD_DQ_ESCAPE: 'an escape in double quotes is unknown; use single quotes',
  UNEXPECTED_TOKEN: 'something here is too much; check quotes, brackets and indentation',
};
