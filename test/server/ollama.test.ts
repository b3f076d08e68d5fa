// Ollama's API at a whole gateway: who may ask without a key, as whom that counts, and what comes back.
import { request as httpRequest } from 'node:http';
import { expect, test } from 'vitest';
import { manualClock } from '../helpers/clock.ts';
import { gateway, provider, rewrite, type GatewayOptions, type TestGateway } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { content, START, streamOf, wholeOf } from '../gateway/wire.ts';

const ollama = { account: 'local' };
const HI = [{ role: 'user', content: 'hi' }];

const place = (config: Record<string, unknown> = {}, more: GatewayOptions = {}) =>
  gateway({ config: { ollama, tiers: { free: 100 }, ...config }, ...more });

async function withProvider(models: unknown[] = ['m'], more: Record<string, unknown> = {}) {
  const upstream = await scriptedProvider();
  const server = await place({
    providers: { p: { ...provider(upstream.url, 'chat', ['m']), models } },
    ...more,
  });
  return { upstream, server };
}

interface Told {
  status: number;
  headers: Headers;
  text: string;
  lines: Record<string, unknown>[];
}

async function ask(
  { url }: Pick<TestGateway, 'url'>,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
  method = body === undefined ? 'GET' : 'POST',
): Promise<Told> {
  const response = await fetch(url + path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const lines = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { status: response.status, headers: response.headers, text, lines };
}

const chat = (server: TestGateway, more: object = {}, headers: Record<string, string> = {}) =>
  ask(server, '/api/chat', { model: 'sim/echo', messages: HI, ...more }, headers);
const openai = (server: TestGateway, headers: Record<string, string> = {}) =>
  ask(server, '/v1/chat/completions', { model: 'sim/echo', messages: HI }, headers);

const accountsOf = async ({ store }: TestGateway) =>
  (await store.listRequests({ limit: 100 })).map(({ account, endpoint }) => `${account ?? ''} ${endpoint}`);

test('without the setting its paths are unknown, and chat asks for a key', async () => {
  const server = await gateway();
  for (const path of ['/api/tags', '/api/version']) expect((await ask(server, path)).status).toBe(404);
  const unknown = await chat(server);
  expect(unknown.status).toBe(404);
  expect(unknown.lines[0]).toMatchObject({ error: { code: 'not_found' } });
  expect((await openai(server)).status).toBe(401);
});

test('a request with an Idempotency-Key needs no more of a key than one without', async () => {
  const server = await place();
  expect(await chat(server, {}, { 'idempotency-key': 'one' })).toMatchObject({ status: 200 });
  expect(await openai(server, { 'idempotency-key': 'two' })).toMatchObject({ status: 200 });
  await expect.poll(() => accountsOf(server)).toEqual(['local chat', 'local ollama']);
});

test('a chat streams lines by default, counts as the account, and is whole where that is asked for', async () => {
  const server = await place();
  const stream = await chat(server);
  expect(stream.headers.get('content-type')).toBe('application/x-ndjson');
  expect(stream.lines[0]).toMatchObject({
    model: 'echo',
    message: { role: 'assistant', content: 'hi' },
    done: false,
  });
  expect(stream.lines.at(-1)).toMatchObject({ done: true, done_reason: 'stop', eval_count: 1 });
  const whole = await chat(server, { stream: false });
  expect(whole.headers.get('content-type')).toBe('application/json');
  expect(whole.lines).toMatchObject([{ message: { role: 'assistant', content: 'hi' }, done: true }]);
  expect(whole.headers.get('x-ratelimit-limit-requests')).toBe('100');
  expect(whole.headers.get('x-gateway-limits')).toContain('requests 2/100 hour');
  await server.stop();
});

test('its requests are rows of the account, whose key can be listed and revoked', async () => {
  const clock = manualClock();
  const server = await place({}, { clock });
  await chat(server);
  await openai(server);
  clock.advance(5000);
  await expect.poll(() => accountsOf(server)).toEqual(['local chat', 'local ollama']);
  const [key] = await server.store.listKeys('local');
  expect(key).toMatchObject({ label: 'ollama', prefix: 'sk-gw-ollama', tier: 'free' });
  await server.store.revokeKey(key?.id ?? '', clock.now());
  clock.advance(5000);
  const refused = await chat(server);
  expect(refused.status).toBe(401);
  expect(refused.text).toContain('was revoked');
});

test('the account has its limits: beyond them a 429 with one text', async () => {
  const server = await place({ tiers: { free: 1 } });
  expect((await chat(server)).status).toBe(200);
  const refused = await chat(server);
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).not.toBeNull();
  expect(refused.lines).toEqual([{ error: expect.stringContaining('1') as string }]);
});

test('what only loads a model is answered and not counted', async () => {
  const server = await place({ tiers: { free: 1 } });
  for (const [path, body, members] of [
    [
      '/api/chat',
      { model: 'sim/echo' },
      { message: { role: 'assistant', content: '' }, done_reason: 'load' },
    ],
    ['/api/chat', { model: 'sim/echo', messages: [], keep_alive: 0 }, { done_reason: 'unload' }],
    ['/api/generate', { model: 'sim/echo' }, { response: '', done_reason: 'load' }],
    ['/api/generate', { name: 'sim/echo', prompt: '', keep_alive: '5m' }, { response: '', done: true }],
  ] as const) {
    const told = await ask(server, path, body);
    expect([told.status, told.lines]).toMatchObject([200, [members]]);
  }
  expect((await ask(server, '/api/chat', { model: 'nobody' })).status).toBe(404);
  expect((await chat(server)).status).toBe(200);
});

test('an unknown model is a 404 with one text, and :latest is no part of a name that has none', async () => {
  const { upstream, server } = await withProvider(['m', 'tagged:latest']);
  const unknown = await chat(server, { model: 'nobody' });
  expect([unknown.status, unknown.lines]).toEqual([
    404,
    [{ error: expect.stringContaining('nobody') as string }],
  ]);
  upstream.playAlways({ body: wholeOf('chat', 'Hello') });
  for (const [asked, sent] of [
    ['m:latest', 'm'],
    ['m', 'm'],
    ['tagged:latest', 'tagged:latest'],
    ['p/m:latest', 'm'],
  ]) {
    expect((await chat(server, { model: asked, stream: false })).status).toBe(200);
    expect((await upstream.next()).json.model).toBe(sent);
  }
  const viaChat = await ask(server, '/v1/chat/completions', { model: 'm:latest', messages: HI });
  expect(viaChat.status).toBe(200);
});

test('what is left out is named: options that no provider has', async () => {
  const { upstream, server } = await withProvider();
  upstream.play({ body: wholeOf('chat', 'Hello') });
  const told = await chat(server, {
    model: 'm',
    stream: false,
    keep_alive: -1,
    options: { num_ctx: 4096, seed: 3, temperature: 0.5, num_predict: -1, stop: ['x'] },
    think: false,
  });
  expect(told.headers.get('x-gateway-dropped')).toBe('options.num_ctx');
  const { json } = await upstream.next();
  expect(json).toMatchObject({ model: 'm', seed: 3, temperature: 0.5, stop: ['x'] });
  expect(json).not.toHaveProperty('max_tokens');
});

test.each([
  ['a chat', '/api/chat', { messages: HI, stream: false }, wholeOf('chat', 'Hello')],
  ['a gap', '/api/generate', { prompt: 'a', suffix: 'b', stream: false }, { choices: [{ text: 'x' }] }],
  ['vectors', '/api/embed', { model: 'vectors', input: 'a' }, { data: [{ index: 0, embedding: [0.1] }] }],
])(
  'keep_alive is for the server, and with strict: true no reason to refuse %s',
  async (_, path, asked, body) => {
    const { upstream, server } = await withProvider(['m', { id: 'vectors', embeddings: true }], {
      strict: true,
    });
    upstream.play({ body });
    const { status, headers, text } = await ask(server, path, { model: 'm', ...asked, keep_alive: '30m' });
    expect([status, text]).toEqual([200, expect.any(String)]);
    expect(headers.get('x-gateway-dropped')).toBeNull();
    expect((await upstream.next()).json).not.toHaveProperty('keep_alive');
  },
);

test('an error in mid-stream is a line, and the stream ends in order', async () => {
  const { upstream, server } = await withProvider();
  upstream.play({ steps: [START.chat, content('chat', 'one')] });
  const { status, lines } = await chat(server, { model: 'm' });
  expect(status).toBe(200);
  expect(lines).toMatchObject([
    { message: { content: 'one' }, done: false },
    { error: expect.any(String) as string },
  ]);
});

test('a silent stream is kept alive by lines, and then answered', async () => {
  const clock = manualClock();
  const { upstream, server } = await (async () => {
    const upstream = await scriptedProvider();
    const server = await place({ providers: { p: provider(upstream.url, 'chat', ['m']) } }, { clock });
    return { upstream, server };
  })();
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  upstream.play({ steps: [opened, streamOf('chat', 'Hello')] });
  const answer = fetch(`${server.url}/api/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: HI }),
  });
  await upstream.next();
  clock.advance(10_000);
  const response = await answer;
  open();
  const lines = (await response.text())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  expect(lines[0]).toMatchObject({ model: 'm', message: { role: 'assistant', content: '' }, done: false });
  expect(lines[1]).toMatchObject({ message: { content: 'Hello' } });
  expect(lines.at(-1)).toMatchObject({ done: true });
});

test('lists and descriptions of models are as readers expect them', async () => {
  const { server } = await withProvider([
    { id: 'm', context_window: 32_768, vision: false, thinking: false },
    { id: 'vectors', embeddings: true },
  ]);
  const version = String((await ask(server, '/api/version')).lines[0]?.version);
  const [major = 0, minor = 0] = version.split('.').map(Number);
  expect(major > 0 || minor > 6).toBe(true);
  const [tags] = (await ask(server, '/api/tags')).lines;
  const models = tags?.models as Record<string, unknown>[];
  expect(models.map(({ model }) => model)).toEqual(['auto:latest', 'm:latest', 'vectors:latest']);
  for (const { name, model, modified_at: at, size, digest, details } of models) {
    expect([typeof at, typeof size, typeof digest, name]).toEqual(['string', 'number', 'string', model]);
    const { families, ...texts } = details as Record<string, unknown>;
    expect(Object.values(texts).every((text) => typeof text === 'string')).toBe(true);
    expect(families).toEqual(['p']);
  }
  const [shown] = (await ask(server, '/api/show', { model: 'm:latest' })).lines;
  expect(shown).toMatchObject({
    model_info: {
      'general.architecture': 'gateway',
      'general.basename': 'm',
      'gateway.context_length': 32_768,
    },
    capabilities: ['completion', 'tools', 'insert'],
    details: { family: 'p' },
  });
  expect((await ask(server, '/api/show', { name: 'vectors' })).lines[0]).toMatchObject({
    capabilities: ['embedding'],
  });
  expect((await ask(server, '/api/show', { model: 'nobody' })).status).toBe(404);
  expect((await ask(server, '/api/show', '[1]')).status).toBe(400);
  expect((await ask(server, '/api/ps')).lines).toEqual([{ models: [] }]);
});

test('vectors come from the embeddings endpoint of a provider, in the order of the texts', async () => {
  const { upstream, server } = await withProvider([{ id: 'vectors', embeddings: true }]);
  const vectors = {
    object: 'list',
    model: 'v1',
    data: [
      { object: 'embedding', index: 1, embedding: [0.3, 0.4] },
      { object: 'embedding', index: 0, embedding: [0.1, 0.25] },
    ],
    usage: { prompt_tokens: 5, total_tokens: 5 },
  };
  upstream.play({ body: vectors }, { body: { ...vectors, data: [vectors.data[1]] } });
  const list = await ask(server, '/api/embed', {
    model: 'vectors',
    input: ['a', 'b'],
    truncate: true,
    dimensions: 2,
    keep_alive: '5m',
  });
  expect(list.headers.get('x-gateway-dropped')).toBeNull();
  expect(list.lines).toEqual([
    {
      model: 'v1',
      embeddings: [
        [0.1, 0.25],
        [0.3, 0.4],
      ],
      total_duration: expect.any(Number) as number,
      load_duration: 0,
      prompt_eval_count: 5,
    },
  ]);
  const asked = await upstream.next();
  expect([asked.path, asked.json]).toEqual([
    '/v1/embeddings',
    { model: 'vectors', input: ['a', 'b'], dimensions: 2 },
  ]);
  const single = await ask(server, '/api/embeddings', { model: 'vectors', prompt: 'a' });
  expect(single.lines).toMatchObject([{ embedding: [0.1, 0.25] }]);
  expect((await ask(server, '/api/embed', { model: 'vectors', input: [] })).lines).toMatchObject([
    { embeddings: [] },
  ]);
  expect(upstream.requests).toHaveLength(2);
});

test('a model that makes no embeddings is refused with those that do', async () => {
  const { server } = await withProvider([
    { id: 'm', context_window: 9000 },
    { id: 'vectors', embeddings: true },
  ]);
  const refused = await ask(server, '/api/embed', { model: 'm', input: 'a' });
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('vectors') as string]);
});

const piece = (text: string, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'text_completion', model: 'm', choices: [{ index: 0, text, finish_reason: finish }] })}\n\n`;
const USAGE = `data: ${JSON.stringify({ id: 'c', object: 'text_completion', model: 'm', choices: [], usage: { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 } })}\n\n`;

test.each([
  ['with its end', 'data: [DONE]\n\n'],
  ['that only ends', ''],
])('a gap is filled by the completions of a provider, as a stream %s', async (_, end) => {
  const { upstream, server } = await withProvider();
  upstream.play({
    steps: [piece('a'), piece('b'), piece('', 'stop'), USAGE, end].filter((step) => step !== ''),
  });
  const { status, headers, lines } = await ask(server, '/api/generate', {
    model: 'm',
    prompt: 'before',
    suffix: 'after',
    options: { num_predict: 20, temperature: 0, num_ctx: 4096, top_k: 3 },
    keep_alive: 300,
  });
  expect(status).toBe(200);
  expect(headers.get('x-gateway-dropped')).toBe('options.num_ctx,options.top_k');
  expect(lines.map(({ response }) => response)).toEqual(['a', 'b', '']);
  expect(lines.at(-1)).toMatchObject({
    done: true,
    done_reason: 'stop',
    prompt_eval_count: 4,
    eval_count: 2,
  });
  const { path, json } = await upstream.next();
  expect(path).toBe('/v1/completions');
  expect(json).toEqual({
    model: 'm',
    prompt: 'before',
    suffix: 'after',
    max_tokens: 20,
    temperature: 0,
    stream: true,
    stream_options: { include_usage: true },
  });
});

test('a raw prompt is completed whole, and an error of the provider is one text', async () => {
  const { upstream, server } = await withProvider();
  const body = {
    id: 'c',
    object: 'text_completion',
    model: 'm',
    choices: [{ index: 0, text: 'ab', finish_reason: 'length' }],
    usage: { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 },
  };
  upstream.play({ body }, { status: 400, body: { error: { message: 'no suffix here' } } });
  const raw = { model: 'm', prompt: '<PRE>', raw: true, stream: false };
  expect((await ask(server, '/api/generate', raw)).lines).toMatchObject([
    { response: 'ab', done: true, done_reason: 'length', eval_count: 2 },
  ]);
  const refused = await ask(server, '/api/generate', raw);
  expect([refused.status, refused.lines]).toEqual([
    400,
    [{ error: expect.stringContaining('no suffix here') as string }],
  ]);
});

test('a stream of completions that breaks off ends with a line that says so', async () => {
  const { upstream, server } = await withProvider();
  upstream.play({ steps: [piece('a')] });
  const { lines } = await ask(server, '/api/generate', { model: 'm', prompt: 'x', suffix: 'y' });
  expect(lines).toMatchObject([{ response: 'a' }, { error: expect.any(String) as string }]);
});

test.each([
  ['POST', '/api/pull'],
  ['POST', '/api/push'],
  ['POST', '/api/create'],
  ['POST', '/api/copy'],
  ['DELETE', '/api/delete'],
  ['POST', '/api/blobs/sha256:abc'],
])('%s %s is refused with a reason', async (method, path) => {
  const told = await ask(await place(), path, { model: 'm' }, {}, method);
  expect([told.status, told.lines]).toEqual([
    404,
    [{ error: expect.stringContaining('keeps no models') as string }],
  ]);
});

test('web pages may not ask, but those of listen.origins', async () => {
  const origin = 'https://app.example.com';
  const listen = { hosts: ['127.0.0.1'], port: 0, origins: [origin] };
  const server = await place({ listen });
  for (const foreign of ['https://evil.example', 'null', 'http://localhost:3000']) {
    const refused = await chat(server, {}, { origin: foreign });
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([403, null]);
    expect((await ask(server, '/api/tags', undefined, { origin: foreign })).status).toBe(403);
    expect((await openai(server, { origin: foreign })).status).toBe(401);
  }
  const allowed = await chat(server, {}, { origin });
  expect([allowed.status, allowed.headers.get('access-control-allow-origin')]).toEqual([200, origin]);
  // The keyless way to chat is for no page at all.
  expect((await openai(server, { origin })).status).toBe(401);
});

const OF_PROXIES = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'via',
];

test.each([...OF_PROXIES, 'cf-connecting-ip', 'true-client-ip', 'x-client-ip'])(
  'what a proxy passes on (%s) is not from this machine',
  async (name) => {
    const server = await place();
    expect((await chat(server, {}, { [name]: '10.0.0.1' })).status).toBe(403);
    expect((await openai(server, { [name]: '10.0.0.1' })).status).toBe(401);
  },
);

/** The status of a request with this Host header, which fetch does not let a caller choose. */
function statusFor({ url }: { url: string }, host: string, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(url);
    const asked = httpRequest({ port, host: '127.0.0.1', path, headers: { host } });
    asked.on('response', (response) => resolve(response.resume().statusCode));
    asked.on('error', reject);
    asked.end();
  });
}

test('what comes by the name of a proxy is not from this machine, also without a header that says so', async () => {
  const listen = { hosts: ['127.0.0.1'], port: 0, names: ['gateway.example.com', '0.0.0.0'] };
  const server = await place({ listen });
  expect(await statusFor(server, 'gateway.example.com', '/api/tags')).toBe(403);
  expect(await statusFor(server, 'gateway.example.com:443', '/api/tags')).toBe(403);
  // How clients name this machine: `OLLAMA_HOST` may be the address that a server listens on.
  for (const own of ['localhost', '127.0.0.1:11434', '[::1]:11434', 'LOCALHOST:1', '0.0.0.0:11434'])
    expect(await statusFor(server, own, '/api/tags')).toBe(200);
});

test('a foreign Host is refused before all else', async () => {
  expect(await statusFor(await place(), 'evil.example', '/api/tags')).toBe(403);
});

test('who sends a credential is who it says, or nobody', async () => {
  const clock = manualClock();
  const server = await place({}, { clock });
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  expect((await chat(server, {}, bearer(server.key))).status).toBe(200);
  expect((await chat(server, {}, bearer('ollama'))).status).toBe(401);
  const limited = await server.newKey({ account: 'other', permissions: ['messages'] });
  expect((await chat(server, {}, bearer(limited))).status).toBe(403);
  const credentials: Record<string, string>[] = [
    bearer('ollama'),
    { 'x-api-key': 'x' },
    { 'api-key': 'x' },
    { cookie: 'a=b' },
    { 'proxy-authorization': 'Basic eA==' },
  ];
  for (const headers of credentials) expect((await openai(server, headers)).status).toBe(401);
  clock.advance(5000);
  await expect.poll(() => accountsOf(server)).toEqual(['test ollama']);
});

test('no other path is opened', async () => {
  const server = await place();
  for (const path of ['/v1/messages', '/v1/responses', '/v1/embeddings', '/v1/completions']) {
    expect((await ask(server, path, { model: 'sim/echo' })).status).toBe(401);
  }
  expect((await ask(server, '/v1/models')).status).toBe(401);
  expect((await ask(server, '/v1/usage')).status).toBe(401);
});

test('the setting is taken and taken back while the gateway runs', async () => {
  const clock = manualClock();
  const server = await gateway({ clock });
  expect((await ask(server, '/api/version')).status).toBe(404);
  rewrite(server, clock, { ollama });
  await expect.poll(async () => (await ask(server, '/api/version')).status).toBe(200);
  rewrite(server, clock, {});
  await expect.poll(async () => (await ask(server, '/api/version')).status).toBe(404);
});

test('strict: what would be left out is a 400 that names it', async () => {
  const server = await place({ strict: true });
  const refused = await chat(server, { options: { num_ctx: 1 } });
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('options.num_ctx') as string]);
});

test.each([
  ['no JSON', '{"model":'],
  ['a list', '[]'],
  ['a member twice', '{"model":"sim/echo","model":"sim/echo"}'],
  [
    'too deep',
    `{"model":"sim/echo","messages":[{"role":"user","content":"x"}],"tools":${'['.repeat(600)}${']'.repeat(600)}}`,
  ],
  ['messages of another kind', '{"model":"sim/echo","messages":{"role":"user"}}'],
  ['a name too long', JSON.stringify({ model: 'x'.repeat(300), messages: HI })],
])('a body that is %s is a 400 with one text', async (_, body) => {
  const { status, lines } = await ask(await place(), '/api/chat', body);
  expect([status, lines]).toEqual([400, [{ error: expect.any(String) as string }]]);
});
