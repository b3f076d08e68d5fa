// The audit in the browser: who changed what, found by filters that stay in the address, each row with its detail.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import { createAdminToken } from '../../src/accounts/admin.ts';
import { systemClock } from '../../src/clock.ts';
import { createIds } from '../../src/ids.ts';
import { startGateway, type TestGateway } from '../helpers/gateway.ts';
import { expectAccessible, openOwner } from './page-checks.ts';
import { arrive, browserOfFile, chrome, MARKUP } from './page-support.ts';

describe.skipIf(chrome === undefined)('the audit', { timeout: 120_000 }, () => {
  const { newContext } = browserOfFile();
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await startGateway({ config: { admin: true } });
    const add = async (ago: number, actor: string, action: string, detail: object, status?: number) => {
      const at = Date.now() - ago * 60_000;
      const entry = { at, actor, address: '10.0.0.7', action, detail: JSON.stringify(detail) };
      const id = await gateway.store.beginAudit(entry);
      if (status !== undefined) await gateway.store.endAudit(id, status);
    };
    for (let turn = 0; turn < 60; turn += 1)
      await add(3000 - turn, 'adm_robot', 'changeAccount', { account: `account ${turn}`, tier: 'pro' }, 200);
    await add(20, 'cli ada', 'createKey', { account: MARKUP, name: 'laptop', models: ['a', 'b'] }, 201);
    await add(10, 'adm_robot', 'removeAccount', { account: 'ada' }, 404);
    await add(5, 'adm_robot', 'revokeKey', { id: 'key_x' });
    const [key] = await gateway.store.listKeys();
    const deps = { store: gateway.store, clock: systemClock, ids: createIds() };
    const { token } = await createAdminToken(deps, { label: 'deployment', scope: 'write', expiresAt: null });
    await add(4, token.id, 'rotateKey', { id: key?.id }, 201);
  }, 60_000);
  afterAll(() => gateway.stop());

  const rows = (page: Page) =>
    page.getByRole('table', { name: 'Changes, the newest first' }).locator('tbody tr');

  it('says what was done, by whom and from where, and a row unfolds to its detail by keyboard', async () => {
    const page = await openOwner(await newContext(), gateway, 'audit');
    const created = rows(page).filter({ hasText: 'created a key for' });
    await created.getByText('cli ada').waitFor();
    // What a client chose is text.
    await created.getByText(MARKUP).first().waitFor();
    expect(await page.title()).toBe('Audit – Gateway');
    await rows(page).filter({ hasText: 'removed account ada' }).getByText('refused (404)').waitFor();
    await rows(page).filter({ hasText: 'revoked key key_x' }).getByText('not ended').waitFor();
    // A key and a token by their names.
    const [key] = await gateway.store.listKeys();
    const named = rows(page).filter({ hasText: `replaced key ${key?.prefix}… of ${key?.account}` });
    await named.getByRole('link', { name: 'deployment' }).waitFor();
    await created.getByRole('button').focus();
    await page.keyboard.press('Enter');
    const detail = page.locator('tr.unfolded');
    await detail.getByText('a, b', { exact: true }).waitFor();
    expect(await detail.innerText()).toContain('10.0.0.7');
    await expectAccessible(page, 'audit');
  });

  it('is filtered by who, what and when, in the address, and goes page by page', async () => {
    const page = await openOwner(await newContext(), gateway, 'audit');
    await rows(page).first().waitFor();
    expect(await rows(page).count()).toBe(50);
    await page.getByRole('link', { name: 'Older' }).click();
    await page.getByRole('link', { name: 'Newest' }).waitFor();
    await expect.poll(() => rows(page).count()).toBeLessThan(50);
    await page.getByRole('link', { name: 'Newest' }).click();
    await page.getByLabel('Operation').fill('createKey');
    await expect.poll(() => rows(page).count()).toBe(1);
    expect(page.url()).toContain('operation=createKey');
    await page.reload();
    await arrive(page, 'audit');
    await expect.poll(() => rows(page).count()).toBe(1);
    await page.getByLabel('Operation').fill('');
    await page.getByLabel('Window').selectOption('1h');
    await expect.poll(() => rows(page).count()).toBeLessThan(10);
    await rows(page).getByRole('link', { name: 'adm_robot' }).first().click();
    await expect.poll(() => rows(page).count()).toBe(2);
    expect(await page.getByLabel('Who').inputValue()).toBe('adm_robot');
    await page.getByLabel('Who').fill('nobody');
    await page.getByText('No change fits this filter.').waitFor();
    await page.getByRole('link', { name: 'Remove the filter' }).click();
    await expect.poll(() => rows(page).count()).toBe(50);
  });

  it.each([320, 1440])('fits into %i pixels, with axe content', async (width) => {
    const page = await openOwner(await newContext({ viewport: { width, height: 800 } }), gateway, 'audit');
    await rows(page).first().waitFor();
    await expectAccessible(page, `audit, ${width}`);
  });
});
