// An answer of each provider's protocol becomes the same lines, whole and streamed.
import { describe, expect, it } from 'vitest';
import { isObject, type JsonObject } from '../../../src/canonical/json.ts';
import { PROTOCOL_NAMES, type ProtocolName } from '../../../src/canonical/request.ts';
import type { Reply, StreamEvent } from '../../../src/canonical/reply.ts';
import { replay } from '../../../src/canonical/collect.ts';
import { GatewayError } from '../../../src/errors.ts';
import type { ReplyContext } from '../../../src/protocols/interface/answer.ts';
import type { ClientSide } from '../../../src/protocols/interface/protocol.ts';
import { clientProtocols, protocols } from '../../../src/protocols/registry.ts';
import { CASE_NAMES, readCase, readJsonCase } from '../../translation/cases.ts';
import { eventsIn, ids } from '../../translation/pipeline.ts';

const NOW = 1_700_000_000_000;

/** `ms`: when each question about the time passed is asked. */
function context(ms: readonly number[] = [0], more: Partial<ReplyContext['request']> = {}): ReplyContext {
  let asked = 0;
  return {
    ids,
    created: NOW / 1000,
    now: () => NOW,
    elapsed: () => ms[Math.min(asked++, ms.length - 1)] ?? 0,
    request: { includeUsage: true, asked: { model: 'asked' }, ...more },
    estimateInput: () => 7,
  };
}

/** The form with this path. */
function formAt(path: string): ClientSide {
  const found = clientProtocols.find(({ name, client }) => name === 'ollama' && client.path === path);
  if (found === undefined) throw new Error(`no form at ${path}`);
  return found.client;
}

const chat = formAt('/chat');
const generate = formAt('/generate');

function linesOf(text: string): JsonObject[] {
  expect(text.endsWith('\n')).toBe(true);
  return text
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line) as JsonObject);
}

function streamed(events: readonly StreamEvent[], client = chat, at = context()): JsonObject[] {
  const encoder = client.createStreamEncoder(at);
  return linesOf(events.map((event) => encoder.push(event)).join(''));
}

/** What lines say together, as one answer. */
function folded(lines: readonly JsonObject[]): JsonObject {
  const said = { content: '', thinking: '', calls: [] as JsonObject[] };
  for (const { message, response, thinking } of lines) {
    const own = isObject(message) ? message : { content: response, thinking };
    said.content += typeof own.content === 'string' ? own.content : '(none)';
    said.thinking += typeof own.thinking === 'string' ? own.thinking : '';
    if (Array.isArray(own.tool_calls)) said.calls.push(...(own.tool_calls as JsonObject[]));
  }
  return { ...said, end: withoutTimes(lines.at(-1) ?? {}) };
}

function withoutTimes(line: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(line).filter(([name]) => !/duration|^message$|^response$|^thinking$/.test(name)),
  );
}

/** Ids and words of the model are each provider's own. */
function comparable(answer: JsonObject): string {
  return JSON.stringify(answer).replace(/"id":"[^"]*"/g, '"id":""');
}

function wholeReply(name: string, provider: ProtocolName): Reply {
  return protocols[provider].provider.decodeReply(
    readJsonCase(name, `${provider}.response.json`),
    readCase(name, `${provider}.response.json`),
  );
}

describe.each(CASE_NAMES)('%s', (name) => {
  it.each(PROTOCOL_NAMES)('from a %s provider: the lines say what the whole answer says', (provider) => {
    const reply = wholeReply(name, provider);
    const whole = folded([chat.encodeReply(reply, context())]);
    const lines = streamed(eventsIn(provider, readCase(name, `${provider}.sse`)));
    expect(comparable(folded(lines))).toBe(comparable(whole));
    expect(comparable(folded(streamed(replay(reply))))).toBe(comparable(whole));
    for (const { message, model, created_at: at } of lines) {
      expect(message).toMatchObject({ role: 'assistant', content: expect.any(String) as string });
      expect([typeof model, at]).toEqual(['string', new Date(NOW).toISOString()]);
    }
    expect(lines.map(({ done }) => done)).toEqual([...Array<boolean>(lines.length - 1).fill(false), true]);
  });

  it('every provider gives the same words', () => {
    const answers = PROTOCOL_NAMES.map((provider) => {
      const { content, thinking } = folded([chat.encodeReply(wholeReply(name, provider), context())]);
      return { content, thinking };
    });
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
  });
});

const CALLS: StreamEvent[] = [
  { type: 'start', id: 'x', model: 'm' },
  { type: 'tool_start', index: 0, id: 'one', name: 'f' },
  { type: 'tool_delta', index: 0, text: '{"n":1.0,' },
  { type: 'tool_start', index: 1, id: '', name: 'g' },
  { type: 'tool_delta', index: 0, text: '"s":"x"}' },
  { type: 'tool_end', index: 0 },
  { type: 'end', stop: { reason: 'tool_calls' }, usage: { input: 3, cacheRead: 2, output: 4 } },
];

it('each call has a line of its own, with an id, whole arguments and its number', () => {
  const encoder = chat.createStreamEncoder(context());
  const text = CALLS.map((event) => encoder.push(event)).join('');
  expect(text).toContain('"arguments":{"n":1.0,"s":"x"}');
  const calls = linesOf(text).map(({ message }) => (isObject(message) ? message.tool_calls : undefined));
  expect(calls).toEqual([
    [{ id: 'one', function: { index: 0, name: 'f', arguments: { n: 1, s: 'x' } } }],
    [{ id: `call_${'x'.repeat(24)}`, function: { index: 1, name: 'g', arguments: {} } }],
    undefined,
  ]);
});

const TEXT: StreamEvent[] = [
  { type: 'start', id: 'x', model: 'm' },
  { type: 'text_start', index: 0 },
  { type: 'text_delta', index: 0, text: 'hi' },
  { type: 'text_end', index: 0 },
  { type: 'end', stop: { reason: 'length' }, usage: { input: 3, cacheRead: 2, output: 4 } },
];

it('times are nanoseconds: to the first content, and from there to the end', () => {
  expect(streamed(TEXT, chat, context([12.5, 100])).at(-1)).toMatchObject({
    done_reason: 'length',
    total_duration: 100_000_000,
    load_duration: 0,
    prompt_eval_count: 5,
    prompt_eval_duration: 12_500_000,
    eval_count: 4,
    eval_duration: 87_500_000,
  });
});

it('counts that the provider did not send are left out', () => {
  const last = streamed([...TEXT.slice(0, -1), { type: 'end', stop: { reason: 'end' } }]).at(-1);
  expect(last).not.toHaveProperty('eval_count');
  expect(last).not.toHaveProperty('prompt_eval_count');
});

it('a prompt is answered in `response`', () => {
  expect(streamed(TEXT, generate).map(({ response, message }) => [response, message])).toEqual([
    ['hi', undefined],
    ['', undefined],
  ]);
});

it('a silent stream is kept alive by a line that says nothing, with the model that was asked for', () => {
  expect(linesOf(chat.createStreamEncoder(context()).keepAlive?.() ?? '')).toEqual([
    {
      model: 'asked',
      created_at: new Date(NOW).toISOString(),
      message: { role: 'assistant', content: '' },
      done: false,
    },
  ]);
});

it('an error is one text, and a model that is unknown a 404', () => {
  const error = new GatewayError('model_not_found', 'no such model');
  expect(chat.encodeError(error, 'req')).toEqual({ error: 'no such model' });
  expect(chat.errorHead?.(error)).toEqual({ status: 404 });
  expect(chat.encodeStreamError(error, 'req', NOW)).toBe('{"error":"no such model"}\n');
});

it('pages that the answer names follow its text, but not where JSON was asked for', () => {
  const citation = { protocol: 'chat', raw: {}, url: 'https://a.example', title: 'A' } as const;
  const events: StreamEvent[] = [...TEXT];
  events.splice(3, 0, { type: 'citation', index: 0, citation });
  expect(folded(streamed(events)).content).toBe('hi\n\nSources:\n[1] A: https://a.example');
  const asked = context([0], { responseFormat: { type: 'json_object' } });
  expect(folded(streamed(events, chat, asked)).content).toBe('hi');
});

it('log probabilities stand beside the text that they are of', () => {
  const tokens = [{ token: 'hi', logprob: -0.1, bytes: [104, 105], top_logprobs: [] }];
  const events: StreamEvent[] = [...TEXT];
  events.splice(2, 0, { type: 'logprobs', index: 0, tokens });
  expect(streamed(events)[0]).toMatchObject({ message: { content: 'hi' }, logprobs: tokens });
});
