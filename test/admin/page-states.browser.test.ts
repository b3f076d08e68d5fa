// Every state of the page in a browser: axe finds nothing in light and in dark or forced colours, a screen reader has a name for each control,
// and at 400 % of a small screen nothing is out of reach.
import type { CDPSession, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { axeFaults, watchedPage } from './page-checks.ts';
import { leave, openScene, STATES } from './page-states.ts';
import { browserOfFile, chrome } from './page-support.ts';

const WHOLE = { width: 1280, height: 800 };
/** 1,280 by 1,024 at 400 %. */
const ZOOMED = { width: 320, height: 256 };

const CONTROLS = new Set(
  'button,link,textbox,searchbox,combobox,checkbox,radio,spinbutton,option,menuitem,DisclosureTriangle,Date,image,img,dialog,table'.split(
    ',',
  ),
);

describe.skipIf(chrome === undefined)('every state of the page', { timeout: 900_000 }, () => {
  const { newContext } = browserOfFile();

  it('is accessible in all colours, has names for its controls, and fits at 400 %', async () => {
    // The states have refusals among them, which the browser itself reports.
    const page = await watchedPage(await newContext(), /40[014]|503/);
    const scene = await openScene(page);
    const devtools = await page.context().newCDPSession(page);
    const faults: string[] = [];
    for (const [at, [name, open]] of Object.entries(STATES).entries()) {
      await page.setViewportSize(WHOLE);
      await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none' });
      await open(page, scene).catch((error: unknown) => faults.push(`${name}: ${String(error)}`));
      faults.push(...(await axeFaults(page, name)), ...(await nameless(devtools, name)));
      faults.push(...(await twins(page, name)));
      // In turn: contrasts are most of the time of axe.
      await page.emulateMedia(at % 2 === 0 ? { colorScheme: 'dark' } : { forcedColors: 'active' });
      faults.push(...(await axeFaults(page, `${name}, other colours`, ['color-contrast'])));
      await page.setViewportSize(ZOOMED);
      faults.push(...(await axeFaults(page, `${name}, 400 %`, ['scrollable-region-focusable'])));
      // An open menu follows in the next frame.
      await expect.poll(() => outOfReach(page, name)).toEqual([]);
      await leave(page);
    }
    expect(faults).toEqual([]);
  });
});

/** Controls without a name in the tree that screen readers get. */
async function nameless(devtools: CDPSession, what: string): Promise<string[]> {
  const { nodes } = await devtools.send('Accessibility.getFullAXTree');
  const texts = nodes
    .filter(({ ignored, role }) => !ignored && CONTROLS.has(String(role?.value)))
    .map(({ role, name }) => ({ role: String(role?.value), name: String(name?.value ?? '').trim() }));
  expect([what, texts.length > 2]).toEqual([what, true]);
  return texts.filter(({ name }) => name === '').map(({ role }) => `${what}: a ${role} has no name`);
}

/** Links of one row that have the same name and lead to different places, and ids that are there twice. */
const twins = (page: Page, what: string): Promise<string[]> =>
  page.evaluate((state) => {
    const faults: string[] = [];
    for (const row of document.querySelectorAll('tr')) {
      const seen = new Map<string, string | null>();
      for (const link of row.querySelectorAll('a[href]')) {
        const name = (link.getAttribute('aria-label') ?? link.textContent).trim();
        const href = link.getAttribute('href');
        if (seen.has(name) && seen.get(name) !== href) faults.push(`${state}: two links of a row: ${name}`);
        seen.set(name, href);
      }
    }
    const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
    for (const id of ids.filter((one, at) => ids.indexOf(one) !== at)) faults.push(`${state}: two #${id}`);
    return faults;
  }, what);

/** What of the page, an open dialog or an open menu nobody can scroll to, and what covers the rest. */
const outOfReach = (page: Page, what: string): Promise<string[]> =>
  page.evaluate((state) => {
    const { scrollWidth, clientWidth } = document.documentElement;
    const faults = scrollWidth > clientWidth ? [`${state}: ${scrollWidth} pixels wide`] : [];
    for (const box of document.querySelectorAll('dialog[open], .menu:popover-open')) {
      const { left, right, top, bottom } = box.getBoundingClientRect();
      const isWithin = left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
      const scrolls = getComputedStyle(box).overflowY === 'auto';
      if (!isWithin || !scrolls || box.scrollWidth > box.clientWidth)
        faults.push(`${state}: ${box.className || 'dialog'} ${[left, top, right, bottom].join()} ${scrolls}`);
    }
    for (const element of document.querySelectorAll('body *')) {
      const { position } = getComputedStyle(element);
      if (['fixed', 'sticky'].includes(position) && !element.matches('dialog, .menu'))
        faults.push(`${state}: ${element.tagName} is ${position}`);
    }
    return faults;
  }, what);
