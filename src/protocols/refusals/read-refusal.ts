// Reads what a provider refused out of its error: the members, values and rules that the words name, and nothing else. What says
// nothing of that kind (a policy, a quota, an overflow, a mistake of the client) is an empty list.
import type { Refusal } from './refusal.ts';
import { textsOf, type Said } from './texts.ts';
import { WORDINGS } from './wordings.data.ts';

/** Servers that name all that they refuse name a handful. */
const MOST = 8;
/** Words are looked for in this many characters of a line. */
const LONGEST_LINE = 600;
const MOST_LINES = 20;
/** Words of refusals that no other form of the request avoids. */
const FINAL =
  /safety|moderation|content.?policy|content_filter|usage polic|quota|billing|credit balance|api key|context length|context window|prompt is too long|too many tokens/i;

/**
 * `isEcho`: whether words stand in the request itself, so that they may be its client's: then the whole error says nothing. It is asked
 * a handful of times.
 */
export function readRefusal(
  body: string,
  isEcho: (words: string) => boolean = () => false,
): readonly Refusal[] {
  const found = new Map<string, Refusal>();
  for (const said of textsOf(body)) {
    for (const { words, refusals } of readText(said)) {
      for (const refusal of refusals) {
        const key = JSON.stringify(refusal);
        if (found.has(key)) continue;
        if (found.size === MOST) return [...found.values()];
        if (isEcho(words)) return [];
        found.set(key, refusal);
      }
    }
  }
  return [...found.values()];
}

interface Reading {
  /** The text that the refusals were read from. */
  words: string;
  refusals: readonly Refusal[];
}

function readText({ text, path }: Said): readonly Reading[] {
  const whole = text.slice(0, LONGEST_LINE);
  if (FINAL.test(whole)) return [];
  const lines = text.split('\n', MOST_LINES).map((line) => line.slice(0, LONGEST_LINE));
  return (lines.length > 1 ? lines : [whole]).flatMap((line) => readLine(line, path) ?? []);
}

function readLine(line: string, path: string | undefined): Reading | undefined {
  for (const { words, says } of WORDINGS) {
    const match = words.exec(line);
    if (match === null) continue;
    const refusals = says(match, path, line);
    if (refusals.length > 0) return { words: match[0], refusals };
  }
  return undefined;
}
