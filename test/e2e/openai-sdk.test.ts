// What a program that uses the official chat client sees, against the built-in provider.
import OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import type { TestGateway } from '../helpers/gateway.ts';
import { PICTURE, PICTURE_SEEN } from '../fixtures/picture.ts';
import { startSims } from './sims.ts';

let gateway: TestGateway;
let client: OpenAI;

beforeAll(async () => {
  gateway = await startSims();
  client = clientFor(gateway.key);
});
afterAll(() => gateway.stop());

function clientFor(apiKey: string): OpenAI {
  return new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 });
}

const say = (content: string): OpenAI.ChatCompletionMessageParam[] => [{ role: 'user', content }];
const WEATHER: OpenAI.ChatCompletionFunctionTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { enum: ['Oslo'] } }, required: ['city'] },
  },
};

// `sim` is relayed to; the other one speaks the other protocol, so that every answer is translated.
describe.each(['sim', 'messages'])('through %s,', (provider) => {
  describe('a completion', () => {
    it('answers, counts and names its request', async () => {
      const completion = await client.chat.completions.create({
        model: `${provider}/echo`,
        messages: say('hello there'),
      });
      expect(completion.choices[0]).toMatchObject({
        index: 0,
        finish_reason: 'stop',
        message: { role: 'assistant', content: 'hello there', refusal: null },
      });
      expect(completion.usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 3, total_tokens: 6 });
      expect(completion._request_id).toMatch(/\w{8,}/);
    });

    it('says who answered', async () => {
      const { response } = await client.chat.completions
        .create({ model: `${provider}/echo`, messages: say('hello') })
        .withResponse();
      expect(response.headers.get('x-gateway-provider')).toBe(provider);
      expect(response.headers.get('x-gateway-model')).toBe('echo');
      expect(response.headers.get('x-gateway-attempts')).toBe('1');
      expect(response.headers.get('x-ratelimit-limit-requests')).toBe('300');
    });

    it('is cut at the limit and at a stop sequence', async () => {
      const create = async (more: object): Promise<OpenAI.ChatCompletion.Choice | undefined> => {
        const request = { model: `${provider}/echo`, messages: say('one two three'), ...more };
        return (await client.chat.completions.create(request)).choices[0];
      };
      expect(await create({ max_completion_tokens: 1 })).toMatchObject({
        message: { content: 'one ' },
        finish_reason: 'length',
      });
      expect(await create({ stop: 'three' })).toMatchObject({
        message: { content: 'one two ' },
        finish_reason: 'stop',
      });
    });

    it('sees a picture', async () => {
      const completion = await client.chat.completions.create({
        model: `${provider}/echo`,
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'what is it?' },
              { type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE}` } },
            ],
          },
        ],
      });
      expect(completion.choices[0]?.message.content).toContain(PICTURE_SEEN);
    });

    it('thinks', async () => {
      const request = { model: `${provider}/echo`, messages: say('hello'), reasoning_effort: 'low' } as const;
      const { choices, usage } = await client.chat.completions.create(request);
      expect(choices[0]?.message).toMatchObject({
        content: 'hello',
        reasoning_content: expect.any(String) as string,
      });
      expect(usage?.completion_tokens_details?.reasoning_tokens).toBeGreaterThan(0);
    });

    it('fits a schema', async () => {
      const schema = z.object({ name: z.string(), size: z.int(), tags: z.array(z.enum(['a', 'b'])) });
      const completion = await client.chat.completions.parse({
        model: `${provider}/echo`,
        messages: say('hello'),
        response_format: zodResponseFormat(schema, 'thing'),
      });
      expect(completion.choices[0]?.message.parsed).toMatchObject({ size: 1, tags: ['a'] });
    });
  });

  describe('a stream', () => {
    const streamed = async (more: object): Promise<OpenAI.ChatCompletionChunk[]> => {
      const request = {
        model: `${provider}/echo`,
        messages: say('one two three'),
        stream: true,
        ...more,
      } as const;
      const chunks: OpenAI.ChatCompletionChunk[] = [];
      for await (const chunk of await client.chat.completions.create(request)) chunks.push(chunk);
      return chunks;
    };
    const textOf = (chunks: OpenAI.ChatCompletionChunk[]): string[] =>
      chunks.flatMap(({ choices }) => choices[0]?.delta.content || []);

    it('comes in pieces, with usage only where it was asked for', async () => {
      const plain = await streamed({});
      expect(textOf(plain)).toEqual(['one ', 'two ', 'three']);
      expect(plain.every(({ usage, choices }) => (usage ?? null) === null && choices.length === 1)).toBe(
        true,
      );
      const counted = await streamed({ stream_options: { include_usage: true } });
      expect(counted.at(-1)).toMatchObject({
        choices: [],
        usage: { prompt_tokens: 4, completion_tokens: 4 },
      });
    });

    it('is read by the helper that puts it together', async () => {
      const stream = client.chat.completions.stream({
        model: `${provider}/echo`,
        messages: say('get_weather now'),
        tools: [WEATHER],
      });
      const { choices } = await stream.finalChatCompletion();
      expect(choices[0]?.finish_reason).toBe('tool_calls');
      expect(choices[0]?.message.tool_calls).toMatchObject([
        { type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } },
      ]);
    });

    it('that breaks raises an error after what had come', async () => {
      const stream = await client.chat.completions.create({
        model: `${provider}/cut`,
        messages: say('x'),
        stream: true,
      });
      const chunks: OpenAI.ChatCompletionChunk[] = [];
      const read = async (): Promise<void> => {
        for await (const chunk of stream) chunks.push(chunk);
      };
      await expect(read()).rejects.toThrow(OpenAI.APIError);
      expect(textOf(chunks).join('')).toBe('one two three ');
    });
  });

  describe('tools', () => {
    it.each([false, true])('go round until the answer (stream: %s)', async (stream) => {
      const asked: unknown[] = [];
      const runner = client.chat.completions.runTools({
        model: `${provider}/echo`,
        stream: stream as false,
        messages: say('please call get_weather'),
        tools: [
          {
            type: 'function',
            function: {
              name: 'get_weather',
              parse: JSON.parse as (text: string) => object,
              parameters: WEATHER.function.parameters ?? {},
              description: 'the weather of a city',
              function: (input: object) => {
                asked.push(input);
                return 'sunny in Oslo';
              },
            },
          },
        ],
      });
      expect(await runner.finalContent()).toBe('sunny in Oslo');
      expect(asked).toEqual([{ city: 'Oslo' }]);
    });

    it('are called side by side, or not', async () => {
      const other = { ...WEATHER, function: { ...WEATHER.function, name: 'get_forecast' } };
      const request = {
        model: `${provider}/echo`,
        messages: say('get_weather and get_forecast'),
        tools: [WEATHER, other],
      };
      const both = await client.chat.completions.create(request);
      expect(both.choices[0]?.message.tool_calls).toHaveLength(2);
      const one = await client.chat.completions.create({ ...request, parallel_tool_calls: false });
      expect(one.choices[0]?.message.tool_calls).toHaveLength(1);
    });

    it('in the legacy form are answered in it', async () => {
      const { name, parameters } = WEATHER.function;
      const request = {
        model: `${provider}/echo`,
        messages: say('get_weather'),
        functions: [{ name, parameters }],
      };
      const { choices } = await client.chat.completions.create(request);
      expect(choices[0]).toMatchObject({
        finish_reason: 'function_call',
        message: { function_call: { name: 'get_weather', arguments: '{"city":"Oslo"}' } },
      });
    });
  });

  describe('errors have the class of their status', () => {
    type Case = [string, new (...args: never[]) => Error, () => Promise<unknown>, object];
    const create = (model: string, more: object = {}): Promise<unknown> =>
      client.chat.completions.create({ model, messages: say('hello'), ...more });
    const cases: Case[] = [
      [
        '401',
        OpenAI.AuthenticationError,
        () => clientFor('sk-gw-wrong').models.list(),
        { status: 401, code: 'invalid_api_key' },
      ],
      [
        '404',
        OpenAI.NotFoundError,
        async () => client.models.retrieve('no/such/model'),
        { status: 404, code: 'model_not_found' },
      ],
      [
        '400 of a parameter',
        OpenAI.BadRequestError,
        () => create(`${provider}/echo`, { temperature: 3 }),
        { status: 400, param: 'temperature' },
      ],
      [
        '400 of a model',
        OpenAI.BadRequestError,
        () => create('no-such-model'),
        { status: 400, code: 'model_not_found' },
      ],
      [
        '502',
        OpenAI.InternalServerError,
        () => create(`${provider}/error-500`),
        { status: 502, type: 'upstream_error' },
      ],
      [
        '502 of a broken answer',
        OpenAI.InternalServerError,
        () => create(`${provider}/cut`),
        { status: 502, code: 'upstream_error' },
      ],
      [
        '503',
        OpenAI.InternalServerError,
        () => create(`${provider}/error-429`),
        { status: 503, type: 'overloaded_error' },
      ],
      [
        '503 of a stream',
        OpenAI.InternalServerError,
        () => create(`${provider}/error-429`, { stream: true }),
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

    test('503 says how long the provider asks to wait', async () => {
      const error = await create(`${provider}/error-429`).catch((reason: unknown) => reason);
      expect((error as InstanceType<typeof OpenAI.APIError>).headers?.get('retry-after')).toBe('2');
    });

    test('403 for a key that lacks the endpoint or the model', async () => {
      const messagesOnly = clientFor(await gateway.newKey({ permissions: ['messages'] }));
      const oneModel = clientFor(await gateway.newKey({ models: [`${provider}/slow`] }));
      const request = { model: `${provider}/echo`, messages: say('hello') };
      await expect(messagesOnly.chat.completions.create(request)).rejects.toMatchObject({
        status: 403,
        code: 'insufficient_permissions',
      });
      await expect(oneModel.chat.completions.create(request)).rejects.toThrow(OpenAI.PermissionDeniedError);
      await expect(oneModel.chat.completions.create(request)).rejects.toMatchObject({
        code: 'model_not_allowed',
      });
    });

    test('429 when the hour is used up, which a client must not sleep through', async () => {
      const free = clientFor(await gateway.newKey({ account: `free through ${provider}`, tier: 'free' }));
      const request = { model: `${provider}/echo`, messages: say('hello') };
      for (let at = 0; at < 10; at += 1) await free.chat.completions.create(request);
      const error = await free.chat.completions.create(request).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(OpenAI.RateLimitError);
      const { headers } = error as { headers: Headers };
      const wait = Number(headers.get('retry-after'));
      expect(wait).toBeGreaterThanOrEqual(1);
      expect(wait).toBeLessThanOrEqual(3600);
      expect(headers.get('x-should-retry')).toBe(wait > 60 ? 'false' : null);
      expect(headers.get('x-ratelimit-remaining-requests')).toBe('0');
    });
  });
});

describe('models', () => {
  it('are listed and found', async () => {
    const ids: string[] = [];
    for await (const { id } of client.models.list()) ids.push(id);
    expect(ids).toEqual(expect.arrayContaining(['auto', 'echo', 'sim/echo']));
    for (const id of ['auto', 'echo', 'sim/echo', 'chat/echo']) {
      expect(await client.models.retrieve(id)).toMatchObject({ id, object: 'model' });
    }
  });
});

test('a model that never answers is a 502 when its time is over, whole and streamed', async () => {
  const ask = (stream: boolean): Promise<unknown> =>
    client.chat.completions
      .create({ model: 'hasty/timeout', messages: say('x'), stream })
      .catch((error: unknown) => error);
  for (const error of await Promise.all([ask(false), ask(true)]))
    expect(error).toMatchObject({ status: 502 });
});
