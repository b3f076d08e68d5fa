// What a program that uses the official messages client sees, against the built-in provider.
import Anthropic from '@anthropic-ai/sdk';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import type { TestGateway } from '../helpers/gateway.ts';
import { PICTURE, PICTURE_SEEN } from '../fixtures/picture.ts';
import { startSims } from './sims.ts';

let gateway: TestGateway;
let client: Anthropic;

beforeAll(async () => {
  gateway = await startSims();
  client = clientFor(gateway.key);
});
afterAll(() => gateway.stop());

function clientFor(apiKey: string): Anthropic {
  return new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 });
}

const WEATHER: Anthropic.Tool = {
  name: 'get_weather',
  input_schema: { type: 'object', properties: { city: { enum: ['Oslo'] } }, required: ['city'] },
};

// `sim` is relayed to; the other one speaks the other protocol, so that every answer is translated.
describe.each(['sim', 'chat'])('through %s,', (provider) => {
  function ask(
    content: string,
    more: Partial<Anthropic.MessageCreateParamsNonStreaming> = {},
  ): Anthropic.MessageCreateParamsNonStreaming {
    return { model: `${provider}/echo`, max_tokens: 100, messages: [{ role: 'user', content }], ...more };
  }

  describe('a message', () => {
    it('answers, counts and names its request', async () => {
      const message = await client.messages.create(ask('hello there'));
      expect(message).toMatchObject({
        type: 'message',
        role: 'assistant',
        content: [{ type: 'text', text: 'hello there' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 3, output_tokens: 3 },
      });
      expect(message._request_id).toMatch(/\w{8,}/);
    });

    it('says who answered', async () => {
      const { response } = await client.messages.create(ask('hello')).withResponse();
      expect(response.headers.get('x-gateway-provider')).toBe(provider);
      expect(response.headers.get('x-gateway-model')).toBe('echo');
      expect(response.headers.get('anthropic-ratelimit-requests-limit')).toBe('300');
      expect(Date.parse(response.headers.get('anthropic-ratelimit-requests-reset') ?? '') % 3_600_000).toBe(
        0,
      );
    });

    it('is cut at the limit and at a stop sequence', async () => {
      expect(await client.messages.create(ask('one two three', { max_tokens: 1 }))).toMatchObject({
        content: [{ text: 'one ' }],
        stop_reason: 'max_tokens',
      });
      expect(await client.messages.create(ask('one two three', { stop_sequences: ['three'] }))).toMatchObject(
        {
          content: [{ text: 'one two ' }],
          stop_reason: 'stop_sequence',
          stop_sequence: 'three',
        },
      );
    });

    it('sees a picture', async () => {
      const source = { type: 'base64', media_type: 'image/png', data: PICTURE } as const;
      const message = await client.messages.create(
        ask('', { messages: [{ role: 'user', content: [{ type: 'image', source }] }] }),
      );
      expect(message.content).toMatchObject([
        { type: 'text', text: expect.stringContaining(PICTURE_SEEN) as string },
      ]);
    });

    it('thinks, and takes its thought back', async () => {
      const thinking = { type: 'enabled', budget_tokens: 1024 } as const;
      const first = await client.messages.create(ask('hello', { max_tokens: 2000, thinking }));
      expect(first.content).toMatchObject([
        {
          type: 'thinking',
          thinking: expect.stringMatching(/./) as string,
          signature: expect.stringMatching(/./) as string,
        },
        { type: 'text', text: 'hello' },
      ]);
      const messages: Anthropic.MessageParam[] = [
        { role: 'user', content: 'hello' },
        { role: 'assistant', content: first.content },
        { role: 'user', content: 'and again' },
      ];
      const second = await client.messages.create(ask('', { max_tokens: 2000, thinking, messages }));
      expect(second.content.at(-1)).toMatchObject({ type: 'text', text: 'and again' });
    });

    it('fits a schema', async () => {
      const schema = z.object({ name: z.string(), tags: z.array(z.enum(['a', 'b'])) });
      const message = await client.messages.parse({
        ...ask('hello'),
        output_config: { format: zodOutputFormat(schema) },
      });
      expect(message.parsed_output).toMatchObject({ tags: ['a'] });
    });
  });

  describe('a stream', () => {
    it('has the events of the protocol, in pieces', async () => {
      const types: string[] = [];
      const texts: string[] = [];
      for await (const event of await client.messages.create({ ...ask('one two three'), stream: true })) {
        types.push(event.type);
        if (event.type === 'content_block_delta' && event.delta.type === 'text_delta')
          texts.push(event.delta.text);
      }
      expect(texts).toEqual(['one ', 'two ', 'three']);
      expect(types[0]).toBe('message_start');
      expect(types.slice(-2)).toEqual(['message_delta', 'message_stop']);
    });

    it('put together is the whole message', async () => {
      const request = ask('call get_weather', {
        max_tokens: 2000,
        tools: [WEATHER],
        thinking: { type: 'enabled', budget_tokens: 1024 },
      });
      const whole = await client.messages.create(request);
      const streamed = await client.messages.stream(request).finalMessage();
      expect(streamed.content).toEqual(whole.content);
      expect(streamed.content.map(({ type }) => type)).toEqual(['thinking', 'tool_use']);
      expect(streamed).toMatchObject({
        stop_reason: 'tool_use',
        usage: { output_tokens: whole.usage.output_tokens },
      });
      expect(streamed.content.at(-1)).toMatchObject({ name: 'get_weather', input: { city: 'Oslo' } });
    });

    it('that breaks raises an error after what had come', async () => {
      const stream = client.messages.stream(ask('x', { model: `${provider}/cut` }));
      let text = '';
      stream.on('text', (piece) => (text += piece));
      await expect(stream.finalMessage()).rejects.toThrow(Anthropic.APIError);
      expect(text).toBe('one two three ');
    });
  });

  describe('tools', () => {
    const runnable = (asked: unknown[]) =>
      betaZodTool({
        name: 'get_weather',
        description: 'the weather of a city',
        inputSchema: z.object({ city: z.enum(['Oslo']) }),
        run: (input) => {
          asked.push(input);
          return 'sunny in Oslo';
        },
      });

    it.each([true, false])(
      'go round until the answer, with threads asked for or not (%s)',
      async (thread) => {
        const asked: unknown[] = [];
        const final = await client.beta.messages.toolRunner({
          model: `${provider}/echo`,
          max_tokens: 100,
          messages: [{ role: 'user', content: 'please call get_weather' }],
          tools: [runnable(asked)],
          ...(thread ? {} : { thread: false }),
        });
        expect(final.content).toMatchObject([{ type: 'text', text: 'sunny in Oslo' }]);
        expect(asked).toEqual([{ city: 'Oslo' }]);
      },
    );

    it('are called side by side, or not', async () => {
      const tools = [WEATHER, { ...WEATHER, name: 'get_forecast' }];
      const both = await client.messages.create(ask('get_weather and get_forecast', { tools }));
      expect(both.content).toHaveLength(2);
      const choice = { type: 'auto', disable_parallel_tool_use: true } as const;
      const one = await client.messages.create(
        ask('get_weather and get_forecast', { tools, tool_choice: choice }),
      );
      expect(one.content).toHaveLength(1);
    });
  });

  describe('errors have the class of their status', () => {
    type Case = [string, new (...args: never[]) => Error, () => Promise<unknown>, object];
    const create = (more: object): Promise<unknown> => client.messages.create({ ...ask('hello'), ...more });
    const typed = (type: string): object => ({ error: { type: 'error', error: { type } }, type });
    const cases: Case[] = [
      [
        '401',
        Anthropic.AuthenticationError,
        () => clientFor('sk-gw-wrong').messages.create(ask('x')),
        typed('authentication_error'),
      ],
      [
        '404',
        Anthropic.NotFoundError,
        async () => client.models.retrieve('no-such-model'),
        typed('not_found_error'),
      ],
      [
        '400 of a parameter',
        Anthropic.BadRequestError,
        () => create({ temperature: 2 }),
        typed('invalid_request_error'),
      ],
      [
        '400 of a model',
        Anthropic.BadRequestError,
        () => create({ model: 'no-such-model' }),
        typed('invalid_request_error'),
      ],
      [
        '502',
        Anthropic.InternalServerError,
        () => create({ model: `${provider}/error-500` }),
        { status: 502, ...typed('api_error') },
      ],
      [
        '502 of a broken answer',
        Anthropic.InternalServerError,
        () => create({ model: `${provider}/cut` }),
        { status: 502 },
      ],
      [
        '503',
        Anthropic.InternalServerError,
        () => create({ model: `${provider}/error-429` }),
        { status: 503, ...typed('overloaded_error') },
      ],
      [
        '503 of a stream',
        Anthropic.InternalServerError,
        () => create({ model: `${provider}/error-429`, stream: true }),
        { status: 503 },
      ],
    ];
    test.each(cases)('%s', async (_, kind, call, members) => {
      const error: unknown = await call().then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(kind);
      expect(error).toMatchObject(members);
      expect((error as { requestID: string }).requestID).toMatch(/\w{8,}/);
    });

    test('403 for a key that lacks the endpoint or the model', async () => {
      const chatOnly = clientFor(await gateway.newKey({ permissions: ['chat'] }));
      const oneModel = clientFor(await gateway.newKey({ models: [`${provider}/slow`] }));
      await expect(chatOnly.messages.create(ask('x'))).rejects.toThrow(Anthropic.PermissionDeniedError);
      await expect(oneModel.messages.create(ask('x'))).rejects.toMatchObject({
        status: 403,
        type: 'permission_error',
      });
    });

    test('429 when the hour is used up; counting tokens goes on', async () => {
      const free = clientFor(await gateway.newKey({ account: `free through ${provider}`, tier: 'free' }));
      for (let at = 0; at < 10; at += 1) await free.messages.create(ask('hello'));
      const error = await free.messages.create(ask('hello')).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(Anthropic.RateLimitError);
      const { headers } = error as { headers: Headers };
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(headers.get('anthropic-ratelimit-requests-remaining')).toBe('0');
      const { model, messages } = ask('hello');
      expect((await free.messages.countTokens({ model, messages })).input_tokens).toBeGreaterThan(0);
    });
  });
});

describe('counting and models', () => {
  const messages = [{ role: 'user' as const, content: 'hello there' }];

  it('asks a provider that can count', async () => {
    const { data, response } = await client.messages
      .countTokens({ model: 'sim/echo', messages })
      .withResponse();
    expect(data.input_tokens).toBe(3);
    expect(response.headers.get('x-gateway-estimated')).toBeNull();
  });

  it('estimates for a provider that cannot, and says so', async () => {
    const { data, response } = await client.messages
      .countTokens({ model: 'chat/echo', messages })
      .withResponse();
    expect(data.input_tokens).toBeGreaterThan(0);
    expect(response.headers.get('x-gateway-estimated')).toBe('true');
  });

  it('lists and finds models', async () => {
    const ids: string[] = [];
    for await (const { id, type } of client.models.list({ limit: 1000 })) {
      expect(type).toBe('model');
      ids.push(id);
    }
    expect(ids).toEqual(expect.arrayContaining(['auto', 'echo', 'sim/echo']));
    for (const id of ['auto', 'echo', 'sim/echo', 'chat/echo'])
      expect((await client.models.retrieve(id)).id).toBe(id);
  });
});
