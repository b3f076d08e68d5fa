// Whether a view of the page is accessible, and whether it fits: nothing scrolls sideways but tables within their frames.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Axe {
  run(options: object): Promise<{
    violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[];
  }>;
}

export async function expectAccessible(page: Page, view: string): Promise<void> {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(async () =>
    (globalThis as unknown as { axe: Axe }).axe.run({ resultTypes: ['violations'] }),
  );
  const found = violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${view}: ${id}: ${html.slice(0, 150)} ${failureSummary ?? ''}`),
  );
  expect(found).toEqual([]);
  const over = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  expect([view, over]).toEqual([view, 0]);
}
