// How many columns a text takes on a terminal, and its beginning that fits into some.
import stringWidth from 'string-width';

/** One column each, and no part of a longer character: a segmenter, which costs time and memory at its first use, is not needed. */
const PLAIN = /^[ -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2190-\u2193]*$/;

let segmenter: Intl.Segmenter | undefined;

export function displayWidth(text: string): number {
  return PLAIN.test(text) ? text.length : stringWidth(text);
}

/** The text, or its beginning with an ellipsis, in at most `width` columns. */
export function truncate(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let head = '';
  let used = 1;
  segmenter ??= new Intl.Segmenter();
  for (const { segment } of segmenter.segment(text)) {
    used += displayWidth(segment);
    if (used > width) break;
    head += segment;
  }
  return `${head}…`;
}
