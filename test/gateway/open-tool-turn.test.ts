// Inside an open tool turn the thinking belongs to the family that thought it: another family's model gets none of it.
import { expect, it } from 'vitest';
import { gateway } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';

const TOOL = { name: 'look', input_schema: { type: 'object', properties: {} } };
const QUESTION = { role: 'user', content: 'Look.' };
const THOUGHT = { type: 'thinking', thinking: 'I should look.', signature: 'c2lnbmVk' };
const CALL = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} };

function reply(content: object[], stop: string): object {
  const usage = { input_tokens: 1, output_tokens: 1 };
  return { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content, stop_reason: stop, usage };
}

it.each(['messages', 'chat'] as const)(
  'leaves the thinking out, and says so, where only another family on %s is left',
  async (protocol) => {
    const own = await scriptedProvider();
    const other = await scriptedProvider();
    const { url, key } = await gateway({
      config: {
        providers: {
          own: { protocol: 'messages', base_url: own.url, models: ['claude-sonnet-4-5'] },
          other: { protocol, base_url: other.url, models: ['qwen3'] },
        },
        routes: { work: ['own/claude-sonnet-4-5', 'other/qwen3'] },
      },
    });
    const ask = (messages: object[]): Promise<Response> =>
      fetch(`${url}/v1/messages`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'work',
          max_tokens: 4000,
          thinking: { type: 'enabled', budget_tokens: 2000 },
          tools: [TOOL],
          messages,
        }),
      });

    own.play({ body: reply([THOUGHT, CALL], 'tool_use') });
    expect((await ask([QUESTION])).status).toBe(200);

    own.play({ status: 500, body: { error: { message: 'down' } } });
    const done = { type: 'text', text: 'Done.' };
    const message = { role: 'assistant', content: 'Done.' };
    other.play({
      body:
        protocol === 'messages'
          ? reply([done], 'end_turn')
          : { id: 'c', model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }] },
    });
    const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'seen' };
    const second = await ask([
      QUESTION,
      { role: 'assistant', content: [THOUGHT, CALL] },
      { role: 'user', content: [result] },
    ]);
    expect(second.status).toBe(200);
    expect(second.headers.get('x-gateway-provider')).toBe('other');
    expect(second.headers.get('x-gateway-dropped')).toContain('messages[].content[]');
    expect(own.requests[1]?.json).toMatchObject({ messages: [{}, { content: [THOUGHT, CALL] }, {}] });
    const sent = JSON.stringify(other.requests[0]?.json);
    expect(sent).not.toContain('I should look.');
    expect(sent).toContain('toolu_1');
    if (protocol === 'messages') expect(other.requests[0]?.json.thinking).toEqual({ type: 'disabled' });
    else expect(other.requests[0]?.json.reasoning_effort).toBe('none');
  },
);

it.each<[name: string, model: string, asked: object, sent: object, effort?: string]>([
  [
    'a model with budgets: thinking is turned off',
    'claude-sonnet-4-5',
    { type: 'enabled', budget_tokens: 2000 },
    { type: 'disabled' },
  ],
  ['claude-fable-5: thinking stays', 'claude-fable-5', { type: 'adaptive' }, { type: 'adaptive' }],
  ['claude-sonnet-5-5: thinking stays', 'claude-sonnet-5-5', { type: 'adaptive' }, { type: 'adaptive' }],
  ['claude-opus-5: thinking is turned off', 'claude-opus-5', { type: 'adaptive' }, { type: 'disabled' }],
  [
    'claude-opus-5 with high effort: thinking is turned off',
    'claude-opus-5',
    { type: 'adaptive' },
    { type: 'disabled' },
    'high',
  ],
  [
    'claude-opus-5 with xhigh effort: thinking stays',
    'claude-opus-5',
    { type: 'adaptive' },
    { type: 'adaptive' },
    'xhigh',
  ],
  [
    'claude-opus-4-7 with max effort: thinking is turned off',
    'claude-opus-4-7',
    { type: 'adaptive' },
    { type: 'disabled' },
    'max',
  ],
])('a turn that another family began without thinking goes to %s', async (_, model, asked, sent, effort) => {
  const first = await scriptedProvider();
  const second = await scriptedProvider();
  const { url, key } = await gateway({
    config: {
      providers: {
        first: { protocol: 'chat', base_url: first.url, models: ['qwen3'] },
        second: { protocol: 'messages', base_url: second.url, models: [model] },
      },
      routes: { work: ['first/qwen3', `second/${model}`] },
    },
  });
  const ask = (messages: object[]): Promise<Response> =>
    fetch(`${url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'work',
        max_tokens: 4000,
        thinking: asked,
        ...(effort !== undefined && { output_config: { effort } }),
        tools: [TOOL],
        messages,
      }),
    });
  const calls = [{ id: 'toolu_1', type: 'function', function: { name: 'look', arguments: '{}' } }];
  const message = { role: 'assistant', content: null, tool_calls: calls };
  first.play({
    body: { id: 'c', model: 'm', choices: [{ index: 0, message, finish_reason: 'tool_calls' }] },
  });
  expect((await ask([QUESTION])).status).toBe(200);

  first.play({ status: 500, body: { error: { message: 'down' } } });
  second.play({ body: reply([{ type: 'text', text: 'Done.' }], 'end_turn') });
  const answered = await ask([
    QUESTION,
    { role: 'assistant', content: [CALL] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'seen' }] },
    { role: 'system', content: 'The clock says noon.' },
  ]);
  expect(answered.status).toBe(200);
  expect(second.requests[0]?.json.thinking).toEqual(sent);
});
