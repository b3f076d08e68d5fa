// The page at `/device` in a real browser: the owner approves and denies by a click, everybody else learns what to do. PAGE_SHOTS=FOLDER
// writes the pictures.
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { browserOfFile, chrome } from '../admin/page-support.ts';
import { gateway, type TestGateway } from '../helpers/gateway.ts';
import { askForCode, poll } from './support.ts';

const shots = process.env['PAGE_SHOTS'];
const ON = { config: { sign_in: 'on', admin: true } };

async function shoot(page: Page, name: string): Promise<void> {
  if (shots !== undefined) await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
}

describe.skipIf(chrome === undefined)('the page of a code', { timeout: 120_000 }, () => {
  const { newContext } = browserOfFile();

  /** A tab whose faults fail the test. A 401 is how the page learns that nobody is signed in. */
  async function tab(context: BrowserContext): Promise<Page> {
    const page = await context.newPage();
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error' && !message.text().includes('401')) faults.push(message.text());
    });
    onTestFinished(() => expect(faults).toEqual([]));
    return page;
  }

  async function asOwner(gw: TestGateway, context: BrowserContext): Promise<void> {
    const page = await tab(context);
    await page.goto(await gw.adminLink());
    await page.getByRole('heading', { level: 1, name: 'Now' }).waitFor();
  }

  it('approves by a click of the owner, for the account that the owner names', async () => {
    const gw = await gateway(ON);
    const context = await newContext();
    await asOwner(gw, context);
    const code = await askForCode(gw);
    const page = await tab(context);
    await page.goto(code.verification_uri_complete);
    await page.getByText(code.user_code).first().waitFor();
    await shoot(page, 'device-owner');
    expect((await poll(gw, code)).json['error']).toBe('authorization_pending');
    await page.getByRole('button', { name: `Approve ${code.user_code}` }).click();
    await shoot(page, 'device-question');
    await page.getByLabel('Account', { exact: true }).fill('laptop');
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByText(`${code.user_code} is approved for laptop.`).waitFor();
    await shoot(page, 'device-approved');
    const [account] = (await gw.store.listAccounts()).filter(({ name }) => name === 'laptop');
    expect(account).toBeDefined();
  });

  it('denies by a click', async () => {
    const gw = await gateway(ON);
    const context = await newContext();
    await asOwner(gw, context);
    const code = await askForCode(gw);
    const page = await tab(context);
    await page.goto(code.verification_uri);
    await page.getByRole('button', { name: `Deny ${code.user_code}` }).click();
    await page.getByRole('button', { name: 'Deny', exact: true }).click();
    await page.getByText(`${code.user_code} is denied.`).waitFor();
    expect((await poll(gw, code)).json['error']).toBe('access_denied');
  });

  it('tells everybody else what to do, also where the dashboard is off', async () => {
    const gw = await gateway({ config: { sign_in: 'on' } });
    const code = await askForCode(gw);
    const page = await tab(await newContext());
    page.removeAllListeners('console');
    await page.goto(code.verification_uri_complete);
    await page.getByText(`gateway approve ${code.user_code} --account NAME`).waitFor();
    await shoot(page, 'device-other');
    await page.goto(`${gw.url}/device?user_code=%3Cscript%3Ealert(1)%3C/script%3E`);
    await page.getByText('gateway approve CODE --account NAME').waitFor();
    expect(await page.content()).not.toContain('alert(1)');
  });
});
