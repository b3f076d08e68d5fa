// JSON on several lines for people, without reading its values: every number and string stays as it was written.

/** Deeper levels stay on their line. */
const MOST_LEVELS = 24;

/** The text itself if it is no JSON object or array. */
export function indented(text: string): string {
  if (!/^\s*[{[]/.test(text)) return text;
  let result = '';
  let level = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? '';
    if (char === '"') {
      const end = endOfString(text, at);
      result += text.slice(at, end);
      at = end - 1;
    } else if (char === '{' || char === '[') {
      level++;
      const close = closeAfter(text, at);
      if (close > 0) {
        result += char + (text[close] ?? '');
        level--;
        at = close;
      } else result += char + newLine(level);
    } else if (char === '}' || char === ']') {
      level--;
      result += newLine(level, level + 1) + char;
    } else if (char === ',') result += char + (newLine(level) || ' ');
    else if (char === ':') result += ': ';
    else if (!/\s/.test(char)) result += char;
  }
  return `${result}\n`;
}

/** `inside`: the level of the lines above. */
function newLine(level: number, inside = level): string {
  return inside > MOST_LEVELS ? '' : `\n${'  '.repeat(Math.max(level, 0))}`;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

/** The place of the bracket that closes an empty object or array; 0: it is not empty. */
function closeAfter(text: string, open: number): number {
  let at = open + 1;
  while (at < text.length && /\s/.test(text[at] ?? '')) at++;
  return text[at] === '}' || text[at] === ']' ? at : 0;
}
