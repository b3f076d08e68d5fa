// What the official SDKs hand to their users of an answer that was translated, whole and streamed: what the provider said.
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import { startBothProtocols, type TestGateway } from '../helpers/gateway.ts';
import { type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { chunks, completion, events, message } from './answers.ts';

let upstream: ScriptedProvider;
let gateway: TestGateway;
let stop: () => Promise<void>;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  ({ upstream, gateway, stop } = await startBothProtocols());
  openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(() => stop());

const HELLO = [{ role: 'user' as const, content: 'hello' }];
const PLAIN = { stop_sequence: null, stop_details: null };

/** A chat provider's message and finish, and the members of a `Message` that say the same. */
const TO_MESSAGES: [name: string, said: JsonObject, finish: string, read: object][] = [
  [
    'text',
    { content: 'grüß 😀' },
    'stop',
    { content: [{ type: 'text', text: 'grüß 😀' }], stop_reason: 'end_turn', ...PLAIN },
  ],
  [
    'a refusal',
    { refusal: 'I will not.' },
    'stop',
    {
      content: [{ type: 'text', text: 'I will not.' }],
      stop_reason: 'refusal',
      stop_details: { type: 'refusal', category: null, explanation: 'I will not.' },
    },
  ],
  [
    'a content filter',
    { content: 'half' },
    'content_filter',
    {
      content: [{ text: 'half' }],
      stop_reason: 'refusal',
      stop_details: { type: 'refusal', category: null, explanation: null },
    },
  ],
  [
    'a cut',
    { content: 'half' },
    'length',
    { content: [{ text: 'half' }], stop_reason: 'max_tokens', ...PLAIN },
  ],
  ['nothing', { content: '' }, 'stop', { content: [], stop_reason: 'end_turn', ...PLAIN }],
  [
    'thinking and calls side by side, one without arguments',
    {
      content: 'Look.',
      reasoning_content: 'hm',
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":[1,"é"]}' } },
        { id: 'call_2', type: 'function', function: { name: 'g', arguments: '' } },
        { id: 'call_3', type: 'function', function: { name: 'f', arguments: '{}' } },
      ],
    },
    'tool_calls',
    {
      content: [
        { type: 'thinking', thinking: 'hm', signature: '' },
        { type: 'text', text: 'Look.' },
        { type: 'tool_use', id: 'call_1', name: 'f', input: { a: [1, 'é'] }, caller: { type: 'direct' } },
        { type: 'tool_use', id: 'call_2', name: 'g', input: {} },
        { type: 'tool_use', id: 'call_3', name: 'f', input: {} },
      ],
      stop_reason: 'tool_use',
      ...PLAIN,
    },
  ],
];

describe.each(['whole', 'stream'] as const)('the messages SDK, %s,', (mode) => {
  async function read(said: JsonObject, finish: string, over: JsonObject = {}): Promise<Anthropic.Message> {
    const params = { model: 'chat/m', max_tokens: 100, messages: HELLO };
    if (mode === 'whole') {
      upstream.play({ body: completion(said, finish, over) });
      return anthropic.messages.create(params);
    }
    upstream.play({ steps: [chunks(said, finish, over)] });
    return anthropic.messages.stream(params).finalMessage();
  }

  it.each(TO_MESSAGES)('reads %s', async (_, said, finish, expected) => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 4,
      total_tokens: 14,
      prompt_tokens_details: { cached_tokens: 6 },
      completion_tokens_details: { reasoning_tokens: 3 },
    };
    const got = await read(said, finish, { usage });
    expect(got).toMatchObject({ type: 'message', role: 'assistant', model: 'm', ...expected });
    expect(got.content).toHaveLength((expected as { content: unknown[] }).content.length);
    expect(got.usage).toMatchObject({
      input_tokens: 4,
      cache_read_input_tokens: 6,
      cache_creation_input_tokens: 0,
      output_tokens: 4,
      output_tokens_details: { thinking_tokens: 3 },
    });
  });
});

const text = (words: string, citations: JsonObject[] | null = null): JsonObject => ({
  type: 'text',
  text: words,
  citations,
});
const page = (url: string, title: string): JsonObject => ({
  type: 'web_search_result_location',
  url,
  title,
  cited_text: '…',
  encrypted_index: 'x',
});
const use = (id: string, name: string, input: JsonObject): JsonObject => ({
  type: 'tool_use',
  id,
  name,
  input,
  caller: { type: 'direct' },
});
const called = (id: string, name: string, args: string): object => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});
const source = (start_index: number, end_index: number, url: string, title: string): object => ({
  type: 'url_citation',
  url_citation: { start_index, end_index, url, title },
});

interface ToChat {
  content: JsonObject[];
  stop: string;
  over?: JsonObject;
  finish: string;
  message: object;
  choice?: object;
}

/** A messages provider's content and stop, and what a `ChatCompletion` says. */
const TO_CHAT: Record<string, ToChat> = {
  text: {
    content: [text('grüß '), text('😀')],
    stop: 'end_turn',
    finish: 'stop',
    message: { content: 'grüß 😀', refusal: null },
  },
  'a refusal': {
    content: [],
    stop: 'refusal',
    over: { stop_details: { type: 'refusal', category: 'bio', explanation: 'I will not.' } },
    finish: 'content_filter',
    message: { refusal: 'I will not.' },
  },
  'a cut': { content: [text('half')], stop: 'max_tokens', finish: 'length', message: { content: 'half' } },
  'a stop sequence': {
    content: [text('one')],
    stop: 'stop_sequence',
    over: { stop_sequence: '###' },
    finish: 'stop',
    message: { content: 'one' },
    choice: { stop_reason: '###' },
  },
  thinking: {
    content: [{ type: 'thinking', thinking: 'hm', signature: 's' }, text('hi')],
    stop: 'end_turn',
    finish: 'stop',
    message: { content: 'hi', reasoning_content: 'hm' },
  },
  'calls side by side, one without arguments': {
    content: [text('Look.'), use('toolu_1', 'f', { a: [1, 'é'] }), use('toolu_2', 'g', {})],
    stop: 'tool_use',
    finish: 'tool_calls',
    message: {
      content: 'Look.',
      tool_calls: [called('toolu_1', 'f', '{"a":[1,"é"]}'), called('toolu_2', 'g', '{}')],
    },
  },
  'sources of several blocks': {
    content: [
      text('One, '),
      text('two', [page('https://a.example', 'A')]),
      text(' and '),
      text('three', [page('https://b.example', 'B'), page('https://c.example', 'C')]),
    ],
    stop: 'end_turn',
    finish: 'stop',
    message: {
      content: 'One, two and three',
      annotations: [
        source(5, 8, 'https://a.example', 'A'),
        source(13, 18, 'https://b.example', 'B'),
        source(13, 18, 'https://c.example', 'C'),
      ],
    },
  },
};

describe.each(['whole', 'stream'] as const)('the chat SDK, %s,', (mode) => {
  const params = { model: 'messages/m', messages: HELLO };

  async function read({ content, stop, over }: ToChat, usage: JsonObject): Promise<OpenAI.ChatCompletion> {
    const members = { ...over, usage };
    if (mode === 'whole') {
      upstream.play({ body: message(content, stop, members) });
      return openai.chat.completions.create(params);
    }
    upstream.play({ steps: [events(content, stop, members)] });
    const options = { stream_options: { include_usage: true } };
    return openai.chat.completions.stream({ ...params, ...options }).finalChatCompletion();
  }

  it.each(Object.entries(TO_CHAT))('reads %s', async (_, row) => {
    const usage = {
      input_tokens: 4,
      output_tokens: 4,
      cache_read_input_tokens: 6,
      cache_creation_input_tokens: 2,
      output_tokens_details: { thinking_tokens: 3 },
    };
    const got = await read(row, usage);
    expect(got).toMatchObject({ object: 'chat.completion', model: 'm' });
    expect(got.choices).toMatchObject([
      { index: 0, finish_reason: row.finish, message: { role: 'assistant', ...row.message }, ...row.choice },
    ]);
    expect(got.usage).toMatchObject({
      prompt_tokens: 12,
      completion_tokens: 4,
      total_tokens: 16,
      prompt_tokens_details: { cached_tokens: 6, cache_write_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 3 },
    });
  });
});
