// The list of requests, one request, and the search field in a real browser: what failed is seen and said in words, filters are the
// server's and stay, new requests show themselves, and all of it works by keyboard and on a small screen.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createIds, createRequestIds } from '../../src/ids.ts';
import type { UsageRow } from '../../src/store/usage-columns.ts';
import { ask } from '../helpers/ask.ts';
import { startGateway, type TestGateway } from '../helpers/gateway.ts';
import { usageRow } from '../store/support.ts';
import { arrive, browserOfFile, chrome, go } from './page-support.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
interface Axe {
  run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
}

const NOW = Date.now();
const TALK = 'conv_3kX9aB2qAAAAAAAA';
const LONG = `openai/${'a-very-long-name-of-a-model-'.repeat(4)}`;

const newId = (at: number): string => createRequestIds(createIds(), () => at)();

describe.skipIf(chrome === undefined)('requests in the page', { timeout: 120_000 }, () => {
  const { openContext } = browserOfFile();
  let gateway: TestGateway;
  let page: Page;
  let limited: { url: string; key: string };
  const faults: string[] = [];
  const rows = new Map<string, string>();

  /** `ago`: minutes. */
  function row(name: string, ago: number, change: Partial<UsageRow>): UsageRow {
    const at = NOW - ago * 60_000;
    const requestId = newId(at - 4000);
    rows.set(name, requestId);
    const times = { firstByteMs: 800, durationMs: 4000 };
    return usageRow({
      at,
      requestId,
      modelAsked: 'auto',
      error: null,
      status: 200,
      detail: null,
      ...times,
      ...change,
    });
  }

  beforeAll(async () => {
    gateway = await startGateway({ config: { admin: true, tiers: { enterprise: 1e6, tiny: 1 } } });
    limited = { url: gateway.url, key: await gateway.newKey({ account: 'ada', tier: 'tiny' }) };
    const [key] = await gateway.store.listKeys('ada');
    const of = { accountId: key?.accountId ?? 0, keyId: key?.id ?? '' };
    const failover = {
      attempts: [
        {
          target: 'openai/gpt-5.2',
          protocol: 'chat',
          status: 529,
          error: 'overloaded',
          message: 'busy',
          ms: 740,
        },
        { target: 'anthropic/claude-sonnet-5', protocol: 'messages', ms: 3000 },
      ],
      passed_over: [{ target: 'workstation/tiny', why: 'its window is too small' }],
      ...{
        dropped: ['logit_bias'],
        changed: ['reasoning_effort: high'],
        repaired: ['calc: a comma'],
        learnt: ['no_seed'],
      },
    };
    await gateway.store.recordUsage([
      row('failed over', 5, {
        ...of,
        ...{ provider: 'anthropic', model: 'claude-sonnet-5', firstByteMs: 1540, durationMs: 4000 },
        ...{
          detail: JSON.stringify(failover),
          attempts: 2,
          conversation: TALK,
          label: 'pr-7',
          endpoint: 'messages',
        },
        ...{ input: 1000, cacheRead: 3000, cacheWrite: 0, output: 400, costUsd: 0.01 },
        ...{
          cacheMiss: 'tools',
          cacheMissDetail: 'tool 5 added',
          cacheMissTokens: 41_230,
          cacheMissCostUsd: 0.15,
        },
      }),
      row('upstream', 6, {
        ...of,
        status: 502,
        error: 'upstream',
        input: null,
        output: null,
        costUsd: null,
        firstByteMs: null,
      }),
      row('left', 7, { status: 499, error: 'client_closed', modelAsked: LONG }),
      row('gateway', 8, { status: 500, error: 'internal', provider: null, model: null }),
      ...Array.from({ length: 120 }, (_, n) => row(`plain ${n}`, 10 + n, n % 2 === 0 ? of : {})),
    ]);
    await ask(limited, {});
    for (let turn = 0; turn < 4; turn += 1) expect((await ask(limited, {})).status).toBe(429);
    await vi.waitFor(async () => {
      expect((await gateway.store.listRefusals({ limit: 9 }))[0]?.times).toBe(4);
    }, 10_000);
    page = await (await openContext({ permissions: ['clipboard-read', 'clipboard-write'] })).newPage();
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('console', (message) => {
      // The test makes the search fail.
      const isMade = message.location().url.includes('/search?');
      if (message.type() === 'error' && !isMade) faults.push(message.text());
    });
    await page.goto(await gateway.adminLink());
    await arrive(page, 'now');
  }, 120_000);

  afterAll(() => gateway.stop());

  async function open(place: string, size = { width: 1280, height: 720 }): Promise<void> {
    onTestFinished(() => expect(faults.splice(0)).toEqual([]));
    await page.setViewportSize(size);
    await page.evaluate((hash) => history.replaceState(null, '', hash), `#/${place}`);
    await page.reload();
    await arrive(page, place);
  }

  const tableRow = (name: string) =>
    page.getByRole('row').filter({ has: page.locator(`a[href*="${rows.get(name) ?? ''}"]`) });

  it('says in words how each ended and whose fault it was; faults have colours, success is quiet', async () => {
    await open('requests');
    const colours = new Set<string>();
    for (const [name, words, whose] of [
      ['upstream', 'the provider failed', '502'],
      ['left', 'the client left', '499'],
      ['gateway', 'a fault of the gateway', '500'],
    ] as const) {
      await tableRow(name).getByText(words, { exact: true }).waitFor();
      await tableRow(name).getByText(whose, { exact: true }).waitFor();
      colours.add(
        await tableRow(name)
          .locator('.state')
          .evaluate((one) => getComputedStyle(one).color),
      );
    }
    expect(colours.size).toBe(2);
    expect(await tableRow('failed over').locator('.state').count()).toBe(0);
    await tableRow('failed over').getByText('answered').waitFor();
    const refused = page.getByRole('row', { name: /a limit is used up/ });
    await refused.getByText('429, 4 times').waitFor();
    await refused.getByTitle('refused with 429, 4 times in a minute').waitFor();
  });

  it('filters on the server by everything, keeps it on the way to a request and back, and shows it in the address', async () => {
    await open('requests?since=7d');
    await page.getByLabel('Account', { exact: true }).selectOption('ada');
    await page.getByText('More filters').click();
    await page.getByLabel('Error', { exact: true }).selectOption('rate_limited');
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
    await page.getByLabel('Error', { exact: true }).selectOption('');
    await page.getByLabel('Endpoint').selectOption('messages');
    await page.getByLabel('Label', { exact: true }).fill('pr-7');
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
    await expect.poll(() => page.url()).toContain('label=pr-7');
    const filtered = page.url();
    await tableRow('failed over').getByRole('link').first().click();
    await page.getByRole('heading', { level: 1, name: /^Request / }).waitFor();
    await page.getByRole('link', { name: 'Requests', exact: true }).last().click();
    await page.getByRole('heading', { level: 1, name: 'Requests', exact: true }).waitFor();
    expect(page.url()).toBe(filtered);
    expect(await page.getByLabel('Label', { exact: true }).inputValue()).toBe('pr-7');
    await page.goBack();
    await page.goBack();
    expect(page.url()).toBe(filtered);
    for (const [query, count] of [
      ['status=5xx', 2],
      ['provider=anthropic', 1],
      [`conversation=${TALK}`, 1],
      ['error=client_closed', 1],
      ['status=429', 1],
    ] as const) {
      await go(page, `requests?${query}`);
      await expect.poll(async () => [query, await page.locator('tbody tr').count()]).toEqual([query, count]);
      expect(await page.locator('details.more').getAttribute('open')).not.toBeNull();
    }
  });

  it('counts what is newer and fits the filter, and shows it as it ends where that is switched on', async () => {
    const other = { url: gateway.url, key: gateway.key };
    await open('requests?account=test&label=tail');
    const tail = { 'x-gateway-label': 'tail' };
    await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
    await ask(other, {});
    await ask(limited, {});
    for (let turn = 0; turn < 3; turn += 1) await ask(other, { headers: tail });
    await page.getByRole('button', { name: '3 newer: show' }).click();
    await expect.poll(() => page.locator('tbody tr').count()).toBe(3);
    await page.getByRole('button', { name: 'Refresh' }).waitFor();
    await page.getByRole('checkbox', { name: 'Live' }).check();
    await ask(other, { headers: tail });
    await expect.poll(() => page.locator('tbody tr').count()).toBe(4);
    await ask(other, {});
    await ask(other, { headers: tail });
    await expect.poll(() => page.locator('tbody tr').count()).toBe(5);
    await page.getByRole('checkbox', { name: 'Live' }).uncheck();
  });

  it('is not live in a window that has ended, says why, and counts nothing as newer there', async () => {
    const ended = new Date(NOW - 60_000).toISOString();
    for (const window of [`since=7d&until=${ended}`, 'since=last-month', 'since=7d&until=1h']) {
      await open(`requests?${window}&live=true`);
      const live = page.getByRole('checkbox', { name: 'Live' });
      expect([window, await live.isDisabled(), await live.isChecked()]).toEqual([window, true, false]);
      await page.getByText('this window has ended').waitFor();
      const before = await page.locator('tbody tr').count();
      await page.evaluate(`new Promise((open) => {
        const events = new EventSource('/admin/api/v1/events');
        events.addEventListener('now', open);
        window.told = new Promise((done) => events.addEventListener('requests', () => {
          events.close();
          requestAnimationFrame(() => requestAnimationFrame(done));
        }));
      })`);
      await ask({ url: gateway.url, key: gateway.key }, {});
      await page.evaluate('window.told');
      expect(await page.getByRole('button', { name: /newer/ }).count()).toBe(0);
      expect(await page.locator('tbody tr').count()).toBe(before);
    }
    await open(`requests?since=7d&until=${new Date(NOW + 3_600_000).toISOString()}`);
    await page.getByRole('checkbox', { name: 'Live' }).check();
  });

  it('draws the time of a request with its steps beside it, and what was changed, learnt and missed', async () => {
    await open(`requests/${rows.get('failed over')}`);
    const steps = await page.locator('.line-of-time > span').all();
    const widths = await Promise.all(
      steps.map(async (step) => {
        const style = (await step.getAttribute('style')) ?? '';
        return [await step.getAttribute('class'), Math.round(Number.parseFloat(style.replace('width:', '')))];
      }),
    );
    // Of 4 seconds: 260 ms of waiting, 740 ms of the first target, 540 ms to the first byte of the second.
    expect(widths).toEqual([
      ['step-waited', 7],
      ['step-failed', 19],
      ['step-thought', 14],
      ['step-answered', 62],
    ]);
    const text = await page.locator('main').innerText();
    for (const part of [
      'openai/gpt-5.2 failed: overloaded',
      'Until the first byte of anthropic/claude-sonnet-5',
      'its window is too small',
      'logit_bias',
      'reasoning_effort: high',
      'calc: a comma',
      'no_seed',
      'tools changed (tool 5 added)',
      '41,230 tokens read anew',
    ])
      expect(text).toContain(part);
    expect(text).toMatch(/75\s?% of the input/);
    await page.getByRole('link', { name: TALK }).waitFor();
    const key = page.getByRole('link', { name: /^sk-gw-/ });
    expect(await key.getAttribute('href')).toMatch(/^#\/keys\?.*find=key_/);
    await page.getByRole('button', { name: 'Copy: the id of the request' }).click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(rows.get('failed over'));
    await page.getByRole('button', { name: /Copy: a command/ }).click();
    const curl = await page.evaluate(() => navigator.clipboard.readText());
    expect(curl).toContain(`curl '${gateway.url}/v1/messages'`);
    expect(curl).toContain('$GATEWAY_KEY');
    expect(curl).not.toContain('sk-gw');
  });

  it('leaves out facts that are not known, and says which', async () => {
    await open(`requests/${rows.get('upstream')}`);
    const tokens = page
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: 'Tokens', exact: true }) });
    expect(await tokens.locator('dt').allInnerTexts()).not.toContain('Output');
    await tokens.getByText(/^Not recorded: .*output/).waitFor();
  });

  it('finds a request, a conversation, an account and a model from every view, by keyboard alone', async () => {
    await open('now');
    const field = page.getByRole('combobox', { name: 'Search' });
    const refused = (await gateway.store.listRefusals({ limit: 9 })).find(({ times }) => times > 1);
    for (const [text, kind, place] of [
      [rows.get('upstream') ?? '', 'Request', `#/requests/${rows.get('upstream')}`],
      [refused?.requestId ?? '', 'Request', `#/requests/${refused?.requestId}`],
      [TALK.slice(5, 13), 'Conversation', `#/conversations/${TALK}`],
      ['ad', 'Account', '#/requests?since=30d&account=ada'],
      ['sim/ec', 'Model', '#/requests?since=30d&model=sim%2Fecho'],
    ] as const) {
      await go(page, 'connect');
      await page.locator('h1').focus();
      await page.keyboard.press('/');
      await expect.poll(() => field.evaluate((one) => one === document.activeElement)).toBe(true);
      await page.keyboard.type(text);
      await page.getByRole('option').filter({ hasText: kind }).first().waitFor();
      await page.keyboard.press('Enter');
      await expect.poll(() => new URL(page.url()).hash).toBe(place);
      if (text === refused?.requestId) await page.getByText(`${refused?.times} times in a minute`).waitFor();
    }
    await field.fill('nothing like this');
    await page.getByText('Nothing found').waitFor();
    // A failure is not that nothing fits.
    await page.route('**/search?*', (route) =>
      route.fulfill({ status: 503, json: { detail: 'away for now' } }),
    );
    await field.fill('ada');
    await page.getByRole('search').getByText('Away for now.').waitFor();
    await page.unroute('**/search?*');
    await field.press('Escape');
    expect(await field.inputValue()).toBe('');
    await go(page, 'requests');
    await page.getByLabel('Model', { exact: true }).focus();
    await page.keyboard.type('a/b');
    expect(await page.getByLabel('Model', { exact: true }).inputValue()).toBe('a/b');
  });

  async function violations(): Promise<string[]> {
    return page.evaluate(async () => {
      const { violations } = await (window as unknown as { axe: Axe }).axe.run({});
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
    });
  }

  it.each([
    [320, 'light'],
    [1440, 'dark'],
  ] as const)('is accessible and fits into %i pixels, %s', async (width, colorScheme) => {
    await open('requests?status=5xx&since=7d', { width, height: 900 });
    await page.emulateMedia({ colorScheme });
    await page.evaluate(axe);
    const places = [
      'requests?since=7d',
      'requests?provider=anthropic',
      `requests/${rows.get('failed over')}`,
      `requests/${rows.get('left')}`,
    ];
    for (const place of places) {
      await go(page, place);
      const found = await violations();
      expect([place, found]).toEqual([place, []]);
      const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect([place, Math.max(0, excess)]).toEqual([place, 0]);
    }
    await page.getByRole('combobox', { name: 'Search' }).fill('sim/');
    await page.getByRole('option').first().waitFor();
    expect(await violations()).toEqual([]);
    await page.getByRole('combobox', { name: 'Search' }).fill('');
  });
});
