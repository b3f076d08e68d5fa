// What a person sees at once: nothing overlaps, is cut off or stands one letter a line, and the current view is marked.
import { describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import { arrive, browserOfFile, chrome, go } from './page-support.ts';
import { realisticGateway } from './shots/realistic.ts';

describe.skipIf(chrome === undefined)('looks of the page', { timeout: 240_000 }, () => {
  const { newContext } = browserOfFile();

  it('fits from phones to wide screens, in forced colours too', async () => {
    const running = await realisticGateway({ requests: 2000 });
    const page = await (await newContext({ viewport: { width: 1440, height: 1000 } })).newPage();
    await page.goto(await running.adminLink());
    await arrive(page, 'now');
    await onlyTheCurrentViewIsMarked(page);
    await stepsAreSentences(page);
    await namesStandBesideEachOther(page);
    await edgesAreInLine(page);
    await tablesFit(page);
  });

  async function onlyTheCurrentViewIsMarked(page: Page): Promise<void> {
    const colours = (): Promise<string[]> =>
      page
        .locator('header nav a')
        .evaluateAll((links) => links.map((link) => getComputedStyle(link).borderBottomColor));
    await page.emulateMedia({ forcedColors: 'active' });
    const [current, ...others] = await colours();
    expect(others.filter((colour) => colour === current)).toEqual([]);
    await page.emulateMedia({ forcedColors: 'none' });
  }

  async function stepsAreSentences(page: Page): Promise<void> {
    await go(page, 'connect?tool=codex');
    const heights = await page
      .locator('ol.steps li')
      .evaluateAll((items) => items.map((item) => item.getBoundingClientRect().height));
    expect(heights.length).toBeGreaterThan(0);
    expect(Math.max(...heights)).toBeLessThan(80);
  }

  async function namesStandBesideEachOther(page: Page): Promise<void> {
    await go(page, 'usage?since=30d&by=key');
    const overlaps = await page.locator('.rank-name:has(small)').evaluateAll((names) =>
      names.flatMap((name) => {
        const [first, second] = [...name.children].map((child) => child.getBoundingClientRect());
        const isOver = first !== undefined && second !== undefined && first.right > second.left;
        return isOver ? [name.textContent] : [];
      }),
    );
    expect(overlaps).toEqual([]);
  }

  async function edgesAreInLine(page: Page): Promise<void> {
    await page.setViewportSize({ width: 2560, height: 1000 });
    const left = async (what: string): Promise<number> => (await page.locator(what).boundingBox())?.x ?? -1;
    expect(await left('.brand')).toBe(await left('h1'));
  }

  async function tablesFit(page: Page): Promise<void> {
    await page.setViewportSize({ width: 360, height: 780 });
    for (const view of ['now', 'requests?since=30d', 'conversations?since=30d', 'limits', 'keys', 'models']) {
      await go(page, view);
      const beyond = await page
        .locator('.table-frame')
        .evaluateAll((frames) =>
          frames.flatMap(({ scrollWidth, clientWidth, ariaLabel }) =>
            scrollWidth > clientWidth ? [`${ariaLabel}: ${scrollWidth} of ${clientWidth}`] : [],
          ),
        );
      expect([view, beyond]).toEqual([view, []]);
    }
  }
});
