// Two models side by side in the browser: a request of a tape's folder or a pasted one goes to both as the chosen key.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../helpers/gateway.ts';
import { startScriptedProvider, type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { expectAccessible, openOwner } from './page-checks.ts';
import { browserOfFile, chrome, MARKUP } from './page-support.ts';

const SCHEMA = {
  type: 'object',
  properties: { path: { type: 'string' }, limit: { type: 'integer', default: 10 } },
};
const requestOf = (content: string) => ({
  model: 'recorded',
  messages: [{ role: 'user', content }],
  tools: [{ type: 'function', function: { name: 'read', parameters: SCHEMA } }],
});

describe.skipIf(chrome === undefined)('comparing two models', { timeout: 120_000 }, () => {
  const { newContext } = browserOfFile();
  let gateway: TestGateway;
  let upstream: ScriptedProvider;
  const folder = mkdtempSync(join(tmpdir(), 'gateway-tape-'));

  beforeAll(async () => {
    upstream = await startScriptedProvider();
    upstream.answerBy(({ json }) => {
      if (json['model'] === 'broken') return { status: 400, body: { error: { message: 'not like this' } } };
      const text = json['model'] === 'a' ? '{"path":"x"}' : '{"path":"x","limit":10}';
      const tool_calls = [{ id: 'call_1', type: 'function', function: { name: 'read', arguments: text } }];
      return {
        body: {
          ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
          choices: [
            {
              index: 0,
              message: { role: 'assistant', content: MARKUP, tool_calls },
              finish_reason: 'tool_calls',
            },
          ],
          usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 },
        },
      };
    });
    const models = ['a', 'b', 'broken'].map((id) => ({ id, price: { input: 10, output: 1000 } }));
    const up = { protocol: 'chat', base_url: `${upstream.url}/v1`, api_key: 'k', models };
    gateway = await startGateway({ config: { admin: true, providers: { up } } });
    for (const [number, text] of [
      ['0001', 'First'],
      ['0002', 'Second'],
    ] as const) {
      mkdirSync(join(folder, 'task', number), { recursive: true });
      writeFileSync(join(folder, 'task', number, 'client-request.json'), JSON.stringify(requestOf(text)));
      writeFileSync(join(folder, 'task', number, 'exchange.json'), '{}');
    }
    writeFileSync(join(folder, 'task', 'tape.json'), '{}');
  }, 60_000);
  afterAll(async () => {
    await gateway.stop();
    await upstream.close();
    rmSync(folder, { recursive: true });
  });

  it('sends the chosen request of a tape to both, and says how the calls compare', async () => {
    const page = await openOwner(await newContext(), gateway, 'compare');
    await page.getByLabel('Folder of a tape').setInputFiles(join(folder, 'task'));
    await page.getByLabel('Request of the tape').selectOption({ label: '0002' });
    await page.getByLabel('Model').fill('up/a');
    await page.getByLabel('Against').fill('up/b');
    const before = upstream.requests.length;
    await page.getByRole('button', { name: 'Send to both' }).click();
    await page.getByText('Equal calls after their schemas').waitFor();
    expect(await page.getByText('The same text').isVisible()).toBe(true);
    expect(await page.getByLabel('Calls of up/b').innerText()).toBe('read {"path":"x","limit":10}');
    expect(await page.getByLabel('Text of up/a').innerText()).toBe(MARKUP);
    expect(await page.getByText('12 in, 3 out').count()).toBe(2);
    expect(await page.getByText('$0.0031').count()).toBe(2);
    const sent = upstream.requests
      .slice(before)
      .map(({ json }) => [json['model'], JSON.stringify(json['messages'])]);
    expect(sent.map(([model]) => model).sort()).toEqual(['a', 'b']);
    expect(sent.every(([, text]) => String(text).includes('Second'))).toBe(true);
    await expectAccessible(page, 'compare');
  });

  it('takes a pasted request, shows the failure of one beside the answer of the other, and fits a phone', async () => {
    const page = await openOwner(
      await newContext({ viewport: { width: 320, height: 800 } }),
      gateway,
      'compare',
    );
    await page.getByLabel('Model').fill('up/a');
    await page.getByLabel('Against').fill('up/broken');
    await page.getByLabel('Or the body of a request').fill('{"messages":');
    await page.getByRole('button', { name: 'Send to both' }).click();
    await page.getByText('The request is no JSON object').waitFor();
    await page.getByLabel('Or the body of a request').fill(JSON.stringify(requestOf('Pasted')));
    await page.getByRole('button', { name: 'Send to both' }).click();
    await page.getByText('Not both have answered').waitFor();
    expect(await page.getByText('not like this').count()).toBe(1);
    await expect.poll(() => page.getByLabel('Calls of up/a').count()).toBe(1);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
    await expectAccessible(page, 'compare, 320');
  });
});
