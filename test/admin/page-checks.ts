// What is true of every view in the browser: axe finds nothing, nothing goes beyond the edge, no script fails; and the way in, as the
// owner and as a member.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { BrowserContext, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import type { TestGateway } from '../helpers/gateway.ts';
import { arrive } from './page-support.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Axe {
  run(
    options: object,
  ): Promise<{ violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[] }>;
}

/** What axe finds. `rules`: these alone. */
export async function axeFaults(page: Page, what: string, rules?: readonly string[]): Promise<string[]> {
  // The script comes through the browser's own door: the page's policy allows none from elsewhere.
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe);
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) };
  const { violations } = await page.evaluate(
    async (given) => (globalThis as unknown as { axe: Axe }).axe.run(given),
    options,
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${what}: ${id}: ${html.slice(0, 150)} ${failureSummary ?? ''}`),
  );
}

/** axe finds nothing, and nothing scrolls sideways. */
export async function expectAccessible(page: Page, what: string): Promise<void> {
  expect(await axeFaults(page, what)).toEqual([]);
  const excess = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));
  expect([what, Math.max(0, excess)]).toEqual([what, 0]);
}

/** A new tab; a fault of its scripts or of its policy fails the test. `expected`: answers that the browser itself reports. */
export async function watchedPage(context: BrowserContext, expected = /^$/): Promise<Page> {
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' && !expected.test(message.text())) faults.push(message.text());
  });
  onTestFinished(() => expect(faults).toEqual([]));
  return page;
}

/** The owner, at a view. */
export async function openOwner(
  context: BrowserContext,
  gateway: TestGateway,
  place: string,
  expected?: RegExp,
): Promise<Page> {
  const page = await watchedPage(context, expected);
  await page.goto(await gateway.adminLink());
  await arrive(page, 'now');
  await page.evaluate(`location.hash = ${JSON.stringify(`#/${place}`)}`);
  await arrive(page, place);
  return page;
}
