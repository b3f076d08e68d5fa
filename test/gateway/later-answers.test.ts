// A request whose answer comes later is refused before its provider takes it: SDKs repeat what fails, and each repetition would be
// another job that nobody can fetch.
import { expect, it } from 'vitest';
import { gateway, provider } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';

const MESSAGES = [{ role: 'user', content: 'Think.' }];

it.each([
  ['/responses', 'responses', { background: true, input: 'Think.' }],
  ['/responses', 'responses', { background: true, stream: true, input: 'Think.' }],
  ['/responses', 'chat', { background: true, input: 'Think.' }],
  ['/chat/completions', 'chat', { deferred: true, messages: MESSAGES }],
  ['/chat/completions', 'responses', { deferred: true, messages: MESSAGES }],
] as const)('%s before a %s provider: %j', async (path, protocol, body) => {
  const upstream = await scriptedProvider();
  const providers = { p: provider(`${upstream.url}/v1`, protocol, ['m'], { shared_ids: true }) };
  const { url, key } = await gateway({ config: { providers } });
  const answer = await fetch(`${url}/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'p/m', ...body }),
  });
  expect(answer.status).toBe(400);
  const { error } = (await answer.json()) as { error: { message: string; param: string } };
  expect(error.param).toBe('background' in body ? 'background' : 'deferred');
  expect(error.message).toContain('later');
  expect(upstream.requests).toHaveLength(0);
});

it('`background: false` is a usual request', async () => {
  const upstream = await scriptedProvider();
  upstream.playAlways({ body: { id: 'resp_1', object: 'response', status: 'completed', output: [] } });
  const providers = { p: provider(`${upstream.url}/v1`, 'responses', ['m']) };
  const { url, key } = await gateway({ config: { providers } });
  const answer = await fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'p/m', background: false, input: 'Hi.' }),
  });
  expect(answer.status).toBe(200);
});
