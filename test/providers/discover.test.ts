// What a provider's list of models may look like, which local servers count as found, and which windows they report, in the form of
// each of them: on real sockets.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { ProviderConfig } from '../../src/config/config.ts';
import { createProviderClient, type ProviderClient } from '../../src/providers/client.ts';
import { listModels, MOST_MODELS, probeLocal, readWindows } from '../../src/providers/discover.ts';

const IN_TIME = { timeoutMs: 5000 };

function testClient(): ProviderClient {
  const client = createProviderClient({ clock: systemClock, env: {} });
  onTestFinished(() => client.close());
  return client;
}

/** Gives the server's base URL. */
async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

const serveJson = (value: unknown, status = 200): Promise<string> =>
  serve((_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof value === 'string' ? value : JSON.stringify(value));
  });

function provider(baseUrl: string, change: Partial<ProviderConfig> = {}): ProviderConfig {
  const { protocols = ['chat'] } = change;
  return {
    name: 'here',
    protocols,
    baseUrls: Object.fromEntries(protocols.map((protocol) => [protocol, baseUrl])),
    apiKey: undefined,
    auth: 'protocol',
    headers: {},
    sharedIds: false,
    traits: {},
    repairTools: false,
    timeout: { connect: 1000, firstByte: 1000, idle: 1000, whole: 1000 },
    models: null,
    defaultModel: undefined,
    source: 'file',
    ...change,
  };
}

describe('listModels', () => {
  it.each<[string, unknown, string[]]>([
    [
      'a chat list',
      { object: 'list', data: [{ id: 'a', object: 'model' }, { id: 'b/c:d' }] },
      ['a', 'b/c:d'],
    ],
    [
      'a messages list',
      { data: [{ type: 'model', id: 'a' }], has_more: false, first_id: 'a', last_id: 'a' },
      ['a'],
    ],
    ['a bare array', [{ id: 'a' }], ['a']],
    ['no models at all', { object: 'list', data: [] }, []],
    ['no models, as Ollama says it', { object: 'list', data: null }, []],
    [
      'names twice, empty, of other types, or not fit for a name',
      {
        data: [
          { id: 'a' },
          { id: 'a' },
          { id: '' },
          { id: 5 },
          null,
          'b',
          { id: 'x\ny' },
          { id: 'l'.repeat(300) },
        ],
      },
      ['a'],
    ],
  ])('reads %s', async (_, value, expected) => {
    const listed = await listModels(testClient(), provider(await serveJson(value)), IN_TIME);
    expect(listed).toEqual({ models: expected, more: false });
  });

  it.each<[string, unknown, number]>([
    ['an error', { error: { message: 'no' } }, 200],
    ['a page for people', '<html>hello</html>', 200],
    ['a text', '"models"', 200],
    ['nothing', '', 200],
    ['a refusal', { data: [{ id: 'a' }] }, 401],
    ['a redirect', { data: [{ id: 'a' }] }, 302],
  ])('rejects %s', async (_, value, status) => {
    await expect(
      listModels(testClient(), provider(await serveJson(value, status)), IN_TIME),
    ).rejects.toThrow();
  });

  it('reads every page of a messages list', async () => {
    const asked: string[] = [];
    const url = await serve((request, response) => {
      asked.push(request.url ?? '');
      const after = new URL(request.url ?? '', 'http://x').searchParams.get('after_id');
      const page =
        after === null ? { data: [{ id: 'a b' }], has_more: true, last_id: 'a b' } : { data: [{ id: 'c' }] };
      response.end(JSON.stringify(page));
    });
    const listed = await listModels(testClient(), provider(url, { protocols: ['messages'] }), IN_TIME);
    expect(listed).toEqual({ models: ['a b', 'c'], more: false });
    expect(asked).toEqual(['/v1/models?limit=1000', '/v1/models?limit=1000&after_id=a%20b']);
  });

  it('ends where a list has no end', async () => {
    let pages = 0;
    const url = await serve((_, response) => {
      pages += 1;
      response.end(JSON.stringify({ data: [{ id: 'a' }], has_more: true, last_id: 'a' }));
    });
    expect(await listModels(testClient(), provider(url), IN_TIME)).toEqual({ models: ['a'], more: true });
    expect(pages).toBeLessThan(50);
  });

  const numbered = (count: number, first = 0) =>
    Array.from({ length: count }, (_, at) => ({ id: `m${first + at}` }));

  it.each([
    [MOST_MODELS, false],
    [MOST_MODELS + 1, true],
    [150_000, true],
  ])('of %s names keeps a bounded number, and says whether there are more', async (count, more) => {
    const url = await serveJson({ data: numbered(count) });
    const listed = await listModels(testClient(), provider(url), IN_TIME);
    expect(listed).toEqual({ models: numbered(MOST_MODELS).map(({ id }) => id), more });
  });

  it('asks for no page beyond the names that it keeps', async () => {
    let pages = 0;
    const url = await serve((_, response) => {
      const data = numbered(1000, pages * 1000);
      pages += 1;
      response.end(JSON.stringify({ data, has_more: true, last_id: data.at(-1)?.id }));
    });
    const { models, more } = await listModels(testClient(), provider(url), IN_TIME);
    expect([models.length, more]).toEqual([MOST_MODELS, true]);
    expect(pages).toBe(MOST_MODELS / 1000 + 1);
  });

  it.each<[string, Partial<ProviderConfig>, Record<string, string | undefined>]>([
    ['chat', { protocols: ['chat'] }, { authorization: 'Bearer secret', 'x-api-key': undefined }],
    [
      'messages',
      { protocols: ['messages'] },
      { 'x-api-key': 'secret', authorization: undefined, 'anthropic-version': '2023-06-01' },
    ],
    ['as the file says', { auth: 'api-key' }, { 'api-key': 'secret', authorization: undefined }],
    ['with headers of the file', { headers: { 'x-team': 'tools' } }, { 'x-team': 'tools' }],
  ])('sends the key: %s', async (_, change, expected) => {
    let headers: Record<string, unknown> = {};
    const url = await serve((request, response) => {
      headers = request.headers;
      response.end('{"data":[]}');
    });
    await listModels(testClient(), provider(url, { apiKey: 'secret', ...change }), IN_TIME);
    for (const [name, value] of Object.entries(expected)) expect(headers[name]).toBe(value);
  });

  it('gives up on a server that never ends its answer', async () => {
    const url = await serve((_, response) => void response.write('{"data":['));
    await expect(listModels(testClient(), provider(url), { timeoutMs: 100 })).rejects.toThrow();
  });

  it('reads no list without end', async () => {
    const url = await serve((_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    });
    await expect(listModels(testClient(), provider(url), IN_TIME)).rejects.toThrow('too large');
  });
});

describe('probeLocal', () => {
  it('finds, in the order of the candidates, what answers properly and has a model', async () => {
    let release = (): void => undefined;
    const quickAnswered = new Promise<void>((resolve) => (release = resolve));
    const late = await serve((_, response) => {
      void quickAnswered.then(() => response.end('{"data":[{"id":"slow"}]}'));
    });
    const quick = await serve((_, response) => {
      response.end('{"data":[{"id":"quick"}]}');
      release();
    });
    const candidates = [
      provider(late, { name: 'late' }),
      provider(await serveJson({ data: null, object: 'list' }), { name: 'empty' }),
      provider(quick, { name: 'quick' }),
      provider(await serveJson('<html>'), { name: 'another program' }),
      provider(await serveJson({ error: 'key needed' }, 401), { name: 'closed' }),
      provider('http://127.0.0.1:9/v1', { name: 'absent' }),
    ];
    const found = await probeLocal(testClient(), candidates, IN_TIME);
    expect(found.map(({ provider: { name }, models }) => [name, models])).toEqual([
      ['late', ['slow']],
      ['quick', ['quick']],
    ]);
  });

  it('waits no longer than its limit, however many are silent', async () => {
    const silent = await serve(() => undefined);
    const startedAt = performance.now();
    const candidates = Array.from({ length: 40 }, () => provider(silent));
    expect(await probeLocal(testClient(), candidates, { timeoutMs: 300 })).toEqual([]);
    // One after the other they take 12 s.
    expect(performance.now() - startedAt).toBeLessThan(6000);
  });

  it('sends no credential and no header of the user', async () => {
    let headers: Record<string, unknown> = {};
    const url = await serve((request, response) => {
      headers = request.headers;
      response.end('{"data":[{"id":"a"}]}');
    });
    const candidate = provider(url, { apiKey: 'secret', headers: { 'x-team': 'secret' } });
    expect(await probeLocal(testClient(), [candidate], IN_TIME)).toHaveLength(1);
    expect(JSON.stringify(headers)).not.toContain('secret');
  });
});

/** A server with these answers by path; others are 404. Gives its base URL. */
const serveByPath = (answers: Record<string, unknown>): Promise<string> =>
  serve((request, response) => {
    const answer = answers[request.url ?? ''];
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? { error: 'not found' }));
  });

async function windowsOf(base: string, names: string[], name = 'vllm') {
  const windows = await readWindows(testClient(), provider(base, { name }), names, IN_TIME);
  return Object.fromEntries(windows);
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
  expect(await windowsOf(await serveByPath(answers), ['a', 'b'])).toEqual(windows);
});

it('keeps windows of no more models than names', async () => {
  const data = Array.from({ length: MOST_MODELS + 5 }, (_, at) => ({ id: `m${at}`, max_model_len: 1000 }));
  const windows = await windowsOf(await serveByPath({ '/v1/models': { data } }), ['m0']);
  expect(Object.keys(windows)).toHaveLength(MOST_MODELS);
});

it('asks no other provider, and survives a server that is gone', async () => {
  const vllm = await serveByPath({ '/v1/models': { data: [{ id: 'a', max_model_len: 1000 }] } });
  expect(await windowsOf(vllm, ['a'], 'mine')).toEqual({});
  expect(await windowsOf('https://api.example.com/v1', ['a'])).toEqual({});
  expect(await windowsOf('http://127.0.0.1:9/v1', ['a'])).toEqual({});
});
