// Reads what a provider refused out of its error: the members, values and rules that the words name, and nothing else. What says
// nothing of that kind (a policy, a quota, an overflow, a mistake of the client) is an empty list.
import type { Refusal } from './refusal.ts';
import { textsOf, type Said } from './texts.ts';
import { WORDINGS } from './wordings.data.ts';

/** Servers that name all that they refuse name a handful. */
const MOST = 8;
/** Characters of a line in which words are looked for. */
const LONGEST_LINE = 600;
const MOST_LINES = 20;
/** Words of refusals that no other form of the request avoids. */
const FINAL =
  /safety|moderation|content.?policy|content_filter|usage polic|quota|billing|credit balance|api key|context length|context window|prompt is too long|too many tokens/i;

export function readRefusal(body: string): readonly Refusal[] {
  const found = new Map<string, Refusal>();
  for (const said of textsOf(body)) {
    for (const refusal of readText(said)) {
      if (found.size < MOST) found.set(JSON.stringify(refusal), refusal);
    }
  }
  return [...found.values()];
}

function readText({ text, path }: Said): readonly Refusal[] {
  const whole = text.slice(0, LONGEST_LINE);
  if (FINAL.test(whole)) return [];
  const lines = text.split('\n', MOST_LINES).map((line) => line.slice(0, LONGEST_LINE));
  return (lines.length > 1 ? lines : [whole]).flatMap((line) => readLine(line, path));
}

function readLine(line: string, path: string | undefined): readonly Refusal[] {
  for (const { words, says } of WORDINGS) {
    const match = words.exec(line);
    if (match === null) continue;
    const refusals = says(match, path, line);
    if (refusals.length > 0) return refusals;
  }
  return [];
}
