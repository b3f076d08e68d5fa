// What users of the official SDK get from `responses`, in front of a provider of each protocol.
import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import type { Response, ResponseCreateParamsNonStreaming } from 'openai/resources/responses/responses';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ReplyPart } from '../../src/canonical/reply.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { startGateway } from '../helpers/gateway.ts';
import { temporaryFile } from '../store/support.ts';
import { ALL, MODELS, lastAsked, providersAt, scene, scriptOf, thought, type Answer } from './support.ts';

const at = scene({ routes: { work: ['messages/claude-sonnet-4-5', 'chat/m', 'responses/m'] } });
let openai: OpenAI;
beforeAll(() => {
  openai = sdk(at.gateway);
});

function sdk({ url, key }: { url: string; key: string }): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
}

const text = (words: string): ReplyPart => ({ type: 'text', text: words });
const call = (id: string, name: string, args: string): ReplyPart => ({
  type: 'tool_call',
  id,
  name,
  arguments: args,
});

const TOOLS = ['look', 'stop'].map((name) => ({
  type: 'function' as const,
  name,
  parameters: { type: 'object', properties: {} },
  strict: null,
}));

interface Case {
  answer: (speaks: ProtocolName) => Answer;
  more?: Omit<Partial<ResponseCreateParamsNonStreaming>, 'stream'>;
  sees: (response: Response, speaks: ProtocolName) => void;
}

const CASES: Record<string, Case> = {
  text: {
    answer: () => ({ parts: [text('grüß 😀')] }),
    sees: ({ output_text, status }) =>
      expect({ output_text, status }).toEqual({ output_text: 'grüß 😀', status: 'completed' }),
  },
  'a refusal': {
    answer: (speaks) =>
      speaks === 'messages'
        ? { parts: [], stop: { reason: 'refusal', explanation: 'I will not.' } }
        : { parts: [{ type: 'text', text: 'I will not.', refusal: true }] },
    sees: ({ output, status }) => {
      expect(status).toBe('completed');
      expect(output).toMatchObject([
        { type: 'message', content: [{ type: 'refusal', refusal: 'I will not.' }] },
      ]);
    },
  },
  'two calls': {
    answer: () => ({
      parts: [text('Look.'), call('call_1', 'look', '{"a":[1,"é"]}'), call('call_2', 'stop', '{}')],
    }),
    more: { tools: TOOLS },
    sees: ({ output, output_text }) => {
      expect(output_text).toBe('Look.');
      expect(output.slice(1)).toMatchObject([
        {
          type: 'function_call',
          call_id: 'call_1',
          name: 'look',
          arguments: '{"a":[1,"é"]}',
          status: 'completed',
        },
        { type: 'function_call', call_id: 'call_2', name: 'stop', arguments: '{}' },
      ]);
    },
  },
  reasoning: {
    answer: (speaks) => ({ parts: [thought(speaks, 'Let me see.'), text('Yes.')] }),
    more: { reasoning: { effort: 'medium', summary: 'auto' }, include: ['reasoning.encrypted_content'] },
    sees: ({ output, usage }, speaks) => {
      expect(output).toMatchObject([
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Let me see.' }] },
        { type: 'message', content: [{ text: 'Yes.' }] },
      ]);
      const [first] = output;
      const sealed = first?.type === 'reasoning' ? first.encrypted_content : undefined;
      const content = first?.type === 'reasoning' ? first.content : undefined;
      const raw = [{ type: 'reasoning_text', text: 'Let me see.' }];
      expect(content).toEqual(speaks === 'chat' ? raw : undefined);
      expect(sealed).toMatch(speaks === 'responses' ? /^encrypted 1$/ : /^gw1\./);
      expect(usage?.output_tokens_details.reasoning_tokens).toBe(3);
    },
  },
  'a cut': {
    answer: () => ({ parts: [text('half')], stop: { reason: 'length' } }),
    more: { max_output_tokens: 16 },
    sees: ({ status, incomplete_details, output_text, output }) => {
      expect({ status, incomplete_details, output_text }).toEqual({
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        output_text: 'half',
      });
      expect(output.at(-1)).toMatchObject({ status: 'incomplete' });
    },
  },
};

describe.each(ALL)('in front of a %s provider', (speaks) => {
  it.each(Object.entries(CASES))('%s, whole and streamed', async (_, { answer, more, sees }) => {
    const params = { model: MODELS[speaks], input: 'hello', ...more };
    at.upstream.play(scriptOf(speaks, answer(speaks), false), scriptOf(speaks, answer(speaks), true));
    const whole = await openai.responses.create(params);
    const streamed = await openai.responses.stream(params).finalResponse();
    for (const response of [whole, streamed]) {
      sees(response, speaks);
      expect(response.usage).toMatchObject({
        input_tokens: 18,
        input_tokens_details: { cached_tokens: 6 },
        output_tokens: 4,
        total_tokens: 22,
      });
    }
    expect(lastAsked(at).stream).toBe(true);
  });

  it('parse() gives the value of a structured output', async () => {
    const shape = z.object({ city: z.string(), degrees: z.number() });
    const params = {
      model: MODELS[speaks],
      input: 'weather',
      text: { format: zodTextFormat(shape, 'weather') },
    };
    const answer = { parts: [text('{"city":"Ulm","degrees":7}')] };
    at.upstream.play(scriptOf(speaks, answer, false), scriptOf(speaks, answer, true));
    const { output_parsed } = await openai.responses.parse(params);
    expect(output_parsed).toEqual({ city: 'Ulm', degrees: 7 });
    const streamed = await openai.responses.stream(params).finalResponse();
    expect(streamed.output_parsed).toEqual({ city: 'Ulm', degrees: 7 });
  });

  it('three turns that name the response before them reach the provider with the whole conversation', async () => {
    const model = MODELS[speaks];
    const instructions = 'Be brief.';
    at.upstream.play(
      scriptOf(speaks, { parts: [text('Hello Ada.')] }, false),
      scriptOf(speaks, { parts: [call('call_1', 'look', '{}')] }, true),
      scriptOf(speaks, { parts: [text('You are Ada.')] }, false),
    );
    const first = await openai.responses.create({ model, instructions, input: 'I am Ada.' });
    const second = await openai.responses
      .stream({ model, tools: TOOLS, input: 'Look.', previous_response_id: first.id })
      .finalResponse();
    if (speaks !== 'responses') expect(second.previous_response_id).toBe(first.id);
    const third = await openai.responses.create({
      model,
      tools: TOOLS,
      previous_response_id: second.id,
      input: [{ type: 'function_call_output', call_id: 'call_1', output: 'seen' }],
    });
    expect(third.output_text).toBe('You are Ada.');
    const sent = JSON.stringify(lastAsked(at));
    if (speaks === 'responses') {
      // Its provider has the conversation itself.
      expect(lastAsked(at)).toMatchObject({ previous_response_id: second.id });
      return;
    }
    for (const words of ['I am Ada.', 'Hello Ada.', 'Look.', 'call_1', 'seen']) expect(sent).toContain(words);
    // Instructions are of one request alone.
    expect(sent).not.toContain('Be brief.');
  });

  it('a stored answer is read, its input is listed, and both are deleted', async () => {
    at.upstream.play(scriptOf(speaks, { parts: [text('Hello Ada.')] }, false));
    const made = await openai.responses.create({ model: MODELS[speaks], input: 'I am Ada.' });
    const read = await openai.responses.retrieve(made.id);
    expect(read).toEqual(made);
    const inputs = [];
    for await (const item of openai.responses.inputItems.list(made.id)) inputs.push(item);
    expect(inputs).toMatchObject([{ type: 'message', role: 'user', content: [{ text: 'I am Ada.' }] }]);
    // The provider that keeps the answer too is asked.
    if (speaks === 'responses')
      at.upstream.play({ body: { id: made.id, object: 'response', deleted: true } });
    await openai.responses.delete(made.id);
    await expect(openai.responses.retrieve(made.id)).rejects.toMatchObject({
      status: 404,
      message: `404 Response with id '${made.id}' not found.`,
    });
    await expect(openai.responses.inputItems.list(made.id)).rejects.toMatchObject({ status: 404 });
  });
});

const CROSSING = ['chat', 'messages'] as const;

describe.each(CROSSING)('a response that is not there, in front of a %s provider', (speaks) => {
  const model = MODELS[speaks];
  const input = 'go on';

  async function refused(client: OpenAI, id: string): Promise<void> {
    const asked = at.upstream.requests.length;
    await expect(client.responses.create({ model, input, previous_response_id: id })).rejects.toMatchObject({
      status: 400,
      code: 'previous_response_not_found',
      param: 'previous_response_id',
      message: `400 Previous response with id '${id}' not found.`,
    });
    await expect(client.responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
    expect(at.upstream.requests).toHaveLength(asked);
  }

  it('is of another account', async () => {
    at.upstream.play(scriptOf(speaks, { parts: [text('hi')] }, false));
    const { id } = await openai.responses.create({ model, input: 'hello' });
    const other = sdk({ url: at.gateway.url, key: await at.gateway.newKey({ account: 'other' }) });
    await refused(other, id);
  });

  it('was made with store: false', async () => {
    at.upstream.play(scriptOf(speaks, { parts: [text('hi')] }, false));
    const { id, store } = (await openai.responses.create({
      model,
      input: 'hello',
      store: false,
    })) as Response & {
      store: boolean;
    };
    expect(store).toBe(false);
    await refused(openai, id);
  });
});

it('a conversation goes on at a provider of another protocol at each turn', async () => {
  at.upstream.play(
    scriptOf('messages', { parts: [thought('messages', 'Ada.'), text('Hello Ada.')] }, false),
    scriptOf('responses', { parts: [text('In Ulm.')] }, false),
    scriptOf('chat', { parts: [text('Ada of Ulm.')] }, true),
  );
  const reasoning = { effort: 'medium' as const };
  const first = await openai.responses.create({ model: MODELS.messages, input: 'I am Ada.', reasoning });
  const second = await openai.responses.create({
    model: MODELS.responses,
    input: 'Where am I?',
    previous_response_id: first.id,
  });
  // The second provider knows nothing of the first one's answer, and can't read its thinking.
  expect(lastAsked(at).previous_response_id).toBe(undefined);
  expect(lastAsked(at).input).toMatchObject([
    { role: 'user', content: 'I am Ada.' },
    { role: 'assistant', content: [{ text: 'Hello Ada.' }] },
    { role: 'user', content: 'Where am I?' },
  ]);
  const third = await openai.responses
    .stream({ model: MODELS.chat, input: 'Sum up.', previous_response_id: second.id })
    .finalResponse();
  expect(third.output_text).toBe('Ada of Ulm.');
  expect(lastAsked(at).messages).toMatchObject([
    { content: 'I am Ada.' },
    { content: 'Hello Ada.' },
    { content: 'Where am I?' },
    { content: 'In Ulm.' },
    { content: 'Sum up.' },
  ]);
});

it('the provider that is tried next gets the whole conversation too', async () => {
  const down = { status: 500, body: { error: { message: 'down' } } };
  at.upstream.play(scriptOf('chat', { parts: [text('Hello Ada.')] }, false), down);
  const { id } = await openai.responses.create({ model: MODELS.chat, input: 'I am Ada.' });
  at.upstream.play(scriptOf('chat', { parts: [text('Ada.')] }, false));
  const next = { model: 'work', input: 'Who am I?', previous_response_id: id };
  expect((await openai.responses.create(next)).output_text).toBe('Ada.');
  const messages = [{ content: 'I am Ada.' }, { content: 'Hello Ada.' }, { content: 'Who am I?' }];
  expect(lastAsked(at).messages).toMatchObject(messages);
});

it('an answer is still there after a restart', async () => {
  const database = temporaryFile();
  const providers = providersAt(at.upstream.url);
  const before = await startGateway({ config: { providers, database } });
  at.upstream.play(
    scriptOf('messages', { parts: [text('Hello Ada.')] }, false),
    scriptOf('messages', { parts: [text('Ada.')] }, false),
  );
  const model = MODELS.messages;
  const { id } = await sdk(before).responses.create({ model, input: 'I am Ada.' });
  await before.stop();
  const after = await startGateway({ config: { providers, database } });
  const { output_text } = await sdk(after).responses.create({
    model,
    input: 'Who am I?',
    previous_response_id: id,
  });
  expect(output_text).toBe('Ada.');
  expect(lastAsked(at).messages).toMatchObject([{ role: 'user' }, { role: 'assistant' }, { role: 'user' }]);
  await after.stop();
});

it.each(ALL)('with the store off nothing is stored, and the answer says so (%s)', async (speaks) => {
  const providers = providersAt(at.upstream.url);
  const off = await startGateway({ config: { providers, responses: { store: 'off' } } });
  at.upstream.play(scriptOf(speaks, { parts: [text('hi')] }, false));
  const made = (await sdk(off).responses.create({ model: MODELS[speaks], input: 'hello' })) as Response & {
    store: boolean;
  };
  // A provider of the same protocol stores what it likes.
  if (speaks !== 'responses') expect(made.store).toBe(false);
  await expect(sdk(off).responses.retrieve(made.id)).rejects.toMatchObject({ status: 404 });
  await off.stop();
});

it.each(CROSSING)('tokens are counted (%s)', async (speaks) => {
  const counted = await openai.responses.inputTokens.count({ model: MODELS[speaks], input: 'hello there' });
  expect(counted.object).toBe('response.input_tokens');
  expect(counted.input_tokens).toBeGreaterThan(0);
});
