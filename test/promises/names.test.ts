// No promise of docs/promises.md loses its test: each stands by its number in the title of a test or a group.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path/posix';
import { expect, test } from 'vitest';

const TESTS = join(import.meta.dirname, '..');
const DOCUMENT = join(TESTS, '..', 'docs', 'promises.md');
/** `P7: …` or `P12, P14: …` at the start of a title. */
const TITLE = /['"`](P\d+(?:, P\d+)*): /g;

test('every promise is named by a test, and every named one is in the list', () => {
  const promised = [...readFileSync(DOCUMENT, 'utf8').matchAll(/^\| (P\d+) \|/gm)].map(([, name]) => name);
  const named = readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => readFileSync(join(TESTS, name), 'utf8'))
    .flatMap((text) => [...text.matchAll(TITLE)].flatMap(([, names = '']) => names.split(', ')));
  expect(promised.length).toBeGreaterThan(30);
  expect(new Set(named)).toEqual(new Set(promised));
});
