// A provider that refuses thinking which it, or another account, signed before: it is asked once more without that thinking.
import { beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { ReplyPart } from '../../src/canonical/reply.ts';
import { signatureOfEncrypted } from '../../src/canonical/thinking-signature.ts';
import { MODELS, lastAsked, scene, scriptOf } from '../clients/support.ts';
import { ask, type Seen } from '../helpers/ask.ts';
import type { Script } from '../helpers/scripted-provider.ts';

const at = scene();

const SIGNATURE: Script = {
  status: 400,
  body: {
    type: 'error',
    error: {
      type: 'invalid_request_error',
      message: 'messages.1.content.0: Invalid `signature` in `thinking` block',
    },
  },
};
const ENCRYPTED: Script = {
  status: 400,
  body: {
    error: {
      message: 'The encrypted content gAAA...DQ== could not be verified.',
      type: 'invalid_request_error',
      param: null,
      code: 'invalid_encrypted_content',
    },
  },
};
const DONE: ReplyPart[] = [{ type: 'text', text: 'Done.' }];
const LOOK: ReplyPart = { type: 'tool_call', id: 'call_1', name: 'look', arguments: '{}' };

const THOUGHT = { type: 'thinking', thinking: 'I should look.', signature: 'c2lnbmVk' };
const USE = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} };
const OF_MESSAGES = {
  max_tokens: 4000,
  thinking: { type: 'enabled', budget_tokens: 2000 },
  tools: [{ name: 'look', input_schema: { type: 'object', properties: {} } }],
};
const OPEN_TURN = [
  { role: 'user', content: 'Look.' },
  { role: 'assistant', content: [THOUGHT, USE] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'seen' }] },
];

const OF_CHAT = {
  reasoning_effort: 'medium',
  max_tokens: 20_000,
  tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }],
};
const QUESTION = { role: 'user', content: 'Look.' };
const PLAIN_TURN = [
  QUESTION,
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: 'call_1', content: 'seen' },
];

let before = 0;
beforeEach(() => {
  before = at.upstream.requests.length;
});
const requests = (): number => at.upstream.requests.length - before;

function expectDone(seen: Seen, dropped: string): void {
  expect(seen.status).toBe(200);
  expect(seen.headers.get('x-gateway-dropped')).toBe(dropped);
  expect(seen.headers.get('x-gateway-attempts')).toBe('1');
  expect(at.gateway.log()).toContain('asked again without it');
}

describe('a messages client in front of a messages provider', () => {
  it('an open tool turn goes on without its thinking', async () => {
    at.upstream.play(SIGNATURE, scriptOf('messages', { parts: DONE }, false));
    const body = { ...OF_MESSAGES, messages: OPEN_TURN };
    expectDone(
      await ask(at.gateway, { protocol: 'messages', model: MODELS.messages, body }),
      'messages[].content[].thinking',
    );
    expect(requests()).toBe(2);
    expect(lastAsked(at).thinking).toEqual({ type: 'disabled' });
    expect((lastAsked(at).messages as JsonObject[])[1]?.content).toEqual([USE]);
  });

  it('a new turn thinks, without the thinking of those before', async () => {
    at.upstream.play(SIGNATURE, scriptOf('messages', { parts: DONE }, true));
    const answered = [{ role: 'assistant', content: [THOUGHT, { type: 'text', text: 'Seen.' }] }, QUESTION];
    const body = { ...OF_MESSAGES, messages: [QUESTION, ...answered] };
    const model = MODELS.messages;
    expectDone(
      await ask(at.gateway, { protocol: 'messages', model, body, stream: true }),
      'messages[].content[].thinking',
    );
    expect(lastAsked(at).thinking).toEqual(OF_MESSAGES.thinking);
    expect(JSON.stringify(lastAsked(at).messages)).not.toContain('c2lnbmVk');
  });

  it('is refused in the provider’s words if it is refused again', async () => {
    at.upstream.play(SIGNATURE, SIGNATURE);
    const body = { ...OF_MESSAGES, messages: OPEN_TURN };
    const seen = await ask(at.gateway, { protocol: 'messages', model: MODELS.messages, body });
    expect(seen.status).toBe(400);
    expect(seen.error?.message).toBe('messages.1.content.0: Invalid `signature` in `thinking` block');
    expect(requests()).toBe(2);
  });

  it('is not asked again for what has no thinking', async () => {
    at.upstream.play(SIGNATURE);
    const body = { ...OF_MESSAGES, messages: [QUESTION] };
    expect((await ask(at.gateway, { protocol: 'messages', model: MODELS.messages, body })).status).toBe(400);
    expect(requests()).toBe(1);
  });
});

it('a chat client’s stored thinking is left out where a messages provider refuses it', async () => {
  const signed: ReplyPart = { type: 'reasoning', text: 'I should look.', signature: 'c2lnbmVk' };
  at.upstream.play(
    scriptOf('messages', { parts: [signed, LOOK] }, false),
    SIGNATURE,
    scriptOf('messages', { parts: DONE }, false),
  );
  const model = MODELS.messages;
  await ask(at.gateway, { model, body: { ...OF_CHAT, messages: [QUESTION] } });
  expectDone(
    await ask(at.gateway, { model, body: { ...OF_CHAT, messages: PLAIN_TURN } }),
    'messages[].reasoning_content,reasoning_effort',
  );
  expect(JSON.stringify(lastAsked(at, 1))).toContain('c2lnbmVk');
  expect(JSON.stringify(lastAsked(at))).not.toContain('c2lnbmVk');
  expect(lastAsked(at).thinking).toEqual({ type: 'disabled' });
});

it('a chat client’s stored reasoning is left out where a responses provider refuses it', async () => {
  const signature = signatureOfEncrypted({ id: '', content: 'opaque' });
  const signed: ReplyPart = { type: 'reasoning', text: 'I should look.', signature };
  at.upstream.play(
    scriptOf('responses', { parts: [signed, LOOK] }, false),
    ENCRYPTED,
    scriptOf('responses', { parts: DONE }, false),
  );
  const model = MODELS.responses;
  await ask(at.gateway, { model, body: { ...OF_CHAT, messages: [QUESTION] } });
  expectDone(
    await ask(at.gateway, { model, body: { ...OF_CHAT, messages: PLAIN_TURN } }),
    'messages[].reasoning_content',
  );
  expect(JSON.stringify(lastAsked(at, 1))).toContain('opaque');
  expect(lastAsked(at)).toMatchObject({
    reasoning: { effort: 'medium' },
    input: [{ role: 'user' }, { type: 'function_call' }, { type: 'function_call_output' }],
  });
});

const CALL = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' };
const OUTPUT = { type: 'function_call_output', call_id: 'call_1', output: 'seen' };
const REASONING = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAADQ==' };
const FAILED = {
  id: 'resp_1',
  object: 'response',
  status: 'failed',
  error: (ENCRYPTED.body as JsonObject).error,
  output: [],
};

it.each<[string, Script, boolean]>([
  ['as an error', ENCRYPTED, false],
  ['inside its stream', { steps: [frame('response.failed', { response: FAILED })] }, true],
])(
  'a responses client’s reasoning is left out where its provider refuses it %s',
  async (_, refusal, stream) => {
    at.upstream.play(refusal, scriptOf('responses', { parts: DONE }, stream));
    const body = {
      messages: undefined,
      store: false,
      reasoning: { effort: 'medium' },
      tools: [{ type: 'function', name: 'look', parameters: null, strict: null }],
      input: [REASONING, QUESTION, REASONING, CALL, OUTPUT],
    };
    const model = MODELS.responses;
    expectDone(await ask(at.gateway, { protocol: 'responses', model, body, stream }), 'input[]');
    expect(requests()).toBe(2);
    expect(lastAsked(at)).toMatchObject({ reasoning: { effort: 'medium' }, input: [QUESTION, CALL, OUTPUT] });
  },
);

function frame(type: string, members: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 0, ...members })}\n\n`;
}
