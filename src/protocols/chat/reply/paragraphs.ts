// Text on two sides of a server tool's block is two paragraphs. Chat has one text for both, in which the last sentence before
// the tool and the first after it would run together.
import type { NativePart } from '../../../canonical/request.ts';

export function separates({ protocol, kind }: NativePart): boolean {
  return protocol === 'messages' && (kind.endsWith('tool_use') || kind.endsWith('tool_result'));
}

function newlines(text: string): number {
  return /^\n{0,2}/.exec(text)?.[0].length ?? 0;
}

/** What makes a blank line between them. `before`: the last two characters at least. */
export function gapBetween(before: string, after: string): string {
  const reversed = [...before.slice(-2)].reverse().join('');
  return '\n'.repeat(Math.max(0, 2 - newlines(reversed) - newlines(after)));
}
