// A member in the browser: signs in with a key, sees what is theirs and nothing of others, and the key stays nowhere.
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { BrowserContext, Page } from 'playwright-core';
import { get, whenSessionIsOver } from '../../src/admin/page/api.ts';
import { ask } from '../helpers/ask.ts';
import { startGateway, type TestGateway } from '../helpers/gateway.ts';
import { expectAccessible, openOwner, watchedPage } from './page-checks.ts';
import { browserOfFile, chrome } from './page-support.ts';

describe.skipIf(chrome === undefined)('a member', { timeout: 120_000 }, () => {
  const { newContext } = browserOfFile();
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await startGateway({
      config: { admin: true, tiers: { small: { requests: '50/hour', tokens: '1M/day', cost: '5/day' } } },
    });
    for (const account of ['ada', 'bob']) {
      const key = await gateway.newKey({ account, tier: 'small' });
      await ask({ ...gateway, key }, { model: 'sim/echo' });
    }
    await vi.waitFor(async () => expect(await gateway.store.listRequests({ limit: 9 })).toHaveLength(2), {
      timeout: 10_000,
    });
  }, 60_000);
  afterAll(() => gateway.stop());

  /** The browser itself reports that there is no session, and a wrong key. */
  async function signIn(context: BrowserContext, key: string): Promise<Page> {
    const page = await watchedPage(context, /401/);
    await page.goto(`${gateway.url}/admin/`);
    await page.getByRole('heading', { name: 'With your own key' }).waitFor();
    await page.getByLabel('Key', { exact: true }).fill(key);
    await page.keyboard.press('Enter');
    return page;
  }

  it('signs in with a key, which stays nowhere, and sees its own limits, usage and requests alone', async () => {
    const key = await gateway.newKey({ account: 'ada' });
    const page = await signIn(await newContext(), key);
    await page.getByRole('heading', { level: 1, name: 'My account' }).waitFor();
    const limits = page.getByRole('table', { name: 'Your limits' });
    await limits.getByRole('row', { name: /50 requests an hour/ }).waitFor();
    expect(await page.locator('main').innerText()).toContain(key.slice(0, 12));
    await expectAccessible(page, 'my account');

    const views = page.getByRole('navigation', { name: 'Views' }).getByRole('link');
    const names = await views.allInnerTexts();
    expect(names).toEqual(['My account', 'Usage', 'Conversations', 'Requests']);
    for (const owners of ['Keys and accounts', 'Now', 'Audit', 'Models', 'Try it', 'Sign-ins'])
      expect(names).not.toContain(owners);
    for (const name of names.slice(1)) {
      await views.filter({ hasText: name }).click();
      await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
      await page.locator('.loading').first().waitFor({ state: 'detached' });
      expect(await page.locator('body').innerText()).not.toContain('bob');
      expect(await page.getByLabel('Account', { exact: true }).count()).toBe(0);
      await expectAccessible(page, name);
    }
    await page.evaluate(() => (location.hash = '#/requests'));
    const request = page
      .getByRole('table', { name: /^Requests/ })
      .getByRole('row')
      .nth(1);
    await request.getByRole('link').first().click();
    await page.getByRole('heading', { level: 1, name: /^Request / }).waitFor();

    const kept = await page.evaluate(() =>
      JSON.stringify([location.href, document.cookie, { ...localStorage }, { ...sessionStorage }]),
    );
    expect(kept + (await page.content())).not.toContain(key.slice(12));
    expect(gateway.log()).not.toContain(key.slice(12));
    const cookies = await page.context().cookies();
    expect(cookies).toMatchObject([{ httpOnly: true, sameSite: 'Strict', path: '/admin' }]);
    expect(JSON.stringify(cookies)).not.toContain(key.slice(12));
    // A view of the owner is not there, whatever the address says.
    await page.evaluate(() => (location.hash = '#/keys'));
    await page.getByRole('heading', { level: 1, name: 'My account' }).waitFor();
  });

  it('is asked for another key after a wrong one, and is out at once when the key is revoked', async () => {
    const key = await gateway.newKey({ account: 'ada' });
    const page = await signIn(await newContext(), `sk-gw-${'x'.repeat(43)}`);
    await page.getByRole('alert').getByText('The key is not valid').waitFor();
    expect(await page.getByLabel('Key', { exact: true }).inputValue()).toBe('');
    await expectAccessible(page, 'a wrong key');
    await page.getByLabel('Key', { exact: true }).fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'My account' }).waitFor();
    // A reload keeps the session, as its cookie.
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'My account' }).waitFor();
    const revoked = (await gateway.store.listKeys('ada')).find(({ prefix }) => key.startsWith(prefix));
    await gateway.store.revokeKey(revoked?.id ?? '', Date.now());
    // Not a click: what the view asks by itself may be refused before, and then the links are gone.
    await page.evaluate(() => (location.hash = '#/requests'));
    await page.getByRole('alert').getByText('The key of this session is revoked').waitFor();
  });

  it('signs out, and the owner who opens a link in the same browser sees everything again', async () => {
    const context = await newContext({ viewport: { width: 320, height: 800 } });
    const page = await signIn(context, await gateway.newKey({ account: 'ada' }));
    await page.getByRole('heading', { level: 1, name: 'My account' }).waitFor();
    await expectAccessible(page, 'my account, 320');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'With your own key' }).waitFor();
    await expectAccessible(page, 'sign-in, 320');
    const owner = await openOwner(context, gateway, 'keys', /401/);
    await owner.getByText('bob').first().waitFor();
  });
});

describe('a request of the page', () => {
  const answers = (status: number): void => {
    vi.stubGlobal('fetch', (_: string, { signal }: { signal: AbortSignal }) => {
      const start = (controller: ReadableStreamDefaultController): void =>
        signal.addEventListener('abort', () => controller.error(signal.reason));
      return Promise.resolve(new Response(new ReadableStream({ start }), { status }));
    });
  };
  afterEach(() => void vi.unstubAllGlobals());

  // The view that is left would replace the reason that another one has shown.
  it.each([401, 500, 200])('that is left while its answer of %d comes says nothing', async (status) => {
    answers(status);
    const over = vi.fn();
    whenSessionIsOver(over);
    const leaving = new AbortController();
    const loaded = get('/requests', {}, leaving.signal);
    await new Promise<void>((resolve) => void setTimeout(resolve, 10));
    leaving.abort();
    await expect(loaded).rejects.toHaveProperty('name', 'AbortError');
    expect(over).not.toHaveBeenCalled();
  });

  it('whose answer breaks off is a failure, not an empty answer', async () => {
    const start = (controller: ReadableStreamDefaultController): void => {
      controller.enqueue(new TextEncoder().encode('{"data":['));
      controller.error(new TypeError('terminated'));
    };
    vi.stubGlobal('fetch', () => Promise.resolve(new Response(new ReadableStream({ start }))));
    await expect(get('/requests')).rejects.toThrow(/^The gateway does not answer/);
  });
});
