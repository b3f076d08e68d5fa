// What the official SDKs add to an answer comes back with the next turn: nothing of it is a loss, also with `strict: true`.
import OpenAI from 'openai';
import { makeParseableResponseFormat } from 'openai/lib/parser';
import { expect, it } from 'vitest';
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import { lastAsked, MODELS, scene, scriptOf } from './support.ts';

const at = scene({ strict: true });

const SCHEMA = {
  type: 'object',
  properties: { place: { type: 'string' } },
  required: ['place'],
  additionalProperties: false,
};
const LOOK = { type: 'function' as const, function: { name: 'look', strict: true, parameters: SCHEMA } };
const format = makeParseableResponseFormat(
  { type: 'json_schema', json_schema: { name: 'place', strict: true, schema: SCHEMA } },
  (text) => JSON.parse(text) as { place: string },
);

it.each(['messages', 'responses'] as const)(
  'an answer that the SDK parsed is the history of the next turn, on a provider of %s',
  async (speaks) => {
    const { url, key } = at.gateway;
    const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
    const history: ChatCompletionMessageParam[] = [{ role: 'user', content: 'Where?' }];
    const ask = async () => {
      const model = MODELS[speaks];
      const { data, response } = await openai.chat.completions
        .create({ model, messages: history, tools: [LOOK], response_format: format })
        .withResponse();
      expect(response.headers.get('x-gateway-dropped')).toBe(null);
      return data;
    };
    const parts = [
      { type: 'text' as const, text: '{"place":"hall"}' },
      { type: 'tool_call' as const, id: 'call_1', name: 'look', arguments: '{"place":"hall"}' },
    ];
    at.upstream.play(
      scriptOf(speaks, { parts }, false),
      scriptOf(speaks, { parts: parts.slice(0, 1) }, false),
    );
    const model = MODELS[speaks];
    const first = await openai.chat.completions.parse({
      model,
      messages: history,
      tools: [LOOK],
      response_format: format,
    });
    const message = first.choices[0]?.message;
    expect(message?.parsed).toEqual({ place: 'hall' });
    expect(message?.tool_calls?.[0]?.function.parsed_arguments).toEqual({ place: 'hall' });
    history.push(message as ChatCompletionMessageParam, {
      role: 'tool',
      tool_call_id: 'call_1',
      content: 'Nobody.',
    });
    expect((await ask()).choices[0]?.message.content).toBe('{"place":"hall"}');
    expect(JSON.stringify(lastAsked(at))).not.toContain('parsed');
  },
);
