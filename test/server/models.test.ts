// The list of models over HTTP: one object that the clients of both protocols read, whole or by pages.
import Anthropic from '@anthropic-ai/sdk';
import type { ModelInfo } from '@anthropic-ai/sdk/resources/models';
import OpenAI from 'openai';
import type { Model as OpenAiModel } from 'openai/resources/models';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gateway as own, provider, startGateway } from '../helpers/gateway.ts';
import type { TestGateway } from '../helpers/gateway.ts';

let gateway: TestGateway;

beforeAll(async () => {
  const models = ['a', { id: 'b', context_window: 1000, max_output: 100 }, 'c', 'd'];
  gateway = await startGateway({
    config: { providers: { own: provider('http://127.0.0.1:9', 'chat', models) } },
  });
});
afterAll(() => gateway.stop());

interface Page {
  object: string;
  data: Record<string, unknown>[];
  has_more: boolean;
  first_id: string | null;
  last_id: string | null;
}

async function list(query = '', key = gateway.key): Promise<Page> {
  const response = await fetch(`${gateway.url}/v1/models${query}`, { headers: { 'x-api-key': key } });
  expect(response.status).toBe(200);
  return (await response.json()) as Page;
}

it('tells of each model what both protocols ask', async () => {
  const { object, data } = await list();
  const shared = { object: 'model', created: 0, owned_by: 'own', type: 'model' };
  const unknown = { created_at: '1970-01-01T00:00:00Z', max_input_tokens: null, max_tokens: null };
  expect(object).toBe('list');
  expect(data.map(({ id }) => id)).toEqual(['auto', 'a', 'b', 'c', 'd']);
  expect(data[1]).toMatchObject({ id: 'a', display_name: 'a', ...shared, ...unknown });
  expect(data[2]).toMatchObject({ id: 'b', display_name: 'b', max_input_tokens: 1000, max_tokens: 100 });
});

it('has every member that the official types require, in the list and alone', async () => {
  const model: Omit<Required<ModelInfo>, 'id' | 'display_name'> & OpenAiModel = {
    type: 'model',
    created_at: '1970-01-01T00:00:00Z',
    max_input_tokens: 1000,
    max_tokens: 100,
    lifecycle: 'active',
    line: null,
    capabilities: null,
    deprecated_at: null,
    retires_at: null,
    id: 'b',
    object: 'model',
    created: 0,
    owned_by: 'own',
  };
  const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
  const listed: unknown[] = [];
  for await (const one of anthropic.models.list({ limit: 2 })) listed.push(one);
  expect(listed).toHaveLength(5);
  expect(listed[2]).toMatchObject(model);
  expect(await anthropic.models.retrieve('b')).toMatchObject(model);
  expect(await openai.models.retrieve('b')).toMatchObject(model);
});

describe('pages', () => {
  it.each<[name: string, query: string, ids: string[], more: boolean]>([
    ['without a limit has all', '', ['auto', 'a', 'b', 'c', 'd'], false],
    ['with the limit of all has all, and no more', '?limit=5', ['auto', 'a', 'b', 'c', 'd'], false],
    ['with a limit has the first ones, and more', '?limit=2', ['auto', 'a'], true],
    ['with after_id and a limit has a middle page, and more', '?limit=2&after_id=a', ['b', 'c'], true],
    ['with after_id and a limit has the last page', '?limit=2&after_id=b', ['c', 'd'], false],
    ['with after_id has the rest', '?after_id=c', ['d'], false],
    ['after the last has none', '?after_id=d', [], false],
    ['with before_id and a limit has a middle page, and more', '?limit=2&before_id=d', ['b', 'c'], true],
    ['with before_id and a limit has the first page', '?limit=2&before_id=b', ['auto', 'a'], false],
    ['before the second has the first, and more', '?limit=2&before_id=a', ['auto'], false],
    ['with before_id has those before', '?before_id=c', ['auto', 'a', 'b'], false],
    ['before the first has none', '?before_id=auto', [], false],
    ['with a limit of 0 has all', '?limit=0', ['auto', 'a', 'b', 'c', 'd'], false],
    ['with a limit that is no number has all', '?limit=many', ['auto', 'a', 'b', 'c', 'd'], false],
  ])('%s', async (_, query, ids, more) => {
    const { data, has_more, first_id, last_id } = await list(query);
    expect(data.map(({ id }) => id)).toEqual(ids);
    expect({ has_more, first_id, last_id }).toEqual({
      has_more: more,
      first_id: ids[0] ?? null,
      last_id: ids.at(-1) ?? null,
    });
  });

  it('of a key that may use nothing are empty', async () => {
    const key = await gateway.newKey({ models: ['elsewhere'] });
    const nothing = { object: 'list', data: [], has_more: false, first_id: null, last_id: null };
    expect(await list('', key)).toEqual(nothing);
  });
});

it('says which clients may offer the first target tools of its provider, by the rule that orders the targets', async () => {
  const at = 'http://127.0.0.1:9';
  const { url, key } = await own({
    config: {
      providers: {
        box: provider(at, 'chat', ['m']),
        large: provider(at, 'responses', ['r']),
        none: provider(at, 'responses', ['n'], { flags: { server_tools: false } }),
        claude: provider(at, 'messages', ['c'], { flags: { server_tools: true } }),
      },
      routes: { 'local-first': ['box/m', 'large/r'], 'large-first': ['large/r', 'box/m'] },
    },
  });
  const toolsOf = async (id: string): Promise<unknown> => {
    const response = await fetch(`${url}/v1/models/${encodeURIComponent(id)}`, {
      headers: { 'x-api-key': key },
    });
    return ((await response.json()) as { server_tools: unknown }).server_tools;
  };
  expect(await Promise.all(['local-first', 'large-first', 'n', 'c'].map(toolsOf))).toEqual([
    [],
    ['responses'],
    [],
    ['chat', 'messages', 'responses'],
  ]);
});
