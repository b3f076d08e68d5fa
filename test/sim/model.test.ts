import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { StreamEvent, Reply, ReplyPart } from '../../src/canonical/reply.ts';
import { isGatewaySignature } from '../../src/canonical/thinking-signature.ts';
import type {
  Part,
  Reasoning,
  ReasoningPart,
  GenerationRequest,
  ToolChoice,
} from '../../src/canonical/request.ts';
import { echoReply, eventsOf, inputTokens, standInReply, wordsOf } from '../../src/sim/model.ts';
import { ask, conversation, tool, user } from './requests.ts';
import { processorTime } from '../helpers/growth.ts';
import { anyCharacter } from '../helpers/any-character.ts';

const IDENTITY = { id: 'id', created: 0 };
const reply = (request: GenerationRequest): Reply => echoReply(request, IDENTITY);
const text = (request: GenerationRequest): string => textOf(reply(request).parts);
const textOf = (parts: ReplyPart[]): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
const calls = (request: GenerationRequest): [string, unknown][] =>
  reply(request).parts.flatMap((part) =>
    part.type === 'tool_call' ? [[part.name, JSON.parse(part.arguments) as unknown]] : [],
  );
const kinds = (request: GenerationRequest): string[] => reply(request).parts.map(({ type }) => type);

describe('echo answers with the last user text', () => {
  test.each<[string, GenerationRequest, string]>([
    ['one message', ask('hello'), 'hello'],
    ['the last of several', conversation([user('a'), { role: 'assistant', parts: [] }, user('b')]), 'b'],
    [
      'its parts as lines',
      ask([
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ]),
      'a\nb',
    ],
    [
      'not the system text after it',
      conversation([user('a'), { role: 'system', parts: [{ type: 'text', text: 'x' }] }]),
      'a',
    ],
    [
      'not a prefill after it',
      conversation([user('a'), { role: 'assistant', parts: [{ type: 'text', text: 'x' }] }]),
      'a',
    ],
    [
      'nothing where there is none',
      conversation([{ role: 'system', parts: [{ type: 'text', text: 'x' }] }]),
      '',
    ],
  ])('%s', (_, request, expected) => {
    expect(text(request)).toBe(expected);
    expect(reply(request).stop).toEqual({ reason: 'end' });
  });

  it('is the same every time', () => {
    const request = ask('call now', { tools: [tool('now')], reasoning: { mode: 'on' } });
    expect(reply(request)).toEqual(reply(request));
  });
});

describe('echo calls the tool that the prompt names', () => {
  const tools = [tool('get_weather', { city: { type: 'string' } }), tool('get_time'), tool('web-search')];
  const choose = (prompt: string, toolChoice?: ToolChoice): string[] =>
    calls(ask(prompt, { tools, toolChoice })).map(([name]) => name);

  test.each<[string, string, ToolChoice | undefined, string[]]>([
    ['one', 'please use get_weather', undefined, ['get_weather']],
    ['in its order', 'get_time, then get_weather(Paris)', undefined, ['get_time', 'get_weather']],
    ['one that is named twice, once', 'get_time get_time', undefined, ['get_time']],
    ['none of a part of a word', 'get_times and budget_time and my-web-search', undefined, []],
    ['none where none is named', 'what is the weather?', undefined, []],
    ['none where none may be', 'get_time', { type: 'none' }, []],
    ['the first where one must be', 'hello', { type: 'required' }, ['get_weather']],
    ['the named one where one must be', 'get_time', { type: 'required' }, ['get_time']],
    ['the forced one', 'get_time', { type: 'tool', name: 'web-search' }, ['web-search']],
    [
      'only allowed ones',
      'get_time get_weather',
      { type: 'allowed', mode: 'auto', names: ['get_time'] },
      ['get_time'],
    ],
    [
      'the first allowed one',
      'hello',
      { type: 'allowed', mode: 'required', names: ['get_time'] },
      ['get_time'],
    ],
  ])('%s', (_, prompt, choice, expected) => {
    expect(choose(prompt, choice)).toEqual(expected);
  });

  it('whatever signs its name holds', () => {
    const odd = [tool('a.b(c)*'), tool('x')];
    expect(calls(ask('call a.b(c)* please', { tools: odd }))).toEqual([['a.b(c)*', {}]]);
    expect(calls(ask('call aXb(c)* please', { tools: odd }))).toEqual([]);
  });

  it('found quickly in a long text that is full of its beginnings', () => {
    const tools = Array.from({ length: 128 }, (_, at) => tool('a'.repeat(at + 1)));
    expect(calls(ask('a'.repeat(200_000), { tools }))).toEqual([]);
  });

  it('by one reading of a long text, however many are offered', () => {
    const tools = Array.from({ length: 5000 }, (_, at) => tool(at % 2 === 0 ? `tool.${at}` : `tool-${at}`));
    const text = `${'tool. tool-'.repeat(60_000)} tool.4998, then tool-4999`;
    const time = processorTime(() => {
      expect(calls(ask(text, { tools })).map(([name]) => name)).toEqual(['tool.4998', 'tool-4999']);
    });
    expect(time).toBeLessThan(4000);
  });

  it('with arguments that fit its schema, and no text beside the call', () => {
    const request = ask('get_weather', { tools });
    expect(calls(request)).toEqual([['get_weather', { city: 'city' }]]);
    expect(kinds(request)).toEqual(['tool_call']);
    expect(reply(request).stop).toEqual({ reason: 'tool_calls' });
  });

  it('once where parallel calls are off', () => {
    expect(calls(ask('get_time get_weather', { tools, parallelToolCalls: false }))).toEqual([
      ['get_time', {}],
    ]);
    expect(calls(ask('get_time get_weather', { tools, legacyFunctions: true }))).toHaveLength(1);
  });

  it('with an empty object where the tool has no schema, or one that nothing fits', () => {
    const impossible = { type: 'object', properties: { a: false }, required: ['a'] };
    const odd = [{ type: 'function', name: 'a' } as const, { ...tool('b'), parameters: impossible }];
    expect(calls(ask('a b', { tools: odd }))).toEqual([
      ['a', {}],
      ['b', {}],
    ]);
  });

  it('with the prompt as the free text of a custom tool', () => {
    const [part] = reply(ask('run it', { tools: [{ type: 'custom', name: 'run' }] })).parts;
    expect(part).toMatchObject({ type: 'tool_call', name: 'run', arguments: 'run it', custom: true });
  });

  it('never one that the provider itself runs', () => {
    const native = {
      type: 'native',
      protocol: 'messages',
      kind: 'web_search_1',
      name: 'find',
      value: {},
    } as const;
    expect(calls(ask('find', { tools: [native], toolChoice: { type: 'required' } }))).toEqual([]);
  });

  it('with ids that differ within a conversation', () => {
    const first = ask('get_time get_weather', { tools });
    const second = conversation([user('a'), user('b'), ...first.messages], { tools });
    const ids = [first, second].flatMap((request) =>
      reply(request).parts.map((part) => (part.type === 'tool_call' ? part.id : '')),
    );
    expect(new Set(ids).size).toBe(4);
    expect(ids.every((id) => /^call_\w{24}$/.test(id))).toBe(true);
  });
});

describe('after a tool result echo answers with its text', () => {
  const tools = [tool('get_time')];
  const called = {
    role: 'assistant',
    parts: [{ type: 'tool_call', id: 'c', name: 'get_time', arguments: '{}' }],
  } as const;
  const result = (content: string | Part[]): Part => ({ type: 'tool_result', callId: 'c', content });
  const after = (...messages: Part[][]): GenerationRequest =>
    conversation(
      [user('get_time'), { ...called, parts: [...called.parts] }, ...messages.map((parts) => user(parts))],
      { tools },
    );

  const png: Part = { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' } };
  test.each<[string, GenerationRequest, string]>([
    ['a text', after([result('noon')]), 'noon'],
    [
      'blocks',
      after([
        result([
          { type: 'text', text: 'noon' },
          { type: 'text', text: 'sharp' },
        ]),
      ]),
      'noon\nsharp',
    ],
    ['several results in one message', after([result('a'), result('b')]), 'a\nb'],
    ['several results in messages of their own', after([result('a')], [result('b')]), 'a\nb'],
    [
      'a result with a reminder that names the tool',
      after([result('a'), { type: 'text', text: 'use get_time' }]),
      'a',
    ],
    ['a picture in it', after([result([png])]), '[image: image/png, 3 bytes]'],
    [
      'a picture that was moved behind it',
      after([result('see below')], [png]),
      'see below\n[image: image/png, 3 bytes]',
    ],
    ['an empty result', after([result('')]), ''],
    [
      'a new question behind it',
      after([result('a')], [{ type: 'text', text: 'and get_time now?' }]),
      'and get_time now?',
    ],
  ])('%s', (_, request, expected) => {
    expect(text(request)).toBe(expected);
    expect(calls(request)).toEqual([]);
  });

  it('calls again in the next turn of the user', () => {
    const request = after([result('noon')]);
    const next = conversation(
      [...request.messages, { role: 'assistant', parts: [] }, user('get_time again')],
      { tools },
    );
    expect(calls(next)).toEqual([['get_time', {}]]);
  });
});

describe('echo thinks when it is asked to', () => {
  test.each<[string, GenerationRequest['protocol'], Reasoning | undefined, boolean]>([
    ['a budget', 'messages', { mode: 'on', budgetTokens: 1024 }, true],
    ['adaptive', 'messages', { mode: 'adaptive', effort: 'high' }, true],
    ['off', 'messages', { mode: 'off', effort: 'high' }, false],
    ['between tools, before any', 'messages', { mode: 'between_tools' }, false],
    ['an effort alone on messages', 'messages', { effort: 'high', ofAnswer: true }, false],
    ['an effort on chat', 'chat', { effort: 'low' }, true],
    ['the effort none', 'chat', { effort: 'none' }, false],
    ['not a word of it', 'chat', undefined, false],
  ])('%s', (_, protocol, reasoning, expected) => {
    const request = ask('hello', { protocol, reasoning });
    expect(kinds(request)).toEqual(expected ? ['reasoning', 'text'] : ['text']);
  });

  it('signs the thought, by which no other provider is ever given it', () => {
    const [thought] = reply(ask('hello', { reasoning: { mode: 'on' } })).parts;
    expect(thought).toMatchObject({ type: 'reasoning' });
    const { signature = '' } = thought as ReasoningPart;
    expect(signature).toMatch(/^[\w+/]{55}=$/);
    expect(isGatewaySignature(signature)).toBe(true);
  });

  it('counts it as a part of the output', () => {
    const { usage } = reply(ask('hello', { reasoning: { mode: 'on' } }));
    expect(usage?.reasoning).toBeGreaterThan(0);
    expect(usage?.output).toBeGreaterThan(usage?.reasoning ?? Infinity);
  });
});

describe('limits', () => {
  test.each<[string, string, Partial<GenerationRequest>, string, Reply['stop']]>([
    ['exactly enough', 'abcdefgh', { maxOutputTokens: 2 }, 'abcdefgh', { reason: 'end' }],
    ['too few tokens', 'abcdefgh', { maxOutputTokens: 1 }, 'abcd', { reason: 'length' }],
    ['none at all', 'abcdefgh', { maxOutputTokens: 0 }, '', { reason: 'length' }],
    ['never half a character', 'ééé', { maxOutputTokens: 1 }, 'éé', { reason: 'length' }],
    ['never half a character of four bytes', 'a😀', { maxOutputTokens: 1 }, 'a', { reason: 'length' }],
    [
      'a stop sequence',
      'one two three',
      { stop: ['two'] },
      'one ',
      { reason: 'stop_sequence', sequence: 'two' },
    ],
    [
      'the first in the text',
      'a b c',
      { stop: ['c', 'b'] },
      'a ',
      { reason: 'stop_sequence', sequence: 'b' },
    ],
    ['an empty one stops nothing', 'a b', { stop: [''] }, 'a b', { reason: 'end' }],
    [
      'the limit before the stop',
      'abcdefgh',
      { stop: ['h'], maxOutputTokens: 1 },
      'abcd',
      { reason: 'length' },
    ],
    [
      'the stop before the limit',
      'abcdefgh',
      { stop: ['c'], maxOutputTokens: 1 },
      'ab',
      { reason: 'stop_sequence', sequence: 'c' },
    ],
  ])('%s', (_, prompt, limits, expected, stop) => {
    const request = ask(prompt, limits);
    expect(text(request)).toBe(expected);
    expect(reply(request).stop).toEqual(stop);
  });

  it('a call that does not fit is left out, and the limit is named', () => {
    const request = ask('get_time', { tools: [tool('get_time')], maxOutputTokens: 2 });
    expect(reply(request)).toMatchObject({ parts: [], stop: { reason: 'length' } });
  });

  it('the output is never longer than the limit', () => {
    const arbitrary = fc.record({
      prompt: fc.string({ unit: 'grapheme' }),
      limit: fc.nat(20),
      thinks: fc.boolean(),
    });
    fc.assert(
      fc.property(arbitrary, ({ prompt, limit, thinks }) => {
        const reasoning: Reasoning | undefined = thinks ? { mode: 'on' } : undefined;
        const { usage } = reply(ask(prompt, { maxOutputTokens: limit, reasoning }));
        expect(usage?.output).toBeLessThanOrEqual(limit);
      }),
    );
  });
});

describe('tokens are four bytes', () => {
  test.each<[string, GenerationRequest, number]>([
    ['rounded up', ask('hello'), 2],
    ['of UTF-8', ask('日本語'), 3],
    [
      'with the system text',
      conversation([{ role: 'system', parts: [{ type: 'text', text: 'abc' }] }, user('d')]),
      1,
    ],
    ['with the tools', ask('', { tools: [{ type: 'function', name: 'abcd', description: 'efgh' }] }), 2],
  ])('%s', (_, request, expected) => {
    expect(inputTokens(request)).toBe(expected);
  });

  it('of any number of messages', () => {
    expect(inputTokens(conversation(Array.from({ length: 150_000 }, () => user('abcd'))))).toBe(150_000);
  });

  it('in the answer too', () => {
    expect(reply(ask('hello')).usage).toEqual({ input: 2, output: 2 });
  });
});

describe('structured output', () => {
  it('fits the schema', () => {
    const schema = { type: 'object', properties: { n: { type: 'integer', minimum: 3 } }, required: ['n'] };
    expect(JSON.parse(text(ask('x', { responseFormat: { type: 'json_schema', schema } })))).toEqual({ n: 3 });
  });

  it('is an object where no schema is given', () => {
    expect(text(ask('x', { responseFormat: { type: 'json_object' } }))).toBe('{"answer":"x"}');
  });
});

describe('streaming', () => {
  it('carries the answer word by word', () => {
    const deltas = [...eventsOf(reply(ask('one two  three\n')))].filter(({ type }) => type === 'text_delta');
    expect(deltas.map((event) => (event.type === 'text_delta' ? event.text : ''))).toEqual([
      'one ',
      'two  ',
      'three\n',
    ]);
  });

  it('gives the whole answer again when it is put together', () => {
    const request = ask('get_time now', {
      tools: [tool('get_time', { zone: { type: 'string' } })],
      reasoning: { mode: 'on' },
    });
    expect(collected(eventsOf(reply(request)))).toEqual(reply(request).parts);
    const plain = ask('now', { reasoning: { mode: 'on' } });
    expect(collected(eventsOf(reply(plain)))).toEqual(reply(plain).parts);
  });

  it('loses no character between words', () => {
    fc.assert(fc.property(fc.string({ unit: anyCharacter }), (any) => wordsOf(any).join('') === any));
  });

  it('takes a long run of spaces in its stride', () => {
    expect(wordsOf(' '.repeat(1_000_000))).toHaveLength(1);
  });
});

/** A small reader of our own: the parts that a stream's events spell. */
function collected(events: Iterable<StreamEvent>): ReplyPart[] {
  const parts: ReplyPart[] = [];
  for (const event of events) {
    if (!('index' in event)) continue;
    const part = parts[event.index];
    if (event.type === 'text_start') parts.push({ type: 'text', text: '' });
    if (event.type === 'reasoning_start') parts.push({ type: 'reasoning', text: '' });
    if (event.type === 'tool_start')
      parts.push({ type: 'tool_call', id: event.id, name: event.name, arguments: '' });
    if (event.type === 'text_delta' && part?.type === 'text') part.text += event.text;
    if (event.type === 'reasoning_delta' && part?.type === 'reasoning') part.text += event.text;
    if (event.type === 'reasoning_end' && part?.type === 'reasoning') part.signature = event.signature;
    if (event.type === 'tool_delta' && part?.type === 'tool_call') part.arguments += event.text;
  }
  return parts;
}

describe('a reply that stands in for a model', () => {
  const NOTICE = /^\[This is not a model: [^\n]+\]\n\n/;

  it('says so in its first line, whatever stop sequences and tools the request has', () => {
    const given = standInReply(ask('run search now', { stop: [' '], tools: [tool('search')] }), IDENTITY);
    expect(given.parts).toEqual([{ type: 'text', text: expect.stringMatching(NOTICE) as string }]);
    expect(given.parts[0]).toMatchObject({ text: expect.stringMatching(/run$/) as string });
    expect(given.stop).toEqual({ reason: 'stop_sequence', sequence: ' ' });
  });

  it('keeps to the token limit', () => {
    const given = standInReply(ask('hi', { maxOutputTokens: 4 }), IDENTITY);
    expect(given).toMatchObject({
      parts: [{ type: 'text', text: '[This is not a m' }],
      stop: { reason: 'length' },
    });
  });

  it.each<[string, Partial<GenerationRequest>]>([
    ['JSON', { responseFormat: { type: 'json_object' } }],
    ['call of a tool', { toolChoice: { type: 'required' }, tools: [tool('search')] }],
    ['call of a tool', { toolChoice: { type: 'tool', name: 'search' }, tools: [tool('search')] }],
    ['call of a tool', { toolChoice: { type: 'allowed', mode: 'required', names: [] }, tools: [] }],
  ])('makes up no %s that a program would use unread', (what, more) => {
    expect(() => standInReply(ask('hi', more), IDENTITY)).toThrow(`makes up no ${what}`);
  });
});
