// Trying a model in the browser: the answer appears while it comes, with what it cost; it is stopped by a button; nothing of it is kept.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { provider, startGateway, type TestGateway } from '../helpers/gateway.ts';
import { gate, startScriptedProvider, type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { content, FINISH, START, TERMINAL } from '../gateway/wire.ts';
import { expectAccessible, openOwner } from './page-checks.ts';
import { browserOfFile, chrome, MARKUP } from './page-support.ts';

/** As a provider counts. */
const USAGE = `data: ${JSON.stringify({
  ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [] },
  usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 },
})}\n\n`;

describe.skipIf(chrome === undefined)('trying a model', { timeout: 120_000 }, () => {
  const { newContext } = browserOfFile();
  let gateway: TestGateway;
  let upstream: ScriptedProvider;

  beforeAll(async () => {
    upstream = await startScriptedProvider();
    const price = { input: 10, output: 1000 };
    gateway = await startGateway({
      config: {
        admin: true,
        tiers: { small: { requests: '1/hour' } },
        providers: { sim: {}, p: provider(`${upstream.url}/v1`, 'chat', [{ id: 'm', price }]) },
      },
    });
    await gateway.newKey({ account: 'ada', tier: 'small', models: ['p/m'] });
    const gone = await gateway.newKey({ account: 'gone' });
    expect(gone).toMatch(/^sk-gw-/);
    const [key] = await gateway.store.listKeys('gone');
    await gateway.store.revokeKey(key?.id ?? '', Date.now());
  }, 60_000);
  afterAll(async () => {
    await gateway.stop();
    await upstream.close();
  });

  it('streams the answer as the chosen key, with target, headers, tokens and cost, by keyboard', async () => {
    const held = gate();
    upstream.play({
      headers: { 'content-type': 'text/event-stream' },
      steps: [
        START.chat,
        content('chat', MARKUP),
        held.opened,
        content('chat', ' end'),
        FINISH.chat,
        USAGE,
        TERMINAL.chat,
      ],
    });
    const page = await openOwner(await newContext(), gateway, 'try', /429/);
    const keys = page.getByLabel('As the key');
    expect((await keys.innerText()).includes('gone')).toBe(false);
    const [ada] = await gateway.store.listKeys('ada');
    await keys.selectOption(ada?.id ?? '');
    await expect.poll(() => page.getByLabel('Model').inputValue()).toBe('p/m');
    await page.getByLabel('Prompt', { exact: true }).fill('Say something secret.');
    await page.getByRole('button', { name: 'Send' }).focus();
    await page.keyboard.press('Enter');
    const text = page.getByRole('group', { name: 'Text of the answer' });
    // While it comes, as text.
    await expect.poll(() => text.innerText()).toBe(MARKUP);
    await page.getByText('Answering').waitFor();
    held.open();
    await expect.poll(() => text.innerText()).toBe(`${MARKUP} end`);
    const answer = page.getByRole('region', { name: 'Answer' });
    await answer.getByText('Done').waitFor();
    const shown = await answer.innerText();
    expect(shown).toContain('p/m');
    expect(shown).toMatch(/Cost\s+\S*\$0\.00312/);
    expect(shown).toContain('12 in, 3 out');
    await answer.getByText('Headers').click();
    await answer.getByText('x-gateway-provider').waitFor();
    // The place says what was tried, never the prompt.
    expect(page.url()).toContain('model=p%2Fm');
    expect(page.url()).not.toContain('secret');
    const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
    expect(stored).not.toContain('secret');
    await expectAccessible(page, 'try');

    // It was counted: the tier allows one request an hour.
    await page.getByRole('button', { name: 'Send' }).click();
    await answer.getByRole('alert').waitFor();
    expect(await answer.innerText()).toMatch(/1 request/);
    await expectAccessible(page, 'try, refused');
  });

  it.each([
    ['try', ['Model']],
    ['compare', ['Model', 'Against']],
  ] as const)('%s: names of models that come late replace nothing that is typed', async (view, labels) => {
    const page = await openOwner(await newContext(), gateway, 'connect');
    const late = gate();
    await page.route('**/admin/api/v1/models*', async (route) => {
      await late.opened;
      await route.continue();
    });
    await page.evaluate((place) => (location.hash = place), `#/${view}`);
    const [first = '', second] = labels;
    const field = page.getByLabel(first, { exact: true });
    const [test] = await gateway.store.listKeys('test');
    await page.getByLabel('As the key').selectOption(test?.id ?? '');
    await expect.poll(() => field.inputValue()).toBe('');
    await field.pressSequentially('p/m');
    const loaded = page.waitForResponse(/models/);
    late.open();
    await loaded;
    if (second !== undefined)
      await expect.poll(() => page.getByLabel(second, { exact: true }).inputValue()).not.toBe('');
    await page.locator('datalist option').first().waitFor({ state: 'attached' });
    await field.press('x');
    expect(await field.inputValue()).toBe('p/mx');
    expect(await field.evaluate((input) => input === document.activeElement)).toBe(true);
    // Nor does another key, whose own models are offered.
    const [ada] = await gateway.store.listKeys('ada');
    await page.getByLabel('As the key').selectOption(ada?.id ?? '');
    await expect.poll(() => page.locator('datalist option').count()).toBe(labels.length);
    expect(await field.inputValue()).toBe('p/mx');
  });

  it('ends by its button, and the provider is left', async () => {
    upstream.play({
      headers: { 'content-type': 'text/event-stream' },
      steps: [START.chat, content('chat', 'one'), new Promise(() => undefined)],
    });
    const page = await openOwner(await newContext({ viewport: { width: 320, height: 800 } }), gateway, 'try');
    const [test] = await gateway.store.listKeys('test');
    await page.getByLabel('As the key').selectOption(test?.id ?? '');
    await page.getByLabel('Model').fill('p/m');
    await page.getByLabel('Prompt', { exact: true }).fill('x');
    const before = upstream.requests.length;
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('group', { name: 'Text of the answer' }).waitFor();
    await expectAccessible(page, 'try, 320');
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped').waitFor();
    expect(await upstream.requests[before]?.left).toBe(true);
  });
});
