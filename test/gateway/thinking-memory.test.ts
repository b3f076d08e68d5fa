// A chat client that keeps no thinking, in a tool loop with a model that signs it: the gateway gives the thinking back.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import { replay } from '../../src/canonical/collect.ts';
import type { Reply, ReplyPart } from '../../src/canonical/reply.ts';
import { signatureOfEncrypted } from '../../src/canonical/thinking-signature.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { scriptOf } from '../clients/support.ts';
import { ask, type Seen } from '../helpers/ask.ts';
import { gateway, provider, type TestGateway } from '../helpers/gateway.ts';
import { scriptedProvider, type Script, type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { temporaryFile } from '../store/support.ts';
import { context } from '../translation/pipeline.ts';

const MODEL = 'p/claude-sonnet-4-5';
const THINKING: ReplyPart = { type: 'reasoning', text: 'I should look.', signature: 'c2lnbmVk' };
const REDACTED: ReplyPart = { type: 'reasoning', text: '', redacted: 'b3BhcXVl' };
const LATER: ReplyPart = { type: 'reasoning', text: 'And there.', signature: 'c2lnbmVkIHRvbw==' };
const call = (id: string): ReplyPart => ({ type: 'tool_call', id, name: 'look', arguments: '{}' });
const DONE: ReplyPart = { type: 'text', text: 'Done.' };

const BODY = {
  reasoning_effort: 'medium',
  max_tokens: 20_000,
  tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }],
};
const QUESTION = { role: 'user', content: 'Look.' };
const result = (id: string): JsonObject => ({ role: 'tool', tool_call_id: id, content: 'seen' });
/** A turn as a client sends it back that knows of no thinking. */
const plainTurn = (...ids: string[]): JsonObject => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })),
});

function script(stream: boolean, ...parts: ReplyPart[]): Script {
  const reply: Reply = { id: 'msg_1', model: 'claude-sonnet-4-5', parts, stop: { reason: 'tool_calls' } };
  const { client } = protocols.messages;
  if (!stream) return { body: client.encodeReply(reply, context('messages')) };
  const encoder = client.createStreamEncoder(context('messages'));
  const steps = replay(reply).map((event) => encoder.push(event));
  return { headers: { 'content-type': 'text/event-stream' }, steps: steps.filter((step) => step !== '') };
}

async function start(config: Record<string, unknown> = {}): Promise<{
  to: TestGateway;
  scripted: ScriptedProvider;
  send: (...messages: JsonObject[]) => Promise<Seen>;
}> {
  const scripted = await scriptedProvider();
  const providers = {
    p: provider(`${scripted.url}/v1`, 'messages', ['claude-sonnet-4-5', 'claude-opus-4-5']),
  };
  const to = await gateway({ config: { providers, ...config } });
  const send = (...messages: JsonObject[]): Promise<Seen> =>
    ask(to, { model: MODEL, body: { ...BODY, messages } });
  return { to, scripted, send };
}

const sentTurn = (scripted: ScriptedProvider, request: number, message: number): unknown =>
  (scripted.requests[request]?.json as { messages: { content: unknown }[] }).messages[message]?.content;

it.each([{ stream: false }, { stream: true }])(
  'a plain history gets its thinking back, and the model goes on thinking (stream: $stream)',
  async ({ stream }) => {
    const { to, scripted, send } = await start({ strict: true });
    scripted.play(script(stream, THINKING, REDACTED, DONE, call('toolu_1')), script(false, DONE));
    await ask(to, { model: MODEL, stream, body: { ...BODY, messages: [QUESTION] } });
    const seen = await send(QUESTION, plainTurn('toolu_1'), result('toolu_1'));
    expect(seen.status).toBe(200);
    expect(seen.headers.get('x-gateway-dropped')).toBe(null);
    expect(scripted.requests[1]?.json.thinking).toMatchObject({ type: 'enabled' });
    expect(sentTurn(scripted, 1, 1)).toMatchObject([
      { type: 'thinking', thinking: 'I should look.', signature: 'c2lnbmVk' },
      { type: 'redacted_thinking', data: 'b3BhcXVl' },
      { type: 'tool_use', id: 'toolu_1' },
    ]);
  },
);

it.each([{ stream: false }, { stream: true }])(
  'a plain history gets the encrypted reasoning of a responses provider back (stream: $stream)',
  async ({ stream }) => {
    const scripted = await scriptedProvider();
    const providers = { p: provider(`${scripted.url}/v1`, 'responses', ['m']) };
    const to = await gateway({ config: { providers, strict: true } });
    const encrypted: ReplyPart = {
      type: 'reasoning',
      text: 'I should look.',
      signature: signatureOfEncrypted({ id: '', content: 'opaque' }),
    };
    scripted.play(
      scriptOf('responses', { parts: [encrypted, DONE, call('call_1')] }, stream),
      scriptOf('responses', { parts: [DONE] }, false),
    );
    await ask(to, { model: 'p/m', stream, body: { ...BODY, messages: [QUESTION] } });
    const messages = [QUESTION, plainTurn('call_1'), result('call_1')];
    const seen = await ask(to, { model: 'p/m', body: { ...BODY, messages } });
    expect(seen.status).toBe(200);
    expect(scripted.requests[1]?.json).toMatchObject({
      reasoning: { effort: 'medium' },
      input: [
        { role: 'user' },
        { type: 'reasoning', id: expect.stringMatching(/^rs_/) as string, encrypted_content: 'opaque' },
        { type: 'function_call', call_id: 'call_1' },
        { type: 'function_call_output', call_id: 'call_1' },
      ],
    });
    // A client that keeps what it got sends the same reasoning itself: it stands there once.
    scripted.play(scriptOf('responses', { parts: [DONE] }, false));
    const details = [
      { type: 'reasoning.text', text: 'I should look.', signature: encrypted.signature, index: 0 },
    ];
    const own = { ...plainTurn('call_1'), reasoning_details: details };
    await ask(to, { model: 'p/m', body: { ...BODY, messages: [QUESTION, own, result('call_1')] } });
    const items = (scripted.requests[2]?.json as { input: { type: string }[] }).input;
    expect(items.filter(({ type }) => type === 'reasoning')).toHaveLength(1);
  },
);

const signed = (id: string, signature: string): ReplyPart => ({
  type: 'tool_call',
  id,
  name: 'look',
  arguments: '{}',
  extra: { extra_content: { google: { thought_signature: signature } } },
});
/** A tool loop as clients without a field for the signatures of calls send it. */
const LOOPS = {
  messages: {
    tools: [{ name: 'look', input_schema: { type: 'object' } }],
    messages: [
      QUESTION,
      {
        role: 'assistant',
        content: ['a', 'b'].map((id) => ({ type: 'tool_use', id, name: 'look', input: {} })),
      },
      { role: 'user', content: ['a', 'b'].map((id) => ({ type: 'tool_result', tool_use_id: id })) },
    ],
  },
  responses: {
    tools: [{ type: 'function', name: 'look', parameters: { type: 'object' }, strict: false }],
    input: [
      QUESTION,
      ...['a', 'b'].map((id) => ({ type: 'function_call', call_id: id, name: 'look', arguments: '{}' })),
      ...['a', 'b'].map((id) => ({ type: 'function_call_output', call_id: id, output: 'seen' })),
    ],
  },
};

it.each<{ protocol: keyof typeof LOOPS; stream: boolean }>([
  { protocol: 'messages', stream: false },
  { protocol: 'messages', stream: true },
  { protocol: 'responses', stream: false },
  { protocol: 'responses', stream: true },
])(
  'the signatures of calls go back to the provider that wants them ($protocol, stream: $stream)',
  async ({ protocol, stream }) => {
    const scripted = await scriptedProvider();
    const more = { flags: { thought_signatures: true } };
    const providers = { p: provider(`${scripted.url}/v1`, 'chat', ['m', 'n'], more) };
    const to = await gateway({ config: { providers, strict: true } });
    scripted.play(
      scriptOf('chat', { parts: [signed('a', 'one'), signed('b', 'two')] }, stream),
      scriptOf('chat', { parts: [DONE] }, false),
      scriptOf('chat', { parts: [DONE] }, false),
    );
    await ask(to, { protocol, model: 'p/m', stream, body: { tools: LOOPS[protocol].tools } });
    const loop = { protocol, body: LOOPS[protocol] };
    expect(await ask(to, { ...loop, model: 'p/m' })).toMatchObject({ status: 200, content: 'Done.' });
    const of = (signature: string): object => ({
      extra_content: { google: { thought_signature: signature } },
    });
    const turn = (request: number): unknown =>
      (scripted.requests[request]?.json as { messages: { tool_calls?: unknown }[] }).messages[1]?.tool_calls;
    expect(turn(1)).toMatchObject([of('one'), of('two')]);
    await ask(to, { ...loop, model: 'p/n' });
    expect(turn(2)).toMatchObject([of('skip_thought_signature_validator'), { id: 'b' }]);
    expect(JSON.stringify(turn(2))).not.toContain('two');
  },
);

it('thinking between two calls of a turn, and of two turns of one loop, comes back at its place', async () => {
  const { scripted, send } = await start();
  scripted.play(
    script(false, THINKING, call('toolu_1'), LATER, call('toolu_2')),
    script(false, LATER, call('toolu_3')),
    script(false, DONE),
  );
  await send(QUESTION);
  const first = [plainTurn('toolu_1', 'toolu_2'), result('toolu_1'), result('toolu_2')];
  await send(QUESTION, ...first);
  await send(QUESTION, ...first, plainTurn('toolu_3'), result('toolu_3'));
  const types = (sentTurn(scripted, 2, 1) as { type: string }[]).map(({ type }) => type);
  expect(types).toEqual(['thinking', 'tool_use', 'thinking', 'tool_use']);
  expect(sentTurn(scripted, 2, 3)).toMatchObject([{ thinking: 'And there.' }, { id: 'toolu_3' }]);
});

it('a turn after which the user continued is unchanged', async () => {
  const { scripted, send } = await start();
  scripted.play(script(false, THINKING, call('toolu_1')), script(false, DONE));
  await send(QUESTION);
  await send(
    QUESTION,
    plainTurn('toolu_1'),
    result('toolu_1'),
    { role: 'assistant', content: 'Seen.' },
    QUESTION,
  );
  expect(sentTurn(scripted, 1, 1)).toMatchObject([{ type: 'tool_use' }]);
});

it('another account, another model and a store that is off get no thinking back', async () => {
  const { to, scripted, send } = await start();
  scripted.play(script(false, THINKING, call('toolu_1')), script(false, DONE), script(false, DONE));
  await send(QUESTION);
  const messages = [QUESTION, plainTurn('toolu_1'), result('toolu_1')];
  const other = await to.newKey({ account: 'other' });
  await ask({ ...to, key: other }, { model: MODEL, body: { ...BODY, messages } });
  expect(sentTurn(scripted, 1, 1)).toMatchObject([{ type: 'tool_use' }]);
  await ask(to, { model: 'p/claude-opus-4-5', body: { ...BODY, messages } });
  expect(JSON.stringify(sentTurn(scripted, 2, 1))).not.toContain('c2lnbmVk');

  const off = await start({ responses: { store: 'off' } });
  off.scripted.play(script(false, THINKING, call('toolu_1')), script(false, DONE));
  await off.send(QUESTION);
  await off.send(...messages);
  expect(sentTurn(off.scripted, 1, 1)).toMatchObject([{ type: 'tool_use' }]);
});

it('stored thinking is still there after a restart', async () => {
  const database = temporaryFile();
  const { to, scripted, send } = await start({ database });
  scripted.play(script(false, THINKING, call('toolu_1')), script(false, DONE));
  await send(QUESTION);
  await to.stop();
  const providers = { p: provider(`${scripted.url}/v1`, 'messages', ['claude-sonnet-4-5']) };
  const next = await gateway({ config: { providers, database } });
  const messages = [QUESTION, plainTurn('toolu_1'), result('toolu_1')];
  await ask(next, { model: MODEL, body: { ...BODY, messages } });
  expect(sentTurn(scripted, 1, 1)).toMatchObject([{ signature: 'c2lnbmVk' }, { type: 'tool_use' }]);
});

describe('a server that numbers the calls of every conversation anew', () => {
  const look = (place: string, id = 'call_0', name = 'look') => ({
    id,
    name,
    arguments: JSON.stringify({ place }),
  });
  const made = (...calls: ReturnType<typeof look>[]): ReplyPart[] =>
    calls.map((one) => ({ type: 'tool_call', ...one }));
  const sent = (...calls: ReturnType<typeof look>[]): JsonObject => ({
    role: 'assistant',
    content: null,
    tool_calls: calls.map(({ id, ...body }) => ({ id, type: 'function', function: body })),
  });
  const thinkingOf = (scripted: ScriptedProvider, request: number): unknown[] =>
    (sentTurn(scripted, request, 1) as JsonObject[]).flatMap(({ thinking }) => thinking ?? []);

  it.each([{ stream: false }, { stream: true }])(
    'each conversation gets its own thinking, also while both go on (stream: $stream)',
    async ({ stream }) => {
      const { to, scripted, send } = await start();
      scripted.play(
        script(stream, THINKING, ...made(look('hall'))),
        script(stream, LATER, ...made(look('yard'))),
        script(false, DONE),
        script(false, DONE),
      );
      for (const content of ['Look into the hall.', 'Look into the yard.']) {
        const messages = [{ role: 'user', content }];
        await ask(to, { model: MODEL, stream, body: { ...BODY, messages } });
      }
      await send(QUESTION, sent(look('hall')), result('call_0'));
      await send(QUESTION, sent(look('yard')), result('call_0'));
      expect(thinkingOf(scripted, 2)).toEqual(['I should look.']);
      expect(thinkingOf(scripted, 3)).toEqual(['And there.']);
    },
  );

  it.each([
    ['other arguments', [look('cellar')]],
    ['another name', [look('hall', 'call_0', 'see')]],
    ['a call more', [look('hall'), look('yard', 'call_1')]],
  ])('a turn of another conversation with %s gets none', async (_, calls) => {
    const { scripted, send } = await start();
    scripted.play(script(false, THINKING, ...made(look('hall'))), script(false, DONE));
    await send(QUESTION);
    await send(QUESTION, sent(...calls), ...calls.map(({ id }) => result(id)));
    expect(JSON.stringify(scripted.requests[1]?.json)).not.toContain('I should look.');
  });

  it('arguments that a program wrote anew are the same', async () => {
    const { scripted, send } = await start();
    const said = '{"b": 1.0, "10": [{"d": null, "c": "\\u00e9"}], "a": ""}';
    const again = '{"10":[{"c":"é","d":null}],"a":"","b":1}';
    scripted.play(
      script(false, THINKING, { type: 'tool_call', id: 'call_0', name: 'look', arguments: said }),
      script(false, DONE),
    );
    await send(QUESTION);
    await send(QUESTION, sent({ id: 'call_0', name: 'look', arguments: again }), result('call_0'));
    expect(thinkingOf(scripted, 1)).toEqual(['I should look.']);
  });
});
