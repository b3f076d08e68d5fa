// What crossing the protocols must not lose, seen from both ends of the whole gateway: what the provider gets, and what the
// client reads, whole and streamed.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Reply } from '../../src/canonical/reply.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { ask, isWhole, PATHS, type Question } from '../helpers/ask.ts';
import { manualClock } from '../helpers/clock.ts';
import { gateway as startAlone, provider as configured, startGateway } from '../helpers/gateway.ts';
import type { TestGateway } from '../helpers/gateway.ts';
import { gate, startScriptedProvider, type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { collected, context, eventsIn, written } from './pipeline.ts';
import { replay } from '../../src/canonical/collect.ts';
import { content, errorBody, errorEvent, FINISH, START, wholeOf } from '../gateway/wire.ts';

let upstream: ScriptedProvider;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startScriptedProvider();
  const one = (protocol: ProtocolName, more: object = {}): object => ({
    ...configured(upstream.url, protocol, ['m', { id: 'formless', structured_output: false }]),
    ...more,
  });
  gateway = await startGateway({
    config: {
      providers: {
        chat: one('chat', { flags: { max_stop: 1 } }),
        messages: one('messages', { flags: { max_stop: 1 } }),
        'no-urls': one('chat', { flags: { image_url: false } }),
      },
      routes: { 'urls-last': ['no-urls/m', 'messages/m'] },
      tiers: { enterprise: 100_000 },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

const MODES = ['whole', 'stream'] as const;
type Mode = (typeof MODES)[number];

/** The provider's answer in its own protocol, in pieces of one event where it streams. */
function answers(speaks: ProtocolName, mode: Mode, reply: Partial<Reply>): void {
  const full: Reply = { id: '1', model: 'm', parts: [], stop: { reason: 'end' }, ...reply };
  if (mode === 'whole') {
    upstream.play({ body: protocols[speaks].client.encodeReply(full, context(speaks)) });
    return;
  }
  const encoder = protocols[speaks].client.createStreamEncoder(context(speaks));
  upstream.play({
    steps: replay(full)
      .map((event) => encoder.push(event))
      .filter((text) => text !== ''),
  });
}

async function exchange(client: ProtocolName, speaks: ProtocolName, mode: Mode, body: object, model = 'm') {
  const seen = await ask(gateway, {
    protocol: client,
    model: `${speaks}/${model}`,
    stream: mode === 'stream',
    body,
  });
  expect({ status: seen.status, error: seen.error }).toEqual({ status: 200, error: undefined });
  const reply =
    mode === 'stream'
      ? collected(eventsIn(client, seen.text))
      : protocols[client].provider.decodeReply(seen.json);
  return { sent: upstream.requests.at(-1)?.json ?? {}, seen, reply };
}

const USER = { role: 'user', content: 'go' };
const LONG = `mcp.server/${'x'.repeat(70)}`;
const SCHEMA = { type: 'object', properties: { path: { type: 'string' } } };

describe.each(MODES)('%s', (mode) => {
  it('a tool with a name that the wire refuses is called by its own, by a chat client', async () => {
    const tool = { type: 'function', function: { name: LONG, parameters: SCHEMA } };
    const history = [
      USER,
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: LONG, arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'done' },
    ];
    const wire = 'mcp_server_' + 'x'.repeat(44);
    const name = await nameOnTheWire('chat', 'messages', { tools: [tool], messages: history });
    expect(name.startsWith(wire)).toBe(true);
    answers('messages', mode, {
      parts: [{ type: 'tool_call', id: 'toolu_1', name, arguments: '{"path":"a"}' }],
      stop: { reason: 'tool_calls' },
    });
    const { sent, reply } = await exchange('chat', 'messages', mode, { tools: [tool], messages: history });
    expect(JSON.stringify(sent)).not.toContain(LONG);
    expect(reply.parts).toMatchObject([{ name: LONG, arguments: '{"path":"a"}' }]);
  });

  it('a tool with a name that the wire refuses is called by its own, by a messages client', async () => {
    const body = {
      tools: [{ name: LONG, input_schema: SCHEMA }],
      messages: [
        USER,
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: LONG, input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'done' }] },
      ],
    };
    const name = await nameOnTheWire('messages', 'chat', body);
    answers('chat', mode, {
      parts: [{ type: 'tool_call', id: 'call_1', name, arguments: '{"path":"a"}' }],
      stop: { reason: 'tool_calls' },
    });
    const { sent, reply } = await exchange('messages', 'chat', mode, body);
    expect(JSON.stringify(sent)).not.toContain(LONG);
    expect(reply.parts).toMatchObject([{ name: LONG, arguments: '{"path":"a"}' }]);
  });

  it('a free text tool is called with free text', async () => {
    const tools = [{ type: 'custom', custom: { name: 'patch', description: 'Applies it.' } }];
    const text = 'line "one"\n🎉 \\ two';
    answers('messages', mode, {
      parts: [
        { type: 'tool_call', id: 'toolu_1', name: 'patch', arguments: JSON.stringify({ input: text }) },
      ],
      stop: { reason: 'tool_calls' },
    });
    const { sent, seen, reply } = await exchange('chat', 'messages', mode, { tools });
    expect(sent.tools).toMatchObject([{ name: 'patch', input_schema: { required: ['input'] } }]);
    expect(reply.parts).toEqual([
      { type: 'tool_call', id: 'toolu_1', name: 'patch', arguments: text, custom: true },
    ]);
    expect(seen.text).toContain('"type":"custom"');
    expect(reply.stop.reason).toBe('tool_calls');
  });

  it.each([
    [
      'chat',
      'messages',
      { response_format: { type: 'json_schema', json_schema: { name: 'place', schema: SCHEMA } } },
    ],
    ['messages', 'chat', { output_config: { format: { type: 'json_schema', schema: SCHEMA } } }],
  ] as const)(
    'an answer of a form that is forced by a tool is text, for a %s client',
    async (client, speaks, body) => {
      const name = client === 'chat' ? 'place' : 'structured_output';
      answers(speaks, mode, {
        parts: [{ type: 'tool_call', id: 'toolu_1', name, arguments: '{"path":"a"}' }],
        stop: { reason: 'tool_calls' },
      });
      const { sent, reply } = await exchange(client, speaks, mode, body, 'formless');
      expect(JSON.stringify(sent.tool_choice)).toContain(name);
      expect(reply.parts).toEqual([{ type: 'text', text: '{"path":"a"}' }]);
      expect(reply.stop.reason).toBe('end');
    },
  );

  it.each([
    ['chat', 'messages', { stop: ['###', 'END'] }, 'stop_sequences'],
    ['messages', 'chat', { stop_sequences: ['###', 'END'] }, 'stop'],
  ] as const)(
    'an answer ends at a stop sequence that the provider was not asked for, for a %s client',
    async (client, speaks, body, field) => {
      const pieces = ['one', ' E', 'N', 'D two'];
      if (mode === 'whole') upstream.play({ body: wholeOf(speaks, pieces.join('')) });
      else upstream.play({ steps: [START[speaks], ...pieces.map((text) => content(speaks, text))] });
      const { sent, seen, reply } = await exchange(client, speaks, mode, body);
      expect(sent[field]).toEqual(['###']);
      expect(reply.parts).toEqual([{ type: 'text', text: 'one ' }]);
      expect(reply.stop).toMatchObject({ reason: 'stop_sequence', sequence: 'END' });
      if (mode === 'stream') expect(isWhole(seen)).toBe(true);
    },
  );

  it('tokens that the provider does not tell are estimated for a messages client, and recorded as unknown', async () => {
    const before = await gateway.store.totals(undefined, 0);
    answers('chat', mode, { parts: [{ type: 'text', text: 'x'.repeat(40) }] });
    const { reply } = await exchange('messages', 'chat', mode, {
      messages: [{ ...USER, content: 'y'.repeat(400) }],
    });
    expect(reply.usage?.output).toBe(10);
    expect(reply.usage?.input).toBeGreaterThan(90);
    await expect
      .poll(async () => (await gateway.store.totals(undefined, 0)).unknown)
      .toBeGreaterThan(before.unknown);
  });

  it.each([
    [
      'chat',
      'messages',
      errorBody('messages', 'invalid_request_error', 'prompt is too long: 205000 tokens > 200000 maximum'),
    ],
    [
      'messages',
      'chat',
      {
        error: {
          message:
            "This model's maximum context length is 200000 tokens. However, your messages resulted in 205000 tokens.",
          type: 'x',
          code: 'context_length_exceeded',
        },
      },
    ],
    [
      'messages',
      'chat',
      {
        error: {
          code: 400,
          message: 'the request exceeds the available context size',
          type: 'exceed_context_size_error',
          n_prompt_tokens: 205000,
          n_ctx: 200000,
        },
      },
    ],
  ] as const)(
    'a conversation that is too long is refused in the words of a %s client',
    async (client, speaks, body) => {
      const words = {
        chat: "This model's maximum context length is 200000 tokens. However, your messages resulted in 205000 tokens.",
        messages: 'prompt is too long: 205000 tokens > 200000 maximum',
      };
      for (const script of [
        { status: 400, body },
        { status: 200, body },
        { steps: [frameOf(speaks, body)] },
      ]) {
        upstream.play(script);
        const seen = await ask(gateway, {
          protocol: client,
          model: `${speaks}/m`,
          stream: mode === 'stream',
        });
        expect(seen.status).toBe(400);
        expect(seen.error?.message).toBe(words[client]);
        if (client === 'chat') expect(seen.error?.code).toBe('context_length_exceeded');
        else expect(seen.error?.type).toBe('invalid_request_error');
        if (mode === 'whole') break;
      }
    },
  );
});

function frameOf(speaks: ProtocolName, body: object): string {
  return speaks === 'chat'
    ? `data: ${JSON.stringify(body)}\n\n`
    : `event: error\ndata: ${JSON.stringify(body)}\n\n`;
}

/** What the provider knows the client's first tool as. */
async function nameOnTheWire(client: ProtocolName, speaks: ProtocolName, body: object): Promise<string> {
  answers(speaks, 'whole', { parts: [{ type: 'text', text: '.' }] });
  const { sent } = await exchange(client, speaks, 'whole', body);
  const [tool] = sent.tools as { name?: string; function?: { name: string } }[];
  const name = tool?.name ?? tool?.function?.name ?? '';
  expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  // The same in the history.
  expect(JSON.stringify(sent.messages)).toContain(`"${name}"`);
  return name;
}

it.each([
  ['chat', 'messages', { stop: ['###', 'END'] }],
  ['messages', 'chat', { stop_sequences: ['###', 'END'] }],
] as const)(
  'a provider that would go on behind the stop sequence of a %s client is left at once',
  async (client, speaks, body) => {
    // Time stands still: nobody waits for what else may come.
    const still = await startAlone({
      clock: manualClock(),
      config: {
        providers: { [speaks]: configured(upstream.url, speaks, ['m'], { flags: { max_stop: 1 } }) },
      },
    });
    const never = gate();
    upstream.play({ steps: [START[speaks] + content(speaks, 'one END two'), never.opened] });
    const seen = await ask(still, { protocol: client, model: `${speaks}/m`, stream: true, body });
    expect(seen.content).toBe('one ');
    expect(isWhole(seen)).toBe(true);
    expect(await upstream.requests.at(-1)?.left).toBe(true);
    never.open();
  },
);

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
    answers('messages', 'whole', { parts: [{ type: 'text', text: 'seen' }] });
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

it('calls side by side reach a messages client one after the other, whole', async () => {
  const call = (index: number, more: object): string =>
    content('chat', '').replace(
      /"delta":\{[^}]*\}/,
      `"delta":${JSON.stringify({ tool_calls: [{ index, ...more }] })}`,
    );
  const start = (index: number, id: string): string =>
    call(index, { id, type: 'function', function: { name: 'f', arguments: '' } });
  const args = (index: number, text: string): string => call(index, { function: { arguments: text } });
  upstream.play({
    steps: [
      start(0, 'call_0'),
      args(0, '{"a":'),
      start(1, 'call_0'),
      args(1, '{"b"'),
      args(0, '1}'),
      args(1, ':2}'),
      FINISH.chat.replace('"stop"', '"tool_calls"') + 'data: [DONE]\n\n',
    ],
  });
  const seen = await ask(gateway, { protocol: 'messages', model: 'chat/m', stream: true });
  const order = seen.frames.flatMap(({ event, data }) =>
    event.startsWith('content_block_st') ? [`${event} ${(JSON.parse(data) as { index: number }).index}`] : [],
  );
  expect(order).toEqual([0, 1].flatMap((at) => [`content_block_start ${at}`, `content_block_stop ${at}`]));
  const { parts } = collected(eventsIn('messages', seen.text));
  expect(parts).toMatchObject([{ arguments: '{"a":1}' }, { arguments: '{"b":2}' }]);
  // The ids are what the client answers by.
  expect(new Set(parts.map((part) => (part.type === 'tool_call' ? part.id : ''))).size).toBe(2);
});

it('an error in mid-stream is one of the client, after what had come', async () => {
  for (const [client, speaks] of [
    ['chat', 'messages'],
    ['messages', 'chat'],
  ] as const) {
    upstream.play({
      steps: [START[speaks] + content(speaks, 'half') + errorEvent(speaks, 'overloaded_error')],
    });
    const seen = await ask(gateway, { protocol: client, model: `${speaks}/m`, stream: true });
    expect([seen.content, seen.error?.type, isWhole(seen)]).toEqual(['half', 'overloaded_error', false]);
  }
});

it('nothing follows the end, whatever the provider still says', async () => {
  for (const client of ['chat', 'messages'] as const) {
    for (const speaks of ['chat', 'messages'] as const) {
      const whole = written(
        speaks,
        replay({ id: '1', model: 'm', parts: [{ type: 'text', text: 'all' }], stop: { reason: 'end' } }),
      );
      upstream.play({ steps: [whole + content(speaks, 'more') + whole] });
      const seen = await ask(gateway, { protocol: client, model: `${speaks}/m`, stream: true });
      expect([client, speaks, seen.content, isWhole(seen)]).toEqual([client, speaks, 'all', true]);
    }
  }
});

describe.each([
  ['chat', 'messages'],
  ['messages', 'chat'],
] as const)('a finish after which the provider says nothing more, for a %s client', (client, speaks) => {
  it('is waited out for five seconds, then it is the end', async () => {
    const clock = manualClock();
    let waits = (): void => undefined;
    const waiting = new Promise<void>((resolve) => (waits = resolve));
    const watched = {
      ...clock,
      now: () => clock.now(),
      after(ms: number, task: () => void) {
        if (ms === 5000) waits();
        return clock.after(ms, task);
      },
    };
    const still = await startAlone({
      clock: watched,
      config: { providers: { [speaks]: configured(upstream.url, speaks, ['m']) } },
    });
    const never = gate();
    upstream.play({ steps: [START[speaks] + content(speaks, 'all') + FINISH[speaks], never.opened] });
    let over = false;
    const asked = ask(still, { protocol: client, model: `${speaks}/m`, stream: true }).finally(
      () => (over = true),
    );
    await waiting;
    clock.advance(4999);
    expect(over).toBe(false);
    clock.advance(1);
    const seen = await asked;
    expect([seen.content, seen.error, isWhole(seen)]).toEqual(['all', undefined, true]);
    never.open();
  });
});

describe('arguments that JavaScript can not hold', () => {
  const EXACT = '{"b":12345678901234567890,"10":1.0}';
  const CALL = `{"type":"tool_use","id":"c1","name":"f","input":${EXACT}}`;

  it.each(['chat', 'messages'] as const)("are the same in a %s provider's whole answer", async (speaks) => {
    const client = speaks === 'chat' ? 'messages' : 'chat';
    const call = `{"id":"c1","type":"function","function":{"name":"f","arguments":${JSON.stringify(EXACT)}}}`;
    const body =
      speaks === 'chat'
        ? `{"id":"1","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"content":null,"tool_calls":[${call}]}}]}`
        : `{"id":"1","type":"message","role":"assistant","model":"m","content":[${CALL}],"stop_reason":"tool_use"}`;
    upstream.play({ headers: { 'content-type': 'application/json' }, body });
    const { text } = await ask(gateway, { protocol: client, model: `${speaks}/m` });
    expect(text).toContain(speaks === 'chat' ? `"input":${EXACT}` : `"arguments":${JSON.stringify(EXACT)}`);
  });

  it("are the same in a responses client's history, where they are no text", async () => {
    const call = `{"type":"tool_search_call","call_id":"c1","execution":"client","arguments":${EXACT}}`;
    const response = await fetch(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${gateway.key}` },
      body:
        `{"model":"chat/m","tools":[{"type":"tool_search","execution":"client"}],"input":[{"role":"user","content":"go"},${call},` +
        '{"type":"tool_search_output","call_id":"c1","tools":[]}]}',
    });
    await response.text();
    expect(upstream.requests.at(-1)?.json).toMatchObject({
      messages: [{}, { tool_calls: [{ function: { arguments: EXACT } }] }, {}],
    });
  });

  it("are the same in a messages client's history", async () => {
    const response = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${gateway.key}` },
      body:
        `{"model":"chat/m","max_tokens":9,"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[${CALL}]},` +
        '{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"ok"}]}]}',
    });
    await response.text();
    expect(upstream.requests.at(-1)?.json).toMatchObject({
      messages: [{}, { tool_calls: [{ function: { arguments: EXACT } }] }, {}],
    });
  });
});

describe('schemas whose order JavaScript would change', () => {
  const SCHEMA =
    '{"type":"object","properties":{"b":{"type":"string"},"10":{"maximum":12345678901234567890},"2":{"default":1.5}}}';

  it.each([
    ['chat', 'tools', `{"type":"function","function":{"name":"f","parameters":${SCHEMA}}}`, 'input_schema'],
    ['chat', 'functions', `{"name":"f","parameters":${SCHEMA}}`, 'input_schema'],
    ['messages', 'tools', `{"name":"f","input_schema":${SCHEMA}}`, 'parameters'],
    ['responses', 'tools', `{"type":"function","name":"f","parameters":${SCHEMA}}`, 'parameters'],
    [
      'responses',
      'tools',
      `{"type":"namespace","name":"n","tools":[{"type":"function","name":"g"},{"type":"function","name":"f","parameters":${SCHEMA}}]}`,
      'parameters',
    ],
    [
      'responses',
      'input',
      `{"type":"additional_tools","tools":[{"type":"function","name":"f","parameters":${SCHEMA}}]}`,
      'parameters',
    ],
  ] as const)(
    'of a %s client reach the provider as they were written (%s)',
    async (client, list, tool, name) => {
      const speaks = client === 'messages' || client === 'responses' ? 'chat' : 'messages';
      const path = PATHS[client];
      const question = '{"role":"user","content":"go"}';
      const rest =
        client === 'responses'
          ? `"input":[${question}${list === 'input' ? `,${tool}` : ''}]`
          : `"max_tokens":9,"messages":[${question}]`;
      const tools = list === 'input' ? '' : `"${list}":[${tool}],`;
      const response = await fetch(gateway.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${gateway.key}` },
        body: `{"model":"${speaks}/m",${tools}${rest}}`,
      });
      await response.text();
      expect(upstream.requests.at(-1)?.bytes.toString()).toContain(`"${name}":${SCHEMA}`);
    },
  );
});
