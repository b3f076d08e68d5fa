// What the official SDK hands to its users through `/v1/responses`, whole and streamed, whichever protocol the provider speaks.
// Each stream of the gateway's own is checked event by event.
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { replay } from '../../src/canonical/collect.ts';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { Reply, ReplyPart, StopReason } from '../../src/canonical/reply.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { provider, startGateway, type TestGateway } from '../helpers/gateway.ts';
import { checkedEvents, responseSchema } from '../helpers/responses-schemas.ts';
import { CUT, startScriptedProvider, type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { ALL, context } from './pipeline.ts';

let upstream: ScriptedProvider;
let gateway: TestGateway;
let openai: OpenAI;

beforeAll(async () => {
  upstream = await startScriptedProvider();
  const url = `${upstream.url}/v1`;
  gateway = await startGateway({
    config: {
      providers: Object.fromEntries(ALL.map((name) => [name, provider(url, name, ['m'])])),
      tiers: { enterprise: 100_000 },
    },
  });
  openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

const text = (words: string): ReplyPart => ({ type: 'text', text: words });
const call = (id: string, args: string): ReplyPart => ({ type: 'tool_call', id, name: 'f', arguments: args });

interface Row {
  parts: ReplyPart[];
  stop: StopReason;
  expected: object;
}

const ROWS: Record<string, Row> = {
  text: {
    parts: [text('grüß 😀')],
    stop: { reason: 'end' },
    expected: { status: 'completed', output_text: 'grüß 😀', error: null, incomplete_details: null },
  },
  'a refusal': {
    parts: [{ type: 'text', text: 'I will not.', refusal: true }],
    stop: { reason: 'refusal', explanation: 'I will not.' },
    expected: { status: 'completed' },
  },
  'two calls side by side': {
    parts: [text('Look.'), call('call_1', '{"a":[1,"é"]}'), call('call_2', '{}')],
    stop: { reason: 'tool_calls' },
    expected: {
      status: 'completed',
      output_text: 'Look.',
      output: [
        { type: 'message', status: 'completed' },
        {
          type: 'function_call',
          call_id: 'call_1',
          name: 'f',
          arguments: '{"a":[1,"é"]}',
          status: 'completed',
        },
        { type: 'function_call', call_id: 'call_2', name: 'f', arguments: '{}', status: 'completed' },
      ],
    },
  },
  reasoning: {
    parts: [{ type: 'reasoning', text: 'hm' }, text('hi')],
    stop: { reason: 'end' },
    expected: {
      output_text: 'hi',
      output: [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] }, { type: 'message' }],
    },
  },
  'a cut': {
    parts: [text('half')],
    stop: { reason: 'length' },
    expected: {
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output_text: 'half',
      output: [{ status: 'incomplete' }],
    },
  },
};

const USAGE = { input: 4, cacheRead: 6, output: 4, reasoning: 3 };
const TOOLS = [{ type: 'function' as const, name: 'f', parameters: { type: 'object' }, strict: false }];

/** The refusal's words, by which member soever. */
function refusalOf({ output }: { output: unknown[] }): string {
  const parts = (output as { content?: { refusal?: string; text?: string }[] }[]).flatMap(
    ({ content = [] }) => content,
  );
  return parts.map(({ refusal = '' }) => refusal).join('');
}

describe.each(ALL)('on a %s provider the SDK', (name) => {
  const params = { model: `${name}/m`, input: 'hello', tools: TOOLS, store: false };
  const wire = protocols[name].client;

  function whole(parts: ReplyPart[], stop: StopReason): JsonObject {
    const reply: Reply = { id: 'x', model: 'm', parts, stop, usage: USAGE };
    return wire.encodeReply(reply, context(name));
  }

  function stream(parts: ReplyPart[], stop: StopReason): string {
    const reply: Reply = { id: 'x', model: 'm', parts, stop, usage: USAGE };
    const encoder = wire.createStreamEncoder(context(name));
    return replay(reply)
      .map((event) => encoder.push(event))
      .join('');
  }

  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 6 },
    output_tokens: 4,
    output_tokens_details: { reasoning_tokens: 3 },
    total_tokens: 14,
  };

  it.each(Object.entries(ROWS))('creates %s', async (row, { parts, stop, expected }) => {
    upstream.play({ body: whole(parts, stop) });
    const response = await openai.responses.create(params);
    expect(response).toMatchObject({ object: 'response', model: 'm', usage, ...expected });
    if (row === 'a refusal') expect(refusalOf(response)).toBe('I will not.');
  });

  it.each(Object.entries(ROWS))('streams %s', async (row, { parts, stop, expected }) => {
    upstream.play({ steps: [stream(parts, stop)] });
    const response = await openai.responses.stream(params).finalResponse();
    // Text that turns out to be the refusal has streamed by then: it is said once, and the answer is not complete.
    const isText = row === 'a refusal' && name === 'messages';
    const status = isText ? { status: 'incomplete', incomplete_details: { reason: 'content_filter' } } : {};
    expect(response).toMatchObject({ object: 'response', model: 'm', usage, ...expected, ...status });
    if (row === 'a refusal') {
      const words = isText ? response.output_text : refusalOf(response);
      expect(words).toBe('I will not.');
    }
  });

  it.each(Object.entries(ROWS))(
    'gets events and Responses as the types have them, of %s',
    async (_, { parts, stop }) => {
      upstream.play({ steps: [stream(parts, stop)] }, { body: whole(parts, stop) });
      const ask = (streamed: boolean): Promise<Response> =>
        fetch(`${gateway.url}/v1/responses`, {
          method: 'POST',
          headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ ...params, stream: streamed }),
        });
      checkedEvents(await (await ask(true)).text());
      responseSchema.parse(await (await ask(false)).json());
    },
  );

  it('parses structured output', async () => {
    upstream.play({ body: whole([text('{"a":1}')], { reason: 'end' }) });
    const schema = {
      type: 'object',
      properties: { a: { type: 'number' } },
      required: ['a'],
      additionalProperties: false,
    };
    const format = { type: 'json_schema' as const, name: 'answer', schema, strict: true };
    const response = await openai.responses.parse({ model: `${name}/m`, input: 'hello', text: { format } });
    expect(response).toMatchObject({ status: 'completed', output_text: '{"a":1}' });
    expect(response.output_parsed).toEqual({ a: 1 });
  });

  it('learns that a stream broke', async () => {
    const half = stream([text('half of it')], { reason: 'end' });
    const marks = {
      chat: '"finish_reason":"stop"',
      messages: 'event: content_block_stop',
      responses: 'event: response.output_text.done',
    };
    upstream.play({ steps: [half.slice(0, half.indexOf(marks[name])).replace(/[^\n]*$/, ''), CUT] });
    const response = await openai.responses
      .stream(params)
      .finalResponse()
      .catch((error: unknown) => error);
    expect(
      response instanceof OpenAI.APIError || (response as OpenAI.Responses.Response).status === 'failed',
    ).toBe(true);
  });

  it('learns of a rate limit inside a 200 as of its status', async () => {
    if (name !== 'responses') return;
    const failed = {
      status: 'failed',
      error: { code: 'rate_limit_exceeded', message: 'Please try again in 3s.' },
    };
    const response = { id: 'resp_1', output: [], model: 'm', ...failed };
    upstream.play({
      steps: [`event: response.failed\ndata: ${JSON.stringify({ type: 'response.failed', response })}\n\n`],
    });
    const error = await openai.responses
      .create({ ...params, stream: true })
      .catch((caught: unknown) => caught);
    expect(error).toMatchObject({ status: 503, code: 'server_is_overloaded' });
    const { headers } = error as InstanceType<typeof OpenAI.APIError>;
    expect(headers?.get('retry-after-ms')).toBe('3000');
    expect(headers?.has('retry-after')).toBe(false);
  });
});
