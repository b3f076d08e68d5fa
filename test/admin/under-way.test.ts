// A request before its end, by its id: what is known so far, for its owner alone, without a gap until it is stored.
import { expect, it } from 'vitest';
import { send } from '../helpers/ask.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { gate, scriptedProvider } from '../helpers/scripted-provider.ts';
import { content, START, streamOf } from '../gateway/wire.ts';
import { call, newToken, openMember } from './support.ts';

async function place() {
  const upstream = await scriptedProvider();
  const providers = {
    full: provider(upstream.url, 'chat', ['m']),
    maker: provider(upstream.url, 'chat', ['m']),
  };
  const routes = { pair: ['full/m', 'maker/m'] };
  const running = await gateway({ config: { admin: true, providers, routes } });
  const { plaintext: token } = await newToken(running);
  const rest = gate();
  upstream.play(
    { status: 529, body: {} },
    { steps: [START.chat + content('chat', 'a'), rest.opened, streamOf('chat', 'b')] },
  );
  const response = await send(running, { model: 'pair', stream: true });
  const id = response.headers.get('x-request-id') ?? '';
  return { running, token, response, id, rest };
}

it('tells what is known of a request under way, and finds it without a gap until it is stored', async () => {
  const { running, token, response, id, rest } = await place();
  const read = () => call(running, `/requests/${id}`, { token });
  const { status, json } = await read();
  expect(status).toBe(200);
  expect(json).toMatchObject({
    ...{ id, account: 'test', state: 'answering', model_asked: 'pair', endpoint: 'chat', stream: true },
    ...{ provider: 'maker', model: 'm', attempts: 2, input_tokens: null },
    detail: { attempts: [{ target: 'full/m', status: 529 }, { target: 'maker/m' }] },
  });
  expect(Date.parse(String(json['started_at']))).toBeLessThanOrEqual(Date.now());
  expect(json['first_byte_ms']).toBeGreaterThan(0);
  expect(json['age_ms']).toBeGreaterThanOrEqual(Math.floor(Number(json['first_byte_ms'])));
  for (const member of ['at', 'status', 'error', 'refused', 'duration_ms', 'cost_usd'])
    expect(json).not.toHaveProperty(member);
  expect((await call(running, `/requests/${id.slice(0, -1)}`, { token })).status).toBe(404);

  rest.open();
  await response.text();
  let found = (await read()).json;
  while (found['state'] !== undefined) found = (await read()).json;
  expect(found).toMatchObject({ id, account: 'test', status: 200, error: null });
  await expect.poll(async () => (await running.store.listRequests({ limit: 1 })).length).toBe(1);
  expect((await read()).json).toEqual(found);
});

it("is no member's but of its account, whatever that is called by then", async () => {
  const { running, token, id, rest } = await place();
  const own = await openMember(running, running.key);
  const other = await openMember(running, await running.newKey({ account: 'other' }));
  expect((await own.call(`/me/requests/${id}`)).json).toMatchObject({ id, account: 'test' });
  expect((await other.call(`/me/requests/${id}`)).status).toBe(404);
  expect((await own.call(`/requests/${id}`)).status).toBe(403);

  const rename = (from: string, to: string) =>
    call(running, `/accounts/${from}`, { method: 'PATCH', token, body: { account: to } });
  expect((await rename('test', 'renamed')).status).toBe(200);
  expect((await rename('other', 'test')).status).toBe(200);
  expect((await own.call(`/me/requests/${id}`)).json).toMatchObject({ id, account: 'renamed' });
  expect((await other.call(`/me/requests/${id}`)).status).toBe(404);
  expect((await call(running, `/requests/${id}`, { token })).json).toMatchObject({ account: 'renamed' });
  rest.open();
});
