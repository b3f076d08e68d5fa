// The cases of the Open Responses specification (https://www.openresponses.org/), in front of a provider of each protocol, whole
// and streamed: each event and the final Response are checked against the official types, and what the provider got is looked at.
import { describe, expect, it } from 'vitest';
import { isObject, type JsonObject } from '../../src/canonical/json.ts';
import type { ReplyPart } from '../../src/canonical/reply.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { PICTURE } from '../fixtures/picture.ts';
import { ask } from '../helpers/ask.ts';
import { CUT } from '../helpers/scripted-provider.ts';
import { checkedEvents, responseSchema } from '../helpers/responses-schemas.ts';
import { ALL, MODELS, lastAsked, scene, scriptOf } from './support.ts';

const at = scene();

const text = (words: string): ReplyPart => ({ type: 'text', text: words });
const WEATHER = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a place',
  parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
};
const ARGUMENTS = '{"location":"Ulm"}';
const CALL: ReplyPart = { type: 'tool_call', id: 'call_1', name: 'get_weather', arguments: ARGUMENTS };
const PDF = Buffer.from('%PDF-1.4 one page').toString('base64');
const user = (content: unknown): JsonObject => ({ type: 'message', role: 'user', content }) as JsonObject;

interface Case {
  body: JsonObject;
  answer?: ReplyPart[];
  /** The output of the Response. */
  output?: object[];
  /** Members of what each provider is asked. */
  asks: Record<ProtocolName, object>;
}

const MESSAGE = { type: 'message', role: 'assistant', status: 'completed' };
const WORDS = [{ ...MESSAGE, content: [{ type: 'output_text', text: 'Hello.' }] }];

const CASES: Record<string, Case> = {
  'a text': {
    body: { input: [user('Say hello.')] },
    asks: {
      chat: { messages: [{ role: 'user', content: 'Say hello.' }] },
      messages: { messages: [{ role: 'user', content: [{ type: 'text', text: 'Say hello.' }] }] },
      responses: { input: [user('Say hello.')] },
    },
  },
  'a system prompt': {
    body: { input: [{ type: 'message', role: 'system', content: 'Be a pirate.' }, user('Say hello.')] },
    asks: {
      chat: { messages: [{ role: 'system', content: 'Be a pirate.' }, { role: 'user' }] },
      messages: { system: [{ text: 'Be a pirate.' }], messages: [{ role: 'user' }] },
      responses: { input: [{ role: 'system', content: 'Be a pirate.' }, { role: 'user' }] },
    },
  },
  'a tool call': {
    body: { input: [user('Weather in Ulm?')], tools: [WEATHER] },
    answer: [CALL],
    output: [
      {
        type: 'function_call',
        call_id: 'call_1',
        name: 'get_weather',
        arguments: ARGUMENTS,
        status: 'completed',
      },
    ],
    asks: {
      chat: {
        tools: [{ type: 'function', function: { name: 'get_weather', parameters: WEATHER.parameters } }],
      },
      messages: { tools: [{ name: 'get_weather', input_schema: WEATHER.parameters }] },
      responses: { tools: [WEATHER] },
    },
  },
  'a round trip of a call that is forced': {
    body: {
      tools: [WEATHER],
      tool_choice: { type: 'function', name: 'get_weather' },
      input: [
        user('Weather in Ulm?'),
        {
          type: 'function_call',
          id: 'fc_1',
          call_id: 'call_1',
          name: 'get_weather',
          arguments: ARGUMENTS,
          status: 'completed',
        },
        { type: 'function_call_output', call_id: 'call_1', output: '{"degrees":7}' },
      ],
    },
    asks: {
      chat: {
        tool_choice: { type: 'function', function: { name: 'get_weather' } },
        messages: [
          { role: 'user' },
          {
            role: 'assistant',
            tool_calls: [{ id: 'call_1', function: { name: 'get_weather', arguments: ARGUMENTS } }],
          },
          { role: 'tool', tool_call_id: 'call_1', content: '{"degrees":7}' },
        ],
      },
      messages: {
        tool_choice: { type: 'tool', name: 'get_weather' },
        messages: [
          { role: 'user' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', input: { location: 'Ulm' } }] },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: 'call_1', content: '{"degrees":7}' }],
          },
        ],
      },
      responses: { tool_choice: { type: 'function', name: 'get_weather' }, input: [{}, { id: 'fc_1' }, {}] },
    },
  },
  'a picture': {
    body: {
      input: [
        user([
          { type: 'input_text', text: 'What is this?' },
          { type: 'input_image', image_url: `data:image/png;base64,${PICTURE}` },
        ]),
      ],
    },
    asks: {
      chat: {
        messages: [
          {
            content: [
              { type: 'text' },
              { type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE}` } },
            ],
          },
        ],
      },
      messages: {
        messages: [
          {
            content: [
              { type: 'text' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PICTURE } },
            ],
          },
        ],
      },
      responses: { input: [{ content: [{}, { image_url: `data:image/png;base64,${PICTURE}` }] }] },
    },
  },
  'a file': {
    body: {
      input: [
        user([
          { type: 'input_file', filename: 'page.pdf', file_data: `data:application/pdf;base64,${PDF}` },
          { type: 'input_text', text: 'Sum up.' },
        ]),
      ],
    },
    asks: {
      chat: {
        messages: [
          {
            content: [
              {
                type: 'file',
                file: { filename: 'page.pdf', file_data: `data:application/pdf;base64,${PDF}` },
              },
              {},
            ],
          },
        ],
      },
      messages: {
        messages: [
          {
            content: [
              {
                type: 'document',
                title: 'page.pdf',
                source: { type: 'base64', media_type: 'application/pdf', data: PDF },
              },
              {},
            ],
          },
        ],
      },
      responses: { input: [{ content: [{ filename: 'page.pdf' }, {}] }] },
    },
  },
  'several turns': {
    body: {
      input: [
        user('I am Ada.'),
        {
          type: 'message',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'Hello Ada.', annotations: [] }],
        },
        user('Who am I?'),
      ],
    },
    asks: {
      chat: {
        messages: [
          { content: 'I am Ada.' },
          { role: 'assistant', content: 'Hello Ada.' },
          { content: 'Who am I?' },
        ],
      },
      messages: { messages: [{}, { role: 'assistant', content: [{ text: 'Hello Ada.' }] }, {}] },
      responses: { input: [{}, { role: 'assistant' }, {}] },
    },
  },
};

/** The final Response, from the body or from the stream. */
async function answered(model: string, stream: boolean, body: JsonObject): Promise<JsonObject> {
  const seen = await ask(at.gateway, {
    protocol: 'responses',
    model,
    stream,
    body: { messages: undefined, ...body },
  });
  expect(seen.status, seen.text).toBe(200);
  expect(seen.headers.get('content-type')).toContain(stream ? 'text/event-stream' : 'application/json');
  const last = stream ? checkedEvents(seen.text).at(-1)?.response : seen.json;
  if (!isObject(last)) throw new Error('no Response');
  responseSchema.parse(last);
  return last;
}

const MODES = ALL.flatMap((speaks) => [false, true].map((stream) => ({ speaks, stream })));

describe.each(MODES)('in front of a $speaks provider (stream: $stream)', ({ speaks, stream }) => {
  it.each(Object.entries(CASES))(
    '%s',
    async (_, { body, answer = [text('Hello.')], output = WORDS, asks }) => {
      at.upstream.play(scriptOf(speaks, { parts: answer }, stream));
      expect(await answered(MODELS[speaks], stream, body)).toMatchObject({
        status: 'completed',
        error: null,
        output,
      });
      expect(lastAsked(at)).toMatchObject(asks[speaks]);
    },
  );

  it('a previous response', async () => {
    const said = (words: string) => scriptOf(speaks, { parts: [text(words)] }, stream);
    at.upstream.play(said('Hello Ada.'), said('Ada.'));
    const model = MODELS[speaks];
    const { id = '' } = await answered(model, stream, { input: 'I am Ada.' });
    const next = await answered(model, stream, { input: 'Who am I?', previous_response_id: id });
    expect(next.output).toMatchObject([{ content: [{ text: 'Ada.' }] }]);
    if (speaks === 'responses') expect(lastAsked(at).previous_response_id).toBe(id);
    else expect(lastAsked(at).messages).toMatchObject([{}, { role: 'assistant' }, {}]);
  });

  it('an answer that breaks off', async () => {
    const { body, steps = [] } = scriptOf(speaks, { parts: [text('Hello and more.')] }, true);
    expect(body).toBe(undefined);
    const start = steps
      .filter((step) => typeof step === 'string')
      .join('')
      .split('\n\n');
    const place = start.findIndex((frame) => frame.includes('Hello and more.'));
    at.upstream.play({ steps: [`${start.slice(0, place + 1).join('\n\n')}\n\n`, CUT] });
    const model = MODELS[speaks];
    const seen = await ask(at.gateway, {
      protocol: 'responses',
      model,
      stream,
      body: { messages: undefined, input: 'Hi.' },
    });
    if (!stream) {
      expect(seen.status).toBe(502);
      return;
    }
    const [error, failed] = checkedEvents(seen.text).slice(-2);
    expect(error).toMatchObject({ type: 'error', error: { type: 'server_error' } });
    expect(failed).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'server_error' } },
    });
  });
});
