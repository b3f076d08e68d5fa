// What a translation must carry, and what it must say that it left out: official clients, a provider of the other protocol.
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../helpers/gateway.ts';
import { PICTURE, PICTURE_SEEN } from '../fixtures/picture.ts';
import { startSims } from './sims.ts';

let gateway: TestGateway;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  gateway = await startSims();
  openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(() => gateway.stop());

describe('a messages client and a chat provider', () => {
  const create = (messages: Anthropic.MessageParam[], more: object = {}) =>
    anthropic.messages.create({ model: 'chat/echo', max_tokens: 500, messages, ...more });
  const tools: Anthropic.Tool[] = [{ name: 'look', input_schema: { type: 'object' } }];
  const source = { type: 'base64', media_type: 'image/png', data: PICTURE } as const;

  it('carries a picture that a tool brought', async () => {
    const { content } = await create(
      [
        { role: 'user', content: 'look' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'image', source }] }],
        },
      ],
      { tools },
    );
    expect(content).toMatchObject([{ text: expect.stringContaining(PICTURE_SEEN) as string }]);
  });

  it('carries a failed tool as a failure', async () => {
    const { content } = await create(
      [
        { role: 'user', content: 'look' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'toolu_1', is_error: true, content: 'too dark' }],
        },
      ],
      { tools },
    );
    expect(content).toMatchObject([{ text: 'Error: too dark' }]);
  });

  it('carries a document', async () => {
    const pdf = { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } as const;
    const { content } = await create([
      { role: 'user', content: [{ type: 'document', title: 'a.pdf', source: pdf }] },
    ]);
    expect(content).toMatchObject([
      { text: expect.stringContaining('"a.pdf", application/pdf, 3 bytes') as string },
    ]);
  });

  it('names what it left out', async () => {
    const { response } = await anthropic.messages
      .create({
        ...{ model: 'chat/echo', max_tokens: 5, top_k: 4 },
        messages: [{ role: 'user', content: 'x' }],
      })
      .withResponse();
    expect(response.headers.get('x-gateway-dropped')).toBe('top_k');
  });
});

describe('a chat client and a messages provider', () => {
  const create = (messages: OpenAI.ChatCompletionMessageParam[], more: object = {}) =>
    openai.chat.completions.create({ model: 'messages/echo', messages, ...more });

  it('carries the results of several calls', async () => {
    const call = (id: string): OpenAI.ChatCompletionMessageFunctionToolCall => ({
      ...{ id, type: 'function', function: { name: 'look', arguments: '{"at":"sky"}' } },
    });
    const { choices } = await create(
      [
        { role: 'user', content: 'look' },
        { role: 'assistant', content: null, tool_calls: [call('call_1'), call('call_2')] },
        { role: 'tool', tool_call_id: 'call_1', content: 'blue' },
        { role: 'tool', tool_call_id: 'call_2', content: 'grey' },
      ],
      { tools: [{ type: 'function', function: { name: 'look' } }] },
    );
    expect(choices[0]?.message.content).toBe('blue\ngrey');
  });

  it('carries a document', async () => {
    const file = { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' };
    const { choices } = await create([{ role: 'user', content: [{ type: 'file', file }] }]);
    expect(choices[0]?.message.content).toContain('"a.pdf", application/pdf, 3 bytes');
  });

  it('carries developer text as system text, without a word of it in the answer', async () => {
    const { choices, usage } = await create([
      { role: 'developer', content: 'be brief' },
      { role: 'user', content: 'abcd' },
    ]);
    expect(choices[0]?.message.content).toBe('abcd');
    expect(usage?.prompt_tokens).toBe(3);
  });

  it('names what it left out, each once and sorted', async () => {
    const { response } = await openai.chat.completions
      .create({
        ...{ model: 'messages/echo', seed: 7, presence_penalty: 1, logit_bias: { 5: 1 } },
        messages: [
          { role: 'user', name: 'ann', content: 'x' },
          { role: 'user', name: 'bob', content: 'y' },
        ],
      })
      .withResponse();
    expect(response.headers.get('x-gateway-dropped')).toBe(
      'logit_bias,messages[].name,presence_penalty,seed',
    );
  });

  it('refuses what would change the answer, naming it', async () => {
    await expect(create([{ role: 'user', content: 'x' }], { n: 2 })).rejects.toMatchObject({
      status: 400,
      param: 'n',
    });
  });
});
