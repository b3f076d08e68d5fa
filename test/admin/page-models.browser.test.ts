// The view of models in the browser: a row a name, routes first, that unfolds to its targets; what was learnt is said and forgotten.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Locator, Page } from 'playwright-core';
import { ask } from '../helpers/ask.ts';
import { provider, startGateway, type TestGateway } from '../helpers/gateway.ts';
import { startScriptedProvider, type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { expectAccessible, openOwner } from './page-checks.ts';
import { browserOfFile, chrome } from './page-support.ts';

const REFUSAL = { status: 400, body: { error: { message: "Unknown parameter: 'seed'." } } };

describe.skipIf(chrome === undefined)('the models', { timeout: 120_000 }, () => {
  const { newContext } = browserOfFile();
  let gateway: TestGateway;
  let upstream: ScriptedProvider;

  beforeAll(async () => {
    upstream = await startScriptedProvider();
    upstream.answerBy(({ json }) => ('seed' in json ? REFUSAL : undefined));
    gateway = await startGateway({
      config: {
        admin: true,
        providers: {
          p: provider(`${upstream.url}/v1`, 'chat', [
            { id: 'm', tools: false, documents: false, vision: false, price: { input: 2.5, output: 10 } },
            'a-model-with-a-name-that-is-rather-long-for-a-table-of-a-phone',
          ]),
          sim: {},
        },
        routes: {
          coding: {
            strategy: 'fastest',
            targets: ['p/m', 'sim/echo'],
            classes: { compaction: ['sim/slow'] },
          },
        },
      },
    });
  }, 60_000);
  afterAll(async () => {
    await gateway.stop();
    await upstream.close();
  });

  const rows = (page: Page) =>
    page
      .getByRole('table', { name: 'Names that clients may send, routes first' })
      .locator(':scope > tbody > tr');

  it('has routes first, which unfold by keyboard to their targets, strategy and classes', async () => {
    const page = await openOwner(await newContext(), gateway, 'models');
    await rows(page).first().waitFor();
    const names = await rows(page).locator('th').allInnerTexts();
    expect(names.slice(0, 2).sort()).toEqual(['auto', 'coding']);
    const coding = rows(page).filter({ hasText: 'coding' });
    expect(await coding.innerText()).toContain('the fastest of 2, 1 by work');
    await coding.getByRole('button').focus();
    await page.keyboard.press('Enter');
    const inside = page.getByRole('table', { name: 'Targets of coding, in their order' });
    expect(await inside.locator('tbody th').allInnerTexts()).toEqual(['p/m', 'sim/echo']);
    const first = await inside.locator('tbody tr').first().innerText();
    expect(first).toContain('tools');
    expect(first).toContain('2.5');
    // What is well is not said.
    expect(await rows(page).first().innerText()).not.toMatch(/healthy|yes/);
    await page.getByText('First for class compaction').waitFor();
    await expectAccessible(page, 'models');
    await page.getByLabel('Find').fill('rather-long');
    await expect.poll(() => rows(page).count()).toBeGreaterThan(0);
    await expect
      .poll(async () => (await rows(page).allInnerTexts()).some((text) => text.includes('coding')))
      .toBe(false);
  });

  it('says of a name what its targets lack together, in both tables alike', async () => {
    const page = await openOwner(await newContext(), gateway, 'models?find=m');
    const lacks = async (row: Locator): Promise<string> => {
      const titles = await row
        .locator('xpath=ancestor::table[1]')
        .locator(':scope > thead th')
        .allInnerTexts();
      const cells = await row.locator(':scope > th, :scope > td').allInnerTexts();
      return cells[titles.findIndex((title) => /lacks/i.test(title))] ?? 'nothing found';
    };
    const one = rows(page).filter({ has: page.getByRole('button', { name: /^(p\/)?m$/ }) });
    await one.waitFor();
    const said = await lacks(one);
    for (const word of ['tools', 'vision', 'documents']) expect(said).toContain(word);
    await one.getByRole('button').click();
    const target = page
      .getByRole('table', { name: /^Targets of (p\/)?m, in their order$/ })
      .locator('tbody tr');
    expect(await lacks(target.first())).toBe(said);
    // Another target does it.
    const coding = rows(page).filter({ has: page.getByRole('button', { name: 'coding', exact: true }) });
    await page.getByLabel('Find').fill('coding');
    await coding.waitFor();
    expect(await lacks(coding)).not.toContain('tools');
  });

  it('says beside a state that is not healthy when the target is asked again, with a space between', async () => {
    upstream.playAlways({ status: 429, headers: { 'retry-after': '300' }, body: {} });
    await ask(gateway, { model: 'p/a-model-with-a-name-that-is-rather-long-for-a-table-of-a-phone' });
    const page = await openOwner(await newContext(), gateway, 'models?find=rather-long');
    await rows(page).first().getByRole('button').click();
    const inside = page.getByRole('table', { name: /^Targets of / }).first();
    await expect.poll(() => inside.innerText()).toMatch(/asked again in \d+ (seconds|minutes)/);
  });

  it('says what was learnt of a target and when, and forgets it', async () => {
    upstream.playAlways({ body: ANSWER });
    const answered = await ask(gateway, { model: 'p/m', body: { seed: 1 } });
    expect(answered.headers.get('x-gateway-dropped')).toBe('seed');
    const page = await openOwner(await newContext(), gateway, 'models?find=p%2Fm');
    const row = rows(page).filter({ has: page.getByRole('button', { name: /^(p\/)?m$/ }) });
    await row.getByRole('button').click();
    await page.getByText('reject_fields seed').waitFor();
    const unfolded = await page.locator('tr.unfolded').innerText();
    expect(unfolded).toContain('Unknown parameter');
    expect(unfolded).toMatch(/second|now|minute/);
    await expectAccessible(page, 'models, learnt');
    await page.getByRole('button', { name: 'Forget it p/m' }).click();
    await page.getByRole('status').filter({ hasText: 'what was learnt of it is forgotten' }).waitFor();
    await page.getByText('reject_fields seed').waitFor({ state: 'detached' });
    const [last] = await gateway.store.listAudit(Number.MAX_SAFE_INTEGER, 1);
    expect(last).toMatchObject({ action: 'resetTargets', detail: '{"target":"p/m"}', status: 200 });
  });

  it('fits into 320 pixels, unfolded', async () => {
    const page = await openOwner(
      await newContext({ viewport: { width: 320, height: 800 } }),
      gateway,
      'models',
    );
    await rows(page).filter({ hasText: 'coding' }).getByRole('button').click();
    await page.getByRole('table', { name: 'Targets of coding, in their order' }).waitFor();
    await expectAccessible(page, 'models, 320');
  });
});

const ANSWER = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};
