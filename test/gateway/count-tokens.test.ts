// Counting tokens: the provider's own number where it has one, else an estimate, and never an error of the provider.
import { expect, test } from 'vitest';
import { gateway, provider, type TestGateway } from '../helpers/gateway.ts';
import { CUT, scriptedProvider, type Script } from '../helpers/scripted-provider.ts';
import { ask } from '../helpers/ask.ts';
import { manualClock } from '../helpers/clock.ts';

const PATH = '/v1/messages/count_tokens';

function count({ url, key }: TestGateway, model = 'm'): Promise<Response> {
  return fetch(url + PATH, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'How many tokens are in this?' }] }),
  });
}

async function expectEstimate(response: Response): Promise<void> {
  expect(response.status).toBe(200);
  expect(response.headers.get('x-gateway-estimated')).toBe('true');
  const { input_tokens: tokens } = (await response.json()) as { input_tokens: number };
  expect(tokens).toBeGreaterThan(4);
  expect(tokens).toBeLessThan(40);
}

test.each(['/v1', '/messages/v1'])(
  "the provider's own number, from a base URL that ends in %s",
  async (base) => {
    const scripted = await scriptedProvider();
    scripted.play({ body: { input_tokens: 17 } });
    const to = await gateway({
      config: { providers: { p: provider(scripted.url + base, 'messages', ['m']) } },
    });
    const response = await count(to);
    expect(await response.json()).toEqual({ input_tokens: 17 });
    expect(response.headers.get('x-gateway-estimated')).toBeNull();
    expect(scripted.requests[0]?.path).toBe(`${base}/messages/count_tokens`);
  },
);

test("the provider's answer whole, byte for byte", async () => {
  const scripted = await scriptedProvider();
  const body = '{ "input_tokens": 17, "context_management": {"original_input_tokens": 99} }';
  scripted.play({ body });
  const to = await gateway({
    config: { providers: { p: provider(`${scripted.url}/v1`, 'messages', ['m']) } },
  });
  expect(await (await count(to)).text()).toBe(body);
});

test.each<[string, Script]>([
  ['refuses', { status: 404, body: { type: 'error', error: { type: 'not_found_error', message: 'no' } } }],
  ['fails', { status: 500, body: 'oh' }],
  ['says no number', { body: { tokens: 17 } }],
  ['says a number below zero', { body: { input_tokens: -5 } }],
  ['says half a token', { body: { input_tokens: 1.5 } }],
  ['breaks off', { steps: ['{"input_', CUT] }],
])('an estimate where the provider %s', async (_what, script) => {
  const scripted = await scriptedProvider();
  scripted.play(script);
  const config = { providers: { p: provider(`${scripted.url}/v1`, 'messages', ['m']) } };
  await expectEstimate(await count(await gateway({ config })));
  expect(scripted.requests).toHaveLength(1);
});

test('an estimate where the provider does not answer in five seconds', async () => {
  const scripted = await scriptedProvider();
  scripted.play({ steps: ['{', new Promise(() => undefined)] });
  const clock = manualClock();
  const config = { providers: { p: provider(`${scripted.url}/v1`, 'messages', ['m']) } };
  const to = await gateway({ config, clock });
  const counting = count(to);
  await scripted.next();
  clock.advance(5000);
  await expectEstimate(await counting);
});

test('an estimate while every target cools down, and the hour is not charged', async () => {
  const scripted = await scriptedProvider();
  scripted.playAlways({
    status: 429,
    headers: { 'retry-after': '1000' },
    body: { error: { message: 'slow' } },
  });
  const at = `${scripted.url}/v1`;
  const config = { providers: { p: provider(at, 'messages', ['m']), q: provider(at, 'messages', ['m']) } };
  const to = await gateway({ config });
  const body = { max_tokens: 9 };
  expect((await ask(to, { protocol: 'messages', model: 'm', body })).status).toBe(503);
  const { requests } = scripted;
  const before = requests.length;
  await expectEstimate(await count(to));
  expect(requests).toHaveLength(before);
});

// What a request refers to is a part of its input. https://platform.openai.com/docs/api-reference/responses/input-tokens
test.each(['chat', 'responses'] as const)(
  'what a responses request refers to is counted (%s provider)',
  async (protocol) => {
    const scripted = await scriptedProvider();
    const providers = {
      p: provider(`${scripted.url}/v1`, 'chat', ['first']),
      q: provider(`${scripted.url}/v1`, protocol, ['m']),
    };
    const to = await gateway({ config: { providers } });
    const post = async (path: string, body: object): Promise<Response> =>
      fetch(`${to.url}/v1/responses${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${to.key}` },
        body: JSON.stringify(body),
      });
    const tokens = async (body: object): Promise<number> => {
      const counted = (await (await post('/input_tokens', { model: 'm', ...body })).json()) as object;
      return (counted as { input_tokens: number }).input_tokens;
    };
    const message = { role: 'assistant', content: 'Yes.' };
    scripted.play({ body: { choices: [{ index: 0, message, finish_reason: 'stop' }] } });
    const stored = await post('', { model: 'first', input: 'a long story '.repeat(200) });
    const { id, output } = (await stored.json()) as { id: string; output: { id: string }[] };
    scripted.playAlways({ status: 404, body: { error: { message: 'no' } } });

    const alone = await tokens({ input: 'And then?' });
    expect(await tokens({ input: 'And then?', previous_response_id: id })).toBeGreaterThan(alone + 400);
    if (protocol === 'responses')
      expect(scripted.requests.at(-1)?.bytes.toString()).toContain('a long story');
    const reference = { type: 'item_reference', id: output[0]?.id };
    expect(await tokens({ input: [reference, { role: 'user', content: 'And then?' }] })).toBeGreaterThan(0);
    const unknown = await post('/input_tokens', { model: 'm', input: 'x', previous_response_id: 'resp_0' });
    expect(unknown.status).toBe(400);
  },
);
