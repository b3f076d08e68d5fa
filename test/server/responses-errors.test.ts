// What Codex goes by at `/v1/responses`: statuses, codes and headers of errors, and the account's hour on success.
import { expect, test } from 'vitest';
import { gateway, provider, type TestGateway } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { completion } from '../translation/answers.ts';

async function place(config: object = {}) {
  const upstream = await scriptedProvider();
  const providers = { chat: provider(`${upstream.url}/v1`, 'chat', ['m']) };
  const server = await gateway({ config: { providers, ...config } });
  return { upstream, server };
}

function ask({ url, key }: TestGateway, body: object = {}, bearer = key): Promise<Response> {
  return fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', input: 'hello', ...body }),
  });
}

async function errorOf(response: Response): Promise<Record<string, unknown>> {
  return ((await response.json()) as { error: Record<string, unknown> }).error;
}

test('the hour that is used up is a usage limit with its end, and its use stands in the headers before', async () => {
  const { upstream, server } = await place({ tiers: { enterprise: 1 } });
  upstream.play({ body: completion({ content: 'hi' }, 'stop') });
  const first = await ask(server);
  expect(first.status).toBe(200);
  expect(first.headers.get('x-codex-primary-used-percent')).toBe('100');
  expect(first.headers.get('x-codex-primary-window-minutes')).toBe('60');
  const refused = await ask(server);
  expect(refused.status).toBe(429);
  const { type, resets_at: resetsAt } = await errorOf(refused);
  expect(type).toBe('usage_limit_reached');
  expect(Number(resetsAt) % 3600).toBe(0);
  expect(Number(refused.headers.get('x-codex-primary-reset-at'))).toBe(resetsAt);
  expect(refused.headers.has('retry-after')).toBe(true);
});

test.each([2, 600])(
  'a provider that is busy for %i s is a 503 with the wait in milliseconds alone',
  async (seconds) => {
    const { upstream, server } = await place();
    const busy = { error: { message: 'slow down', code: 'rate_limit_exceeded' } };
    upstream.play({ status: 429, headers: { 'retry-after': String(seconds) }, body: busy });
    const refused = await ask(server);
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after-ms')).toBe(String(seconds * 1000));
    expect(refused.headers.has('retry-after')).toBe(false);
    expect(await errorOf(refused)).toMatchObject({ code: 'server_is_overloaded' });
  },
);

test('a body that is too large is a 400 with the code of an overflow', async () => {
  const { server } = await place({ limits: { max_values: 20 } });
  const input = Array.from({ length: 30 }, () => ({ role: 'user', content: 'a' }));
  const refused = await ask(server, { input });
  expect(refused.status).toBe(400);
  expect(await errorOf(refused)).toMatchObject({ code: 'context_length_exceeded' });
});

test('a model that the key may not use is a 403 with the code at which Codex stops', async () => {
  const { server } = await place();
  const refused = await ask(server, {}, await server.newKey({ models: ['other'] }));
  expect(refused.status).toBe(403);
  expect(await errorOf(refused)).toMatchObject({ code: 'model_not_found' });
});
