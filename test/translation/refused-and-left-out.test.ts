// What a provider of another protocol cannot have: refused by its name, or left out and named to the client.
import { beforeAll, describe, expect, it } from 'vitest';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { ask, type Question } from '../helpers/ask.ts';
import { gateway as startAlone, provider as configured } from '../helpers/gateway.ts';
import type { TestGateway } from '../helpers/gateway.ts';
import type { ScriptedProvider } from '../helpers/scripted-provider.ts';
import { wholeOf } from '../gateway/wire.ts';
import { playReply, startBoth, USER } from './both.ts';

let upstream: ScriptedProvider;
let gateway: TestGateway;
beforeAll(async () => {
  const both = await startBoth();
  ({ upstream, gateway } = both);
  return both.close;
});

describe('refused, by its name', () => {
  const image = { type: 'image', source: { type: 'file', file_id: 'f' } };
  const search = { type: 'web_search_20250305', name: 'web_search' };
  it.each<[name: string, client: ProtocolName, body: object, param: string]>([
    ['a thread', 'messages', { thread: { type: 'create' } }, 'thread'],
    [
      'an MCP server',
      'messages',
      { mcp_servers: [{ type: 'url', url: 'https://a.example', name: 'a' }] },
      'mcp_servers',
    ],
    ['a container', 'messages', { container: 'c' }, 'container'],
    ['a place of inference', 'messages', { inference_geo: 'eu' }, 'inference_geo'],
    ['a credit token', 'messages', { fallback_credit_token: 't' }, 'fallback_credit_token'],
    ['a billing policy', 'messages', { billing_policy: {} }, 'billing_policy'],
    ['a compaction', 'messages', { compaction: {} }, 'compaction'],
    ['a limit of zero', 'messages', { max_tokens: 0 }, 'max_tokens'],
    [
      'an image for a model that sees none',
      'messages',
      { messages: [{ role: 'user', content: [image] }] },
      'messages[0].content[0]',
    ],
    [
      'a choice of a tool of the provider',
      'messages',
      { tools: [search], tool_choice: { type: 'tool', name: 'web_search' } },
      'tool_choice',
    ],
    [
      'a choice of any tool where all are of the provider',
      'messages',
      { tools: [search], tool_choice: { type: 'any' } },
      'tool_choice',
    ],
    [
      'a tool that chat providers do not have',
      'messages',
      { tools: [{ type: 'computer_20250124', name: 'computer' }] },
      'tools[0].type',
    ],
    [
      'two tools of one name',
      'messages',
      {
        tools: [
          { name: 'a', input_schema: {} },
          { name: 'a', input_schema: {} },
        ],
      },
      'tools[1].name',
    ],
    [
      'an unknown part of a messages client',
      'messages',
      { messages: [{ role: 'user', content: [{ type: 'strange' }] }] },
      'messages[0].content[0].type',
    ],
    ['several answers', 'chat', { n: 2 }, 'n'],
    ['probabilities', 'chat', { logprobs: true }, 'logprobs'],
    [
      'an answer in audio',
      'chat',
      { modalities: ['text', 'audio'], audio: { voice: 'a', format: 'wav' } },
      'modalities',
    ],
    [
      'audio',
      'chat',
      {
        messages: [
          { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }] },
        ],
      },
      'messages[0].content[0]',
    ],
    [
      'a file by id',
      'chat',
      { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] },
      'messages[0].content[0]',
    ],
    [
      'an unknown part of a chat client',
      'chat',
      { messages: [{ role: 'user', content: [{ type: 'strange' }] }] },
      'messages[0].content[0].type',
    ],
    [
      'two functions of one name',
      'chat',
      { tools: [1, 2].map(() => ({ type: 'function', function: { name: 'a' } })) },
      'tools[1].function.name',
    ],
  ])('%s', async (_, client, body, param) => {
    const before = upstream.requests.length;
    const other = client === 'chat' ? 'messages' : 'chat';
    const seen = await ask(gateway, { protocol: client, model: `${other}/m`, body });
    expect(seen.status).toBe(400);
    expect(seen.error?.type).toBe('invalid_request_error');
    expect(seen.error?.message).toContain(param);
    if (client === 'chat') expect(seen.error?.param).toBe(param);
    expect(upstream.requests).toHaveLength(before);
  });

  it('a thread, with the code after which the official client goes on without', async () => {
    const body = { thread: { type: 'create' } };
    const { error } = await ask(gateway, { protocol: 'messages', model: 'chat/m', body });
    expect(error).toMatchObject({ details: { error_code: 'thread_unsupported_request' } });
  });

  it('a picture by its address where the provider takes none, unless another target does', async () => {
    const part = { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } };
    const question: Question = {
      protocol: 'messages',
      body: { messages: [{ role: 'user', content: [part] }] },
    };
    const refused = await ask(gateway, { ...question, model: 'no-urls/m' });
    expect([refused.status, refused.error?.message]).toEqual([
      400,
      expect.stringContaining('messages[0].content[0]'),
    ]);
    playReply(upstream, 'messages', 'whole', { parts: [{ type: 'text', text: 'seen' }] });
    const seen = await ask(gateway, { ...question, model: 'urls-last' });
    expect([seen.status, seen.content, seen.headers.get('x-gateway-provider')]).toEqual([
      200,
      'seen',
      'messages',
    ]);
  });
});

describe('left out, and named', () => {
  const search = { type: 'web_search_20250305', name: 'web_search' };
  const mine = { name: 'f', input_schema: { type: 'object' } };
  const cases: [name: string, client: ProtocolName, body: object, dropped: string | null][] = [
    ['nothing of a plain messages request', 'messages', {}, null],
    [
      'options that chat does not have',
      'messages',
      { top_k: 4, context_management: { edits: [] } },
      'context_management,top_k',
    ],
    [
      'a tool of the provider beside another',
      'messages',
      { tools: [search, mine], tool_choice: { type: 'auto' } },
      'tools[]',
    ],
    [
      'members of a tool',
      'messages',
      { tools: [{ ...mine, defer_loading: true, input_examples: [{}] }] },
      'tools[].defer_loading,tools[].input_examples',
    ],
    [
      'options with defaults and without',
      'messages',
      { speed: 'fast', fallbacks: [{ model: 'b' }], diagnostics: {} },
      'fallbacks,speed',
    ],
    [
      'nothing for cache marks',
      'messages',
      {
        messages: [
          {
            role: 'user',
            content: [1, 2].map(() => ({ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } })),
          },
        ],
      },
      null,
    ],
    ['nothing of a plain chat request', 'chat', {}, null],
    [
      'a seed beside defaults',
      'chat',
      { seed: 1, logit_bias: {}, store: false, presence_penalty: 0, n: 1, logprobs: false },
      'seed',
    ],
    [
      'options that messages do not have',
      'chat',
      { verbosity: 'low', prediction: {}, metadata: { a: 'b' } },
      'metadata,prediction,verbosity',
    ],
    [
      'names of messages and a cache key',
      'chat',
      { messages: ['ann', 'bob'].map((name) => ({ ...USER, name })), prompt_cache_key: 'k' },
      'messages[].name,prompt_cache_key',
    ],
    [
      'a tier and moderation',
      'chat',
      { moderation: {}, service_tier: 'flex', user: 'u' },
      'moderation,service_tier',
    ],
  ];

  it.each(cases)('%s', async (_, client, body, dropped) => {
    const other = client === 'chat' ? 'messages' : 'chat';
    upstream.play({ body: wholeOf(other, 'ok') });
    const seen = await ask(gateway, { protocol: client, model: `${other}/m`, body });
    expect([seen.status, seen.headers.get('x-gateway-dropped')]).toEqual([200, dropped]);
  });

  it('is refused where the configuration is strict, exactly then', async () => {
    const strict = await startAlone({
      config: {
        strict: true,
        providers: {
          chat: configured(upstream.url, 'chat', ['m']),
          messages: configured(upstream.url, 'messages', ['m']),
        },
      },
    });
    for (const [, client, body, dropped] of cases) {
      const other = client === 'chat' ? 'messages' : 'chat';
      if (dropped === null) upstream.play({ body: wholeOf(other, 'ok') });
      const seen = await ask(strict, { protocol: client, model: `${other}/m`, body });
      expect([body, seen.status]).toEqual([body, dropped === null ? 200 : 400]);
      for (const path of dropped?.split(',') ?? []) expect(seen.error?.message).toContain(path);
    }
  });
});
