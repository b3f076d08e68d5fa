// Keys and accounts on the page: what is found and shown first, drafts, menus, and the key that is shown once.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../helpers/gateway.ts';
import { askForCode } from '../sign-in/support.ts';
import { arrive, browserOfFile, chrome, PATIENCE } from './page-support.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const LONG =
  'a name of an account that somebody made as long as it may be, which is 128 characters, so that no line of a table holds it';

describe.skipIf(chrome === undefined)('keys and accounts', { timeout: 120_000 }, () => {
  const { newContext } = browserOfFile();
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await startGateway({
      config: { admin: true, sign_in: 'on', tiers: { free: 10, pro: 20, enterprise: 30 } },
    });
    const { store } = gateway;
    await gateway.newKey({ account: 'ada', tier: 'free' });
    await gateway.newKey({ account: LONG, tier: 'pro', models: ['sim/echo', 'sim/tools'] });
    // More than a page has, and all of them newer.
    for (let n = 0; n < 101; n += 1) await gateway.newKey({ account: 'ada', expiresAt: Date.now() - 1000 });
    await store.createKey({
      ...{ id: 'key_laptop', hash: 'ab'.repeat(32), prefix: 'sk-gw-Laptop', account: 'grace', tier: 'free' },
      ...{ label: 'laptop', permissions: ['chat'], models: null, createdAt: 1000, expiresAt: null },
    });
  }, 120_000);
  afterAll(() => gateway.stop());

  async function open(size = { width: 1280, height: 800 }, place = 'keys'): Promise<Page> {
    const context = await newContext({ viewport: size, permissions: ['clipboard-read', 'clipboard-write'] });
    const page = await context.newPage();
    await page.goto(await gateway.adminLink());
    await arrive(page, 'now');
    await page.evaluate((hash) => (location.hash = hash), `#/${place}`);
    await arrive(page, place);
    return page;
  }
  const keysTable = (page: Page) => page.getByRole('table', { name: 'Keys, the newest first' });
  const choose = async (page: Page, menu: string, item: string): Promise<void> => {
    await page.getByRole('button', { name: menu, exact: true }).first().click();
    await page.getByRole('group', { name: menu, exact: true }).getByText(item, { exact: true }).click();
  };
  const expectAccessible = async (page: Page): Promise<void> => {
    await page.evaluate(AXE);
    const found = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
      'axe.run(document)',
    );
    expect(found.violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
  };

  it('shows the valid keys behind 101 that have ended, and a new one at the top', async () => {
    const page = await open();
    await keysTable(page).waitFor();
    expect(await page.getByText('There are no valid keys').count()).toBe(0);
    expect(await keysTable(page).getByText('expired').count()).toBe(0);
    await keysTable(page).getByText('laptop', { exact: true }).waitFor();

    await page.getByRole('button', { name: 'Create a key', exact: true }).click();
    const form = page.getByRole('dialog', { name: 'Create a key' });
    await form.getByLabel('Account', { exact: true }).fill('ada');
    await form.getByLabel('Name of the key').fill('the newest');
    await form.getByRole('button', { name: 'Create' }).click();
    const made = page.getByRole('dialog', { name: 'Your new key' });
    await made.getByRole('button', { name: 'Copy: New key' }).click();
    await made.getByRole('button', { name: 'Done' }).click();
    await expect
      .poll(() => keysTable(page).getByRole('row').nth(1).innerText(), { timeout: PATIENCE })
      .toContain('the newest');
  });

  it('finds keys and accounts by the server, and shows the ended ones when they are chosen', async () => {
    const page = await open();
    await page.getByLabel('Find account or key').fill('LAPT');
    await expect.poll(() => keysTable(page).getByRole('row').count(), { timeout: PATIENCE }).toBe(2);
    await page.getByText('No account has this in its name.').waitFor();
    await page.getByLabel('Find account or key').fill('');
    await page.getByLabel('Keys', { exact: true }).selectOption('ended');
    await keysTable(page).getByText('expired').first().waitFor();
    await page.getByRole('link', { name: 'Next page' }).click();
    await page.getByRole('link', { name: 'First page' }).waitFor();
    expect(await keysTable(page).getByText('valid', { exact: true }).count()).toBe(0);
  });

  it('assigns no tier by an arrow key, but by Save, and Undo takes it back', async () => {
    const page = await open();
    const tier = async (): Promise<string | undefined> => (await gateway.store.findAccount('grace'))?.tier;
    const field = page.getByLabel('Tier of grace', { exact: true });
    await field.focus();
    await page.keyboard.press('ArrowDown');
    expect(await field.inputValue()).toBe('lite');
    await page.getByRole('button', { name: 'Cancel the tier of grace' }).click();
    expect(await field.inputValue()).toBe('free');
    await field.focus();
    await page.keyboard.press('ArrowDown');
    await page.waitForTimeout(300);
    expect(await tier()).toBe('free');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('status').filter({ hasText: 'grace has the tier lite now.' }).waitFor();
    expect(await tier()).toBe('lite');
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('status').filter({ hasText: 'grace has the tier free now.' }).waitFor();
    expect(await tier()).toBe('free');
    await expect.poll(() => field.inputValue()).toBe('free');
  });

  it('does not overwrite what another owner changed meanwhile: it says what it is now, who did it, and keeps the choice', async () => {
    await gateway.newKey({ account: 'edsger', tier: 'free' });
    const [own, other] = [await open(), await open()];
    const tier = async (): Promise<string | undefined> => (await gateway.store.findAccount('edsger'))?.tier;
    const assign = async (page: Page, chosen: string): Promise<void> => {
      await page.getByLabel('Tier of edsger', { exact: true }).selectOption(chosen);
      await page.getByRole('button', { name: 'Save the tier of edsger' }).click();
    };
    const done = (page: Page, chosen: string) =>
      page.getByRole('status').filter({ hasText: `edsger has the tier ${chosen} now.` });
    await own.getByLabel('Tier of edsger', { exact: true }).selectOption('enterprise');
    await assign(other, 'pro');
    await done(other, 'pro').waitFor();
    await own.getByRole('button', { name: 'Save the tier of edsger' }).click();
    const refusal = own.getByRole('alert');
    await refusal.waitFor();
    expect(await refusal.innerText()).toMatch(
      /^Nothing was done: edsger was changed meanwhile, its tier is pro now, not free \(ses_\w+, 127\.0\.0\.1, .*: assigned tier pro to edsger\)\.$/,
    );
    await expectAccessible(own);
    expect(await tier()).toBe('pro');
    expect(await own.getByLabel('Tier of edsger', { exact: true }).inputValue()).toBe('enterprise');
    // With that in sight, the choice is saved.
    await own.getByRole('button', { name: 'Save the tier of edsger' }).click();
    await done(own, 'enterprise').waitFor();
    expect(await refusal.count()).toBe(0);
    expect(await tier()).toBe('enterprise');

    // Undo overwrites nothing either; what does not matter for the tier may change.
    await other.getByRole('button', { name: 'Undo' }).click();
    await other.getByRole('alert').filter({ hasText: 'its tier is enterprise now, not pro' }).waitFor();
    expect(await tier()).toBe('enterprise');
    await gateway.newKey({ account: 'edsger' });
    await own.getByRole('button', { name: 'Undo' }).click();
    await done(own, 'pro').waitFor();
    expect(await tier()).toBe('pro');
  });

  it('removes no account and rotates no key that is not as it was shown', async () => {
    await gateway.newKey({ account: 'barbara', tier: 'free' });
    const [own, other] = [await open(), await open()];
    await choose(own, 'Actions of the account barbara', 'Remove');
    const dialog = own.getByRole('dialog', { name: 'Remove this account?' });
    await dialog.getByLabel('Type the name of the account').fill('barbara');
    await gateway.newKey({ account: 'barbara' });
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'it has 2 keys now, not 1' }).waitFor();
    expect(await gateway.store.findAccount('barbara')).toBeDefined();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    const row = own
      .getByRole('table', { name: 'Accounts, the newest first' })
      .getByRole('row', { name: /barbara/ });
    await expect.poll(() => row.first().innerText(), { timeout: PATIENCE }).toMatch(/\s2\s/);

    await gateway.store.createKey({
      ...{ id: 'key_twice', hash: 'cd'.repeat(32), prefix: 'sk-gw-Twice', account: 'barbara', tier: 'free' },
      ...{ label: 'twice', permissions: ['chat'], models: null, createdAt: Date.now(), expiresAt: null },
    });
    for (const page of [own, other]) {
      await page.reload();
      await choose(page, 'Actions of the key twice', page === own ? 'Rotate' : 'Revoke');
    }
    await other.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await other.getByRole('status').filter({ hasText: 'is revoked' }).waitFor();
    await own.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
    await own
      .getByRole('alert')
      .filter({
        hasText: /the key twice was changed meanwhile, it is revoked now \(ses_\w+, .*: revoked key/,
      })
      .waitFor();
  });

  it.each([1280, 320])(
    'wraps the new key at %d pixels, and asks before it is closed without a copy',
    async (width) => {
      const page = await open({ width, height: 700 });
      await choose(page, 'Actions of the key laptop', 'Rotate');
      await page
        .getByRole('dialog', { name: 'Rotate this key?' })
        .getByRole('button', { name: 'Rotate' })
        .click();
      const made = page.getByRole('dialog', { name: 'Your new key' });
      const box = made.getByRole('group', { name: 'New key' });
      await box.waitFor();
      expect(await box.evaluate((pre) => pre.scrollWidth - pre.clientWidth)).toBe(0);
      expect(await made.evaluate((dialog) => dialog.scrollWidth - dialog.clientWidth)).toBe(0);
      for (let turn = 0; turn < 3; turn += 1) await page.keyboard.press('Escape');
      await made.getByRole('alert').filter({ hasText: 'was not copied' }).waitFor();
      expect(await made.isVisible()).toBe(true);
      await expectAccessible(page);
      await made.getByRole('button', { name: 'Back to the key' }).click();
      await made.getByRole('button', { name: 'Copy: New key' }).click();
      await made.getByText('Copied', { exact: true }).first().waitFor();
      expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/^sk-gw-\w{43}$/);
      await page.keyboard.press('Escape');
      await made.waitFor({ state: 'detached' });
    },
  );

  it('ticks models with a search, adds a name that no model has with a warning, and ends a key on a day', async () => {
    const page = await open();
    await page.getByRole('button', { name: 'Create a key', exact: true }).click();
    const form = page.getByRole('dialog', { name: 'Create a key' });
    await form.getByLabel('Account', { exact: true }).fill('hedy');
    await form.getByLabel('every model, also later ones').uncheck();
    await form.getByRole('button', { name: 'Create' }).click();
    await form.getByRole('alert').filter({ hasText: 'Tick the models' }).waitFor();
    const find = form.getByLabel('Find a model');
    await find.fill('sim/ech');
    await find.press('Enter');
    await find.fill('gpt-99');
    await find.press('Enter');
    await form.getByText('2 ticked.').waitFor();
    await form.getByLabel('Expires', { exact: true }).selectOption('date');
    await form.getByLabel('Last day').fill('2999-12-31');
    await expectAccessible(page);
    await form.getByRole('button', { name: 'Create' }).click();
    const made = page.getByRole('dialog', { name: 'Your new key' });
    await made.getByText(/^no model has the name gpt-99 now/).waitFor();
    const [key] = await gateway.store.listKeys('hedy');
    expect(key?.models).toEqual(['sim/echo', 'gpt-99']);
    expect(new Date(key?.expiresAt ?? 0).toString()).toContain('Dec 31 2999 23:59:59');
  });

  it('unfolds an account to its keys, by keyboard, with a menu a row', async () => {
    const page = await open();
    const row = page.getByRole('button', { name: 'grace', exact: true });
    await row.focus();
    await page.keyboard.press('Enter');
    const own = page.getByRole('table', { name: 'Valid keys of grace' });
    await own.waitFor();
    const menu = own.getByRole('button', { name: 'Actions of the key laptop' }).first();
    await menu.focus();
    await page.keyboard.press('Enter');
    const items = page.getByRole('group', { name: 'Actions of the key laptop' });
    await items.waitFor();
    await expect
      .poll(() => items.getByRole('link', { name: 'Requests' }).getAttribute('href'), { timeout: PATIENCE })
      .toContain('key=key_');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page
      .getByRole('dialog', { name: 'Revoke this key?' })
      .getByRole('button', { name: 'Cancel' })
      .click();
    await expectAccessible(page);
  });

  it('says who waits to sign in, and lets a client in until a day', async () => {
    const { user_code: code } = await askForCode(gateway);
    const page = await open();
    await page.getByText('1 client waits to sign in:').waitFor();
    await page.getByRole('link', { name: 'approve or deny' }).click();
    await page.getByRole('button', { name: `Approve ${String(code)}` }).click();
    const form = page.getByRole('dialog', { name: 'Let this client in?' });
    await form.getByLabel('Account', { exact: true }).fill('ada');
    await form.getByLabel('The sign-in expires').selectOption('30');
    await form.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('status').filter({ hasText: 'is approved for ada' }).waitFor();
  });

  it.each(['usage', 'requests', 'conversations', 'audit'])(
    'shows a window that is not in the list: %s',
    async (view) => {
      const page = await open({ width: 1280, height: 800 }, `${view}?since=36h`);
      const field = page.locator('select[name=since]');
      expect(await field.inputValue()).toBe('36h');
      expect(await field.locator('option:checked').innerText()).toContain('36h');
    },
  );

  it.each([320, 360, 1280])('fits into %d pixels, unfolded too', async (width) => {
    const page = await open({ width, height: 800 });
    await page.getByRole('button', { name: 'grace', exact: true }).click();
    await page.getByRole('table', { name: 'Valid keys of grace' }).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    await expectAccessible(page);
  });
});
