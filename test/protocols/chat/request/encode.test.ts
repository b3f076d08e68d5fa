import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type JsonObject } from '../../../../src/canonical/json.ts';
import type { NativeField, Reasoning, GenerationRequest } from '../../../../src/canonical/request.ts';
import { DEFAULT_TRAITS, type Traits } from '../../../../src/canonical/traits.ts';
import { chat } from '../../../../src/protocols/chat/index.ts';
import { text, user, encode, dropped, refusal } from './encoded.ts';
import { bodyOf } from '../../../../src/protocols/json/body.ts';

test('the least request', () => {
  expect(encode()).toEqual({
    body: { model: 'm-1', messages: [{ role: 'user', content: 'hi' }] },
    warnings: [],
    restore: { toolNames: new Map(), customTools: new Set(), stop: [] },
  });
});

describe('options', () => {
  test.each<[name: string, over: Partial<GenerationRequest>, traits: Partial<Traits>, expected: JsonObject]>([
    ['a limit as max_tokens', { maxOutputTokens: 9 }, {}, { max_tokens: 9 }],
    [
      'a limit as max_completion_tokens',
      { maxOutputTokens: 9 },
      { maxTokensField: 'max_completion_tokens' },
      { max_completion_tokens: 9 },
    ],
    [
      'a limit that is cut to what the model can write',
      { maxOutputTokens: 9000 },
      { maxOutput: 100 },
      { max_tokens: 100 },
    ],
    ['sampling options, zero among them', { temperature: 0, topP: 0.5 }, {}, { temperature: 0, top_p: 0.5 }],
    ['top_k for a model that takes it', { topK: 4 }, { topK: true }, { top_k: 4 }],
    [
      'a stream, and asks for its usage',
      { stream: true },
      {},
      { stream: true, stream_options: { include_usage: true } },
    ],
    [
      'a stream without usage for a server that does not know it',
      { stream: true },
      { streamUsage: false },
      { stream: true },
    ],
    ['user', { user: 'u' }, {}, { user: 'u' }],
    [
      'a user as safety_identifier',
      { user: 'u' },
      { userField: 'safety_identifier' },
      { safety_identifier: 'u' },
    ],
    ['the tier auto', { serviceTier: 'auto' }, {}, { service_tier: 'auto' }],
    [
      'an answer of any JSON',
      { responseFormat: { type: 'json_object' } },
      {},
      { response_format: { type: 'json_object' } },
    ],
    [
      'a web search with its place',
      { webSearch: { location: { city: 'Oslo' } } },
      { webSearchOptions: true },
      { web_search_options: { user_location: { type: 'approximate', approximate: { city: 'Oslo' } } } },
    ],
    [
      'a web search with its place, for a server that has no `approximate`',
      { webSearch: { location: { city: 'Oslo' } } },
      { webSearchOptions: 'flat_location' },
      { web_search_options: { user_location: { city: 'Oslo' } } },
    ],
    [
      'a cache key',
      { cacheKey: { value: 'k', from: 'asked' } },
      { cacheKey: true },
      { prompt_cache_key: 'k' },
    ],
  ])('writes %s', (_, over, traits, expected) => {
    const { model: _model, messages: _messages, ...rest } = encode(over, traits).body;
    expect(rest).toEqual(expected);
  });
  test.each<[name: string, fields: string[], over: Partial<GenerationRequest>, traits: Partial<Traits>]>([
    [
      'sampling of a model that rejects it',
      ['temperature', 'topP'],
      { temperature: 0.5, topP: 0.5 },
      { rejectsSampling: true },
    ],
    ['nothing for sampling at its defaults', [], { temperature: 1, topP: 1 }, { rejectsSampling: true }],
    [
      'sampling while a model that rejects it thinks',
      ['temperature', 'topP', 'topK'],
      { temperature: 0.5, topP: 0.5, topK: 4, reasoning: { effort: 'low' } },
      { rejectsSampling: true, topK: true },
    ],
    [
      'nothing for sampling while it does not think',
      [],
      { temperature: 0.5, topP: 0.5, topK: 4, reasoning: { mode: 'off' } },
      { rejectsSampling: true, topK: true },
    ],
    [
      'the second of two sampling options',
      ['topP'],
      { temperature: 1, topP: 1 },
      { oneSamplingParameter: true },
    ],
    ['top_k of a model without it', ['topK'], { topK: 4 }, {}],
    [
      'a cache key that the server does not know',
      ['cacheKey'],
      { cacheKey: { value: 'k', from: 'asked' } },
      {},
    ],
    ['a web search that the server does not know', ['webSearch'], { protocol: 'chat', webSearch: {} }, {}],
    [
      'thinking of a model that cannot',
      ['reasoning'],
      { reasoning: { mode: 'adaptive' } },
      { thinking: false },
    ],
    [
      'thinking and effort of a model without efforts',
      ['reasoning', 'reasoning.effort'],
      { reasoning: { mode: 'adaptive', effort: 'high' } },
      { efforts: [] },
    ],
    ['nothing for thinking that is off', [], { reasoning: { mode: 'off' } }, { thinking: false }],
    [
      'a field that the server rejects',
      ['temperature'],
      { temperature: 1 },
      { rejectFields: ['temperature', 'seed'] },
    ],
    ['nothing for fields of streams', [], { stream: true }, { rejectFields: ['stream_options', 'stream'] }],
    [
      'a name that the server rejects',
      ['messages.name'],
      { messages: [{ ...user(text('a')), name: 'bob' }] },
      { rejectFields: ['messages[].name'] },
    ],
    [
      'a limit that the server rejects',
      ['maxOutputTokens'],
      { maxOutputTokens: 5 },
      { rejectFields: ['max_tokens'] },
    ],
  ])('reports what it leaves out: %s', (_, fields, over, traits) => {
    expect(dropped(over, traits)).toEqual(fields);
  });
  test('a long user id is hashed, and gives the session its cache', () => {
    const { body } = encode(
      { user: 'u'.repeat(65), cacheKey: { value: 'u'.repeat(65), from: 'session' } },
      { cacheKey: true },
    );
    expect(body.user).toMatch(/^[0-9a-f]{64}$/);
    expect(body.prompt_cache_key).toBe((body.user as string).slice(0, 32));
  });
  test('filling the cache alone has no form here', () => {
    expect(refusal({ maxOutputTokens: 0 }).param).toBe('max_tokens');
  });
  test('stops that the server has no room for are left to the gateway', () => {
    const stop = ['a', 'b', 'c', 'd', 'e', ''];
    expect(encode({ stop }).body.stop).toEqual(['a', 'b', 'c', 'd']);
    expect(encode({ stop }).restore.stop).toEqual(['e']);
    expect(encode({ stop }, { maxStop: 0 }).body).not.toHaveProperty('stop');
    expect(encode({ stop }, { maxStop: 0 }).restore.stop).toEqual(['a', 'b', 'c', 'd', 'e']);
  });
  test('fields of other protocols are reported or refused as their protocol says', () => {
    const field = (fate: NativeField['fate'], over: Partial<NativeField> = {}): NativeField => ({
      protocol: 'messages',
      path: 'container',
      name: 'container',
      value: 1,
      fate,
      ...over,
    });
    expect(dropped({ native: [field('report')] })).toEqual(['container']);
    expect(encode({ native: [field('quiet')] }).warnings).toMatchObject([{ effect: 'quiet' }]);
    expect(refusal({ native: [field('reject')] })).toEqual({
      param: 'container',
      message: 'container: cannot be carried to this provider',
    });
  });
  test('structured output without a name gets one, and is strict where it can be', () => {
    const closed = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    };
    const open = { type: 'object', properties: { a: { type: 'string' } } };
    const written = (schema: JsonObject) =>
      encode({ responseFormat: { type: 'json_schema', schema, strict: 'open' } }).body.response_format;
    expect(written(closed)).toEqual({
      type: 'json_schema',
      json_schema: { name: 'structured_output', schema: closed, strict: true },
    });
    expect(written(open)).toEqual({
      type: 'json_schema',
      json_schema: { name: 'structured_output', schema: open },
    });
  });
  test('structured output of a model without it is a forced tool', () => {
    const responseFormat = { type: 'json_schema', schema: { type: 'object' } } as const;
    const forced = encode({ responseFormat }, { structuredOutput: false });
    expect(forced.body).toMatchObject({
      tools: [{ type: 'function', function: { name: 'structured_output', parameters: { type: 'object' } } }],
      tool_choice: { type: 'function', function: { name: 'structured_output' } },
    });
    expect(forced.restore.structuredTool).toBe('structured_output');
  });
});

describe('effort', () => {
  const effort = (reasoning: Reasoning, traits: Partial<Traits> = {}) =>
    encode({ reasoning }, traits).body.reasoning_effort;
  test.each<[name: string, reasoning: Reasoning, traits: Partial<Traits>, expected: string | undefined]>([
    ['an effort is that effort', { effort: 'high' }, {}, 'high'],
    ['adaptive thinking is medium', { mode: 'adaptive' }, {}, 'medium'],
    ['adaptive thinking with an effort is that effort', { mode: 'adaptive', effort: 'max' }, {}, 'max'],
    ['a budget of 1,023 is minimal', { mode: 'on', budgetTokens: 1023 }, {}, 'minimal'],
    ['a budget of 1,024 is minimal', { mode: 'on', budgetTokens: 1024 }, {}, 'minimal'],
    ['a budget of 4,096 is low', { mode: 'on', budgetTokens: 4096 }, {}, 'low'],
    ['a budget of 10,000 is medium', { mode: 'on', budgetTokens: 10_000 }, {}, 'medium'],
    ['a budget of 23,999 is medium', { mode: 'on', budgetTokens: 23_999 }, {}, 'medium'],
    ['a budget of 24,000 is high', { mode: 'on', budgetTokens: 24_000 }, {}, 'high'],
    ['a budget of 31,999 is high', { mode: 'on', budgetTokens: 31_999 }, {}, 'high'],
    ['a budget of 32,000 is xhigh', { mode: 'on', budgetTokens: 32_000 }, {}, 'xhigh'],
    ['a budget of 48,000 is max', { mode: 'on', budgetTokens: 48_000 }, {}, 'max'],
    ['thinking that is off is none', { mode: 'off' }, {}, 'none'],
    ['thinking between tools is none', { mode: 'between_tools' }, {}, 'none'],
    [
      'thinking that is off is absent without the effort none',
      { mode: 'off' },
      { efforts: ['low', 'high'] },
      undefined,
    ],
    [
      'thinking that is off is the least of a model that thinks by default',
      { mode: 'off' },
      { efforts: ['low', 'high'], thinksByDefault: true },
      'low',
    ],
    [
      'a higher effort than there is, is the highest',
      { effort: 'max' },
      { efforts: ['low', 'medium', 'high'] },
      'high',
    ],
    [
      'an effort that the model lacks is the next',
      { effort: 'minimal' },
      { efforts: ['none', 'low', 'high'] },
      'low',
    ],
    ['a model that cannot think is absent', { effort: 'high' }, { thinking: false }, undefined],
    ['a display alone is absent', { hidden: true }, {}, undefined],
  ])('the effort of %s', (_, reasoning, traits, expected) => {
    expect(effort(reasoning, traits)).toBe(expected);
  });
});

const FOLDER = new URL('../../../fixtures/corpora/', import.meta.url);
const requests = readdirSync(FOLDER)
  .flatMap((file) =>
    readFileSync(new URL(file, FOLDER), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => [file, JSON.parse(line) as { path: string; body: JsonObject }] as const),
  )
  .filter(([, { path }]) => path.startsWith('/v1/chat/completions'))
  .map(([file, { body }], index) => [`${file} ${index}`, body] as const);

describe('requests of real agents', () => {
  test('there are some', () => expect(requests.length).toBeGreaterThan(10));
  test.each(requests)('%s survives the way through the canonical form', (_name, body) => {
    expect(chat.client.endpoints[0].readEnvelope(bodyOf(body), {}).model).toBe(body.model);
    const decoded = chat.client.decodeRequest(body);
    const { body: written, warnings } = chat.provider.encodeRequest(decoded, 'm-1', DEFAULT_TRAITS);
    expect(warnings.filter(({ effect }) => effect === 'dropped')).toEqual([]);
    expect(chat.client.decodeRequest(written)).toEqual({ ...withOneTextAsString(decoded), model: 'm-1' });
    expect(
      chat.provider.encodeRequest(chat.client.decodeRequest(written), 'm-1', DEFAULT_TRAITS).body,
    ).toEqual(written);
  });
});

/** What the wire says in two ways for the same: a developer as system, one text part as a string. */
function withOneTextAsString(request: GenerationRequest): GenerationRequest {
  const messages = request.messages.map(({ developer: _developer, ...message }) => ({
    ...message,
    parts: message.parts.map((part) => {
      if (part.type !== 'tool_result' || typeof part.content === 'string') return part;
      const [only] = part.content;
      return part.content.length === 1 && only?.type === 'text' ? { ...part, content: only.text } : part;
    }),
  }));
  return { ...request, messages };
}

describe('thinking that can not be switched off', () => {
  test('is asked to be little, and the change is reported', () => {
    const { body, warnings } = encode(
      { reasoning: { mode: 'off' } },
      { thinkingOff: 'never', thinksByDefault: true },
    );
    expect(body.reasoning_effort).toBe('low');
    expect(warnings.map(({ effect, field }) => [effect, field])).toContainEqual([
      'changed',
      'reasoning.effort',
    ]);
  });
});
