// A whole request to a model as a key: what the model says and calls, through the same line as every request of the key.
import { expect, it, vi } from 'vitest';
import { gateway } from '../helpers/gateway.ts';
import { scriptedProvider, type Asked } from '../helpers/scripted-provider.ts';
import { API, call, newToken } from './support.ts';

const SCHEMA = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };
const BODIES = {
  chat: {
    messages: [{ role: 'user', content: 'Read x' }],
    tools: [{ type: 'function', function: { name: 'read', parameters: SCHEMA } }],
  },
  messages: {
    max_tokens: 50,
    messages: [{ role: 'user', content: 'Read x' }],
    tools: [{ name: 'read', input_schema: SCHEMA }],
  },
  responses: { input: 'Read x', tools: [{ type: 'function', name: 'read', parameters: SCHEMA }] },
} as const;

const calling = ({ json }: Asked) => {
  if (json['model'] === 'broken') return { status: 400, body: { error: { message: 'not like this' } } };
  const tool = { id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"path":"x"}' } };
  return {
    body: {
      ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'I read.', tool_calls: [tool] },
          finish_reason: 'tool_calls',
        },
      ],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    },
  };
};

async function start() {
  const upstream = await scriptedProvider();
  upstream.answerBy(calling);
  const running = await gateway({
    config: {
      admin: true,
      providers: { up: { protocol: 'chat', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    },
  });
  const { plaintext: token } = await newToken(running);
  const id = (await running.store.listKeys('test')).at(-1)?.id ?? '';
  const ask = (body: object, to = id) => call(running, `/keys/${to}/ask`, { token, method: 'POST', body });
  return { running, token, id, ask, upstream };
}

it.each([
  ['chat', false],
  ['chat', true],
  ['messages', false],
  ['messages', true],
  ['responses', false],
  ['responses', true],
] as const)(
  'gives text and calls of an answer in %s, stream %s, and is a request like any',
  async (protocol, stream) => {
    const { running, token, ask } = await start();
    const { status, json } = await ask({
      model: 'up/m',
      request: { ...BODIES[protocol], stream, model: 'another' },
    });
    expect([status, json]).toEqual([
      200,
      {
        error: null,
        text: 'I read.',
        calls: [{ name: 'read', arguments: '{"path":"x"}' }],
        schemas: { read: SCHEMA },
        stop: 'tool_calls',
        request: expect.objectContaining({
          ...{ model_asked: 'up/m', provider: 'up', endpoint: protocol, status: 200, label: 'dashboard' },
          ...{ input_tokens: 10, output_tokens: 5 },
        }) as object,
      },
    ]);
    const { request } = json as unknown as { request: { id: string } };
    await vi.waitFor(
      async () => expect((await call(running, `/requests/${request.id}`, { token })).status).toBe(200),
      { timeout: 10_000 },
    );
    // Nothing of what was asked is kept.
    const audit = await call(running, '/audit', { token });
    expect(JSON.stringify(audit.json)).toContain('askKey');
    expect(JSON.stringify(audit.json)).not.toContain('Read x');
  },
);

it('answers with the reason where the model gives no answer, or the line refuses the request', async () => {
  const { ask } = await start();
  const refused = await ask({ model: 'up/broken', request: BODIES.chat });
  expect(refused).toMatchObject({
    status: 200,
    json: { error: expect.stringContaining('not like this') as string, calls: [] },
  });
  const unknown = await ask({ model: 'nowhere', request: BODIES.chat });
  expect(unknown).toMatchObject({
    status: 200,
    json: { error: expect.stringContaining('nowhere') as string, request: null },
  });
  expect(await ask({ model: 'up/m', request: { messages: 5 } })).toMatchObject({
    status: 200,
    json: { text: '' },
  });
  expect((await ask({ model: 'up/m', request: BODIES.chat }, 'key_none')).status).toBe(404);
  expect((await ask({ model: 'up/m', request: [] })).status).toBe(400);
});

it('takes a recorded history that is larger than other bodies of the admin API, and has a limit', async () => {
  const { running, token, id, ask } = await start();
  const long = { ...BODIES.chat, messages: [{ role: 'user', content: 'x'.repeat(300_000) }] };
  expect(await ask({ model: 'up/m', request: long })).toMatchObject({ status: 200, json: { error: null } });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ model: 'up/m', request: { messages: ['x'.repeat(9_000_000)] } });
  const response = await fetch(`${running.url}${API}/keys/${id}/ask`, { method: 'POST', headers, body });
  expect([response.status, await response.text()]).toEqual([
    413,
    expect.stringContaining('larger than 8192 KiB'),
  ]);
});
