// The page in a browser where something is unusual: the gateway restarts, there is no data, names are hostile, the reader's language
// is another, a second tab, more events than anybody can read.
import type { BrowserContext, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { ask } from '../helpers/ask.ts';
import { gateway as started, type TestGateway } from '../helpers/gateway.ts';
import { freePort } from '../helpers/postgres.ts';
import { addHistory, browserOfFile, chrome, go, HEADINGS } from './page-support.ts';

describe.skipIf(chrome === undefined)('the page', { timeout: 120_000 }, () => {
  const { newContext } = browserOfFile();

  async function signIn(gateway: TestGateway, context: BrowserContext): Promise<Page> {
    const page = await context.newPage();
    await page.goto(await gateway.adminLink());
    await page.getByRole('heading', { level: 1, name: 'Now' }).waitFor();
    return page;
  }

  it('says that the gateway is away, and after its restart how to come back', async () => {
    const config = { admin: true, listen: { hosts: ['127.0.0.1'], port: await freePort() } };
    const first = await started({ config });
    const page = await signIn(first, await newContext());
    await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
    await first.stop();
    await page.getByRole('status').filter({ hasText: 'No connection' }).waitFor();
    const second = await started({ config });
    expect(second.url).toBe(first.url);
    await page.getByRole('heading', { name: 'Open the dashboard' }).waitFor();
    expect(await page.locator('main').innerText()).toContain(
      'After a restart of the gateway, open a new link.',
    );
    await page.goto(await second.adminLink());
    await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
  });

  it('is live in a second tab of the same session, and after a reload', async () => {
    const running = await started({ config: { admin: true } });
    const context = await newContext();
    const first = await signIn(running, context);
    const second = await context.newPage();
    await second.goto(`${running.url}/admin/#/now`);
    await second.reload();
    for (const page of [first, second]) {
      await page.bringToFront();
      await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
      await ask(running, { model: 'sim/echo' });
      await page.getByRole('table', { name: 'Requests that ended just now' }).waitFor();
    }
  });

  it('says the next step where there is no data', async () => {
    const running = await started({ config: { admin: true, providers: { sim: {} } } });
    await running.store.removeAccount('test');
    const page = await signIn(running, await newContext());
    const empty = page.locator('.empty');
    for (const view of ['now', 'usage', 'requests', 'keys']) {
      await go(page, view);
      await empty.first().waitFor();
      // What is missing, and what to do about it.
      for (const one of await empty.all()) expect([view, await one.locator('p').count()]).toEqual([view, 2]);
      // Sentences and links do not run into each other.
      for (const text of await empty.allInnerTexts()) expect(text).not.toMatch(/\w[.,:;]\w/);
      expect([view, await page.locator('.plot canvas').count()]).toEqual([view, view === 'now' ? 1 : 0]);
    }
    await go(page, 'requests?errors=true');
    expect(await empty.innerText()).toContain('Remove the filter');
  });

  it('writes numbers as the reader does', async () => {
    const running = await started({ config: { admin: true } });
    await addHistory(running.store);
    const page = await signIn(running, await newContext({ locale: 'de-DE' }));
    await go(page, 'usage?since=7d&by=model');
    const table = page.getByRole('table', { name: /Usage by group/ });
    await table.waitFor();
    const text = await table.innerText();
    expect(text).toMatch(/\d\.\d{3}/);
    expect(text).toMatch(/\d,\d+\s\$/);
    expect(text).not.toMatch(/\d,\d{3}(?!\d)(?!\s?\$)/);
  });

  const HOSTILE = [
    '<script>document.title=`owned`</script>',
    '<img src=x onerror="document.title=`owned`">',
    '\u202Egnp.exe\u202E' + 'אבגדה '.repeat(20).trim(),
    'W'.repeat(100),
    "javascript:document.title='owned'",
  ];

  it('draws hostile names as text, in their own place, at 360 pixels too', async () => {
    const running = await started({
      config: {
        admin: true,
        providers: { sim: {} },
        routes: { [HOSTILE[0] ?? '']: ['sim/echo'] },
      },
    });
    for (const account of HOSTILE) {
      const key = await running.newKey({ account, tier: 'enterprise' });
      await ask({ ...running, key }, { model: HOSTILE[0] ?? '' });
    }
    const page = await signIn(running, await newContext({ viewport: { width: 360, height: 800 } }));
    for (const view of Object.keys(HEADINGS)) {
      await go(page, view);
      const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect([view, Math.max(0, excess)]).toEqual([view, 0]);
    }
    await go(page, 'keys');
    const text = await page.locator('main').innerText();
    for (const account of HOSTILE.slice(0, 2)) expect(text).toContain(account);
    expect(await page.locator('main script, main img').count()).toBe(0);
    expect(await page.locator('a[href^="javascript" i]').count()).toBe(0);
    expect(await page.title()).not.toBe('owned');
  });

  it('has as many elements after 50,000 requests as after 50', async () => {
    const running = await started({ config: { admin: true } });
    const context = await newContext();
    const page = await signIn(running, context);
    const events = (count: number): string =>
      Array.from({ length: count }, (_, turn) => {
        const requests = Array.from({ length: 50 }, (_, at) => endedRequest(turn * 50 + at));
        return `event: requests\ndata: ${JSON.stringify({ requests, missed: 0 })}\n\n`;
      }).join('');
    const sizes: number[] = [];
    for (const count of [1, 1000]) {
      const body = `retry: 600000\n\n${events(count)}`;
      await page.unroute('**/events');
      await page.route('**/events', (route) => route.fulfill({ contentType: 'text/event-stream', body }));
      await page.reload();
      const ended = page.getByRole('table', { name: 'Requests that ended just now' });
      await ended.getByText(`model-${count * 50 - 1}`, { exact: true }).waitFor();
      expect(await ended.locator('tbody tr').count()).toBe(10);
      sizes.push(await page.locator('main *').count());
    }
    expect(Math.abs((sizes[1] ?? 0) - (sizes[0] ?? 0))).toBeLessThan(20);
  });

  const endedRequest = (number: number): object => ({
    id: `req_${number}`,
    at: '2026-11-22T10:00:00.000Z',
    refused: false,
    account: 'ada',
    endpoint: 'chat',
    model_asked: `model-${number}`,
    status: 200,
    error: null,
    duration_ms: 10,
  });
});
