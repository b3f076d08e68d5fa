import OpenAI from 'openai';
import type { ChatCompletion } from 'openai/resources/chat/completions';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createCollector } from '../../../../src/canonical/collect.ts';
import type { StreamEvent, Reply } from '../../../../src/canonical/reply.ts';
import type { GenerationRequest } from '../../../../src/canonical/request.ts';
import { chat } from '../../../../src/protocols/chat/index.ts';
import { context, datas, decode, DONE, encode } from '../frames.ts';
import { anyCharacter } from '../../../helpers/any-character.ts';

const START: StreamEvent = { type: 'start', id: 'chatcmpl-9', model: 'm-1', created: 5 };
const usage = { input: 3, cacheRead: 4, output: 2, reasoning: 1 };
const text: StreamEvent[] = [
  { type: 'text_start', index: 0 },
  { type: 'text_delta', index: 0, text: 'Hel' },
  { type: 'text_delta', index: 0, text: 'lo "☃"\n' },
  { type: 'text_end', index: 0 },
];
const end: StreamEvent = { type: 'end', stop: { reason: 'end' }, usage };
const calls: StreamEvent[] = [
  { type: 'tool_start', index: 1, id: 'call_a', name: 'f' },
  { type: 'tool_start', index: 2, id: 'call_b', name: 'g' },
  { type: 'tool_delta', index: 2, text: '{"y":' },
  { type: 'tool_delta', index: 1, text: '{"x":1}' },
  { type: 'tool_delta', index: 2, text: '2}' },
  { type: 'tool_end', index: 1 },
  { type: 'tool_end', index: 2 },
];

/** What the official SDK makes of a written stream. */
async function readWithSdk(stream: string): Promise<ChatCompletion> {
  const client = new OpenAI({
    apiKey: 'k',
    maxRetries: 0,
    fetch: () => Promise.resolve(new Response(stream, { headers: { 'content-type': 'text/event-stream' } })),
  });
  const reader = client.chat.completions.stream({ model: 'm', messages: [{ role: 'user', content: 'hi' }] });
  return reader.finalChatCompletion();
}

test('the first chunk names the role, and every chunk its id, model and choices', () => {
  const written = datas(encode([START, ...text, end]));
  expect(written[0]).toEqual({
    id: 'chatcmpl-9',
    object: 'chat.completion.chunk',
    created: 5,
    model: 'm-1',
    choices: [
      {
        index: 0,
        delta: { role: 'assistant', content: '', refusal: null },
        logprobs: null,
        finish_reason: null,
      },
    ],
  });
  expect(written.slice(1).map((data) => (typeof data === 'string' ? data : data.choices))).toEqual([
    [{ index: 0, delta: { content: 'Hel' }, logprobs: null, finish_reason: null }],
    [{ index: 0, delta: { content: 'lo "☃"\n' }, logprobs: null, finish_reason: null }],
    [{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }],
    DONE,
  ]);
});

test('nothing is written before content comes', () => {
  expect(encode([START, { type: 'text_start', index: 0 }, { type: 'reasoning_start', index: 1 }])).toBe('');
});

describe('usage', () => {
  test('is nowhere where the client did not ask', () => {
    expect(encode([START, ...text, end])).not.toContain('usage');
  });
  test('is null in every chunk but the last where it did', () => {
    const written = datas(encode([START, ...text, end], { includeUsage: true })).filter(
      (data) => typeof data !== 'string',
    );
    const last = written.pop();
    expect(written.every((data) => data.usage === null)).toBe(true);
    expect(last).toMatchObject({
      id: 'chatcmpl-9',
      choices: [],
      usage: {
        prompt_tokens: 7,
        completion_tokens: 2,
        total_tokens: 9,
        prompt_tokens_details: { cached_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 1 },
      },
    });
  });
  test('is not invented', () => {
    const written = encode([START, ...text, { type: 'end', stop: { reason: 'end' } }], {
      includeUsage: true,
    });
    expect(written).not.toContain('"choices":[]');
  });
});

test('a foreign id gives way to one of this protocol', () => {
  expect(encode([{ ...START, id: 'msg_1' }, ...text])).toMatch(/^data: \{"id":"chatcmpl-0+1"/);
});

test('reasoning is written as reasoning_content, unless the client asked not to see it', () => {
  const events: StreamEvent[] = [
    START,
    { type: 'reasoning_start', index: 0 },
    { type: 'reasoning_delta', index: 0, text: 'hm' },
    { type: 'reasoning_end', index: 0, signature: 's' },
  ];
  expect(encode(events)).toContain('"delta":{"reasoning_content":"hm"}');
  expect(encode(events, { reasoning: { hidden: true } })).toBe('');
  expect(encode(events, { readsReasoning: true })).toContain(
    '"delta":{"reasoning_content":"hm","reasoning":"hm"}',
  );
});

test('a custom call is sent whole, in its own shape', () => {
  const written = datas(
    encode([
      START,
      { type: 'tool_start', index: 0, id: 'a', name: 'f', custom: true },
      { type: 'tool_delta', index: 0, text: 'free ' },
      { type: 'tool_delta', index: 0, text: 'text' },
      { type: 'tool_end', index: 0 },
    ]),
  );
  expect(written[1]).toHaveProperty('choices.0.delta.tool_calls', [
    { index: 0, id: 'a', type: 'custom', custom: { name: 'f', input: 'free text' } },
  ]);
});

test('the legacy form has one call and its own finish', () => {
  const written = encode([START, ...calls, { type: 'end', stop: { reason: 'tool_calls' } }], {
    legacyFunctions: true,
  });
  expect(written).toContain('"delta":{"function_call":{"name":"f","arguments":""}}');
  expect(written).toContain('"finish_reason":"function_call"');
  expect(written).not.toContain('tool_calls');
  expect(written).not.toContain('"g"');
});

test('an error is a frame of its own, after which nothing ends the stream', () => {
  const written = encode([
    START,
    ...text.slice(0, 2),
    { type: 'error', failure: { kind: 'overloaded', message: 'busy' } },
  ]);
  expect(written).not.toContain(DONE);
  expect(datas(written).at(-1)).toEqual({
    error: { message: 'busy', type: 'overloaded_error', param: null, code: 'service_unavailable' },
  });
});

test('pages that an answer cites are annotations with places in the whole text', () => {
  const citation = { protocol: 'messages' as const, raw: {}, url: 'https://a.example', title: 'A' };
  const written = datas(
    encode([
      START,
      ...text,
      { type: 'text_start', index: 1 },
      { type: 'text_delta', index: 1, text: 'cited' },
      { type: 'citation', index: 1, citation },
      { type: 'citation', index: 1, citation: { protocol: 'messages', raw: {} } },
      { type: 'text_end', index: 1 },
      end,
    ]),
  );
  expect(written.at(-3)).toHaveProperty('choices.0.delta', {
    annotations: [
      {
        type: 'url_citation',
        url_citation: { start_index: 10, end_index: 15, url: 'https://a.example', title: 'A' },
      },
    ],
  });
});

describe('the official SDK reads', () => {
  test('text, calls side by side, and usage', async () => {
    const done: StreamEvent = { type: 'end', stop: { reason: 'tool_calls' }, usage };
    const completion = await readWithSdk(encode([START, ...text, ...calls, done], { includeUsage: true }));
    expect(completion.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        role: 'assistant',
        content: 'Hello "☃"\n',
        tool_calls: [
          { id: 'call_a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
          { id: 'call_b', type: 'function', function: { name: 'g', arguments: '{"y":2}' } },
        ],
      },
    });
    expect(completion.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 });
    expect(completion).toMatchObject({ id: 'chatcmpl-9', model: 'm-1', created: 5 });
  });
  test('a call without arguments as one with an empty object', async () => {
    const events: StreamEvent[] = [
      START,
      { type: 'tool_start', index: 0, id: 'a', name: 'f' },
      { type: 'tool_end', index: 0 },
      { type: 'end', stop: { reason: 'tool_calls' } },
    ];
    const completion = await readWithSdk(encode(events));
    expect(completion.choices[0]?.message.tool_calls?.[0]).toMatchObject({ function: { arguments: '{}' } });
  });
  test('a refusal', async () => {
    const stop = { reason: 'refusal', explanation: 'I will not.' } as const;
    const completion = await readWithSdk(encode([START, { type: 'end', stop }]));
    expect(completion.choices[0]).toMatchObject({
      finish_reason: 'content_filter',
      message: { refusal: 'I will not.' },
    });
  });
  test.each([
    ['in the words of its text once', 'Hello "☃"\n', null],
    ['in other words beside its text', 'I will not.', 'I will not.'],
  ])('a refusal that is explained %s', async (_, explanation, refusal) => {
    const stop = { reason: 'refusal', explanation } as const;
    const completion = await readWithSdk(encode([START, ...text, { type: 'end', stop }]));
    expect(completion.choices[0]).toMatchObject({
      finish_reason: 'content_filter',
      message: { content: 'Hello "☃"\n', refusal },
    });
  });
  test('a refusal in the words of a text that is too long to be an explanation, in both places', async () => {
    const long = 'x'.repeat(20_000);
    const events: StreamEvent[] = [
      START,
      { type: 'text_start', index: 0 },
      ...[long.slice(0, 9000), long.slice(9000)].map((piece): StreamEvent => ({
        type: 'text_delta',
        index: 0,
        text: piece,
      })),
      { type: 'text_end', index: 0 },
      { type: 'end', stop: { reason: 'refusal', explanation: long } },
    ];
    const completion = await readWithSdk(encode(events));
    expect(completion.choices[0]).toMatchObject({ message: { content: long, refusal: long } });
  });
  test('a legal empty answer', async () => {
    const completion = await readWithSdk(encode([START, end]));
    expect(completion.choices[0]).toMatchObject({ finish_reason: 'stop', message: { role: 'assistant' } });
  });
  test('an error in mid-stream as an exception', async () => {
    const stream = encode([
      START,
      ...text.slice(0, 2),
      { type: 'error', failure: { kind: 'failed', message: 'broken' } },
    ]);
    await expect(readWithSdk(stream)).rejects.toThrow('broken');
  });
  test('a comment between chunks as nothing', async () => {
    const stream =
      encode([START, ...text]) + chat.client.keepAlive + encode([START, end]).replace(/^.*?\n\n/s, '');
    const completion = await readWithSdk(stream);
    expect(completion.choices[0]?.message.content).toBe('Hello "☃"\n');
  });
});

// -- laws --

const piece = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 12 });
const block = fc.oneof(
  fc.record({ type: fc.constant('text' as const), texts: fc.array(piece, { minLength: 1, maxLength: 4 }) }),
  fc.record({
    type: fc.constant('reasoning' as const),
    texts: fc.array(piece, { minLength: 1, maxLength: 4 }),
  }),
);
const callArb = fc.record({
  id: fc.stringMatching(/^[a-z]{8}$/),
  name: fc.stringMatching(/^[a-z_]{1,9}$/),
  args: fc.dictionary(piece, piece),
});

/** Reasoning, text, calls: the order in which every chat answer stands. */
const answer = fc.tuple(
  fc.array(block, { maxLength: 2 }),
  fc.uniqueArray(callArb, { maxLength: 3, selector: (call) => call.id }),
);

function eventsOf([blocks, made]: [
  blocks: { type: 'text' | 'reasoning'; texts: string[] }[],
  made: { id: string; name: string; args: object }[],
]): StreamEvent[] {
  const ordered = ['reasoning', 'text'].flatMap((type) =>
    blocks.filter((item) => item.type === type).slice(0, 1),
  );
  const events: StreamEvent[] = [START];
  let index = 0;
  for (const { type, texts } of ordered) {
    events.push({ type: `${type}_start`, index });
    for (const part of texts) events.push({ type: `${type}_delta`, index, text: part });
    events.push({ type: `${type}_end`, index });
    index++;
  }
  for (const { id, name, args } of made) {
    events.push(
      { type: 'tool_start', index, id, name },
      { type: 'tool_delta', index, text: JSON.stringify(args) },
    );
    index++;
  }
  for (let i = index - made.length; i < index; i++) events.push({ type: 'tool_end', index: i });
  const reason = made.length > 0 ? 'tool_calls' : 'end';
  events.push({ type: 'end', stop: { reason, raw: made.length > 0 ? 'tool_calls' : 'stop' }, usage });
  return events;
}

/** The reply that events add up to. */
function collect(events: readonly StreamEvent[]): Reply {
  const collector = createCollector();
  for (const event of events) collector.push(event);
  const result = collector.result();
  if ('failure' in result) throw new Error(result.failure.message);
  return result.reply;
}

describe('laws', () => {
  const asked: Partial<GenerationRequest> = { includeUsage: true };
  test('what is written to a stream is read from it', () => {
    fc.assert(
      fc.property(answer, (made) => {
        const events = eventsOf(made);
        expect(collect(decode(datas(encode(events, asked))))).toMatchObject(collect(events));
      }),
    );
  });
  test('a stream and a whole reply say the same', () => {
    fc.assert(
      fc.property(answer, (made) => {
        const reply = collect(eventsOf(made));
        expect(chat.provider.decodeReply(chat.client.encodeReply(reply, context(asked)))).toMatchObject(
          reply,
        );
      }),
    );
  });
  test('the SDK reads the reply that was meant', async () => {
    await fc.assert(
      fc.asyncProperty(answer, async (made) => {
        const reply = collect(eventsOf(made));
        const completion = await readWithSdk(encode(eventsOf(made), asked));
        // It keeps only the last piece of a member that it does not know.
        const known = (part: Reply['parts'][number]) => part.type !== 'reasoning';
        expect(chat.provider.decodeReply(completion).parts.filter(known)).toEqual(reply.parts.filter(known));
      }),
      { numRuns: 25 },
    );
  });
});
