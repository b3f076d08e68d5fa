// What crossing the protocols must not lose, seen from both ends of the whole gateway: what the provider gets, and what the
// client reads, whole and streamed.
import { beforeAll, describe, expect, it } from 'vitest';
import type { Reply } from '../../src/canonical/reply.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { ask, isWhole } from '../helpers/ask.ts';
import { manualClock } from '../helpers/clock.ts';
import { gateway as startAlone, provider as configured } from '../helpers/gateway.ts';
import type { TestGateway } from '../helpers/gateway.ts';
import { gate, type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { collected, eventsIn, written } from './pipeline.ts';
import { replay } from '../../src/canonical/collect.ts';
import { content, errorBody, errorEvent, FINISH, START, wholeOf } from '../gateway/wire.ts';
import { MODES, USER, playReply, startBoth, type Mode } from './both.ts';

let upstream: ScriptedProvider;
let gateway: TestGateway;
beforeAll(async () => {
  const both = await startBoth();
  ({ upstream, gateway } = both);
  return both.close;
});

const answers = (speaks: ProtocolName, mode: Mode, reply: Partial<Reply>): void =>
  playReply(upstream, speaks, mode, reply);

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
