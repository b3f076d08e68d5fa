// The readers that programs are built on check what they read with validators of their own, some stricter than the official
// types. Each of them reads the same answer behind the gateway, relayed and translated, whole and streamed.
import Anthropic from '@anthropic-ai/sdk';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { ChatAnthropic } from '@langchain/anthropic';
import type { AIMessageChunk } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { createAnthropic as createAnthropic2 } from 'ai-sdk-anthropic-2';
import { createAnthropic as createAnthropic3 } from 'ai-sdk-anthropic-3';
import { createAnthropic as createAnthropic4 } from 'ai-sdk-anthropic-4';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import { startBothProtocols, type TestGateway } from '../helpers/gateway.ts';
import { type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { chunks, completion, message } from './answers.ts';

let upstream: ScriptedProvider;
let gateway: TestGateway;
let stop: () => Promise<void>;

beforeAll(async () => {
  ({ upstream, gateway, stop } = await startBothProtocols());
});
afterAll(() => stop());

/** What a reader hands to its user. Undefined: it has no place for it. */
interface Seen {
  text: string;
  thinking?: string | undefined;
  calls: { id: string; name: string; input: unknown }[];
  /** Input that no cache held, cached input included, and output. */
  tokens: [input: number | undefined, output: number | undefined];
}

type Reader = (model: string, stream: boolean) => Promise<Seen>;

// -- the AI SDK, whose models of every version have one shape where it is looked at here --

interface Part {
  type: string;
  id?: string;
  text?: string;
  delta?: string;
  toolCallId?: string;
  toolName?: string;
  input?: unknown;
  error?: unknown;
  usage?: Counted;
}
type Count = number | undefined | { total?: number | undefined };
interface Counted {
  inputTokens?: Count;
  outputTokens?: Count;
}
interface Model {
  doGenerate(options: object): PromiseLike<{ content: readonly Part[]; usage: Counted }>;
  doStream(options: object): PromiseLike<{ stream: ReadableStream<Part> }>;
}

const PROMPT = [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }];
const TOOLS = ['look', 'stop'].map((name) => ({
  type: 'function',
  name,
  inputSchema: { type: 'object', properties: {} },
}));

function total(count: Count): number | undefined {
  return typeof count === 'object' ? count.total : count;
}

function seenIn(parts: readonly Part[], usage: Counted = {}): Seen {
  const of = (...types: string[]) => parts.filter(({ type }) => types.includes(type));
  const words = (...types: string[]) =>
    of(...types)
      .map(({ text, delta }) => text ?? delta ?? '')
      .join('');
  return {
    text: words('text', 'text-delta'),
    thinking: words('reasoning', 'reasoning-delta'),
    calls: of('tool-call').map(({ toolCallId = '', toolName = '', input }) => ({
      id: toolCallId,
      name: toolName,
      input: JSON.parse(String(input)) as unknown,
    })),
    tokens: [total(usage.inputTokens), total(usage.outputTokens)],
  };
}

function aiSdk(create: (id: string) => unknown): Reader {
  return async (id, stream) => {
    const model = create(id) as Model;
    const options = { prompt: PROMPT, tools: TOOLS, includeRawChunks: false };
    if (!stream) {
      const { content, usage } = await model.doGenerate(options);
      return seenIn(content, usage);
    }
    const parts: Part[] = [];
    for await (const part of (await model.doStream(options)).stream) {
      if (part.type === 'error') throw part.error;
      parts.push(part);
    }
    return seenIn(parts, parts.find(({ type }) => type === 'finish')?.usage);
  };
}

// -- LangChain --

interface Block {
  type?: string;
  text?: string;
  thinking?: string;
}

function seenByLangChain(message: AIMessageChunk): Seen {
  const { content, tool_calls = [], usage_metadata: usage } = message;
  const blocks: Block[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  const hidden = message.additional_kwargs.reasoning_content;
  return {
    text: blocks.map(({ type, text = '' }) => (type === 'text' ? text : '')).join(''),
    thinking: typeof hidden === 'string' ? hidden : blocks.map(({ thinking = '' }) => thinking).join(''),
    calls: tool_calls.map(({ id = '', name, args }) => ({ id, name, input: args })),
    tokens: [usage?.input_tokens, usage?.output_tokens],
  };
}

interface LangChainModel {
  invoke(input: string): Promise<AIMessageChunk>;
  stream(input: string): Promise<AsyncIterable<AIMessageChunk>>;
}

function langChain(create: (model: string) => LangChainModel): Reader {
  return async (id, stream) => {
    const model = create(id);
    if (!stream) return seenByLangChain(await model.invoke('hello'));
    let sum: AIMessageChunk | undefined;
    for await (const chunk of await model.stream('hello')) sum = sum?.concat(chunk) ?? chunk;
    if (sum === undefined) throw new Error('nothing came');
    return seenByLangChain(sum);
  };
}

// -- the official SDKs --

async function openai(model: string, stream: boolean): Promise<Seen> {
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
  const body = { model, messages: [{ role: 'user' as const, content: 'hello' }] };
  const options = { stream_options: { include_usage: true } };
  const { choices, usage } = stream
    ? await client.chat.completions.stream({ ...body, ...options }).finalChatCompletion()
    : await client.chat.completions.create(body);
  const said = choices[0]?.message;
  const calls = (said?.tool_calls ?? []).map((call) => {
    if (call.type !== 'function') throw new Error(call.type);
    const { name, arguments: json } = call.function;
    return { id: call.id, name, input: JSON.parse(json) as unknown };
  });
  const thinking = (said as { reasoning_content?: string } | undefined)?.reasoning_content ?? '';
  const tokens: Seen['tokens'] = [usage?.prompt_tokens, usage?.completion_tokens];
  return { text: said?.content ?? '', thinking, calls, tokens };
}

async function anthropic(model: string, stream: boolean): Promise<Seen> {
  const client = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
  const body = { model, max_tokens: 100, messages: [{ role: 'user' as const, content: 'hello' }] };
  const { content, usage } = stream
    ? await client.messages.stream(body).finalMessage()
    : await client.messages.create(body);
  const seen: Seen = { text: '', thinking: '', calls: [], tokens: [undefined, usage.output_tokens] };
  for (const block of content) {
    if (block.type === 'text') seen.text += block.text;
    else if (block.type === 'thinking') seen.thinking = block.thinking;
    else if (block.type === 'tool_use')
      seen.calls.push({ id: block.id, name: block.name, input: block.input });
  }
  const { input_tokens: fresh, cache_creation_input_tokens: made, cache_read_input_tokens: read } = usage;
  seen.tokens[0] = fresh + (made ?? 0) + (read ?? 0);
  return seen;
}

interface Case {
  reader: Reader;
  /** What it has no place for. */
  without?: {
    thinking?: true;
    /** It counts no input that a cache held. */
    cached?: true;
    /** In a stream it adds up the output of all events, and takes the first one's input for the last. */
    streamedUsage?: true;
  };
}

const at = () => ({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key });

const READERS: Record<string, Case> = {
  '@anthropic-ai/sdk': { reader: anthropic },
  '@ai-sdk/anthropic 2': {
    reader: aiSdk((id) => createAnthropic2(at())(id)),
    without: { cached: true },
  },
  '@ai-sdk/anthropic 3': { reader: aiSdk((id) => createAnthropic3(at())(id)) },
  '@ai-sdk/anthropic 4': { reader: aiSdk((id) => createAnthropic4(at())(id)) },
  '@langchain/anthropic': {
    reader: langChain(
      (model) =>
        new ChatAnthropic({
          model,
          apiKey: gateway.key,
          anthropicApiUrl: gateway.url,
          maxRetries: 0,
          maxTokens: 100,
        }),
    ),
    without: { streamedUsage: true },
  },
  openai: { reader: openai },
  '@ai-sdk/openai': { reader: aiSdk((id) => createOpenAI(at()).chat(id)), without: { thinking: true } },
  '@ai-sdk/openai-compatible': {
    reader: aiSdk((id) =>
      createOpenAICompatible({ name: 'gateway', includeUsage: true, ...at() }).chatModel(id),
    ),
  },
  '@langchain/openai': {
    reader: langChain(
      (model) =>
        new ChatOpenAI({
          model,
          apiKey: gateway.key,
          maxRetries: 0,
          useResponsesApi: false,
          configuration: { baseURL: `${gateway.url}/v1` },
        }),
    ),
  },
};

// -- answers, with the members that real services send and without those that they leave out --

interface Answer {
  chat: { said: JsonObject; finish: string; usage: JsonObject };
  messages: { content: JsonObject[]; stop: string; usage: JsonObject };
  seen: Omit<Seen, 'tokens'>;
  /** Without what a cache held, with it, and output. */
  tokens: [fresh: number, input: number, output: number];
}

const CHAT_USAGE = { prompt_tokens: 12, completion_tokens: 4, total_tokens: 16 };
const MESSAGES_USAGE = {
  input_tokens: 12,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  output_tokens: 4,
  service_tier: 'standard',
};

const use = (id: string, name: string, input: JsonObject): JsonObject => ({
  type: 'tool_use',
  id,
  name,
  input,
});
const called = (id: string, name: string, input: JsonObject): JsonObject => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(input) },
});

const ANSWERS: Record<string, Answer> = {
  text: {
    chat: { said: { content: 'grüß 😀', refusal: null }, finish: 'stop', usage: CHAT_USAGE },
    messages: {
      content: [{ type: 'text', text: 'grüß 😀' }],
      stop: 'end_turn',
      usage: MESSAGES_USAGE,
    },
    seen: { text: 'grüß 😀', thinking: '', calls: [] },
    tokens: [12, 12, 4],
  },
  'thinking, text and calls': {
    chat: {
      said: {
        reasoning_content: 'hm',
        content: 'Look.',
        tool_calls: [called('toolu_1', 'look', { a: [1, 'é'] }), called('toolu_2', 'stop', {})],
      },
      finish: 'tool_calls',
      usage: {
        ...CHAT_USAGE,
        prompt_tokens_details: { cached_tokens: 6, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 3 },
      },
    },
    messages: {
      content: [
        { type: 'thinking', thinking: 'hm', signature: 'sig' },
        { type: 'text', text: 'Look.' },
        use('toolu_1', 'look', { a: [1, 'é'] }),
        use('toolu_2', 'stop', {}),
      ],
      stop: 'tool_use',
      usage: {
        ...MESSAGES_USAGE,
        input_tokens: 6,
        cache_read_input_tokens: 6,
        output_tokens_details: { thinking_tokens: 3 },
      },
    },
    seen: {
      text: 'Look.',
      thinking: 'hm',
      calls: [
        { id: 'toolu_1', name: 'look', input: { a: [1, 'é'] } },
        { id: 'toolu_2', name: 'stop', input: {} },
      ],
    },
    tokens: [6, 12, 4],
  },
};

/** The answer as the service streams it: blocks begin empty, and are filled by deltas. */
function streamed({ content, stop, usage }: Answer['messages']): string {
  const start = message([], null, { usage: { ...usage, output_tokens: 1 }, stop_details: null });
  const values: JsonObject[] = [{ type: 'message_start', message: start }, { type: 'ping' }];
  content.forEach((block, index) => {
    const { empty, deltas } = piecesOf(block);
    values.push({ type: 'content_block_start', index, content_block: empty });
    for (const delta of deltas) values.push({ type: 'content_block_delta', index, delta });
    values.push({ type: 'content_block_stop', index });
  });
  const delta = { stop_reason: stop, stop_sequence: null, stop_details: null };
  const { cache_creation: _, service_tier: __, ...counts } = usage;
  values.push({ type: 'message_delta', delta, usage: counts }, { type: 'message_stop' });
  return values.map((value) => `event: ${value.type as string}\ndata: ${JSON.stringify(value)}\n\n`).join('');
}

function piecesOf(block: JsonObject): { empty: JsonObject; deltas: JsonObject[] } {
  const { type, text, thinking, signature, input } = block;
  if (type === 'text') return { empty: { type, text: '' }, deltas: [{ type: 'text_delta', text }] };
  if (type === 'thinking') {
    const deltas = [
      { type: 'thinking_delta', thinking },
      { type: 'signature_delta', signature },
    ];
    return { empty: { type, thinking: '', signature: '' }, deltas };
  }
  const deltas = [
    { type: 'input_json_delta', partial_json: '' },
    { type: 'input_json_delta', partial_json: JSON.stringify(input) },
  ];
  return { empty: { ...block, input: {} }, deltas };
}

function play(speaks: string, { chat, messages }: Answer, stream: boolean): void {
  if (speaks === 'chat') {
    const body = (stream ? chunks : completion)(chat.said, chat.finish, { usage: chat.usage });
    upstream.play(typeof body === 'string' ? { steps: [body] } : { body });
  } else if (stream) {
    upstream.play({ steps: [streamed(messages)] });
  } else {
    upstream.play({ body: message(messages.content, messages.stop, { usage: messages.usage }) });
  }
}

const CASES = Object.entries(ANSWERS).flatMap(([what, answer]) =>
  ['whole', 'streamed'].map((mode) => ({ what, mode, answer })),
);

describe.each(Object.entries(READERS))('%s', (_, { reader, without = {} }) => {
  describe.each(['chat', 'messages'])('in front of a %s provider', (speaks) => {
    it.each(CASES)('reads $what, $mode', async ({ mode, answer }) => {
      const stream = mode === 'streamed';
      play(speaks, answer, stream);
      const { text, thinking, calls, tokens } = await reader(`${speaks}/m`, stream);
      expect({ text, calls }).toEqual({ text: answer.seen.text, calls: answer.seen.calls });
      if (without.thinking !== true) expect(thinking).toBe(answer.seen.thinking);
      const [fresh, input, output] = answer.tokens;
      if (stream && without.streamedUsage) return;
      expect(tokens).toEqual([without.cached ? fresh : input, output]);
    });
  });
});
