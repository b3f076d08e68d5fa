// POST /v1/embeddings: relayed to targets that make embeddings, by the same model alone, for keys that may.
import { describe, expect, it } from 'vitest';
import { gateway, provider } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { readRequestRows } from './rows.ts';

const ANSWER = {
  object: 'list',
  data: [{ object: 'embedding', index: 0, embedding: 'AAAAPwAAgD4=' }],
  model: 'nomic-embed-text',
  usage: { prompt_tokens: 3, total_tokens: 3 },
};
const ASKED = { input: ['a', 'b'], encoding_format: 'base64', dimensions: 2 };

async function place() {
  const [first, second, claude] = [
    await scriptedProvider(),
    await scriptedProvider(),
    await scriptedProvider(),
  ];
  first.playAlways({ body: ANSWER });
  second.playAlways({ body: ANSWER });
  const server = await gateway({
    config: {
      providers: {
        first: provider(first.url, 'chat', [
          { id: 'nomic-embed-text', price: { input: 2, output: 0 } },
          'gpt-5.2',
          'bge-m3',
        ]),
        second: provider(second.url, 'chat', ['nomic-embed-text', { id: 'vectors', embeddings: true }]),
        claude: provider(claude.url, 'messages', ['text-embedding-x']),
      },
      routes: { index: ['first/nomic-embed-text', 'second/vectors', 'second/nomic-embed-text'] },
    },
  });
  const ask = (model: string, key = server.key, more: object = ASKED): Promise<Response> =>
    fetch(`${server.url}/v1/embeddings`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ model, ...more }),
    });
  return { first, second, claude, server, ask };
}

const messageOf = async (response: Response): Promise<string> =>
  ((await response.json()) as { error: { message: string } }).error.message;

describe('embeddings', () => {
  it('are relayed as they are, counted and priced', async () => {
    const { first, server, ask } = await place();
    const response = await ask('first/nomic-embed-text');
    expect([response.status, await response.json()]).toEqual([200, ANSWER]);
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('299');
    expect(first.requests).toMatchObject([
      { path: '/v1/embeddings', json: { model: 'nomic-embed-text', ...ASKED } },
    ]);
    const [row] = await readRequestRows(server, 1);
    expect(row).toMatchObject({
      endpoint: 'embeddings',
      status: 200,
      input: 3,
      output: 0,
      costUsd: 6e-6,
      conversation: null,
    });
  });

  it('fall back to the same model at another provider, and never to another model', async () => {
    const { first, second, ask } = await place();
    first.playAlways({ status: 500, body: { error: { message: 'broken' } } });
    expect((await ask('index')).status).toBe(200);
    expect(second.requests.map(({ json }) => json.model)).toEqual(['nomic-embed-text']);
  });

  it('of a model that makes none are a 400 that names those that do', async () => {
    const { first, server, ask } = await place();
    for (const model of ['first/gpt-5.2', 'claude/text-embedding-x', 'sim/echo']) {
      const response = await ask(model);
      expect(response.status).toBe(400);
      expect(await messageOf(response)).toBe(
        `The model "${model}" does not make embeddings; these do: \`index\`, \`nomic-embed-text\`, \`bge-m3\`, \`vectors\``,
      );
    }
    expect(first.requests).toHaveLength(0);
    expect(await server.store.used(1, Date.now())).toBe(0);
  });

  it('need their own permission', async () => {
    const { server, ask } = await place();
    const plaintext = await server.newKey({ permissions: ['chat'] });
    const response = await ask('nomic-embed-text', plaintext);
    expect(response.status).toBe(403);
    expect(await messageOf(response)).toContain('embeddings');
  });

  it('without an input, as a stream, and answers that are none fail with words', async () => {
    const { first, second, ask } = await place();
    expect(await messageOf(await ask('nomic-embed-text', undefined, {}))).toContain('input');
    expect(await messageOf(await ask('nomic-embed-text', undefined, { ...ASKED, stream: true }))).toContain(
      'stream',
    );
    for (const each of [first, second]) each.playAlways({ body: { object: 'list', data: [] } });
    const response = await ask('nomic-embed-text');
    expect([response.status, await messageOf(response)]).toEqual([
      502,
      expect.stringContaining("the provider's answer has no embeddings"),
    ]);
  });

  it('are no part of auto, and the list says which models make them', async () => {
    const { first, server } = await place();
    first.playAlways({
      body: {
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
      },
    });
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${server.key}` };
    const body = JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'Hello' }] });
    await fetch(`${server.url}/v1/chat/completions`, { method: 'POST', headers, body });
    expect(first.requests.map(({ json }) => json.model)).toEqual(['gpt-5.2']);
    const list = (await (await fetch(`${server.url}/v1/models`, { headers })).json()) as {
      data: { id: string; kind: string }[];
    };
    const kinds = Object.fromEntries(list.data.map(({ id, kind }) => [id, kind]));
    expect(kinds).toMatchObject({
      auto: 'generation',
      'gpt-5.2': 'generation',
      'bge-m3': 'embedding',
      vectors: 'embedding',
    });
  });
});
