// Which windows local servers report, in the form of each of them: on real sockets.
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { ProviderConfig } from '../../src/config/config.ts';
import { createProviderClient } from '../../src/providers/client.ts';
import { readWindows } from '../../src/providers/discover.ts';

/** A server with these answers by path; others are 404. Gives its origin. */
async function serve(answers: Record<string, unknown>): Promise<string> {
  const server = createServer((request, response) => {
    const answer = answers[request.url ?? ''];
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? { error: 'not found' }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function windowsOf(base: string, names: string[], name = 'vllm') {
  const client = createProviderClient({ clock: systemClock, env: {} });
  onTestFinished(() => client.close());
  const provider: ProviderConfig = {
    name,
    protocols: ['chat'],
    baseUrls: { chat: base },
    apiKey: undefined,
    auth: 'protocol',
    headers: {},
    traits: {},
    timeout: { connect: 1000, firstByte: 1000, idle: 1000, whole: 1000 },
    models: null,
    defaultModel: undefined,
    source: 'local',
  };
  return Object.fromEntries(await readWindows(client, provider, names, { timeoutMs: 5000 }));
}

const LOADED = { name: 'qwen3:8b', model: 'qwen3:8b', size_vram: 1, context_length: 4096 };

it.each<[string, Record<string, unknown>, Record<string, number>]>([
  [
    'vLLM',
    { '/v1/models': { object: 'list', data: [{ id: 'a', max_model_len: 32_768 }, { id: 'b' }] } },
    { a: 32_768 },
  ],
  [
    'LM Studio, of loaded models',
    {
      '/v1/models': { data: [{ id: 'a' }, { id: 'b' }] },
      '/api/v0/models': {
        data: [
          { id: 'a', state: 'loaded', max_context_length: 131_072, loaded_context_length: 8192 },
          { id: 'b', state: 'not-loaded', max_context_length: 131_072 },
        ],
      },
    },
    { a: 8192 },
  ],
  [
    'llama.cpp',
    { '/v1/models': { data: [{ id: 'a' }] }, '/props': { default_generation_settings: { n_ctx: 16_384 } } },
    { a: 16_384, b: 16_384 },
  ],
  ['Ollama, of loaded models', { '/api/ps': { models: [LOADED] } }, { 'qwen3:8b': 4096 }],
  [
    'Ollama, of models with a setting',
    {
      '/api/ps': { models: [] },
      '/api/show': { parameters: 'stop "</s>"\nnum_ctx                        65536' },
    },
    { a: 65_536, b: 65_536 },
  ],
  ['a server of another kind', {}, {}],
  ['answers of another form', { '/v1/models': [], '/props': 3, '/api/ps': { models: [{ name: 3 }] } }, {}],
])('%s', async (_, answers, windows) => {
  expect(await windowsOf(`${await serve(answers)}/v1`, ['a', 'b'])).toEqual(windows);
});

it('asks no other provider, and survives a server that is gone', async () => {
  const vllm = await serve({ '/v1/models': { data: [{ id: 'a', max_model_len: 1000 }] } });
  expect(await windowsOf(`${vllm}/v1`, ['a'], 'mine')).toEqual({});
  expect(await windowsOf('https://api.example.com/v1', ['a'])).toEqual({});
  expect(await windowsOf('http://127.0.0.1:9/v1', ['a'])).toEqual({});
});
