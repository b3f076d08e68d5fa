// A text of which single lines belong to different writers, such as headers in a variable: ours is added to the user's, and goes alone.

const linesOf = (text: string): string[] => text.split(/\r?\n/);

export const hasLine = (text: string, line: string): boolean => linesOf(text).includes(line);

/** Once, behind the others. */
export function withLine(text: string, line: string): string {
  if (hasLine(text, line)) return text;
  return text === '' || text.endsWith('\n') ? text + line : `${text}\n${line}`;
}

export const withoutLine = (text: string, line: string): string =>
  linesOf(text)
    .filter((own) => own !== line)
    .join('\n');
