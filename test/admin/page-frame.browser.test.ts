// The frame of the page in a real browser: how it is opened, what stays of a place, what is seen while something loads, and small screens.
import { spawn } from 'node:child_process';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { startGateway, type TestGateway } from '../helpers/gateway.ts';
import { addHistory, arrive, browserOfFile, chrome, go, HEADINGS } from './page-support.ts';

describe.skipIf(chrome === undefined)('the frame of the page', { timeout: 120_000 }, () => {
  const { newContext } = browserOfFile();
  let gateway: TestGateway;
  /** Milliseconds by which the gateway's clock is ahead. */
  let ahead = 0;

  beforeAll(async () => {
    gateway = await startGateway({
      clock: { ...systemClock, monotonic: () => systemClock.monotonic() + ahead },
      config: { admin: true, providers: { sim: {} } },
    });
    await addHistory(gateway.store);
  }, 120_000);
  afterAll(() => gateway.stop());

  async function signIn(place = 'now', options = {}): Promise<Page> {
    const page = await (await newContext(options)).newPage();
    await page.goto(await gateway.adminLink());
    await arrive(page, 'now');
    if (place !== 'now') await go(page, place);
    return page;
  }

  describe('an address for the browser', () => {
    it('opens the page once, within a minute, and leaves no code behind', async () => {
      const page = await (await newContext()).newPage();
      const asked: { url: string; referer: string | undefined }[] = [];
      page.on('request', (request) =>
        asked.push({ url: request.url(), referer: request.headers()['referer'] }),
      );
      const address = await gateway.adminLink('open_url');
      expect(address).toMatch(/\/admin\/open\/\w{22}$/);
      const answer = await fetch(address, { redirect: 'manual' });
      expect([
        answer.status,
        answer.headers.get('referrer-policy'),
        answer.headers.get('cache-control'),
      ]).toEqual([303, 'no-referrer', 'no-store']);
      const location = answer.headers.get('location') ?? '';
      expect(location).toMatch(/^\/admin\/#link=sk-gwl-\w{43}$/);

      const second = await gateway.adminLink('open_url');
      await page.goto(second);
      await arrive(page, 'now');
      expect(page.url()).toBe(`${gateway.url}/admin/`);
      const ticket = second.split('/').at(-1) ?? '';
      expect(asked.filter(({ referer }) => referer?.includes('open') === true)).toEqual([]);
      expect(asked.filter(({ url }) => url.includes(ticket))).toHaveLength(1);

      const expired = await gateway.adminLink('open_url');
      ahead += 61_000;
      const stranger = await (await newContext()).newPage();
      for (const wrong of [address, second, expired, `${gateway.url}/admin/open/guessed`]) {
        await stranger.goto('about:blank');
        await stranger.goto(wrong);
        await stranger.getByRole('alert').filter({ hasText: 'The link is not valid' }).waitFor();
        expect(await stranger.title()).not.toBe('Now – Gateway');
      }
      expect(gateway.log()).not.toContain(ticket);
      expect(gateway.log()).not.toContain(location.split('=')[1]);
    });

    it.skipIf(process.platform !== 'linux' || process.getuid?.() !== 0)(
      'is refused to another user of the machine, and used up by the attempt',
      async () => {
        const address = await gateway.adminLink('open_url');
        const script = `fetch(${JSON.stringify(address)}, { redirect: 'manual' }).then(async (r) => console.log(r.status, r.headers.get('location')))`;
        const other = spawn(process.execPath, ['-e', script], { uid: 65_534, gid: 65_534, cwd: '/' });
        let said = '';
        other.stdout.on('data', (text: Buffer) => (said += text.toString()));
        await new Promise((resolve) => other.once('close', resolve));
        expect(said.trim()).toBe('403 null');
        const answer = await fetch(address, { redirect: 'manual' });
        expect(answer.headers.get('location')).toBe('/admin/#link=used');
      },
    );

    it('is not used up by HEAD, by a page of another site, or by a browser that fetches ahead', async () => {
      const address = await gateway.adminLink('open_url');
      expect((await fetch(address, { method: 'HEAD', redirect: 'manual' })).status).toBe(405);
      const foreign = {
        'sec-fetch-site': 'cross-site',
        'sec-fetch-mode': 'no-cors',
        'sec-fetch-dest': 'image',
      };
      expect((await fetch(address, { redirect: 'manual', headers: foreign })).status).toBe(403);
      for (const purpose of ['prefetch', 'prefetch;prerender']) {
        const ahead = { 'sec-purpose': purpose, 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' };
        expect((await fetch(address, { redirect: 'manual', headers: ahead })).status).toBe(503);
      }
      expect((await fetch(address, { redirect: 'manual' })).status).toBe(303);
    });
  });

  it('a used link beside a session that lives opens the page; a new link keeps the place', async () => {
    const page = await (await newContext()).newPage();
    const link = await gateway.adminLink();
    await page.goto(link);
    await arrive(page, 'now');
    const tab = await page.context().newPage();
    await tab.goto(link);
    await arrive(tab, 'now');
    expect(tab.url()).not.toContain('link=');

    await go(tab, 'usage?since=7d&by=model');
    await tab.goto(await gateway.adminLink());
    await expect.poll(() => tab.url()).toContain('#/usage?since=7d&by=model');
    await arrive(tab, 'usage');
    // A change needs the value of the new session.
    await tab.goto(link);
    await expect.poll(() => tab.url()).toContain('#/usage?since=7d&by=model');
    await arrive(tab, 'usage');
    await tab.getByRole('button', { name: 'Sign out' }).click();
    await tab.getByRole('heading', { name: 'Open the dashboard' }).waitFor();
    await tab.goto(await gateway.adminLink());
    await arrive(tab, 'usage');
    expect(tab.url()).toContain('#/usage?since=7d&by=model');
  });

  it('keeps window and account from usage to requests and back, and the filters of each', async () => {
    const page = await signIn('usage?since=7d&by=model&account=ada');
    await page.getByRole('link', { name: 'Requests', exact: true }).click();
    await arrive(page, 'requests');
    expect(page.url()).toContain('#/requests?since=7d&account=ada');
    await page.getByLabel('Window').selectOption('30d');
    await page.getByLabel('Model').fill('auto');
    await expect.poll(() => page.url()).toContain('model=auto');
    await page.getByRole('link', { name: 'Usage', exact: true }).click();
    await arrive(page, 'usage');
    await expect.poll(() => placeOf(page)).toEqual({ since: '30d', by: 'model', account: 'ada' });
    await page.getByRole('link', { name: 'Requests', exact: true }).click();
    await expect.poll(() => placeOf(page)).toEqual({ since: '30d', account: 'ada', model: 'auto' });
  });

  const placeOf = (page: Page): Record<string, string> =>
    Object.fromEntries(new URLSearchParams(page.url().split('?')[1]));

  describe('a filter', () => {
    it('acts while somebody types, as one step back', async () => {
      const page = await signIn('requests?since=7d');
      await page.getByLabel('Model').pressSequentially('auto', { delay: 40 });
      await expect.poll(() => placeOf(page)['model']).toBe('auto');
      expect(await page.getByLabel('Model').evaluate((field) => field === document.activeElement)).toBe(true);
      await page.getByLabel('Model').pressSequentially('x');
      await expect.poll(() => placeOf(page)['model']).toBe('autox');
      await page.goBack();
      await expect.poll(() => placeOf(page)).toEqual({ since: '7d' });
      await expect.poll(() => page.getByLabel('Model').inputValue()).toBe('');
    });

    it('with text that was not sent does not undo Back', async () => {
      const page = await signIn('requests?since=7d');
      await page.getByLabel('Only errors').check();
      await expect.poll(() => placeOf(page)['errors']).toBe('true');
      await page.getByLabel('Model').focus();
      await page.keyboard.insertText('unsent');
      await page.evaluate(() => history.back());
      await expect.poll(() => placeOf(page)['errors']).toBeUndefined();
      // Longer than a filter waits for more text.
      await page.waitForTimeout(400);
      expect(placeOf(page)).toEqual({ since: '7d' });
      expect(await page.getByLabel('Model').inputValue()).toBe('');
    });
  });

  describe('while the figures of a new filter are on their way', () => {
    it('the old ones are dimmed and busy at once, with a line of progress', async () => {
      const page = await signIn('usage?since=7d&by=model');
      const held: (() => void)[] = [];
      await page.route('**/usage/summary?*account=ada*', async (route) => {
        await new Promise<void>((resolve) => held.push(resolve));
        await route.continue();
      });
      const place = page
        .locator('.loaded')
        .filter({ has: page.getByRole('table', { name: /Usage by group/ }) });
      const opacity = (): Promise<string> =>
        page.getByRole('table', { name: /Usage by group/ }).evaluate((table) => {
          let least = 1;
          for (let at: Element | null = table; at !== null; at = at.parentElement)
            least = Math.min(least, Number(getComputedStyle(at).opacity));
          return String(least);
        });
      expect(await opacity()).toBe('1');
      // In the same task as the choice, before anything could arrive.
      const busy = await page.getByLabel('Account', { exact: true }).evaluate(async (select) => {
        (select as HTMLSelectElement).value = 'ada';
        select.dispatchEvent(new Event('change', { bubbles: true }));
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
        return document.querySelectorAll('.loaded[aria-busy="true"]').length;
      });
      expect(busy).toBe(1);
      expect(Number(await opacity())).toBeLessThan(0.6);
      await place.getByRole('progressbar', { name: 'Loading' }).waitFor();
      await expect.poll(() => held.length).toBe(1);
      held[0]?.();
      await arrive(page, 'usage');
      expect(await opacity()).toBe('1');
      expect(await page.getByRole('progressbar').count()).toBe(0);
    });

    it('and nothing of the old ones is there after a failure', async () => {
      const page = await signIn('usage?since=7d&by=model');
      await page.getByRole('table', { name: /Usage by group/ }).waitFor();
      let isBroken = true;
      await page.route('**/usage/summary?*by=account*', (route) =>
        isBroken
          ? route.fulfill({ status: 503, json: { detail: 'the database is away' } })
          : route.continue(),
      );
      await page.getByLabel('By', { exact: true }).selectOption('account');
      await page.getByRole('alert').filter({ hasText: 'The database is away.' }).waitFor();
      expect(await page.getByRole('table').count()).toBe(0);
      expect(await page.locator('.figures, .chart').count()).toBe(0);
      isBroken = false;
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('table', { name: /Usage by group/ }).waitFor();
      // A refresh that fails leaves what belongs to the filter.
      expect(await page.getByRole('alert').count()).toBe(0);
    });
  });

  it('fits into 320 pixels (1,280 at 400 %) in every view, which its button lists', async () => {
    const page = await signIn('now', { viewport: { width: 320, height: 640 } });
    for (const [view, heading] of Object.entries(HEADINGS)) {
      if (view !== 'now') {
        await page.getByRole('button', { name: /^View: / }).click();
        await page
          .getByRole('navigation', { name: 'Views' })
          .getByRole('link', { name: heading, exact: true })
          .click();
        await arrive(page, view);
        expect(await page.getByRole('button', { name: /^View: / }).getAttribute('aria-expanded')).toBe(
          'false',
        );
      }
      const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect([view, Math.max(0, excess)]).toEqual([view, 0]);
    }
    await page.getByRole('button', { name: /^View: / }).click();
    await page.keyboard.press('Escape');
    await expect
      .poll(() => page.getByRole('button', { name: /^View: / }).getAttribute('aria-expanded'))
      .toBe('false');
  });

  it('follows the size of text that the browser is set to', async () => {
    const page = await signIn();
    const size = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).fontSize);
    expect(await size()).toBe('15px');
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('Page.setFontSizes', { fontSizes: { standard: 32, fixed: 26 } });
    await page.reload();
    await arrive(page, 'now');
    expect(await size()).toBe('30px');
  });

  it('cuts a long name in its middle, on one line, and has the whole for readers and as title', async () => {
    const name = 'customer-support-assistant-production-eu-central-1';
    await gateway.newKey({ account: name });
    const page = await signIn('keys', { viewport: { width: 1000, height: 800 } });
    const cell = page.getByRole('table', { name: 'Accounts' }).locator('.cut', { hasText: name }).first();
    expect([await cell.innerText(), await cell.getAttribute('title')]).toEqual([name, name]);
    const { lines, shown } = await cell.evaluate((element) => ({
      lines: element.getBoundingClientRect().height / Number.parseFloat(getComputedStyle(element).fontSize),
      shown: getComputedStyle(element, '::after').content,
    }));
    expect(lines).toBeLessThan(2);
    expect(shown).toContain('ntral-1');
    // Narrower, a letter's width at most is free behind the ellipsis; the tail is moved over it.
    const gaps = new Set<string>();
    for (const width of [1000, 990, 980, 970]) {
      await page.setViewportSize({ width, height: 800 });
      await expect
        .poll(() => cell.evaluate((element) => (element as HTMLElement).style.getPropertyValue('--gap')))
        .toMatch(/px$/);
      gaps.add(await cell.evaluate((element) => getComputedStyle(element, '::after').translate));
    }
    expect(gaps.size).toBeGreaterThan(1);
  });
});
