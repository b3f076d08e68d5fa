// The view of usage in a real browser: charts that can be read without colour and without sight, comparison, ranges, links and CSV.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../helpers/gateway.ts';
import { usageRow } from '../store/support.ts';
import { addHistory, arrive, browserOfFile, chrome, go } from './page-support.ts';

describe.skipIf(chrome === undefined)('usage', { timeout: 120_000 }, () => {
  const { newContext } = browserOfFile();
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway({ config: { admin: true, providers: { sim: {} } } });
    await addHistory(gateway.store);
  }, 120_000);
  afterAll(() => gateway.stop());

  async function open(place: string, options: Parameters<typeof newContext>[0] = {}): Promise<Page> {
    const page = await (await newContext({ timezoneId: 'Europe/Berlin', ...options })).newPage();
    // What is written below the charts: a canvas has no text that could be read.
    await page.addInitScript(() => {
      const drawn: string[] = [];
      Object.assign(globalThis, { drawn });
      const prototype = (
        globalThis as unknown as {
          CanvasRenderingContext2D: { prototype: { fillText: (...given: unknown[]) => void } };
        }
      ).CanvasRenderingContext2D.prototype;
      const write = prototype.fillText;
      prototype.fillText = function (...given) {
        drawn.push(String(given[0]));
        write.apply(this, given);
      };
    });
    await page.goto(await gateway.adminLink());
    await arrive(page, 'now');
    await page.evaluate(() => (globalThis as unknown as { drawn: string[] }).drawn.splice(0));
    await go(page, place);
    await page.locator('.loading').first().waitFor({ state: 'detached' });
    return page;
  }
  const drawn = (page: Page): Promise<string[]> =>
    page.evaluate(() => (globalThis as unknown as { drawn: string[] }).drawn);

  it.each([
    ['en-GB', /^\d\d:00$/],
    ['en-US', /^\d{1,2}\s[AP]M$/],
  ])('has short labels of hours below its charts, and the day once: %s', async (locale, hour) => {
    const page = await open('usage?since=24h', { locale });
    await expect
      .poll(async () => (await drawn(page)).filter((text) => hour.test(text)).length)
      .toBeGreaterThan(2);
    const texts = await drawn(page);
    const days = texts.filter((text) =>
      /\bNov\b|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Dec)/.test(text),
    );
    expect(days.length).toBeGreaterThan(0);
    // Four charts, and two days at most in each of their drawings.
    expect(days.length).toBeLessThan(texts.filter((text) => hour.test(text)).length);
    expect(days.filter((text) => text.length > 7)).toEqual([]);
  });

  it('shows names as bars with the model first, linked to their requests', async () => {
    const page = await open('usage?since=7d&by=model&account=ada');
    const list = page.getByRole('list', { name: 'Requests' });
    const first = list.getByRole('listitem').first();
    const text = (await first.innerText()).replace(/\s+/g, ' ');
    expect(text).toMatch(/^(?:claude-sonnet-5 anthropic|gpt-5-mini openai|qwen3 workstation) \d+$/);
    const link = first.getByRole('link');
    const model = (await link.innerText()).trim();
    await link.click();
    await arrive(page, 'requests');
    expect(page.url()).toContain(`model=${text.split(' ')[1] ?? ''}%2F${model}`);
    expect(page.url()).toContain('since=7d');
    expect(page.url()).toContain('account=ada');
  });

  it('leads from an hour, a day and a key to its requests', async () => {
    const page = await open('usage?since=7d&by=day');
    const table = page.getByRole('table', { name: /Usage by group/ });
    const row = table.locator('tbody tr').nth(1);
    const requests = Number(await row.locator('td').first().innerText());
    expect(await row.getByRole('link').getAttribute('href')).toMatch(
      /^#\/requests\?since=\d{4}-\d\d-\d\dT00%3A00%3A00\.000Z&until=\d{4}-\d\d-\d\dT00%3A00%3A00\.000Z$/,
    );
    const query = new URLSearchParams((await row.getByRole('link').getAttribute('href'))?.split('?')[1]);
    const listed = await page.evaluate(
      async (text) =>
        ((await (await fetch(`/admin/api/v1/requests?limit=1000&${text}`)).json()) as { data: unknown[] })
          .data.length,
      query.toString(),
    );
    expect([listed, requests > 0]).toEqual([requests, true]);
    await row.getByRole('link').click();
    await arrive(page, 'requests');
    const shown = page.getByRole('table', { name: /Requests/ }).locator('tbody tr');
    await expect.poll(() => shown.count()).toBe(Math.min(50, requests));
    await page.goBack();
    await go(page, 'usage?since=7d&by=key');
    const key = table.getByRole('link', { name: /laptop of ada/ });
    await key.waitFor();
    expect(await key.getAttribute('href')).toMatch(/^#\/requests\?since=7d&key=key_/);
  });

  it('hatches the hour that is not over, and says so', async () => {
    const page = await open('usage?since=24h');
    await page.getByText('not over yet').first().waitFor();
    await go(page, 'usage?since=2026-01-01&until=2026-01-02');
    await page.getByText('No requests in this window.').waitFor();
    await go(
      page,
      `usage?since=${new Date(Date.now() - 40 * 3_600_000).toISOString()}&until=${new Date(Date.now() - 20 * 3_600_000).toISOString()}`,
    );
    await page.getByRole('table', { name: /Usage by group/ }).waitFor();
    expect(await page.getByText('not over yet').count()).toBe(0);
  });

  it.each(['light', 'dark'] as const)(
    'has colours of 3:1 against the page, and a pattern for each: %s',
    async (colorScheme) => {
      const page = await open('usage?since=7d', { colorScheme });
      const ratios = await page.evaluate(() => {
        const probe = document.createElement('span');
        document.body.append(probe);
        const luminance = (name: string): number => {
          probe.style.color = `var(${name})`;
          const parts = getComputedStyle(probe).color.match(/[\d.]+/g) ?? [];
          const [r = 0, g = 0, b = 0] = parts.map((part) => {
            const value = Number(part) / 255;
            return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
          });
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const ground = luminance('--page');
        return [1, 2, 3, 4, 5].map((number) => {
          const ink = luminance(`--series-${number}`);
          return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
        });
      });
      for (const ratio of ratios) expect(ratio, ratios.join()).toBeGreaterThanOrEqual(3);
      const patterns = await page
        .locator('.legend-item')
        .evaluateAll((all) => all.map((item) => getComputedStyle(item, '::before').backgroundImage));
      expect(new Set(patterns).size).toBeGreaterThanOrEqual(5);
    },
  );

  it('tells its bars apart where the system forces its colours', async () => {
    const page = await open('usage?since=7d', { forcedColors: 'active' });
    const plot = page.locator('.plot canvas').nth(1);
    await plot.waitFor();
    const { colours, columns } = await plot.evaluate((canvas: HTMLElement) => {
      const { width, height } = canvas as unknown as { width: number; height: number };
      const context = (
        canvas as unknown as {
          getContext(kind: string): { getImageData(...at: number[]): { data: number[] } };
        }
      ).getContext('2d');
      const { data } = context.getImageData(0, 0, width, height);
      const seen = new Set<string>();
      // Columns of a bar change between ink and ground; a bar of one colour would not.
      let changing = 0;
      for (let x = 0; x < width; x += 1) {
        let changes = 0;
        let before = -1;
        for (let y = 0; y < height - 60; y += 1) {
          const at = 4 * (y * width + x);
          const alpha = data[at + 3] ?? 0;
          if (alpha === 255) seen.add([data[at], data[at + 1], data[at + 2]].join());
          const now = alpha === 255 ? (data[at] ?? 0) : -1;
          if (now !== before) changes += 1;
          before = now;
        }
        if (changes > 6) changing += 1;
      }
      return {
        colours: [...seen].filter((colour) => new Set(colour.split(',')).size > 1),
        columns: changing,
      };
    });
    // No hue of the page's own.
    expect(colours).toEqual([]);
    expect(columns).toBeGreaterThan(10);
  });

  it('describes each chart, and points to the table', async () => {
    const page = await open('usage?since=7d');
    const plots = page.getByRole('img');
    expect(await plots.count()).toBe(4);
    for (const plot of await plots.all()) {
      expect(await plot.getAttribute('aria-label')).toMatch(
        /, at most .+ \(.+\)\. The table “Numbers” below has every value\.$/,
      );
      const described = await plot.getAttribute('aria-describedby');
      expect(await page.locator(`#${described}`).innerText()).toBe('Numbers');
    }
  });

  it('compares with the time before, and says ≥ where a price is unknown', async () => {
    const page = await open('usage?since=24h');
    const figures = page.locator('.figures').first();
    const text = await figures.innerText();
    expect(text).toMatch(/[▲▼=] [\d.,]+ ?%/);
    expect(text).toMatch(/≥ \$[\d.]+/);
    expect(await figures.locator('.compared').first().innerText()).toContain('against the time before');
    const cells = await page
      .getByRole('table', { name: /Usage by group/ })
      .locator('tbody tr td:nth-child(8)')
      .allInnerTexts();
    const known = cells.filter((cell) => /\d/.test(cell)).map((cell) => /\.(\d+)$/.exec(cell)?.[1]?.length);
    // One precision a column.
    expect(new Set(known).size).toBe(1);
  });

  it('names models whose cost is not known below those by cost', async () => {
    const page = await open('usage?since=24h');
    await page.getByText('Cost not known: qwen3', { exact: true }).waitFor();
  });

  it('has a range of one’s own, this month and last month', async () => {
    const page = await open('usage');
    await page.getByLabel('Window').selectOption({ label: 'This month' });
    await expect.poll(() => page.url()).toContain('since=this-month');
    await arrive(page, 'usage');
    await page.getByLabel('Window').selectOption({ label: 'Last month' });
    await page.getByText('No requests in this window.').waitFor();
    await page.getByLabel('Window').selectOption({ label: 'Own range…' });
    const today = new Date().toISOString().slice(0, 10);
    await expect.poll(() => page.getByLabel('To (UTC)').inputValue()).toBe(today);
    await page.getByLabel('From (UTC)').fill(today);
    const tomorrow = new Date(Date.parse(today) + 86_400_000).toISOString().slice(0, 10);
    await expect.poll(() => page.url()).toContain(`since=${today}&until=${tomorrow}`);
    await arrive(page, 'usage');
  });

  it('copies its numbers as CSV, and links to those of each account', async () => {
    const context = await newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
    const page = await context.newPage();
    await page.goto(await gateway.adminLink());
    await arrive(page, 'now');
    await go(page, 'usage?since=7d&by=model');
    await page.getByRole('button', { name: /these numbers as CSV/ }).click();
    await page.getByRole('status').filter({ hasText: 'Copied' }).waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    const lines = copied.trimEnd().split(/\r?\n/);
    expect(lines[0]).toMatch(/^model,provider,requests,errors,/);
    const table = page.getByRole('table', { name: /Usage by group/ });
    expect(lines.length - 1).toBe(await table.locator('tbody tr').count());
    const href = (await page.getByRole('link', { name: 'CSV by account' }).getAttribute('href')) ?? '';
    expect(href).toMatch(/^\/admin\/api\/v1\/usage\?since=7d&by=model&format=csv$/);
    const answer = await page.evaluate(async (url) => (await fetch(url)).text(), href);
    expect(answer).toMatch(/^model,provider,account,tier,requests,/);
  });

  it('ranks models and accounts by cost beside the charts', async () => {
    const [key] = await gateway.store.listKeys('ada');
    await gateway.store.recordUsage([
      usageRow({
        at: Date.now() - 1000,
        accountId: key?.accountId ?? 0,
        keyId: key?.id ?? '',
        costUsd: 40,
        model: 'dear',
        provider: 'openai',
      }),
    ]);
    const page = await open('usage?since=24h');
    const models = page.getByRole('list', { name: 'Models by cost' });
    await models.waitFor();
    expect((await models.getByRole('listitem').first().innerText()).replace(/\s+/g, ' ')).toMatch(
      /^dear openai (?:≥ )?\$40\.00$/,
    );
    const accounts = page.getByRole('list', { name: 'Accounts by cost' });
    expect(await accounts.getByRole('listitem').first().innerText()).toContain('ada');
  });
});
