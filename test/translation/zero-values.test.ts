// Servers written in Go send the zero values of what they don't have: an empty finish, an empty call, a sound without data.
// None of it is part of the answer, and an answer whose body came whole is whole without a finish.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { ask } from '../helpers/ask.ts';
import { provider, startGateway, type TestGateway } from '../helpers/gateway.ts';
import { startScriptedProvider, type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { crossed, crossedStream } from './answers.ts';

let upstream: ScriptedProvider;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startScriptedProvider();
  gateway = await startGateway({
    config: {
      providers: { p: provider(`${upstream.url}/v1`, 'chat', ['m']) },
      tiers: { enterprise: 10_000 },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

const NO_CALL = { name: '', arguments: '' };
const CALL = {
  id: 'toolu_1',
  type: 'function',
  custom: { name: '', input: '' },
  function: { name: 'look', arguments: '{"at":"x"}' },
};

/** A whole answer with a zero value in every place. */
function zeros(said: JsonObject, finish: JsonObject = { finish_reason: '' }): JsonObject {
  const message = {
    role: 'assistant',
    content: '',
    refusal: '',
    annotations: null,
    tool_calls: null,
    audio: { id: '', data: '', expires_at: 0, transcript: '' },
    function_call: NO_CALL,
    ...said,
  };
  return {
    id: '',
    object: 'chat.completion',
    created: 0,
    model: 'm',
    service_tier: '',
    system_fingerprint: '',
    choices: [{ index: 0, logprobs: { content: null, refusal: null }, message, ...finish }],
    usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
  };
}

describe.each([
  ['an empty finish', { finish_reason: '' }],
  ['a finish of null', { finish_reason: null }],
  ['no finish', {}],
])('a whole answer with %s', (_, finish) => {
  it('is relayed unchanged', async () => {
    const body = zeros({ content: 'four' }, finish);
    upstream.play({ body });
    const seen = await ask(gateway, { model: 'p/m' });
    expect(seen).toMatchObject({ status: 200, text: JSON.stringify(body) });
  });

  it('has ended its turn for a messages client', async () => {
    upstream.play({ body: zeros({ content: 'four' }, finish) });
    const { json } = await ask(gateway, { protocol: 'messages', model: 'p/m' });
    expect(json).toMatchObject({ stop_reason: 'end_turn', stop_sequence: null });
    expect(json?.content).toEqual([{ type: 'text', text: 'four' }]);
  });

  it('calls its tools', async () => {
    upstream.play({ body: zeros({ tool_calls: [CALL] }, finish) });
    const { json } = await ask(gateway, { protocol: 'messages', model: 'p/m' });
    expect(json).toMatchObject({ stop_reason: 'tool_use' });
    expect(json?.content).toMatchObject([
      { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'x' } },
    ]);
  });

  it.each<ProtocolName>(['chat', 'messages'])(
    'and nothing in it is a failure for a %s client',
    async (client) => {
      upstream.play({ body: zeros({}, finish) });
      expect((await ask(gateway, { protocol: client, model: 'p/m' })).status).toBe(502);
    },
  );
});

it('a zero value is no block of an answer that has a finish', () => {
  const value = zeros({ content: 'four' }, { finish_reason: 'stop' });
  expect(crossed('messages', 'chat', value).content).toEqual([{ type: 'text', text: 'four' }]);
  // Put together from a stream or taken apart into one, it is a chat answer of its own.
  const own = crossed('chat', 'chat', value);
  expect(own.id).toMatch(/^chatcmpl-/);
  expect(own.created).toBeGreaterThan(0);
  expect((own.choices as JsonObject[])[0]?.message).toEqual({
    role: 'assistant',
    content: 'four',
    refusal: null,
  });
});

it('a call of a custom tool stays one beside an empty function', () => {
  const call = { id: 'call_1', type: 'custom', function: NO_CALL, custom: { name: 'patch', input: 'x' } };
  const [choice] = crossed('chat', 'chat', zeros({ tool_calls: [call] })).choices as JsonObject[];
  expect(choice?.message).toMatchObject({
    tool_calls: [{ type: 'custom', custom: { name: 'patch', input: 'x' } }],
  });
});

it('a stream of zero values is text and calls alone', () => {
  const delta = { role: 'assistant', refusal: '', tool_calls: null, function_call: NO_CALL };
  const chunk = (said: JsonObject): string =>
    `data: ${JSON.stringify({ id: '', created: 0, model: 'm', choices: [{ index: 0, delta: { ...delta, ...said } }] })}\n\n`;
  const call = (custom: JsonObject, args: string, name = ''): JsonObject => ({
    tool_calls: [{ index: 0, id: name && 'toolu_1', custom, function: { name, arguments: args } }],
  });
  const empty = { name: '', input: '' };
  const stream =
    chunk({ content: 'four', audio: { id: '', data: '' } }) +
    chunk({ content: '', ...call(empty, '{"at"', 'look') }) +
    chunk({ content: '', ...call(empty, ':"x"}') }) +
    'data: [DONE]\n\n';
  const frames = crossedStream('messages', 'chat', stream);
  const deltas = frames.flatMap(({ delta: told }) => (told === undefined ? [] : [told]));
  expect(deltas).toEqual([
    { type: 'text_delta', text: 'four' },
    { type: 'input_json_delta', partial_json: '{"at"' },
    { type: 'input_json_delta', partial_json: ':"x"}' },
    { stop_reason: 'tool_use', stop_sequence: null, stop_details: null },
  ]);
});
