// A tool loop of a chat client with a model that signs its thinking: what the gateway handed out comes back as signed thinking,
// in whichever form the client keeps it, so that the model goes on thinking.
import OpenAI from 'openai';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import { signAsGateway } from '../../src/canonical/thinking-signature.ts';
import { replay } from '../../src/canonical/collect.ts';
import type { Reply, ReplyPart } from '../../src/canonical/reply.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { ask, type Seen } from '../helpers/ask.ts';
import { gateway, provider, type TestGateway } from '../helpers/gateway.ts';
import { scriptedProvider, type Script, type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { context } from './pipeline.ts';

const THOUGHT = { type: 'thinking', thinking: 'I should look.', signature: 'c2lnbmVk' };
const SECOND = { type: 'thinking', thinking: '', signature: 'c2lnbmVkIHRvbw==' };
const REDACTED = { type: 'redacted_thinking', data: 'b3BhcXVl' };
const CALL: ReplyPart = { type: 'tool_call', id: 'toolu_1', name: 'look', arguments: '{}' };
const SIGNED: ReplyPart = { type: 'reasoning', text: THOUGHT.thinking, signature: THOUGHT.signature };
const SIGNED_TOO: ReplyPart = { type: 'reasoning', text: '', signature: SECOND.signature };
const SEALED: ReplyPart = { type: 'reasoning', text: '', redacted: REDACTED.data };

const TOOLS = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }] as const;
const ASKED = { reasoning_effort: 'medium', max_tokens: 20_000, tools: TOOLS };
const QUESTION = { role: 'user', content: 'Look.' };
const RESULT = { role: 'tool', tool_call_id: 'toolu_1', content: 'seen' };

function script(parts: ReplyPart[], stream: boolean): Script {
  const reply: Reply = { id: 'msg_1', model: 'claude-sonnet-4-5', parts, stop: { reason: 'tool_calls' } };
  const wire = protocols.messages;
  if (!stream) return { body: wire.client.encodeReply(reply, context('messages')) };
  const encoder = wire.client.createStreamEncoder(context('messages'));
  const steps = replay(reply).map((event) => encoder.push(event));
  return { headers: { 'content-type': 'text/event-stream' }, steps: steps.filter((step) => step !== '') };
}

async function loop(
  config: Record<string, unknown> = {},
): Promise<{ to: TestGateway; scripted: ScriptedProvider }> {
  const scripted = await scriptedProvider();
  const to = await gateway({
    config: {
      providers: { p: provider(`${scripted.url}/v1`, 'messages', ['claude-sonnet-4-5']) },
      ...config,
    },
  });
  return { to, scripted };
}

/** The message of a stream as clients put it together that join items by their index, and else what they have not got yet. */
function gathered({ frames }: Seen): JsonObject {
  const message: JsonObject = {};
  for (const { data } of frames) {
    if (data === '[DONE]') continue;
    const { choices } = JSON.parse(data) as { choices: { delta?: JsonObject }[] };
    for (const [name, value] of Object.entries(choices[0]?.delta ?? {})) add(message, name, value);
  }
  return message;
}

function add(to: JsonObject, name: string, value: JsonObject[string]): void {
  const known = to[name];
  if (typeof known === 'string' && typeof value === 'string' && !['type', 'id', 'role'].includes(name)) {
    to[name] = known + value;
  } else if (Array.isArray(known) && Array.isArray(value)) {
    for (const item of value as JsonObject[]) {
      const index = Number(item.index);
      if (!Number.isInteger(index)) throw new Error(`a second piece of ${name} without an index`);
      const there = known[index] as JsonObject | undefined;
      if (there === undefined) known[index] = item;
      else for (const inner in item) add(there, inner, item[inner] ?? null);
    }
  } else if (typeof known === 'object' && known !== null && typeof value === 'object' && value !== null) {
    for (const [inner, member] of Object.entries(value)) add(known as JsonObject, inner, member);
  } else if (value !== null) to[name] = structuredClone(value);
}

async function firstStep(to: TestGateway, stream: boolean): Promise<JsonObject> {
  const seen = await ask(to, {
    model: 'p/claude-sonnet-4-5',
    stream,
    body: { ...ASKED, messages: [QUESTION] },
  });
  expect(seen.status).toBe(200);
  if (stream) return gathered(seen);
  return (seen.json as { choices: { message: JsonObject }[] }).choices[0]?.message ?? {};
}

function secondStep(to: TestGateway, message: JsonObject): Promise<Seen> {
  const messages = [QUESTION, { role: 'assistant', ...message }, RESULT];
  return ask(to, { model: 'p/claude-sonnet-4-5', body: { ...ASKED, messages } });
}

/** What different clients keep of a message. */
const KEEPERS: readonly (readonly [name: string, without: readonly string[]])[] = [
  ['the whole message', []],
  ['reasoning_details, as for OpenRouter,', ['thinking_blocks', 'reasoning_content']],
  ['thinking_blocks, as LiteLLM,', ['reasoning_details', 'reasoning_content']],
];

it.each(
  KEEPERS.flatMap(([name, without]) => [false, true].map((stream) => [name, stream, without] as const)),
)('a client that keeps %s gets its thinking back to the model (streamed: %s)', async (_, stream, without) => {
  const { to, scripted } = await loop({ strict: true });
  scripted.play(
    script([SIGNED, SEALED, SIGNED_TOO, { type: 'text', text: 'I look.' }, CALL], stream),
    script([{ type: 'text', text: 'Done.' }], false),
  );
  const message = await firstStep(to, stream);
  expect(message.reasoning_content).toBe('I should look.');
  for (const name of without) delete message[name];
  const second = await secondStep(to, message);
  expect(second.status).toBe(200);
  expect(second.headers.get('x-gateway-dropped')).toBe(null);
  expect(scripted.requests[1]?.json).toMatchObject({
    thinking: { type: 'enabled', budget_tokens: 10_000 },
    messages: [
      {},
      {
        role: 'assistant',
        content: [
          THOUGHT,
          REDACTED,
          SECOND,
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'toolu_1' },
        ],
      },
      { content: [{ type: 'tool_result' }] },
    ],
  });
});

it('a client whose reader of streams keeps the last of unknown members sends all of its thinking back', async () => {
  const { to, scripted } = await loop();
  scripted.play(script([SIGNED, SEALED, CALL], true), script([{ type: 'text', text: 'Done.' }], false));
  const client = new OpenAI({ baseURL: `${to.url}/v1`, apiKey: to.key, maxRetries: 0 });
  const message = await client.chat.completions
    .stream({
      model: 'p/claude-sonnet-4-5',
      max_tokens: 20_000,
      reasoning_effort: 'medium',
      tools: [...TOOLS],
      messages: [{ role: 'user', content: 'Look.' }],
    })
    .finalMessage();
  await secondStep(to, message as unknown as JsonObject);
  expect(scripted.requests[1]?.json).toMatchObject({
    thinking: { type: 'enabled' },
    messages: [{}, { content: [THOUGHT, REDACTED, { type: 'tool_use' }] }, {}],
  });
});

it('thinking that the client does not want to see is not handed out', async () => {
  const { to, scripted } = await loop();
  for (const stream of [false, true]) {
    scripted.play(script([SIGNED, CALL], stream));
    const body = { ...ASKED, reasoning: { exclude: true }, messages: [QUESTION] };
    const { text } = await ask(to, { model: 'p/claude-sonnet-4-5', stream, body });
    expect(text).toContain('toolu_1');
    expect(text).not.toMatch(/thinking_blocks|reasoning_(?!tokens)/);
  }
});

it.each<[string, JsonObject]>([
  ['none', {}],
  ['one without a signature', { reasoning_content: 'I should look.' }],
  [
    "another family's",
    {
      reasoning_details: [
        { type: 'reasoning.text', text: 'Hm.', signature: 'eA==', format: 'google-gemini-v1', index: 0 },
        { type: 'reasoning.encrypted', data: 'eA==', format: 'openai-responses-v1', index: 1 },
      ],
    },
  ],
  [
    "the gateway's own",
    { thinking_blocks: [{ type: 'thinking', thinking: 'Hm.', signature: signAsGateway('x') }] },
  ],
])('with %s, thinking is off for this request and named, which strict does not refuse', async (_, kept) => {
  const { to, scripted } = await loop({ strict: true });
  scripted.play(script([{ type: 'text', text: 'Done.' }], false));
  const call = { id: 'toolu_1', type: 'function', function: { name: 'look', arguments: '{}' } };
  const seen = await secondStep(to, { content: null, tool_calls: [call], ...kept });
  expect(seen.status).toBe(200);
  expect(seen.headers.get('x-gateway-dropped')).toBe('reasoning_effort');
  const sent = scripted.requests[0]?.json;
  expect(sent?.thinking).toEqual({ type: 'disabled' });
  expect(JSON.stringify(sent)).not.toContain('eA==');
  expect(JSON.stringify(sent)).not.toContain('signature');
});

it("Gemini's signature beside a call goes back to it as it came", async () => {
  const scripted = await scriptedProvider();
  const config = { providers: { p: { ...provider(`${scripted.url}/v1`, 'chat', ['gemini-3-pro']) } } };
  const to = await gateway({ config });
  const calls = [
    {
      id: 'call_1',
      type: 'function',
      function: { name: 'look', arguments: '{}' },
      extra_content: { google: { thought_signature: 'c2ln' } },
    },
  ];
  const message = { role: 'assistant', content: null, tool_calls: calls };
  scripted.playAlways({
    body: { id: 'c', model: 'm', choices: [{ index: 0, message, finish_reason: 'tool_calls' }] },
  });
  const first = await ask(to, { model: 'p/gemini-3-pro', body: { messages: [QUESTION], tools: TOOLS } });
  const got = (first.json as { choices: { message: JsonObject }[] }).choices[0]?.message ?? {};
  await ask(to, { model: 'p/gemini-3-pro', body: { messages: [QUESTION, got, RESULT], tools: TOOLS } });
  expect(scripted.requests[1]?.json.messages).toMatchObject([{}, { tool_calls: calls }, {}]);
});
