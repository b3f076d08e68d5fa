import { describe, expect, test } from 'vitest';
import type { StreamEvent } from '../../../../src/canonical/reply.ts';
import type { JsonObject } from '../../../../src/canonical/json.ts';
import { DEFAULT_TRAITS } from '../../../../src/canonical/traits.ts';
import { chat } from '../../../../src/protocols/chat/index.ts';
import { messages } from '../../../../src/protocols/messages/index.ts';
import { chunk, comment, context, countingIds, decode, DONE, finish, frame } from '../frames.ts';

const START: StreamEvent = { type: 'start', id: 'chatcmpl-1', model: 'm-1', created: 1_700_000_000 };
const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 };
const ended = (reason: string, raw: string) => ({ type: 'end', stop: { reason, raw } });
const call = (index: number, id: string | undefined, name: string | undefined, args?: unknown) =>
  chunk({
    tool_calls: [
      {
        index,
        ...(id === undefined ? {} : { id }),
        type: 'function',
        function: { name, arguments: args } as JsonObject,
      },
    ],
  });

/** Short: what happened to which block. */
function brief(events: readonly StreamEvent[]): string[] {
  return events.map((event) => {
    const index = 'index' in event ? String(event.index) : '';
    if (event.type === 'tool_start') return `tool_start${index} ${event.id} ${event.name}`;
    if ('text' in event) return `${event.type}${index} ${event.text}`;
    if (event.type === 'end') return `end ${event.stop.reason}`;
    if (event.type === 'error') return `error ${event.failure.reason ?? event.failure.kind}`;
    return event.type + index;
  });
}

test('text, finish and usage', () => {
  const events = decode([
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: 'Hel' }),
    chunk({ content: 'lo' }),
    finish('stop'),
    { id: 'chatcmpl-1', choices: [], usage },
    DONE,
  ]);
  expect(events).toEqual([
    START,
    { type: 'text_start', index: 0 },
    { type: 'text_delta', index: 0, text: 'Hel' },
    { type: 'text_delta', index: 0, text: 'lo' },
    { type: 'text_end', index: 0 },
    { ...ended('end', 'stop'), usage: { input: 10, output: 2 } },
  ]);
});

test('content, finish and usage in one chunk', () => {
  const events = decode([chunk({ content: 'a' }, { finish_reason: 'length', usage }), DONE]);
  expect(brief(events)).toEqual(['start', 'text_start0', 'text_delta0 a', 'text_end0', 'end length']);
  expect(events.at(-1)).toHaveProperty('usage.output', 2);
});

test("the start waits for a chunk with choices: Azure's first has no name", () => {
  const [start] = decode([
    { id: '', model: '', choices: [], prompt_filter_results: [] },
    chunk({ content: 'a' }),
    finish('stop'),
    DONE,
  ]);
  expect(start).toEqual(START);
});

describe('reasoning', () => {
  test.each<[string, JsonObject]>([
    ['reasoning_content', { reasoning_content: 'hm' }],
    ['reasoning', { reasoning: 'hm' }],
    ['both with the same text, once', { reasoning_content: 'hm', reasoning: 'hm' }],
    ['details', { reasoning_details: [{ type: 'reasoning.text', text: 'hm' }] }],
    ['a summary', { reasoning_details: [{ type: 'reasoning.summary', summary: 'hm' }] }],
    [
      'details beside the same text, once',
      { reasoning: 'hm', reasoning_details: [{ type: 'reasoning.text', text: 'hm' }] },
    ],
    ["Mistral's chunks", { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }] }],
  ])('as %s', (_what, delta) => {
    expect(brief(decode([chunk(delta), chunk({ content: 'a' }), finish('stop'), DONE]))).toEqual([
      'start',
      'reasoning_start0',
      'reasoning_delta0 hm',
      'reasoning_end0',
      'text_start1',
      'text_delta1 a',
      'text_end1',
      'end end',
    ]);
  });
  test('a signature comes with the end of its block', () => {
    const events = decode([
      chunk({ reasoning: 'hm' }),
      chunk({ reasoning_details: [{ type: 'reasoning.text', signature: 'sig' }] }),
      chunk({ content: 'a' }),
      finish('stop'),
      DONE,
    ]);
    expect(events).toContainEqual({ type: 'reasoning_end', index: 0, signature: 'sig' });
  });
  test('encrypted reasoning is a block of its own', () => {
    const events = decode([
      chunk({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'xyz' }] }),
      finish('stop'),
      DONE,
    ]);
    expect(events).toContainEqual({ type: 'redacted', index: 0, data: 'xyz' });
  });
});

describe('tool calls', () => {
  const two = ['tool_start0 a f', 'tool_start1 b g'];
  const starts = (chunks: JsonObject[]) =>
    brief(decode([...chunks, finish('tool_calls'), DONE])).filter((line) => line.startsWith('tool_start'));
  const args = (chunks: JsonObject[]) => {
    const texts: Record<number, string> = {};
    for (const event of decode([...chunks, finish('tool_calls'), DONE])) {
      if (event.type === 'tool_delta') texts[event.index] = (texts[event.index] ?? '') + event.text;
    }
    return texts;
  };

  test('in pieces', () => {
    const events = decode([
      call(0, 'a', 'f', ''),
      call(0, undefined, undefined, '{"x"'),
      call(0, undefined, undefined, ':1}'),
      finish('tool_calls'),
      DONE,
    ]);
    expect(brief(events)).toEqual([
      'start',
      'tool_start0 a f',
      'tool_delta0 {"x"',
      'tool_delta0 :1}',
      'tool_end0',
      'end tool_calls',
    ]);
  });
  test.each<[string, JsonObject[]]>([
    [
      'side by side',
      [
        call(0, 'a', 'f', '{'),
        call(1, 'b', 'g', '{'),
        call(0, undefined, undefined, '}'),
        call(1, undefined, undefined, '}'),
      ],
    ],
    ['with one index for all', [call(0, 'a', 'f', '{}'), call(0, 'b', 'g', '{}')]],
    [
      'without an index',
      [
        chunk({ tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }] }),
        chunk({ tool_calls: [{ id: 'b', function: { name: 'g', arguments: '{}' } }] }),
      ],
    ],
    [
      'in one chunk without an index',
      [
        chunk({
          tool_calls: [
            { id: 'a', function: { name: 'f', arguments: '{}' } },
            { id: 'b', function: { name: 'g', arguments: '{}' } },
          ],
        }),
      ],
    ],
    ['with the name told again', [call(0, 'a', 'f', '{'), call(0, 'a', 'f', '}'), call(1, 'b', 'g', '{}')]],
    ['with empty names later', [call(0, 'a', 'f', '{'), call(0, '', '', '}'), call(1, 'b', 'g', '{}')]],
    [
      'with all of it told again at the end',
      [call(0, 'a', 'f', '{}'), call(1, 'b', 'g', '{}'), call(1, 'b', 'g', '{}')],
    ],
  ])('%s', (_what, chunks) => {
    expect(starts(chunks)).toEqual(two);
    expect(args(chunks)).toEqual({ 0: '{}', 1: '{}' });
  });
  test('a name that comes late: the arguments wait for it', () => {
    expect(
      brief(
        decode([call(0, 'a', undefined, '{"x":'), call(0, undefined, 'f', '1}'), finish('tool_calls'), DONE]),
      ),
    ).toEqual(['start', 'tool_start0 a f', 'tool_delta0 {"x":1}', 'tool_end0', 'end tool_calls']);
  });
  test('nested repetition is not taken for a repeated call', () => {
    expect(
      args([
        call(0, 'a', 'f', '{"a":'),
        call(0, undefined, undefined, '{"a":'),
        call(0, undefined, undefined, '1}}'),
      ]),
    ).toEqual({ 0: '{"a":{"a":1}}' });
  });
  test('arguments given as an object', () => {
    expect(args([call(0, 'a', 'f', { x: 1 })])).toEqual({ 0: '{"x":1}' });
  });
  test('no arguments are an empty object', () => {
    expect(args([call(0, 'a', 'f', '')])).toEqual({ 0: '{}' });
  });
  test('a missing id is made', () => {
    expect(starts([call(0, '', 'f', '{}')])).toEqual([`tool_start0 call_${'1'.padStart(24, '0')} f`]);
  });
  test('the legacy form', () => {
    const events = decode([
      chunk({ function_call: { name: 'f', arguments: '' } }),
      chunk({ function_call: { arguments: '{}' } }),
      finish('function_call'),
      DONE,
    ]);
    expect(brief(events).slice(2)).toEqual(['tool_delta0 {}', 'tool_end0', 'end tool_calls']);
  });
  test('a custom tool', () => {
    const delta = {
      tool_calls: [{ index: 0, id: 'a', type: 'custom', custom: { name: 'f', input: 'free' } }],
    };
    expect(decode([chunk(delta), finish('tool_calls'), DONE])).toContainEqual({
      type: 'tool_start',
      index: 0,
      id: 'a',
      name: 'f',
      custom: true,
    });
  });
  test("Gemini's signature stays with its call", () => {
    const extra_content = { google: { thought_signature: 's' } };
    const delta = {
      tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' }, extra_content }],
    };
    expect(decode([chunk(delta), finish('stop'), DONE])).toContainEqual(
      expect.objectContaining({ type: 'tool_start', extra: { extra_content } }),
    );
  });
  test('a call that never gets a name fails the stream', () => {
    expect(brief(decode([call(0, 'a', undefined, '{}'), finish('tool_calls'), DONE])).at(-1)).toBe(
      'error malformed',
    );
  });
  test('blank text after calls is dropped, real text keeps it', () => {
    const blank = decode([call(0, 'a', 'f', '{}'), chunk({ content: '\n' }), finish('tool_calls'), DONE]);
    expect(brief(blank).some((line) => line.startsWith('text'))).toBe(false);
    const real = decode([
      call(0, 'a', 'f', '{}'),
      chunk({ content: '\n' }),
      chunk({ content: 'x' }),
      finish('tool_calls'),
      DONE,
    ]);
    expect(brief(real)).toContain('text_delta1 \nx');
  });
  test('text before a call is closed by it', () => {
    const lines = brief(
      decode([chunk({ content: 'a' }), call(0, 'a', 'f', '{}'), finish('tool_calls'), DONE]),
    );
    expect(lines.indexOf('text_end0')).toBeLessThan(lines.indexOf('tool_start1 a f'));
  });
});

describe('why it ended', () => {
  test.each<[name: string, chunks: JsonObject[], stop: object]>([
    ['stop as an end', [finish('stop')], { reason: 'end', raw: 'stop' }],
    [
      'stop after a call as tool_calls',
      [call(0, 'a', 'f', '{}'), finish('stop')],
      { reason: 'tool_calls', raw: 'stop' },
    ],
    ['tool_calls without a call as an end', [finish('tool_calls')], { reason: 'end', raw: 'tool_calls' }],
    [
      'length within a call as length',
      [call(0, 'a', 'f', '{'), finish('length')],
      { reason: 'length', raw: 'length' },
    ],
    ['content_filter as a refusal', [finish('content_filter')], { reason: 'refusal', raw: 'content_filter' }],
    [
      'stop after a refusal as a refusal',
      [chunk({ refusal: 'no' }), finish('stop')],
      { reason: 'refusal', raw: 'stop', explanation: 'no' },
    ],
    ['eos as an end', [finish('eos')], { reason: 'end', raw: 'eos' }],
    [
      'max_output_tokens as length',
      [finish('max_output_tokens')],
      { reason: 'length', raw: 'max_output_tokens' },
    ],
    [
      'an unknown word after text as other',
      [chunk({ content: 'a' }), finish('strange')],
      { reason: 'other', raw: 'strange' },
    ],
    [
      'an unknown word after a call as tool_calls',
      [call(0, 'a', 'f', '{}'), finish('strange')],
      { reason: 'tool_calls', raw: 'strange' },
    ],
    [
      'a stop_reason beside stop as a stop sequence',
      [{ choices: [{ index: 0, delta: {}, finish_reason: 'stop', stop_reason: '###' }] }],
      { reason: 'stop_sequence', raw: 'stop', sequence: '###' },
    ],
    ['text without a finish as an end', [chunk({ content: 'a' })], { reason: 'end' }],
    ['a call without a finish as tool_calls', [call(0, 'a', 'f', '{}')], { reason: 'tool_calls' }],
    ['the first of two finishes', [finish('stop'), finish('length')], { reason: 'end', raw: 'stop' }],
  ])('reads %s', (_, chunks, stop) => {
    expect(decode([...chunks, DONE]).at(-1)).toMatchObject({ type: 'end', stop });
  });
  test('content after the finish is part of the answer', () => {
    expect(brief(decode([finish('stop'), chunk({ content: 'late' }), DONE]))).toContain('text_delta0 late');
  });
  test('a body that ends properly after a finish is an answer without [DONE]', () => {
    expect(brief(decode([chunk({ content: 'a' }), finish('stop')])).at(-1)).toBe('end end');
  });
  test('other choices are ignored', () => {
    const other = { id: 'x', choices: [{ index: 1, delta: { content: 'b' }, finish_reason: 'stop' }] };
    expect(brief(decode([chunk({ content: 'a' }), other, finish('stop'), DONE]))).not.toContain(
      'text_delta0 b',
    );
  });
});

describe('never a fake success', () => {
  const bad: [string, unknown[], boolean, string][] = [
    ['nothing at all', [], true, 'empty'],
    ['[DONE] alone', [DONE], true, 'empty'],
    ['a role and [DONE]', [chunk({ role: 'assistant', content: '' }), DONE], true, 'empty'],
    ['no finish', [chunk({ content: 'a' })], true, 'truncated'],
    ['a broken connection', [chunk({ content: 'a' })], false, 'truncated'],
    ['a broken connection after the finish', [chunk({ content: 'a' }), finish('stop')], false, 'truncated'],
    ['bad JSON', [chunk({ content: 'a' }), '{"choices":['], true, 'malformed'],
    ['no object', ['5'], true, 'malformed'],
    ['an error', [chunk({ content: 'a' }), { error: { message: 'x', code: 429 } }], true, 'rate_limited'],
    ['an error string', [{ error: 'x' }], true, 'failed'],
    ["Mistral's error", [{ object: 'error', message: 'x' }], true, 'failed'],
    ['an array', [[{ error: { code: 503, message: 'x' } }]], true, 'overloaded'],
    ['finish error', [finish('error')], true, 'finish'],
    ["DeepSeek's shortage", [finish('insufficient_system_resource')], true, 'finish'],
  ];
  test.each(bad)('%s', (_what, chunks, clean, reason) => {
    expect(brief(decode(chunks, clean)).at(-1)).toBe(`error ${reason}`);
  });
  test('an error event, whatever its data', () => {
    const decoder = chat.provider.createStreamDecoder({ ids: countingIds(), traits: DEFAULT_TRAITS });
    expect(decoder.push(frame('busy', 'error'))).toEqual([
      { type: 'error', failure: { kind: 'failed', message: 'busy' } },
    ]);
  });
  test('nothing follows the last event', () => {
    const decoder = chat.provider.createStreamDecoder({ ids: countingIds(), traits: DEFAULT_TRAITS });
    decoder.push(frame({ error: 'x' }));
    expect(decoder.push(frame(chunk({ content: 'a' })))).toEqual([]);
    expect(decoder.finish(true)).toEqual([]);
  });
  test('comments are nothing', () => {
    const decoder = chat.provider.createStreamDecoder({ ids: countingIds(), traits: DEFAULT_TRAITS });
    expect(decoder.push(comment)).toEqual([]);
  });
});

describe('usage', () => {
  const told = (value: JsonObject) => {
    const last = decode([finish('stop'), { choices: [], usage: value }, DONE]).at(-1);
    return last?.type === 'end' ? last.usage : undefined;
  };
  test.each<[string, JsonObject, object | undefined]>([
    ['plain', usage, { input: 10, output: 2 }],
    [
      'all of it',
      {
        prompt_tokens: 100,
        completion_tokens: 20,
        total_tokens: 120,
        prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
        completion_tokens_details: { reasoning_tokens: 5 },
      },
      { input: 10, cacheRead: 60, cacheWrite: 30, output: 20, reasoning: 5 },
    ],
    [
      'the names of compatible servers',
      { prompt_tokens: 10, completion_tokens: 1, cache_read_input_tokens: 4, cache_creation_input_tokens: 3 },
      { input: 3, cacheRead: 4, cacheWrite: 3, output: 1 },
    ],
    [
      'DeepSeek',
      { prompt_tokens: 10, completion_tokens: 1, prompt_cache_hit_tokens: 4 },
      { input: 6, cacheRead: 4, output: 1 },
    ],
    [
      'more cached than sent',
      { prompt_tokens: 3, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 5 } },
      { input: 0, cacheRead: 5, output: 1 },
    ],
    [
      'reasoning counted outside',
      { prompt_tokens: 10, completion_tokens: 5, total_tokens: 40 },
      { input: 10, output: 30 },
    ],
    ['zeros are not known', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, undefined],
    ['nothing', {}, undefined],
  ])('%s', (_what, value, expected) => {
    expect(told(value)).toEqual(expected);
  });
  test('the last one wins', () => {
    const last = decode([
      chunk({ content: 'a' }, { usage }),
      finish('stop', { usage: { prompt_tokens: 10, completion_tokens: 9 } }),
      DONE,
    ]).at(-1);
    expect(last).toHaveProperty('usage.output', 9);
  });
  test('zeros at the end are no count: the earlier count stands', () => {
    const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    for (const none of [{ usage: zeros }, { usage: {} }, { usage: null }, { x_groq: { usage: zeros } }]) {
      const last = decode([
        chunk({ content: 'a' }, { usage }),
        finish('stop'),
        { choices: [], ...none },
        DONE,
      ]);
      expect(last.at(-1)).toHaveProperty('usage', { input: 10, output: 2 });
    }
  });
  test('Groq tells it in a member of its own', () => {
    const last = decode([finish('stop', { x_groq: { usage } }), DONE]).at(-1);
    expect(last).toHaveProperty('usage.output', 2);
  });
});

test('annotations become citations of their block', () => {
  const annotation = {
    type: 'url_citation',
    url_citation: { start_index: 1, end_index: 3, url: 'https://a.example', title: 'A' },
  };
  const events = decode([
    chunk({ content: 'abc' }),
    chunk({ annotations: [annotation] }),
    finish('stop'),
    DONE,
  ]);
  expect(events).toContainEqual({
    type: 'citation',
    index: 0,
    citation: { protocol: 'chat', raw: annotation, url: 'https://a.example', title: 'A', start: 1, end: 3 },
  });
});

describe('an empty finish reason with every chunk', () => {
  const text = (content: string) => chunk({ content }, { finish_reason: '' });

  test('is not added up: the last one counts', () => {
    const events = decode([text('a'), text('b'), finish('length'), DONE]);
    expect(events.at(-1)).toEqual(ended('length', 'length'));
  });
  test('an answer that only had such is cut off', () => {
    const decoder = chat.provider.createStreamDecoder({ ids: countingIds(), traits: DEFAULT_TRAITS });
    decoder.push(frame(text('a')));
    expect(decoder.stopped()).toBe(false);
    expect(brief(decoder.finish(true)).at(-1)).toMatch(/^error/);
  });
});

describe('servers of parallel calls that reuse an index', () => {
  test('two calls alike are two where their ids differ', () => {
    const events = decode([call(0, 'a', 'f', '{}'), call(0, 'b', 'f', '{}'), finish('tool_calls'), DONE]);
    expect(brief(events).filter((what) => what.startsWith('tool_start'))).toEqual([
      'tool_start0 a f',
      'tool_start1 b f',
    ]);
  });
  test('a piece goes to the call that it names', () => {
    const events = decode([
      call(0, 'a', 'f', '{'),
      call(0, 'b', 'g', '{'),
      call(0, 'a', undefined, '}'),
      call(0, 'b', undefined, '}'),
      finish('tool_calls'),
      DONE,
    ]);
    const written = new Map<number, string>();
    for (const event of events) {
      if (event.type === 'tool_delta')
        written.set(event.index, (written.get(event.index) ?? '') + event.text);
    }
    expect([...written.values()]).toEqual(['{}', '{}']);
  });
});

test('usage that arrived is known before the end', () => {
  const decoder = chat.provider.createStreamDecoder({ ids: countingIds(), traits: DEFAULT_TRAITS });
  expect(decoder.usage()).toBeUndefined();
  decoder.push(frame(chunk({ content: 'a' }, { usage })));
  expect(decoder.usage()).toMatchObject({ input: 10, output: 2 });
});

describe('usage that arrives before the end', () => {
  const started = (...chunks: JsonObject[]) => decode([...chunks, finish('stop'), DONE])[0];
  const first = { prompt_tokens: 9, completion_tokens: 0, prompt_tokens_details: { cached_tokens: 4 } };
  const known = { input: 5, cacheRead: 4, output: 0 };
  test.each<[string, JsonObject[], object | undefined]>([
    ['with the role', [chunk({ role: 'assistant' }, { usage: first }), chunk({ content: 'a' })], known],
    [
      'with the first content',
      [chunk({ role: 'assistant' }), chunk({ content: 'a' }, { usage: first })],
      known,
    ],
    ['before any choice', [{ choices: [], usage: first }, chunk({ content: 'a' })], known],
    [
      'after the first content',
      [chunk({ content: 'a' }), chunk({ content: 'b' }, { usage: first })],
      undefined,
    ],
    ['as zeros', [chunk({ content: 'a' }, { usage: { prompt_tokens: 0, completion_tokens: 0 } })], undefined],
  ])('%s', (_what, chunks, expected) => {
    expect(started(...chunks)).toEqual({ ...START, ...(expected && { usage: expected }) });
  });
  test('is the input of message_start, which else is an estimate', () => {
    const input = (stream: JsonObject[]) => {
      const events = decode([...stream, finish('stop'), DONE]);
      const encoder = messages.client.createStreamEncoder(context());
      return /"input_tokens":(\d+)/.exec(events.map((event) => encoder.push(event)).join(''))?.[1];
    };
    expect(input([chunk({ content: 'a' }, { usage: first })])).toBe('5');
    expect(input([chunk({ content: 'a' })])).toBe('7');
  });
});

test('a chunk without a name or a time takes them from one that came before', () => {
  const [start] = decode([
    { id: 'chatcmpl-9', model: 'm-9', created: 5, choices: [] },
    { id: '', model: '', choices: [{ index: 0, delta: { content: 'a' } }] },
    finish('stop'),
    DONE,
  ]);
  expect(start).toEqual({ type: 'start', id: 'chatcmpl-9', model: 'm-9', created: 5 });
});

describe('the tier that served', () => {
  const tiers = (chunks: unknown[]) =>
    decode(chunks).flatMap((event) => ('serviceTier' in event ? [`${event.type} ${event.serviceTier}`] : []));
  test('is in the start event, or in the end event if it came late', () => {
    const text = chunk({ content: 'a' }, { service_tier: 'priority' });
    expect(tiers([text, finish('stop'), DONE])).toEqual(['start priority', 'end priority']);
    const late = { choices: [], usage, service_tier: 'default' };
    expect(tiers([chunk({ content: 'a' }), finish('stop'), late, DONE])).toEqual(['end default']);
    expect(tiers([chunk({ content: 'a' }, { service_tier: null }), finish('stop'), DONE])).toEqual([]);
  });
});

test('a whole message in a chunk is read as a delta', () => {
  const whole = { id: 'x', choices: [{ index: 0, message: { content: 'a' }, finish_reason: 'stop' }] };
  expect(brief(decode([whole, DONE]))).toEqual([
    'start',
    'text_start0',
    'text_delta0 a',
    'text_end0',
    'end end',
  ]);
});

test('text in parts', () => {
  const parts = [{ type: 'text', text: 'a' }, { type: 'text', text: '' }, 5, { type: 'text', text: 'b' }];
  expect(brief(decode([chunk({ content: parts }), finish('stop'), DONE])).slice(1, 4)).toEqual([
    'text_start0',
    'text_delta0 a',
    'text_delta0 b',
  ]);
});

test('a signature that comes late is in the end event of its call', () => {
  const extra_content = { google: { thought_signature: 's' } };
  const late = chunk({ tool_calls: [{ index: 0, extra_content }] });
  expect(decode([call(0, 'a', 'f', '{}'), late, finish('stop'), DONE])).toContainEqual({
    type: 'tool_end',
    index: 0,
    extra: { extra_content },
  });
});
