// No promise loses its test: each stands by its number in the title of a test or a group of this folder.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const PROMISES = 34;
/** `P7: …` or `P12, P14: …` at the start of a title. */
const TITLE = /['"`](P\d+(?:, P\d+)*): /g;

test(`P1 to P${PROMISES} are named by tests`, () => {
  const sources = readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => readFileSync(`${import.meta.dirname}/${name}`, 'utf8'));
  const named = new Set(
    sources.flatMap((text) => [...text.matchAll(TITLE)].flatMap(([, names]) => names?.split(', '))),
  );
  const all = Array.from({ length: PROMISES }, (_, at) => `P${at + 1}`);
  expect(all.filter((name) => !named.has(name))).toEqual([]);
});
