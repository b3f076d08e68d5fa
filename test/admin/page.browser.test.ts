// The page of the admin API in a real browser. One browser and one gateway for the file. PAGE_SHOTS=FOLDER writes the pictures.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { provider, startGateway, type TestGateway } from '../helpers/gateway.ts';
import { gate, startScriptedProvider, type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { content, FINISH, START, TERMINAL } from '../gateway/wire.ts';
import { addHistory, arrive, browserOfFile, chrome, go, HEADINGS, MARKUP, PATIENCE } from './page-support.ts';

if (chrome === undefined) console.log('No Chrome or Chromium was found: the tests of the page are left out.');

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const shots = process.env['PAGE_SHOTS'];
interface Axe {
  run(
    options: object,
  ): Promise<{ violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[] }>;
}

describe.skipIf(chrome === undefined)('the page', { timeout: 120_000 }, () => {
  const { openContext, newContext } = browserOfFile('MAP rebound.example 127.0.0.1');
  let gateway: TestGateway;
  /** The provider `held`, which answers `m` with a stream that ends when a test lets it. */
  let upstream: ScriptedProvider;
  /** A site that is not the gateway. */
  let other: Server;
  let otherUrl: string;
  /** Milliseconds by which the gateway's clock is ahead. */
  let ahead = 0;

  beforeAll(async () => {
    other = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>other</title>');
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    otherUrl = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    upstream = await startScriptedProvider();
    gateway = await startGateway({
      clock: { ...systemClock, monotonic: () => systemClock.monotonic() + ahead },
      config: {
        admin: true,
        providers: {
          sim: {},
          anthropic: {},
          openai: {},
          held: provider(`${upstream.url}/v1`, 'chat', ['m']),
        },
        routes: { auto: ['sim/echo', 'sim/slow'] },
        tiers: { enterprise: 100_000 },
      },
    });
    await addHistory(gateway.store);
  }, 120_000);

  afterAll(async () => {
    await gateway.stop();
    await upstream.close();
    other.close();
  });

  /** Faults of the page's scripts and of its policy. */
  const faults: string[] = [];

  function expectNoFaults(): void {
    onTestFinished(() => expect(faults.splice(0)).toEqual([]));
  }

  /** Opens a new link in a new tab. */
  async function signIn(context: BrowserContext): Promise<Page> {
    const page = await watched(context);
    await page.goto(await gateway.adminLink());
    await arrive(page, 'now');
    return page;
  }

  /** A new tab whose faults fail the test. */
  async function watched(context: BrowserContext): Promise<Page> {
    const page = await context.newPage();
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') faults.push(message.text());
    });
    expectNoFaults();
    return page;
  }

  let shared: Page | undefined;

  /** The tab that most tests share: one of their own costs each of them a second of processor time. */
  async function sharedPage(): Promise<Page> {
    if (shared === undefined) shared = await signIn(await openContext());
    else expectNoFaults();
    return shared;
  }

  /** Loads a view in the shared tab. */
  async function open(place: string, size = { width: 1280, height: 720 }): Promise<Page> {
    const page = await sharedPage();
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme: 'light' });
    // The visit of another page in between would cost two processes of the browser.
    await page.evaluate((hash) => history.replaceState(null, '', hash), `#/${place}`);
    await page.reload();
    await arrive(page, place);
    return page;
  }

  it('a link opens a session once, and leaves the address bar', async () => {
    const context = await newContext();
    const link = await gateway.adminLink();
    const page = await context.newPage();
    await page.goto(link);
    await page.getByRole('heading', { level: 1, name: 'Now' }).waitFor();
    expect(page.url()).not.toContain('link=');
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByLabel('By', { exact: true }).selectOption('model');
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
    expect(await page.getByLabel('By', { exact: true }).inputValue()).toBe('model');

    const expired = await gateway.adminLink();
    ahead += 61_000;
    const stranger = await (await newContext()).newPage();
    for (const wrong of [link, expired, `${gateway.url}/admin/#link=sk-gwl-wrong`]) {
      await stranger.goto('about:blank');
      await stranger.goto(wrong);
      await stranger.getByRole('alert').waitFor();
      expect(await stranger.getByRole('alert').innerText()).toContain('The link is not valid');
      expect(await stranger.locator('main').innerText()).toContain('gateway dashboard');
      expect(stranger.url()).not.toContain('link=');
    }
  });

  it('says how to get a new link when the session is over', async () => {
    const page = await (await newContext()).newPage();
    await page.goto(await gateway.adminLink());
    await page.getByRole('heading', { level: 1, name: 'Now' }).waitFor();
    await page.context().clearCookies();
    // The view before may find out first: it reads again from time to time.
    await page.evaluate(() => (location.hash = '#/usage'));
    await page.getByRole('heading', { name: 'Open the dashboard' }).waitFor();
    expect(await page.locator('main').innerText()).toContain('gateway dashboard');
    await page.goto(await gateway.adminLink());
    await page
      .getByRole('link', { name: 'Sign out' })
      .or(page.getByRole('button', { name: 'Sign out' }))
      .click();
    await page.getByRole('heading', { name: 'Open the dashboard' }).waitFor();
  });

  it('shows a stream while it runs, and its end', async () => {
    const page = await open('now');
    const stream = startStreams(1);
    const row = page.getByRole('table', { name: 'Requests in flight' }).getByRole('row', { name: 'held/m' });
    await row.waitFor();
    const tokens = row.locator('td').nth(-2);
    await expect.poll(() => tokens.innerText(), { timeout: PATIENCE }).toMatch(/^[1-9]/);
    await stream.end();
    await row.waitFor({ state: 'detached' });
    await page
      .getByRole('table', { name: 'Requests that ended just now' })
      .getByText('held/m')
      .first()
      .waitFor();
  });

  /** Streams that have said something, and say no more until their end. */
  function startStreams(count: number): { end: () => Promise<void> } {
    const held = gate();
    const pieces = Array.from({ length: 20 }, () => content('chat', 'word '));
    const script = { steps: [START.chat, ...pieces, held.opened, FINISH.chat, TERMINAL.chat] };
    upstream.play(...Array.from({ length: count }, () => script));
    const answers = Array.from({ length: count }, () => ask('held/m', gateway.key));
    const end = async (): Promise<void> => {
      held.open();
      await Promise.all(answers);
    };
    onTestFinished(end);
    return { end };
  }

  async function ask(model: string, key: string): Promise<number> {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Say something.' }] }),
    });
    await response.text();
    return response.status;
  }

  const choose = async (page: Page, menu: string, item: string): Promise<void> => {
    await page.getByRole('button', { name: menu, exact: true }).first().click();
    await page.getByRole('group', { name: menu, exact: true }).getByText(item, { exact: true }).click();
  };

  it('creates a key that works, and revokes it', async () => {
    const page = await open('keys');
    await page.getByRole('button', { name: 'Create a key', exact: true }).click();
    const form = page.getByRole('dialog', { name: 'Create a key' });
    await form.getByLabel('Account', { exact: true }).fill(MARKUP);
    await form.getByLabel('Name of the key').fill('from the page');
    await form.getByRole('button', { name: 'Create' }).click();
    const created = page.getByRole('dialog', { name: 'Your new key' });
    const key = (await created.locator('code').innerText()).trim();
    expect(key).toMatch(/^sk-gw-/);
    expect(await ask('sim/echo', key)).toBe(200);
    await created.getByRole('button', { name: 'Done' }).click();
    await created.getByRole('button', { name: 'Close without it' }).click();
    expect(await page.content()).not.toContain(key);

    await choose(page, 'Actions of the key from the page', 'Revoke');
    const question = page.getByRole('dialog', { name: 'Revoke this key?' });
    await question.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('status').filter({ hasText: 'is revoked' }).waitFor();
    expect(await ask('sim/echo', key)).toBe(401);
    await expect
      .poll(() => page.getByRole('button', { name: 'Actions of the key from the page' }).count())
      .toBe(0);
    expect(await page.title()).not.toBe('owned');
  });

  it('assigns a tier, and rotates a key', async () => {
    const page = await open('keys');
    await page.getByLabel('Tier of build server').selectOption('pro');
    await page.getByRole('button', { name: 'Save the tier of build server' }).click();
    await page.getByRole('status').filter({ hasText: 'has the tier pro' }).waitFor();
    expect((await gateway.store.findAccount('build server'))?.tier).toBe('pro');
    await choose(page, 'Actions of the key laptop of build server', 'Rotate');
    await page
      .getByRole('dialog', { name: 'Rotate this key?' })
      .getByRole('button', { name: 'Rotate' })
      .click();
    const created = page.getByRole('dialog', { name: 'Your new key' });
    expect(await ask('sim/echo', (await created.locator('code').innerText()).trim())).toBe(200);
    await page.keyboard.press('Escape');
    await created.getByRole('button', { name: 'Close without it' }).click();
    await created.waitFor({ state: 'detached' });
  });

  it('renames an account and removes it, by keyboard alone', async () => {
    const key = await gateway.newKey({ account: 'interim' });
    const page = await open('keys');
    const press = (name: string) => page.keyboard.press(name);
    const renamed = '<i>renamed</i>';
    await page.getByRole('button', { name: 'Actions of the account interim' }).focus();
    await press('Enter');
    for (let step = 0; step < 4; step += 1) await press('ArrowDown');
    await press('Enter');
    const renaming = page.getByRole('dialog', { name: 'Rename this account?' });
    await renaming.waitFor();
    await press('ControlOrMeta+a');
    await page.keyboard.type(renamed);
    await press('Enter');
    await page.getByRole('status').filter({ hasText: 'has the name' }).waitFor();
    expect(await gateway.store.findAccount(renamed)).toBeDefined();
    expect(await ask('sim/echo', key)).toBe(200);

    await page.getByRole('button', { name: `Actions of the account ${renamed}` }).focus();
    await press('Space');
    await press('ArrowUp');
    await press('Enter');
    const question = page.getByRole('dialog', { name: 'Remove this account?' });
    await question.waitFor();
    expect(await question.innerText()).toContain('The key is refused at once');
    await page.keyboard.type('another name');
    await press('Enter');
    await question.getByRole('alert').filter({ hasText: 'not the name of the account' }).waitFor();
    await press('Escape');
    await question.waitFor({ state: 'detached' });
    expect(await gateway.store.findAccount(renamed)).toBeDefined();
    await expect.poll(() => focused(page)).toBe('⋯');
    await press('Enter');
    await press('ArrowUp');
    await press('Enter');
    await question.waitFor();
    await page.keyboard.type(renamed);
    await press('Enter');
    await page.getByRole('status').filter({ hasText: 'is removed, with 1 key' }).waitFor();
    expect(await gateway.store.findAccount(renamed)).toBeUndefined();
    expect(await ask('sim/echo', key)).toBe(401);
    // The button that had the focus is gone: its table has it.
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label')))
      .toBe('Accounts, the newest first');
    const [last] = await gateway.store.listAudit(Number.MAX_SAFE_INTEGER, 1);
    expect(last).toMatchObject({ action: 'removeAccount', status: 200 });
  });

  it('says that a name is taken, and changes nothing', async () => {
    const page = await open('keys');
    await choose(page, 'Actions of the account ada', 'Rename');
    const form = page.getByRole('dialog');
    await form.getByLabel('New name').fill('build server');
    const refused = page.waitForResponse((response) => response.status() === 409);
    await form.getByRole('button', { name: 'Rename' }).click();
    await refused;
    await form.getByRole('alert').filter({ hasText: 'Another account has this name.' }).waitFor();
    await form.getByRole('button', { name: 'Cancel' }).click();
    expect(await gateway.store.findAccount('ada')).toBeDefined();
    // The browser itself reports the status of the answer.
    expect(faults.splice(0)).toEqual([expect.stringContaining('409')]);
  });

  it.each(Object.keys(HEADINGS))(
    'shows the focus on everything that Tab reaches, each with a name: %s',
    async (view) => {
      const page = await open(view);
      await page.emulateMedia({ reducedMotion: 'reduce' });
      const seen = new Set<string>();
      for (let steps = 0; steps < 200; steps += 1) {
        await page.keyboard.press('Tab');
        const now = await page.evaluate(describeFocus);
        if (now === undefined || seen.has(now.place)) break;
        seen.add(now.place);
        expect([now.place, now.isVisible, now.name !== '']).toEqual([now.place, true, true]);
      }
      const inPage = await page
        .locator('a[href], button, select, input, [tabindex="0"]')
        .filter({ visible: true })
        .count();
      expect(seen.size).toBeGreaterThanOrEqual(Math.min(inPage, 200) - 1);
      const moving = await page.evaluate(
        () =>
          [...document.querySelectorAll('*')].filter((element) => {
            const { transitionDuration, animationDuration } = getComputedStyle(element);
            return transitionDuration !== '0s' || animationDuration !== '0s';
          }).length,
      );
      expect(moving).toBe(0);
      await page.emulateMedia({ reducedMotion: null });
    },
  );

  /** Runs in the page. */
  function describeFocus(): { place: string; name: string; isVisible: boolean } | undefined {
    const element = document.activeElement;
    if (!(element instanceof HTMLElement) || element === document.body) return undefined;
    const all = [...document.querySelectorAll('*')];
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    const { width, height } = element.getBoundingClientRect();
    const labels = 'labels' in element ? [...((element.labels ?? []) as Iterable<HTMLElement>)] : [];
    const name = [
      element.getAttribute('aria-label') ?? '',
      ...labels.map(({ textContent }) => textContent),
      element.textContent,
    ].join('');
    return {
      place: `${all.indexOf(element)} ${element.outerHTML.slice(0, 80)}`,
      name: name.trim(),
      isVisible: outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2 && width > 0 && height > 0,
    };
  }

  it('draws usage, and has the same numbers as a table', async () => {
    const page = await open('usage?since=7d&by=hour');
    const table = page.getByRole('table', { name: /Usage by group/ });
    await table.getByRole('row').nth(1).waitFor();
    expect(await page.locator('.plot canvas').count()).toBe(4);
    // Something is drawn in the colour of the first series.
    const drawn = await page
      .locator('.plot canvas')
      .first()
      .evaluate((canvas: HTMLElement) => {
        const { width, height } = canvas as unknown as { width: number; height: number };
        const context = (
          canvas as unknown as {
            getContext(kind: string): { getImageData(...at: number[]): { data: number[] } };
          }
        ).getContext('2d');
        const { data } = context.getImageData(0, 0, width, height);
        let blue = 0;
        for (let at = 0; at < data.length; at += 4)
          if ((data[at + 2] ?? 0) - (data[at] ?? 0) > 100 && data[at + 3] === 255) blue += 1;
        return blue;
      });
    expect(drawn).toBeGreaterThan(500);
    await page.getByLabel('Account', { exact: true }).selectOption('ada');
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    await expect.poll(() => page.url()).toContain('account=ada');
  });

  it('shows requests page by page, and one with its attempts', async () => {
    const page = await open('requests?since=7d');
    await page.getByRole('link', { name: 'Older' }).click();
    await page.getByRole('link', { name: 'Newest' }).waitFor();
    expect(page.url()).toContain('cursor=');
    await page.goBack();
    await page.getByLabel('Only errors').check();
    await expect.poll(() => page.locator('tbody .state.good').count()).toBe(0);
    const [row] = await gateway.store
      .listRequests({ limit: 1000 })
      .then((rows) => rows.filter(({ attempts }) => attempts === 2));
    await go(page, `requests/${row?.requestId}`);
    const attempts = page.getByRole('table', { name: 'Attempts, in their order' });
    await attempts.getByText('The engine is overloaded. <i>Try</i> again later.').waitFor();
    expect(await page.locator('main').innerText()).toContain('logit_bias');
  });

  it('gives nothing to a page of another origin', async () => {
    const context = (await sharedPage()).context();
    const page = await context.newPage();
    onTestFinished(() => page.close());
    await page.goto(otherUrl);
    const tried = await page.evaluate(async (url) => {
      const failed = (error: unknown): string => `refused: ${(error as Error).name}`;
      const image = new Promise<string>((resolve) => {
        const element = document.createElement('img');
        element.onload = () => resolve('loaded');
        element.onerror = () => resolve('refused');
        element.src = `${url}/admin/api/v1/accounts`;
      });
      const socket = new Promise<string>((resolve) => {
        const own = new WebSocket(`${url.replace('http', 'ws')}/admin/api/v1/events`);
        own.onopen = () => resolve('opened');
        own.onerror = () => resolve('refused');
      });
      const script = new Promise<string>((resolve) => {
        const element = document.createElement('script');
        element.onload = () => resolve('loaded');
        element.onerror = () => resolve('refused');
        element.src = `${url}/admin/api/v1/keys`;
        document.head.append(element);
      });
      const body = JSON.stringify({ account: 'evil' });
      const asked = { credentials: 'include' } as const;
      return Promise.all([
        fetch(`${url}/admin/api/v1/accounts`, asked).then(() => 'read', failed),
        fetch(`${url}/admin/api/v1/keys`, {
          ...asked,
          method: 'POST',
          body,
          headers: { 'content-type': 'application/json' },
        }).then(() => 'read', failed),
        fetch(`${url}/admin/api/v1/keys`, { ...asked, method: 'POST', body, mode: 'no-cors' }).then(
          ({ type, status }) => `${type} ${status}`,
          failed,
        ),
        image,
        socket,
        script,
      ]);
    }, gateway.url);
    expect(tried.filter((result) => ['read', 'loaded', 'opened'].includes(result))).toEqual([]);

    const sent = page.waitForResponse(
      (response) => response.url().includes('/admin/api/v1/keys') && response.request().isNavigationRequest(),
    );
    await page.evaluate((url) => {
      const form = document.createElement('form');
      form.method = 'POST';
      form.action = `${url}/admin/api/v1/keys`;
      form.enctype = 'text/plain';
      const field = document.createElement('input');
      field.name = '{"account":"evil","x":"';
      field.value = '"}';
      form.append(field);
      document.body.append(form);
      form.submit();
    }, gateway.url);
    expect((await sent).status()).toBe(403);
    expect((await gateway.store.listAccounts()).map(({ name }) => name)).not.toContain('evil');

    // A name of somebody else that was bound to this machine.
    const rebound = await context.newPage();
    onTestFinished(() => rebound.close());
    const answer = await rebound.goto(`http://rebound.example:${new URL(gateway.url).port}/admin/`);
    expect(answer?.status()).toBe(403);
    // Nor can a page show the gateway in a frame.
    await page.goto(otherUrl);
    await page.evaluate((url) => {
      const frame = document.createElement('iframe');
      frame.src = `${url}/admin/`;
      document.body.append(frame);
    }, gateway.url);
    await expect.poll(() => page.frames().length).toBe(2);
    await expect.poll(() => page.frames()[1]?.url()).toMatch(/chrome-error|about:blank/);
  });

  it('moves the focus to the heading of a new view, and names the view in the title', async () => {
    const page = await open('now');
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('Skip to the content');
    await page.getByRole('link', { name: 'Models' }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => focused(page)).toBe('Models');
    await expect.poll(() => page.title()).toBe('Models – Gateway');
  });

  const focused = (page: Page): Promise<string> =>
    page.evaluate(() => document.activeElement?.textContent?.trim() ?? '');

  it('draws once for each frame of the screen, however many events come', async () => {
    const page = await watched((await sharedPage()).context());
    onTestFinished(() => page.close());
    const [requests, events] = [5, 1000];
    const texts = Array.from({ length: events }, (_, turn) => [
      `event: now\ndata: ${JSON.stringify(frameOf(requests, turn))}\n\n`,
      `event: requests\ndata: {"requests":[],"missed":1}\n\n`,
    ]);
    await page.addInitScript(() => {
      const counts = Object.assign(globalThis, { parsed: 0 });
      const parse: typeof JSON.parse = JSON.parse.bind(JSON);
      JSON.parse = (...given) => {
        counts.parsed += 1;
        return parse(...given) as unknown;
      };
    });
    await page.route('**/events', (route) =>
      route.fulfill({ contentType: 'text/event-stream', body: `retry: 600000\n\n${texts.flat().join('')}` }),
    );
    await page.goto(`${gateway.url}/admin/#/now`);
    await page
      .getByText(String(events - 1), { exact: true })
      .first()
      .waitFor();
    await page.getByRole('link', { name: 'Models' }).click();
    await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
    const parsed = await page.evaluate(() => (globalThis as unknown as { parsed: number }).parsed);
    // Events that end requests wait in a list of at most 200.
    expect(parsed).toBeLessThan(events);
  });

  function frameOf(requests: number, turn: number): object {
    return {
      at: new Date(turn * 500).toISOString(),
      totals: { requests: turn, errors: 0, refused: 0, output_tokens: 0, cost_usd: 0 },
      in_flight: requests,
      requests: Array.from({ length: requests }, (_, at) => ({
        id: `req_${at}`,
        account: MARKUP,
        model_asked: MARKUP,
        target: 'sim/slow',
        stream: true,
        state: 'answering',
        age_ms: turn,
        attempts: 1,
        output_tokens: turn,
        tokens_per_second: 10,
      })),
      targets: [],
      conversations: [],
    };
  }

  const VIEWS = [
    'now',
    'usage?since=7d',
    'requests?since=7d',
    'request',
    'keys',
    'models',
    'connect',
    'connect?tool=claude',
  ];

  it.each([
    [400, 'light'],
    [1440, 'dark'],
  ] as const)('is accessible and fits into %i pixels, %s', async (width, colorScheme) => {
    const streams = startStreams(2);
    const page = await open('now', { width, height: 1000 });
    await page.emulateMedia({ colorScheme });
    await page.evaluate(axe);
    const rows = await gateway.store.listRequests({ limit: 1000 });
    const request = rows.find(({ detail }) => detail?.includes('529'))?.requestId;
    for (const view of VIEWS) {
      await go(page, view === 'request' ? `requests/${request}` : view);
      if (view === 'now') await page.getByRole('table', { name: 'Requests in flight' }).waitFor();
      await expectAccessible(page, `${view}, ${width}`);
      await shoot(page, `${view}-${width}`);
    }
    await streams.end();
  });

  it('fits into 360 and 2,560 pixels', async () => {
    const page = await open('now');
    for (const view of VIEWS.filter((name) => name !== 'request')) {
      await go(page, view);
      for (const width of [360, 2560]) {
        await page.setViewportSize({ width, height: 900 });
        await expectToFit(page, `${view}, ${width}`);
        // Each action can be seen without scrolling sideways.
        const beyond = await page
          .locator('.actions button')
          .evaluateAll((all) => all.filter((one) => one.getBoundingClientRect().right > innerWidth).length);
        expect([view, width, beyond]).toEqual([view, width, 0]);
      }
    }
  });

  async function expectToFit(page: Page, view: string): Promise<void> {
    const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect([view, Math.max(0, excess)]).toEqual([view, 0]);
  }

  async function shoot(page: Page, name: string): Promise<void> {
    if (shots === undefined) return;
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const file = `${name}-${colorScheme}`.replace(/\W+/g, '-');
      await page.screenshot({ path: join(shots, `${file}.png`), fullPage: true });
    }
  }

  it('has dialogs and a sign-in that are accessible', async () => {
    const page = await open('keys');
    await page.getByRole('button', { name: 'Create a key', exact: true }).click();
    await page.getByRole('dialog').waitFor();
    await page.evaluate(axe);
    await expectAccessible(page, 'dialog');
    await shoot(page, 'dialog');
    const stranger = await (await newContext({ colorScheme: 'dark' })).newPage();
    await stranger.goto(`${gateway.url}/admin/#link=wrong`);
    await stranger.getByRole('alert').waitFor();
    await stranger.evaluate(axe);
    await expectAccessible(stranger, 'sign-in');
    await shoot(stranger, 'sign-in');
  });

  /** The script comes through the browser's own door: the page's policy allows none from elsewhere. */
  async function expectAccessible(page: Page, view: string): Promise<void> {
    const { violations } = await page.evaluate(async () =>
      (globalThis as unknown as { axe: Axe }).axe.run({ resultTypes: ['violations'] }),
    );
    const found = violations.flatMap(({ id, nodes }) =>
      nodes.map(
        ({ html, failureSummary }) => `${view}: ${id}: ${html.slice(0, 150)} ${failureSummary ?? ''}`,
      ),
    );
    expect(found).toEqual([]);
    await expectToFit(page, view);
  }
});
