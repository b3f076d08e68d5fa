// The page by keyboard alone, in a browser: no control is out of reach, no key does what nobody wants, and the focus is never lost.
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../helpers/gateway.ts';
import { askForCode } from '../sign-in/support.ts';
import { openOwner, watchedPage } from './page-checks.ts';
import { addHistory, arrive, browserOfFile, chrome, go, PATIENCE } from './page-support.ts';

describe.skipIf(chrome === undefined)('by keyboard alone', { timeout: 120_000 }, () => {
  const { newContext } = browserOfFile();
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await startGateway({
      config: {
        admin: true,
        sign_in: 'on',
        tiers: { small: { requests: '50/hour' }, enterprise: 100_000 },
      },
    });
    await addHistory(gateway.store);
    await gateway.newKey({ account: 'kim', tier: 'small' });
  }, 120_000);
  afterAll(() => gateway.stop());

  const open = async (place: string): Promise<Page> => openOwner(await newContext(), gateway, place);

  /** The name of what has the focus: its label, or its text. */
  const focused = (page: Page): Promise<string> =>
    page.evaluate(() => {
      const element = document.activeElement;
      return (element?.getAttribute('aria-label') ?? element?.textContent ?? '').replace(/\s+/g, ' ').trim();
    });

  async function press(page: Page, control: Locator, key = 'Enter'): Promise<void> {
    await control.focus();
    await page.keyboard.press(key);
  }

  const confirm = async (page: Page, name: string): Promise<void> =>
    press(page, page.getByRole('dialog').getByRole('button', { name, exact: true }));

  const eventually = (page: Page) => expect.poll(() => focused(page), { timeout: PATIENCE });

  describe('the focus stays near where it was', () => {
    it('when a grant is revoked, and its button with it', async () => {
      const page = await open('limits?account=kim');
      await press(page, page.getByRole('button', { name: 'Raise the limits of kim' }));
      await page.getByLabel('How much more').fill('10');
      await page.keyboard.press('Enter');
      await eventually(page).toBe('Raise the limits of kim');
      await press(page, page.getByRole('button', { name: /^Revoke .* of kim$/ }));
      await confirm(page, 'Revoke');
      await page.getByRole('button', { name: /^Revoke .* of kim$/ }).waitFor({ state: 'detached' });
      await eventually(page).toBe('Limits of accounts');
    });

    it('when a sign-in is denied, and its row with it', async () => {
      const { user_code: code } = await askForCode(gateway);
      const page = await open('sign-ins');
      await press(page, page.getByRole('button', { name: `Deny ${code}` }));
      await confirm(page, 'Deny');
      await page.getByRole('button', { name: `Deny ${code}` }).waitFor({ state: 'detached' });
      await eventually(page).toMatch(/^(Sign-ins|Codes that wait, the oldest first)$/);
    });

    it('when a load is tried again, a filter is removed, a page is the last one, and a tier is undone', async () => {
      const page = await openOwner(await newContext(), gateway, 'now', /503/);
      await page.route('**/usage/summary*', (route) => route.fulfill({ status: 503, body: '{}' }), {
        times: 1,
      });
      await page.evaluate(`location.hash = '#/usage?since=7d&by=model'`);
      await press(page, page.getByRole('button', { name: 'Try again' }).first());
      await page.getByRole('button', { name: 'Try again' }).waitFor({ state: 'detached' });
      await eventually(page).toBe('Usage');

      await go(page, 'requests?since=7d&status=403');
      await press(page, page.getByRole('link', { name: 'Remove the filter' }));
      await eventually(page).toBe('Requests');
      await go(page, 'requests?since=7d');
      const older = page.getByRole('link', { name: 'Older' });
      for (let turn = 0; (await older.count()) > 0 && turn < 9; turn += 1) {
        const before = page.url();
        await press(page, older);
        await expect.poll(() => page.url()).not.toBe(before);
        await arrive(page, 'requests');
      }
      await eventually(page).toMatch(/^(Requests|Pages)$/);

      await go(page, 'keys?find=kim');
      await page.getByLabel('Tier of kim').selectOption('enterprise');
      await press(page, page.getByRole('button', { name: 'Save the tier of kim' }));
      await eventually(page).toBe('Tier of kim');
      await press(page, page.getByRole('button', { name: 'Undo' }));
      await page.getByRole('status').filter({ hasText: 'has the tier small now' }).waitFor();
      expect(await focused(page)).not.toBe('');
    });

    it('when a request that is under way ends', async () => {
      const page = await open('now');
      const stop = new AbortController();
      const asked = fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        signal: stop.signal,
        headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'sim/slow',
          stream: true,
          messages: [{ role: 'user', content: 'x'.repeat(4000) }],
        }),
      }).then((answer) => answer.text());
      const table = page.getByRole('table', { name: 'Requests in flight' });
      await table.getByRole('link').first().focus();
      stop.abort();
      await expect(asked).rejects.toThrow();
      await table.waitFor({ state: 'detached' });
      await eventually(page).toBe('Now');
    });

    it('when somebody signs out', async () => {
      const page = await open('models');
      await press(page, page.getByRole('button', { name: 'Sign out' }));
      await page.getByRole('heading', { name: 'Open the dashboard' }).waitFor();
      await eventually(page).toBe('Open the dashboard');
    });

    it('but not when they press beside everything', async () => {
      const page = await open('requests?since=7d');
      await page.getByLabel('Live').focus();
      await page.mouse.click(5, 600);
      await go(page, 'requests?since=7d&status=403');
      expect(await page.evaluate(() => document.activeElement === document.body)).toBe(true);
    });
  });

  it('Shift+Tab goes the way of Tab back, and nothing holds the focus', async () => {
    const page = await watchedPage(await newContext());
    await page.goto(await gateway.adminLink());
    await arrive(page, 'now');
    for (const view of ['now', 'keys?find=kim', 'audit', 'compare']) {
      await go(page, view);
      await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
      await page.getByRole('link', { name: 'Skip to the content' }).focus();
      const there = await walk(page, 'Tab', 40);
      const last = await page.evaluate(place);
      const back = await walk(page, 'Shift+Tab', there.length - (last === undefined ? 0 : 1));
      expect([view, back]).toEqual([view, [...there].reverse().slice(last === undefined ? 0 : 1)]);
    }
  });

  /** Where each press leads, until the end of the page. */
  async function walk(page: Page, key: string, most: number): Promise<number[]> {
    const seen: number[] = [];
    for (let step = 0; step < most; step += 1) {
      await page.keyboard.press(key);
      const at = await page.evaluate(place);
      if (at === undefined || seen.includes(at)) break;
      seen.push(at);
    }
    return seen;
  }

  /** Runs in the page: the number of the element that has the focus; undefined: none has it. */
  function place(): number | undefined {
    const { activeElement: element } = document;
    return element === null || element === document.body
      ? undefined
      : [...document.querySelectorAll('*')].indexOf(element);
  }

  it('the current view leads to its beginning from the menu of views, which closes', async () => {
    const page = await openOwner(
      await newContext({ viewport: { width: 320, height: 256 } }),
      gateway,
      'requests?since=7d&errors=true',
    );
    const button = page.getByRole('button', { name: /^View: / });
    await press(page, button);
    await press(
      page,
      page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Requests', exact: true }),
    );
    await expect.poll(() => page.url()).toMatch(/#\/requests$/);
    await expect.poll(() => button.getAttribute('aria-expanded')).toBe('false');
  });

  it('a menu follows its button when the window becomes small, and each of its items can be reached', async () => {
    const page = await open('keys?find=kim');
    await press(page, page.getByRole('button', { name: 'Actions of the account kim' }));
    await page.setViewportSize({ width: 320, height: 180 });
    const menu = page.locator('.menu');
    for (let step = 0; step < 5; step += 1) await page.keyboard.press('ArrowDown');
    await expect
      .poll(() =>
        menu.evaluate((box) => {
          const item = document.activeElement?.getBoundingClientRect();
          const { top, bottom, right } = box.getBoundingClientRect();
          return [top >= 0, bottom <= innerHeight, right <= innerWidth, (item?.bottom ?? 999) <= innerHeight];
        }),
      )
      .toEqual([true, true, true, true]);
  });

  it('`/` types a stroke in a field, a list and a dialog, and goes to the search elsewhere', async () => {
    const page = await open('requests?since=7d');
    const search = page.getByRole('combobox', { name: 'Search' });
    for (const field of [page.getByLabel('Model'), page.getByLabel('Window')]) {
      await press(page, field, '/');
      expect(await search.evaluate((one) => one === document.activeElement)).toBe(false);
    }
    expect(await page.getByLabel('Model').inputValue()).toBe('/');
    await go(page, 'try');
    await press(page, page.getByLabel('Prompt', { exact: true }), '/');
    expect(await page.getByLabel('Prompt', { exact: true }).inputValue()).toBe('/');
    await press(page, page.getByRole('button', { name: 'Stop' }), '/');
    expect(await search.evaluate((one) => one === document.activeElement)).toBe(true);
    expect(await search.inputValue()).toBe('');
  });

  it('what is live says nothing by itself to a screen reader', async () => {
    const page = await open('now');
    await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
    for (const place of ['now', 'requests?since=7d&live=true']) {
      await go(page, place);
      await page.evaluate(() => {
        const said: string[] = [];
        Object.assign(globalThis, { said });
        new MutationObserver((records) => {
          for (const { target } of records) {
            const element = target instanceof Element ? target : target.parentElement;
            if (element?.closest('[role=status], [role=alert], [aria-live]')) said.push(element.textContent);
          }
        }).observe(document.body, { subtree: true, childList: true, characterData: true });
      });
      const before = page.locator('main');
      for (let turn = 0; turn < 3; turn += 1) {
        const text = await before.innerText();
        await fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'sim/echo', messages: [{ role: 'user', content: 'x' }] }),
        });
        await expect.poll(() => before.innerText(), { timeout: PATIENCE }).not.toBe(text);
      }
      expect(await page.evaluate(() => (globalThis as unknown as { said: string[] }).said)).toEqual([]);
    }
  });
});
