// Calls that a local model writes as text reach the official SDKs as calls, in each protocol, whole and streamed; an answer without
// them is relayed byte for byte.
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, type Seen } from '../helpers/ask.ts';
import { provider, startGateway, type TestGateway } from '../helpers/gateway.ts';
import { CUT, gate, startScriptedProvider, type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { ARGUMENTS, CALL, TALK, WRITTEN } from '../repair/forms.ts';
import { completion } from '../translation/answers.ts';
import { content, FINISH, START, streamOf, TERMINAL } from './wire.ts';

const SCHEMA = {
  type: 'object' as const,
  properties: { path: { type: 'string' }, limit: { type: 'integer' } },
};
const CHAT_TOOLS = [{ type: 'function' as const, function: { name: 'read_file', parameters: SCHEMA } }];
const MESSAGES_TOOLS = [{ name: 'read_file', input_schema: SCHEMA }];
const RESPONSES_TOOLS = [{ type: 'function' as const, name: 'read_file', parameters: SCHEMA, strict: false }];
const ASKED = [{ role: 'user' as const, content: 'Read it.' }];

let upstream: ScriptedProvider;
let to: TestGateway;

beforeAll(async () => {
  upstream = await startScriptedProvider();
  const url = `${upstream.url}/v1`;
  const providers = {
    p: provider(url, 'chat', ['m']),
    messages: provider(url, 'messages', ['m']),
    responses: provider(url, 'responses', ['m']),
    off: provider(url, 'chat', ['m'], { repair_tools: false }),
  };
  to = await startGateway({ config: { providers, tiers: { enterprise: 100_000 } } });
});

afterAll(async () => {
  await to.stop();
  await upstream.close();
});

interface Said {
  calls: { name: string; arguments: unknown }[];
  text: string;
  finish: string | null | undefined;
}

const call = (name: string, text: string): Said['calls'][number] => ({
  name,
  arguments: JSON.parse(text) as unknown,
});

/** Each official client, whole or streamed, of a provider of chat. */
const READERS: Readonly<Record<string, { stream: boolean; read: (model?: string) => Promise<Said> }>> = {
  chat: {
    stream: false,
    async read(model = 'p/m') {
      const client = new OpenAI({ baseURL: `${to.url}/v1`, apiKey: to.key, maxRetries: 0 });
      const reply = await client.chat.completions.create({ model, messages: ASKED, tools: CHAT_TOOLS });
      return ofChat(reply.choices[0]);
    },
  },
  'chat, streamed': {
    stream: true,
    async read(model = 'p/m') {
      const client = new OpenAI({ baseURL: `${to.url}/v1`, apiKey: to.key, maxRetries: 0 });
      const stream = client.chat.completions.stream({ model, messages: ASKED, tools: CHAT_TOOLS });
      return ofChat((await stream.finalChatCompletion()).choices[0]);
    },
  },
  messages: { stream: false, read: (model) => readMessages(false, model) },
  'messages, streamed': { stream: true, read: (model) => readMessages(true, model) },
  'responses, streamed': { stream: true, read: (model) => readResponses(model) },
};

function ofChat(choice: OpenAI.ChatCompletion.Choice | undefined): Said {
  const calls = choice?.message.tool_calls ?? [];
  return {
    calls: calls.flatMap((made) =>
      made.type === 'function' ? [call(made.function.name, made.function.arguments)] : [],
    ),
    text: choice?.message.content ?? '',
    finish: choice?.finish_reason,
  };
}

async function readMessages(stream: boolean, model = 'p/m'): Promise<Said> {
  const client = new Anthropic({ baseURL: to.url, apiKey: to.key, maxRetries: 0 });
  const body = { model, max_tokens: 500, messages: ASKED, tools: MESSAGES_TOOLS };
  const reply = stream
    ? await client.messages.stream(body).finalMessage()
    : await client.messages.create({ ...body, stream: false });
  return {
    calls: reply.content.flatMap((block) =>
      block.type === 'tool_use' ? [{ name: block.name, arguments: block.input }] : [],
    ),
    text: reply.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    finish: reply.stop_reason,
  };
}

async function readResponses(model = 'p/m'): Promise<Said> {
  const client = new OpenAI({ baseURL: `${to.url}/v1`, apiKey: to.key, maxRetries: 0 });
  const stream = client.responses.stream({ model, input: 'Read it.', tools: RESPONSES_TOOLS });
  const reply = await stream.finalResponse();
  return {
    calls: reply.output.flatMap((item) =>
      item.type === 'function_call' ? [call(item.name, item.arguments)] : [],
    ),
    text: reply.output_text,
    finish: reply.status,
  };
}

/** Characters of the pieces in which a stream comes. */
const SIZES = [1, 5, 50];
const FINISHED = ['tool_calls', 'tool_use', 'completed'];

function pieces(text: string, size: number): string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
    text.slice(at * size, (at + 1) * size),
  );
}

/** Requests of streams, by their paths. */
const STREAMED: Readonly<Record<string, object>> = {
  'chat/completions': { messages: ASKED, tools: CHAT_TOOLS },
  messages: { max_tokens: 500, messages: ASKED, tools: MESSAGES_TOOLS },
  responses: { input: 'Read it.', tools: RESPONSES_TOOLS },
};

function playText(text: string, stream: boolean, size = 5): void {
  const body =
    START.chat +
    pieces(text, size)
      .map((piece) => content('chat', piece))
      .join('') +
    FINISH.chat;
  upstream.play(stream ? { steps: [body + TERMINAL.chat] } : { body: completion({ content: text }, 'stop') });
}

describe.each(Object.entries(READERS))('a client of %s', (_, { stream, read }) => {
  it.each(Object.entries(WRITTEN))('gets the call that a model wrote as %s', async (__, text) => {
    const all: Said[] = [];
    for (const size of stream ? SIZES : [5]) {
      playText(text, stream, size);
      const said = await read();
      expect(said.calls).toEqual([CALL]);
      expect(FINISHED).toContain(said.finish);
      expect(said.text).not.toMatch(/[<{[]/);
      all.push(said);
    }
    // Whatever the pieces.
    for (const said of all) expect(said).toEqual(all[0]);
  });

  it.each(stream ? SIZES : [3])('gets text that only speaks of calls, in pieces of %i', async (size) => {
    for (const text of TALK) {
      playText(text, stream, size);
      const said = await read();
      expect(said).toMatchObject({ calls: [], text });
    }
  });

  it.each(Object.entries(ARGUMENTS))('gets arguments: %s', async (__, text) => {
    const made = { id: 'call_1', type: 'function', function: { name: 'Read_File', arguments: text } };
    const chunk = (delta: object, finish: string | null = null): string =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    const [first = '', ...rest] = pieces(text, 7);
    const steps = [
      chunk({
        role: 'assistant',
        tool_calls: [{ index: 0, ...made, function: { name: 'Read_File', arguments: first } }],
      }),
      ...rest.map((piece) => chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
      chunk({}, 'stop'),
      TERMINAL.chat,
    ];
    upstream.play(stream ? { steps } : { body: completion({ tool_calls: [made] }, 'stop') });
    const said = await read();
    expect(said.calls).toEqual([CALL]);
    expect(FINISHED).toContain(said.finish);
  });
});

/** The text of a stream of any of the three. */
function deltasOf(stream: string): string {
  const frames = stream.split('\n').filter((line) => line.startsWith('data: {'));
  const texts = frames.map((line) => {
    const { type, delta, choices } = JSON.parse(line.slice(6)) as {
      type?: string;
      delta?: string | { text?: string };
      choices?: { delta: { content?: string | null } }[];
    };
    if (choices !== undefined) return choices[0]?.delta.content ?? '';
    if (typeof delta === 'object') return delta.text ?? '';
    return type === 'response.output_text.delta' ? (delta ?? '') : '';
  });
  return texts.join('');
}

describe.each(Object.entries(STREAMED))('a stream of %s', (path, body) => {
  it('is not held back where no form can begin', async () => {
    const open = TALK.filter((text) => /^[A-Za-z]+ /.test(text));
    expect(open.length).toBeGreaterThan(8);
    for (const text of open) {
      const [first = ''] = /^[A-Za-z]+/.exec(text) ?? [];
      const more = gate();
      const rest = content('chat', text.slice(first.length)) + FINISH.chat + TERMINAL.chat;
      upstream.play({ steps: [START.chat + content('chat', first), more.opened, rest] });
      const response = await fetch(`${to.url}/v1/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${to.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'p/m', stream: true, ...body }),
      });
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      let seen = '';
      // The rest is sent only once the first piece is here.
      while (!seen.includes(`"${first}"`)) seen += (await reader?.read())?.value ?? '';
      more.open();
      for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
        seen += read.value;
      }
      expect(deltasOf(seen)).toBe(text);
    }
  });
});

describe('a provider of the client’s own protocol', () => {
  it('of messages', async () => {
    const text = `One moment.\n${WRITTEN['Hermes tag']}`;
    const body =
      START.messages +
      pieces(text, 9)
        .map((piece) => content('messages', piece))
        .join('');
    upstream.play({ steps: [body + FINISH.messages + TERMINAL.messages] });
    expect(await readMessages(true, 'messages/m')).toMatchObject({
      calls: [CALL],
      text: 'One moment.\n',
      finish: 'tool_use',
    });
  });

  it('of responses', async () => {
    const text = `One moment.\n${WRITTEN['Qwen coder']}`;
    upstream.play({ steps: [streamOf('responses', text)] });
    expect(await readResponses('responses/m')).toMatchObject({ calls: [CALL], text: 'One moment.\n' });
  });
});

describe('of a relayed request, whose conversation is not decoded,', () => {
  const OTHER = { ...MESSAGES_TOOLS[0], name: 'other' };
  const ADDED = [
    ...ASKED,
    {
      role: 'system',
      content: [{ type: 'tool_addition', tool: { type: 'tool_definition', definition: MESSAGES_TOOLS[0] } }],
    },
  ];
  const SEARCHED = [
    { role: 'user', content: 'Read it.' },
    { type: 'tool_search_call', call_id: 'c', execution: 'client', arguments: {} },
    {
      type: 'tool_search_output',
      call_id: 'c',
      execution: 'client',
      status: 'completed',
      tools: RESPONSES_TOOLS,
    },
  ];

  it.each([
    ['tools that came on the way', 'messages', { tools: [OTHER], messages: ADDED }],
    [
      'tools that were found on the way',
      'responses',
      { tools: [{ type: 'tool_search', execution: 'client' }], input: SEARCHED },
    ],
    [
      'a message that no other protocol can take',
      'chat',
      {
        tools: CHAT_TOOLS,
        messages: [...ASKED, { role: 'assistant', content: [{ type: 7 }] }],
      },
    ],
  ] as const)('%s: its calls are repaired', async (_, protocol, body) => {
    upstream.play({ steps: [streamOf(protocol, WRITTEN['Hermes tag'] ?? '')] });
    const model = protocol === 'chat' ? 'p/m' : `${protocol}/m`;
    const seen = await ask(to, { protocol, model, stream: true, body });
    expect(seen.status, seen.text).toBe(200);
    expect(seen.text).toContain('"read_file"');
    expect(seen.text).not.toContain('<tool_call>');
  });
});

function askChat(model: string, stream: boolean): Promise<Seen> {
  return ask(to, {
    model,
    stream,
    body: { tools: CHAT_TOOLS, stream_options: stream ? { include_usage: true } : undefined },
  });
}

it('names what was repaired in the header, the log and the record of the request', async () => {
  playText(WRITTEN.GLM ?? '', false);
  const seen = await askChat('p/m', false);
  expect(seen.headers.get('x-gateway-repaired')).toBe('read_file: written as text (<tool_call>),finish');
  await expect
    .poll(() => to.log())
    .toContain('"repaired":["read_file: written as text (<tool_call>)","finish"]');
});

it('relays an answer byte for byte that needs no repair', async () => {
  const frames =
    START.chat +
    pieces('A list: [1] and {two}.\n', 3)
      .map((piece) => content('chat', piece))
      .join('');
  const body = frames + FINISH.chat + TERMINAL.chat;
  upstream.play({ steps: [body] });
  const seen = await askChat('p/m', true);
  expect(seen.text).toBe(body);
  expect(seen.headers.get('x-gateway-repaired')).toBeNull();
  const whole = JSON.stringify(completion({ content: 'text', own: 1 }, 'stop'));
  upstream.play({ body: whole });
  expect((await askChat('p/m', false)).text).toBe(whole);
});

describe.each(['chat', 'messages'] as const)(
  'where the id of a %s answer is of no form of ours',
  (protocol) => {
    const model = { chat: 'p/m', messages: 'messages/m' }[protocol];
    const tools = { chat: CHAT_TOOLS, messages: MESSAGES_TOOLS }[protocol];
    async function lineOf(text: string): Promise<{ seen: Seen; line: Record<string, unknown> }> {
      upstream.play({ steps: [streamOf(protocol, text).replaceAll(/chatcmpl-1|msg_1/g, 'gen-1')] });
      const seen = await ask(to, { protocol, model, stream: true, body: { tools } });
      const id = String(seen.headers.get('x-request-id'));
      const find = (): string | undefined =>
        to
          .log()
          .split('\n')
          .find((line) => line.includes(id) && line.includes('"msg":"answered"'));
      await expect.poll(find).toBeDefined();
      return { seen, line: JSON.parse(find() ?? '{}') as Record<string, unknown> };
    }

    it('the log names no other id for an answer that is looked at and relayed as it came', async () => {
      const { seen, line } = await lineOf('A list: [1] and {two}.');
      expect(seen.text).toContain('"id":"gen-1"');
      expect(line).not.toHaveProperty('repaired');
      expect(line).not.toHaveProperty('reply_id');
      expect(line).not.toHaveProperty('upstream_reply_id');
    });

    it('the log names the id that the client got where the answer is written anew', async () => {
      const { seen, line } = await lineOf(WRITTEN['Hermes tag'] ?? '');
      expect(line).toHaveProperty('repaired');
      expect(line['upstream_reply_id']).toBe('gen-1');
      expect(seen.text).toContain(`"id":"${String(line['reply_id'])}"`);
    });
  },
);

it('leaves the text as it is where repair is off, and where no tool is offered', async () => {
  const text = WRITTEN['Hermes tag'] ?? '';
  playText(text, false);
  expect((await askChat('off/m', false)).content).toBe(text);
  playText(text, false);
  expect((await ask(to, { model: 'p/m' })).content).toBe(text);
});

it('delivers what was held back when the connection breaks', async () => {
  const held = '\n<tool_call>\n{"name": "read_file"';
  upstream.play({ steps: [START.chat + content('chat', `Now${held}`), CUT] });
  const seen = await askChat('p/m', true);
  expect(seen.content).toBe(`Now${held}`);
  expect(seen.error).toBeDefined();
});
