// Claude Code's attribution, a line at the beginning of its system text: it changes with every call, which would spoil another
// provider's prompt cache, and is nobody's business but its own provider's.
const HEADER = 'x-anthropic-billing-header';

/** The text without that line: some clients join it with their prompt. */
export function withoutAttribution(text: string): string {
  if (!text.startsWith(HEADER)) return text;
  const end = text.indexOf('\n');
  return end < 0 ? '' : text.slice(end + 1);
}
