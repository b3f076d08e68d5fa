// Now, Limits and Conversations in a browser: what needs a person, what is under way until its end, grants, a brake that is released.
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { ask, send } from '../helpers/ask.ts';
import { gateway as started, provider, type TestGateway } from '../helpers/gateway.ts';
import { gate, scriptedProvider } from '../helpers/scripted-provider.ts';
import { content, START, streamOf, wholeOf } from '../gateway/wire.ts';
import { newKey, usageRow } from '../store/support.ts';
import { expectAccessible } from './page-access.ts';
import { browserOfFile, chrome, go } from './page-support.ts';

const TASK = '2afbfa1b-5163-4ef7-9012-b5d0f8af0935';
const SESSION = { 'x-claude-code-session-id': TASK };
const AGENT = { ...SESSION, 'x-claude-code-agent-id': 'a0f1', 'x-claude-code-agent-type': 'Explore' };

const answer = (input: number): object => ({
  ...wholeOf('chat', 'a'),
  usage: { prompt_tokens: input, completion_tokens: 1, total_tokens: input + 1 },
});

async function place(more: Record<string, unknown> = {}) {
  const upstream = await scriptedProvider();
  const price = { input: 1e6, output: 1e6 };
  const providers = {
    maker: provider(upstream.url, 'chat', [{ id: 'm', price }]),
    other: provider(upstream.url, 'chat', ['a-model-with-a-name-that-is-longer-than-a-phone-is-wide']),
    keyless: { protocol: 'chat', base_url: 'http://127.0.0.1:9', api_key: '${MISSING}', models: ['x'] },
  };
  const tiers = { team: { requests: '100/hour', cost: '10/day' } };
  const running = await started({
    tier: 'team',
    config: { admin: true, providers, tiers, brakes: { conversation: 8 }, ...more },
  });
  return { upstream, running };
}

describe.skipIf(chrome === undefined)('the page', { timeout: 120_000 }, () => {
  const { newContext } = browserOfFile();

  async function open(running: TestGateway, width = 1440): Promise<Page> {
    const page = await (await newContext({ viewport: { width, height: 900 } })).newPage();
    await page.goto(await running.adminLink());
    await page.getByRole('heading', { level: 1, name: 'Now' }).waitFor();
    return page;
  }

  it('shows a target in flight until the end of its stream, and links the request and its conversation', async () => {
    const { upstream, running } = await place();
    const rest = gate();
    upstream.play({ steps: [START.chat + content('chat', 'a'), rest.opened, streamOf('chat', 'b')] });
    const response = await send(running, { model: 'm', stream: true, headers: SESSION });
    const page = await open(running);
    const inFlight = page
      .getByRole('table', { name: 'Health of targets' })
      .getByRole('row', { name: 'maker/m' });
    await expect.poll(() => inFlight.getByRole('cell').nth(2).innerText()).toBe('1');
    const row = page.getByRole('table', { name: 'Requests in flight' }).getByRole('row').nth(1);
    const links = row.getByRole('link');
    expect(await links.nth(0).getAttribute('href')).toMatch(/^#\/requests\/req_/);
    expect(await links.nth(1).getAttribute('href')).toMatch(/^#\/conversations\/conv_/);
    rest.open();
    await response.text();
    await expect.poll(() => inFlight.getByRole('cell').nth(2).innerText()).toBe('0');
  });

  it('has a page for a request in flight, which becomes that of its end by itself', async () => {
    const { upstream, running } = await place();
    const rest = gate();
    upstream.play({ steps: [START.chat + content('chat', 'a'), rest.opened, streamOf('chat', 'b')] });
    const response = await send(running, { model: 'm', stream: true, headers: SESSION });
    const page = await open(running);
    const row = page.getByRole('table', { name: 'Requests in flight' }).getByRole('row').nth(1);
    await row.getByRole('link').first().click();
    await page.getByRole('heading', { level: 1, name: /^Request req_/ }).waitFor();
    const main = page.locator('main');
    await expect.poll(() => main.innerText()).toContain('In flight: answering');
    const text = await main.innerText();
    expect(text).toMatch(/Account\s+test/);
    expect(text).toMatch(/Target\s+maker\/m/);
    expect(text).toMatch(/Started\s+\d/);
    expect(text).toContain('From the first byte until now');
    const age = (): Promise<string> => page.locator('dt:text-is("Until now") + dd').innerText();
    const before = await age();
    await expect.poll(age).not.toBe(before);
    await expectAccessible(page, 'a request in flight');
    rest.open();
    await response.text();
    await expect.poll(() => main.innerText()).toMatch(/answered[\s\S]*Ended\s+\d/);
    expect(await main.innerText()).not.toContain('In flight');
  });

  it('shows a member the request of their own account in flight, and no other', async () => {
    const { upstream, running } = await place();
    const rest = gate();
    upstream.play({ steps: [START.chat + content('chat', 'a'), rest.opened, streamOf('chat', 'b')] });
    const response = await send(running, { model: 'm', stream: true });
    const id = response.headers.get('x-request-id') ?? '';
    const signIn = async (key: string): Promise<Page> => {
      const page = await (await newContext()).newPage();
      await page.goto(`${running.url}/admin/#/requests/${id}`);
      await page.getByLabel('Key', { exact: true }).fill(key);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { level: 1, name: /^Request req_/ }).waitFor();
      return page;
    };
    const [own, other] = [
      await signIn(running.key),
      await signIn(await running.newKey({ account: 'other' })),
    ];
    await own.getByText('In flight: answering').waitFor();
    await other.getByRole('alert').filter({ hasText: 'Your account has no such thing' }).waitFor();
    expect(await other.locator('main').innerText()).not.toMatch(/maker|In flight/);
    rest.open();
    await response.text();
    await own.getByText('answered', { exact: true }).first().waitFor();
    await own.getByText('In flight').waitFor({ state: 'detached' });
  });

  it('says first what needs a person, and has the last minutes at once', async () => {
    const { upstream, running } = await place();
    upstream.play({ body: answer(8) }, { status: 429, headers: { 'retry-after': '300' }, body: {} });
    await ask(running, { model: 'm' });
    await ask(running, { model: 'other/a-model-with-a-name-that-is-longer-than-a-phone-is-wide' });
    await expect.poll(async () => (await running.store.listRequests({ limit: 9 })).length).toBe(2);
    const page = await open(running);
    const strip = page.getByRole('region', { name: 'Needs you' });
    await expect.poll(() => strip.innerText()).toMatch(/test\s+has used 90\s?% of its .*10\.00 a day/);
    const text = await strip.innerText();
    expect(text).toMatch(/is avoided until \d\d:\d\d:\d\d: it is rate limited/);
    expect(text).toMatch(/The provider keyless is not used: .*MISSING/);
    expect(await page.locator('main > .loaded, main > section').first().innerText()).toContain('Needs you');
    const fullest = page.getByRole('table', { name: 'The fullest accounts' });
    expect(await fullest.innerText()).toMatch(/90\s?%[\s\S]*of .*10\.00 a day/);
    expect(await fullest.innerText()).toMatch(/requests an hour/);
    const samples = (): Promise<number> =>
      page.evaluate(async () => {
        const response = await fetch('/admin/api/v1/samples');
        return ((await response.json()) as { data: unknown[] }).data.length;
      });
    // The first one is a second old.
    await expect.poll(samples, { timeout: 5000 }).toBeGreaterThan(0);
  });

  it('raises a limit by keyboard and revokes the grant', async () => {
    const { upstream, running } = await place();
    upstream.play({ body: answer(8) });
    await ask(running, { model: 'm' });
    const page = await open(running);
    await go(page, 'limits');
    const table = page.getByRole('table', { name: 'Limits of accounts' });
    const cost = table.getByRole('row').filter({ hasText: 'a day' });
    await expect.poll(() => cost.innerText()).toMatch(/9\.00/);
    await table
      .getByRole('button', { name: /Raise the limits of test/ })
      .first()
      .focus();
    await page.keyboard.press('Enter');
    // The kind of which most is used.
    expect(await page.getByRole('combobox', { name: 'Limits of' }).inputValue()).toBe('cost');
    await page.getByLabel('How much more').fill('5');
    await page.keyboard.press('Enter');
    await page
      .getByRole('status')
      .filter({ hasText: /test has .*5\.00 more until/ })
      .waitFor();
    await expect.poll(() => cost.innerText()).toMatch(/6\.00/);
    await cost.getByRole('button', { name: /^Revoke/ }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('status').filter({ hasText: 'has ended' }).waitFor();
    const rows = await running.store.listAudit(Number.MAX_SAFE_INTEGER, 2);
    expect(rows.map(({ action }) => action)).toEqual(['revokeGrant', 'raiseLimits']);
  });

  it('filters limits while a part of a name is typed, and shows a grant that the tier limits no more', async () => {
    const { running } = await place({
      tiers: { team: { requests: '100/hour' }, free: { requests: '5/hour' } },
    });
    for (const account of ['Ada Lovelace', 'adam', 'grace']) await running.newKey({ account, tier: 'free' });
    const ada = await running.store.findAccount('Ada Lovelace');
    const until = Date.now() + 3_600_000;
    const grant = { id: 'grant_old', accountId: ada?.id ?? 0, kind: 'tokens' as const, amount: 5000, until };
    await running.store.addGrants([{ ...grant, createdAt: Date.now(), revokedAt: null }]);
    const page = await open(running);
    await go(page, 'limits');
    const rows = page.getByRole('table', { name: 'Limits of accounts' }).locator('tbody tr');
    await expect.poll(() => rows.count()).toBe(5);
    const answers: number[] = [];
    page.on('response', (response) => answers.push(response.status()));
    await page.getByLabel('Account', { exact: true }).pressSequentially('ADA', { delay: 200 });
    await expect.poll(() => rows.count()).toBe(3);
    expect(answers.filter((status) => status !== 200)).toEqual([]);
    const free = rows.filter({ hasText: 'no limit of tokens' });
    expect(await free.innerText()).toMatch(/\+5,000 tokens until/);
    await free.getByRole('button', { name: /^Revoke/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await expect.poll(() => rows.count()).toBe(2);
    await page.getByLabel('Account', { exact: true }).fill('nobody');
    await page.getByText('No account has this in its name.').waitFor();
  });

  it('shows a conversation as a tree, and lets it go on after a brake', async () => {
    const { upstream, running } = await place({ tiers: { team: { requests: '100/hour' } } });
    upstream.playAlways({ body: answer(8) });
    await ask(running, { model: 'm', headers: SESSION });
    expect((await ask(running, { model: 'm', headers: AGENT })).status).toBe(429);
    await expect.poll(async () => (await running.store.listRequests({ limit: 9 })).length).toBeGreaterThan(0);
    const page = await open(running);
    await go(page, 'conversations');
    const list = page.getByRole('table', { name: 'Conversations, the latest first' });
    await list.getByText('stopped: cost').waitFor();
    await list.getByRole('link').first().click();
    await page.getByRole('heading', { level: 1, name: /^Conversation / }).waitFor();
    await page.getByRole('button', { name: 'Let it go on' }).click();
    await page.getByLabel('Cost in USD from now on').fill('50');
    await page.getByRole('dialog').getByRole('button', { name: 'Let it go on' }).click();
    await page.getByRole('status').filter({ hasText: 'may go on' }).waitFor();
    expect((await ask(running, { model: 'm', headers: AGENT })).status).toBe(200);
    const [last] = await running.store.listAudit(Number.MAX_SAFE_INTEGER, 1);
    expect(last?.action).toBe('continueConversation');
    await expect
      .poll(async () => {
        await page.reload();
        return page.getByRole('table', { name: 'Agents of the conversation' }).innerText();
      })
      .toMatch(/main[\s\S]*Explore/);
  });

  it('shows older conversations page by page, and the latest ones under a new filter', async () => {
    const { running } = await place();
    const { accountId } = (await running.store.listKeys())[0] ?? { accountId: 0 };
    await running.store.recordUsage(
      Array.from({ length: 130 }, (_, n) =>
        usageRow({
          ...{ at: Date.now() - 1000 * (n + 1), accountId, requestId: `req_${n}` },
          ...{ conversation: `conv_${1000 + n}`, label: n === 0 ? 'first' : null },
        }),
      ),
    );
    const page = await open(running);
    await go(page, 'conversations');
    const rows = page.getByRole('table', { name: 'Conversations, the latest first' }).locator('tbody tr');
    await expect.poll(() => rows.count()).toBe(100);
    await page.getByRole('link', { name: 'Older' }).click();
    await expect.poll(() => rows.count()).toBe(30);
    expect(await rows.last().innerText()).toContain('1129');
    expect(await page.getByRole('link', { name: 'Older' }).count()).toBe(0);
    await page.getByLabel('Label').fill('first');
    await expect.poll(() => rows.count()).toBe(1);
    expect(await rows.first().innerText()).toContain('1000');
    await page.getByLabel('Label').fill('');
    await expect.poll(() => rows.count()).toBe(100);
    // The window that another view of requests has.
    await go(page, 'conversations?since=this-month');
    await expect.poll(() => rows.count()).toBeGreaterThan(0);
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it.each([320, 1440])('fits into %i pixels, and axe finds nothing', async (width) => {
    const { upstream, running } = await place();
    upstream.playAlways({ body: answer(8) });
    await ask(running, { model: 'm', headers: SESSION });
    await running.newKey({
      account: 'an account with a name that is longer than a phone is wide',
      tier: 'team',
    });
    await expect.poll(async () => (await running.store.listRequests({ limit: 9 })).length).toBe(1);
    const [row] = await running.store.listRequests({ limit: 1 });
    const page = await open(running, width);
    for (const view of ['now', 'limits', 'conversations', `conversations/${row?.conversation ?? ''}`]) {
      await go(page, view);
      await expectAccessible(page, `${view}, ${width}`);
    }
  });

  it('shows the limits of 1,500 accounts quickly', async () => {
    const { running } = await place();
    await addAccounts(running, 1500);
    const page = await open(running);
    const before = Date.now();
    await go(page, 'limits');
    await page.getByRole('link', { name: 'More accounts' }).click();
    await page.getByRole('link', { name: 'First page' }).waitFor();
    expect(Date.now() - before).toBeLessThan(10_000);
  });
});

async function addAccounts({ store }: TestGateway, accounts: number): Promise<void> {
  await Promise.all(
    Array.from({ length: accounts }, (_, n) =>
      store.createKey(newKey({ id: `key_${n}`, account: `account ${n}`, tier: 'team' })),
    ),
  );
}
