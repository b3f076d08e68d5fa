import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { isObject, type JsonObject } from '../../../../src/canonical/json.ts';
import type {
  Message,
  NativeField,
  Part,
  Reasoning,
  GenerationRequest,
  Tool,
  ToolChoice,
} from '../../../../src/canonical/request.ts';
import { DEFAULT_TRAITS, type Traits } from '../../../../src/canonical/traits.ts';
import { GatewayError } from '../../../../src/errors.ts';
import { chat } from '../../../../src/protocols/chat/index.ts';

const text = (value: string): Part => ({ type: 'text', text: value });
const user = (...parts: Part[]): Message => ({ role: 'user', parts });
const assistant = (...parts: Part[]): Message => ({ role: 'assistant', parts });
const system = (...parts: Part[]): Message => ({ role: 'system', parts });
const call = (id: string, name = 'f'): Part => ({ type: 'tool_call', id, name, arguments: '{"x":1}' });
const result = (callId: string, content: string | Part[], over = {}): Part => ({
  type: 'tool_result',
  callId,
  content,
  ...over,
});
const image: Part = {
  type: 'image',
  source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' },
  at: 'messages[0].content[0]',
};
const EPHEMERAL = { type: 'ephemeral' };
const imageWire = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };

const base: GenerationRequest = {
  protocol: 'messages',
  model: 'asked',
  stream: false,
  includeUsage: true,
  messages: [user(text('hi'))],
  native: [],
};
const encode = (over: Partial<GenerationRequest> = {}, traits: Partial<Traits> = {}) =>
  chat.provider.encodeRequest({ ...base, ...over }, 'm-1', { ...DEFAULT_TRAITS, ...traits });
const history = (messages: Message[], traits: Partial<Traits> = {}) =>
  encode({ messages }, traits).body.messages as JsonObject[];
const dropped = (over: Partial<GenerationRequest>, traits: Partial<Traits> = {}) =>
  encode(over, traits)
    .warnings.filter(({ effect }) => effect === 'dropped')
    .map(({ field }) => (typeof field === 'string' ? field : field.path));
const refusal = (over: Partial<GenerationRequest>, traits: Partial<Traits> = {}) => {
  try {
    encode(over, traits);
  } catch (error) {
    if (error instanceof GatewayError) return { param: error.options.param, message: error.message };
    throw error;
  }
  throw new Error('was not refused');
};

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
    ['the tier standard_only as default', { serviceTier: 'standard_only' }, {}, { service_tier: 'default' }],
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
    ['a cache key', { protocol: 'chat', cacheKey: 'k' }, { cacheKey: true }, { prompt_cache_key: 'k' }],
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
    ['an unknown tier', ['serviceTier'], { serviceTier: 'strange' }, {}],
    ['a cache key that the server does not know', ['cacheKey'], { protocol: 'chat', cacheKey: 'k' }, {}],
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
    const { body } = encode({ user: 'u'.repeat(65) }, { cacheKey: true });
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
      encode({ responseFormat: { type: 'json_schema', schema } }).body.response_format;
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
    ['a display alone is absent', { display: 'omitted' }, {}, undefined],
  ])('the effort of %s', (_, reasoning, traits, expected) => {
    expect(effort(reasoning, traits)).toBe(expected);
  });
});

describe('system text', () => {
  test('blocks are joined, in the role that the model takes', () => {
    expect(history([system(text('a'), text('b'))], { systemRole: 'developer' })).toEqual([
      { role: 'developer', content: 'a\n\nb' },
    ]);
  });
  test('attribution is not sent', () => {
    expect(history([system(text('x-anthropic-billing-header: v=1'), text('b'))])[0]?.content).toBe('b');
    expect(history([system(text('x-anthropic-billing-header: v=1')), user(text('a'))])).toHaveLength(1);
  });
  test('in mid-conversation it stays where it is', () => {
    const messages = [user(text('a')), system(text('b')), assistant(text('c'))];
    expect(history(messages).map(({ role }) => role)).toEqual(['user', 'system', 'assistant']);
  });
  test('strict templates get it in the neighbouring user message', () => {
    const messages = [
      system(text('s')),
      assistant(text('c')),
      user(text('a')),
      system(text('b')),
      user(text('d')),
    ];
    expect(history(messages, { strictAlternation: true })).toEqual([
      { role: 'system', content: 's' },
      { role: 'user', content: '.' },
      { role: 'assistant', content: 'c' },
      { role: 'user', content: 'a\n<system>\nb\n</system>\nd' },
    ]);
  });
});

describe('a conversation that ends with the assistant', () => {
  const messages = [user(text('a')), assistant(text('The answer is'))];
  test('stays so where the model goes on from there', () => {
    expect(history(messages).at(-1)).toEqual({ role: 'assistant', content: 'The answer is' });
  });
  test('gets a word of the user elsewhere', () => {
    expect(history(messages, { prefill: false }).at(-1)).toEqual({ role: 'user', content: 'Continue.' });
    expect(history([user(text('a')), assistant(call('x'))], { prefill: false }).at(-1)).toHaveProperty(
      'tool_calls',
    );
  });
});

describe('tool turns', () => {
  test('results are messages right after their calls; other content of the user follows', () => {
    const messages = [
      user(text('go')),
      assistant(text('ok'), call('a'), call('b')),
      user(result('a', '1'), result('b', [text('2'), text('3')]), text('and?')),
    ];
    expect(history(messages)).toEqual([
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: 'ok',
        tool_calls: ['a', 'b'].map((id) => ({
          id,
          type: 'function',
          function: { name: 'f', arguments: '{"x":1}' },
        })),
      },
      { role: 'tool', tool_call_id: 'a', content: '1' },
      { role: 'tool', tool_call_id: 'b', content: '2\n3' },
      { role: 'user', content: 'and?' },
    ]);
  });
  test('images of results follow the whole run of tool messages', () => {
    const messages = [user(result('a', [text('see'), image])), user(result('b', '2')), assistant(text('ok'))];
    expect(history(messages)).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'see\n[image attached below]' },
      { role: 'tool', tool_call_id: 'b', content: '2' },
      { role: 'user', content: [imageWire] },
      { role: 'assistant', content: 'ok' },
    ]);
    expect(history([user(result('a', [image]), text('look'))])[1]).toEqual({
      role: 'user',
      content: [imageWire, { type: 'text', text: 'look' }],
    });
  });
  test('servers that take images in tool messages get them there', () => {
    expect(history([user(result('a', [text('see'), image]))], { toolResultImages: true })).toEqual([
      { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'see' }, imageWire] },
    ]);
  });
  test.each([
    ['an error', 'failed', 'Error: failed'],
    ['an error that begins with Error:', 'Error: failed', 'Error: failed'],
    ['an error that begins with ERROR', 'ERROR 5', 'ERROR 5'],
  ])('%s says that it is one', (_, content, written) => {
    expect(history([user(result('a', content, { isError: true }))])[0]?.content).toBe(written);
  });
  test('a reference to a tool becomes words', () => {
    const reference: Part = {
      type: 'native',
      protocol: 'messages',
      kind: 'tool_reference',
      value: { type: 'tool_reference', tool_name: 'Read' },
    };
    expect(history([user(result('a', [reference]))])[0]?.content).toContain('Read');
  });
  test('ids and long names fit the server, the names come back', () => {
    const name = `mcp__${'x'.repeat(80)}`;
    const { body, restore } = encode(
      {
        tools: [{ type: 'function', name }],
        messages: [assistant(call('functions.Read:0', name)), user(result('functions.Read:0', 'ok'))],
      },
      { toolIds: 'mistral' },
    );
    const [turn, answer] = body.messages as {
      tool_calls?: { id: string; function: { name: string } }[];
      tool_call_id?: string;
    }[];
    const written = turn?.tool_calls?.[0];
    expect(written?.id).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(answer?.tool_call_id).toBe(written?.id);
    expect(written?.function.name).toHaveLength(64);
    expect(restore.toolNames.get(written?.function.name ?? '')).toBe(name);
  });
  test('a word of the assistant stands between tools and the user where the server wants it', () => {
    const messages = [assistant(call('a')), user(result('a', 'x'), text('and?'))];
    expect(history(messages, { userAfterTool: false }).map(({ role }) => role)).toEqual([
      'assistant',
      'tool',
      'assistant',
      'user',
    ]);
    expect(history(messages).map(({ role }) => role)).toEqual(['assistant', 'tool', 'user']);
    expect(history([user(text('a')), user(text('b'))], { userAfterTool: false })).toHaveLength(2);
  });
  test('the first call of a turn has a placeholder for its signature if the server requires one', () => {
    const lost = { extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } } };
    const calls = (turn: Message) =>
      history([turn], { thoughtSignatures: true })[0]?.tool_calls as JsonObject[];
    const [first, second] = calls(assistant(call('a'), call('b')));
    expect(first).toMatchObject(lost);
    expect(second).not.toHaveProperty('extra_content');
    const own = { extra_content: { google: { thought_signature: 's' } } };
    expect(calls(assistant({ ...call('a'), extra: own } as Part))[0]).toMatchObject(own);
    expect(history([assistant(call('a'))])[0]?.tool_calls).toEqual([
      expect.not.objectContaining({ extra_content: expect.anything() as unknown }),
    ]);
  });
  test('text after a call moves before it', () => {
    expect(history([assistant(text('a'), call('x'), text('b'))])[0]).toMatchObject({ content: 'ab' });
  });
});

describe('reasoning in history', () => {
  const turns = [
    assistant({ type: 'reasoning', text: 'hm' }, text('a')),
    assistant({ type: 'reasoning', text: 'hm' }, call('x')),
  ];
  test.each<[name: string, traits: Partial<Traits>, expected: (string | undefined)[]]>([
    ['earlier reasoning is never sent to most servers', { replayReasoning: 'never' }, [undefined, undefined]],
    [
      'earlier reasoning of tool turns is sent where a server wants it',
      { replayReasoning: 'tool_turns' },
      [undefined, 'hm'],
    ],
    ['all earlier reasoning is sent where a server wants it', { replayReasoning: 'always' }, ['hm', 'hm']],
  ])('%s', (_, traits, expected) => {
    expect(history(turns, traits).map((message) => message.reasoning_content)).toEqual(expected);
  });
  test('in the member that the server reads', () => {
    expect(history(turns, { replayReasoning: 'always', reasoningField: 'reasoning' })[0]).toHaveProperty(
      'reasoning',
      'hm',
    );
  });
  test('missing reasoning of a tool turn is sent empty, as the server requires the member', () => {
    expect(history([assistant(call('x'))], { replayReasoning: 'tool_turns' })[0]).toHaveProperty(
      'reasoning_content',
      '',
    );
  });
  test('is not missed where thinking is off', () => {
    const messages = [assistant(call('x'))];
    const { body } = encode({ messages, reasoning: { mode: 'off' } }, { replayReasoning: 'tool_turns' });
    expect((body.messages as JsonObject[])[0]).not.toHaveProperty('reasoning_content');
  });
  test('a turn of nothing else goes with it', () => {
    expect(history([assistant({ type: 'reasoning', text: '', redacted: 'd' })])).toEqual([]);
  });
  test('is left out without a word', () => {
    expect(dropped({ messages: turns })).toEqual([]);
  });
});

describe('parts', () => {
  const one = (part: Part, traits: Partial<Traits> = {}, over: Partial<GenerationRequest> = {}) =>
    encode({ messages: [user(part)], ...over }, traits).body.messages as JsonObject[];
  const pdf: Part = {
    type: 'document',
    source: { kind: 'base64', mediaType: 'application/pdf', data: 'JVBERi0=' },
    at: 'messages[0].content[0]',
  };
  test.each<[name: string, part: Part, content: unknown]>([
    ['an image', image, [imageWire]],
    [
      'an image of another type',
      { type: 'image', source: { kind: 'base64', mediaType: 'image/webp', data: 'UklG' } },
      [{ type: 'image_url', image_url: { url: 'data:image/webp;base64,UklG' } }],
    ],
    [
      'an image by URL with its detail',
      { type: 'image', source: { kind: 'url', url: 'https://a.example/b.png' }, detail: 'low' },
      [{ type: 'image_url', image_url: { url: 'https://a.example/b.png', detail: 'low' } }],
    ],
    [
      'a document with its title',
      { ...pdf, title: 'a.pdf' },
      [{ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } }],
    ],
    [
      'a document without a title',
      pdf,
      [
        {
          type: 'file',
          file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
        },
      ],
    ],
    [
      'a document of text as text',
      { type: 'document', source: { kind: 'text', text: 'body' }, title: 'T' },
      '[T]\nbody',
    ],
    [
      'a document of parts as those parts',
      { type: 'document', source: { kind: 'parts', parts: [text('a'), image] } },
      [text('a'), imageWire],
    ],
    [
      'audio',
      { type: 'audio', source: { kind: 'base64', format: 'mp3', data: 'AA' } },
      [{ type: 'input_audio', input_audio: { data: 'AA', format: 'mp3' } }],
    ],
    [
      'a search result as text',
      {
        type: 'native',
        protocol: 'messages',
        kind: 'search_result',
        value: { title: 'T', source: 's', content: [{ type: 'text', text: 'c' }] },
      },
      'T\ns\nc',
    ],
  ])('writes %s', (_, part, content) => {
    expect(one(part)).toEqual([{ role: 'user', content }]);
  });
  test.each<[name: string, part: Part, traits: Partial<Traits>, param: string]>([
    [
      'an image by URL for a server that fetches none',
      { type: 'image', source: { kind: 'url', url: 'https://a.example/b.png' }, at: 'p' },
      { imageUrl: false },
      'p',
    ],
    ['an image by file id', { type: 'image', source: { kind: 'file', id: 'f' }, at: 'p' }, {}, 'p'],
    ['a document by file id', { type: 'document', source: { kind: 'file', id: 'f' }, at: 'p' }, {}, 'p'],
    [
      'a document by URL',
      { type: 'document', source: { kind: 'url', url: 'https://a.example/b.pdf' }, at: 'p' },
      {},
      'p',
    ],
    ['a PDF for a model that reads none', pdf, { pdfInput: false }, 'messages[0].content[0]'],
    [
      'a part of another protocol',
      { type: 'native', protocol: 'messages', kind: 'strange', value: {}, at: 'p' },
      {},
      'p.type',
    ],
  ])('%s is refused by its path', (_, part, traits, param) => {
    expect(refusal({ messages: [user(part)] }, traits).param).toBe(param);
  });
  test('what a provider’s own tools did is left out and reported', () => {
    const part: Part = { type: 'native', protocol: 'messages', kind: 'server_tool_use', value: {} };
    expect(dropped({ messages: [assistant(text('a'), part)] })).toEqual(['messages.native']);
  });
  test('what a document asks beyond its text is reported', () => {
    const part: Part = {
      type: 'document',
      source: { kind: 'text', text: 'x' },
      context: 'c',
      citations: true,
    };
    expect(dropped({ messages: [user(part)] })).toEqual([
      'messages.document.context',
      'messages.document.citations',
    ]);
  });
  test('cache marks in the form that the provider takes', () => {
    const marked: Part = { type: 'text', text: 'a', cache: { ttl: '1h' } };
    expect(one(marked)).toEqual([{ role: 'user', content: 'a' }]);
    expect(one(marked, { cacheMarks: 'prompt_cache_breakpoint' })[0]?.content).toEqual([
      { type: 'text', text: 'a', prompt_cache_breakpoint: { mode: 'explicit' } },
    ]);
    expect(one(marked, { cacheMarks: 'cache_control' })[0]?.content).toEqual([
      { type: 'text', text: 'a', cache_control: { type: 'ephemeral', ttl: '1h' } },
    ]);
    expect(dropped({ messages: [user(marked)] })).toEqual([]);
  });
  test.each<[string, Message[], unknown]>([
    ['text', [user(text('a'))], [{ type: 'text', text: 'a', cache_control: EPHEMERAL }]],
    [
      'a part',
      [user(text('a'), text('b'))],
      [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b', cache_control: EPHEMERAL },
      ],
    ],
    [
      'a result',
      [user(text('a')), assistant(call('c')), user(result('c', 'r'))],
      [{ type: 'text', text: 'r', cache_control: EPHEMERAL }],
    ],
  ])('the mark of the whole request stands on the last part: %s', (_, messages, content) => {
    const over: Partial<GenerationRequest> = { messages, cache: {} };
    const marked = encode(over, { cacheMarks: 'cache_control' });
    expect((marked.body.messages as JsonObject[]).at(-1)?.content).toEqual(content);
    expect(marked.warnings).toEqual([]);
    const plain = encode(over);
    expect(JSON.stringify(plain.body)).not.toContain('cache_control');
    expect(plain.warnings).toMatchObject([{ effect: 'quiet', field: 'cache' }]);
  });
  test('of too many marks the first and the newest stay', () => {
    const messages = ['a', 'b', 'c', 'd', 'e'].map((value) => user({ type: 'text', text: value, cache: {} }));
    const written = history(messages, { cacheMarks: 'prompt_cache_breakpoint' });
    const marked = written.map(
      ({ content }) =>
        Array.isArray(content) && isObject(content[0]) && content[0].prompt_cache_breakpoint !== undefined,
    );
    expect(marked).toEqual([true, false, false, true, true]);
  });
});

describe('tools', () => {
  const native = (kind: string, name = 'web_search'): Tool => ({
    type: 'native',
    protocol: 'messages',
    kind,
    name,
    value: { type: kind, name },
  });
  const f: Tool = { type: 'function', name: 'f', parameters: { type: 'object' } };
  test.each<[name: string, over: Partial<GenerationRequest>, choice: unknown]>([
    ['a free choice of tools', { toolChoice: { type: 'auto' } }, 'auto'],
    ['no choice of tools', { toolChoice: { type: 'none' } }, 'none'],
    ['a choice of any tool', { toolChoice: { type: 'required' } }, 'required'],
    [
      'a choice of one tool',
      { toolChoice: { type: 'tool', name: 'f' } },
      { type: 'function', function: { name: 'f' } },
    ],
    [
      'a choice among allowed tools',
      { toolChoice: { type: 'allowed', mode: 'auto', names: ['f'] } },
      {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }] },
      },
    ],
  ])('writes %s', (_, over, choice) => {
    expect(encode({ tools: [f], ...over }, { customTools: true }).body.tool_choice).toEqual(choice);
  });
  test('a server that knows no allowed_tools gets the allowed tools alone', () => {
    const g: Tool = { type: 'function', name: 'g' };
    const toolChoice: ToolChoice = { type: 'allowed', mode: 'required', names: ['g'] };
    const { body } = encode({ tools: [f, g], toolChoice });
    expect(body.tools).toMatchObject([{ function: { name: 'g' } }]);
    expect(body.tool_choice).toBe('required');
  });
  test('a server that knows no custom tools gets a function with one string, calls of the history too', () => {
    const format = { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "a"' } };
    const patch: Tool = { type: 'custom', name: 'patch', description: 'Edits.', format };
    const messages: Message[] = [
      {
        role: 'assistant',
        parts: [{ type: 'tool_call', id: 'c', name: 'patch', arguments: 'a"b', custom: true }],
      },
      { role: 'user', parts: [{ type: 'tool_result', callId: 'c', content: 'done' }] },
    ];
    const { body, restore } = encode({ tools: [patch], messages });
    expect(body.tools).toEqual([
      {
        type: 'function',
        function: {
          name: 'patch',
          description: 'Edits.\n\nThe input must follow this grammar (lark):\nstart: "a"',
          parameters: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] },
        },
      },
    ]);
    expect(body.messages).toMatchObject([
      { tool_calls: [{ type: 'function', function: { name: 'patch', arguments: '{"input":"a\\"b"}' } }] },
      { role: 'tool' },
    ]);
    expect([...restore.customTools]).toEqual(['patch']);
    expect(encode({ tools: [patch] }, { customTools: true }).body.tools).toMatchObject([
      { type: 'custom', custom: { name: 'patch', format } },
    ]);
  });
  test('a model that takes no forced call is asked', () => {
    expect(
      encode({ tools: [f], toolChoice: { type: 'required' } }, { forcedTools: 'never' }).body.tool_choice,
    ).toBe('auto');
  });
  test('one call a turn, only where there are tools', () => {
    expect(encode({ tools: [f], parallelToolCalls: false }).body.parallel_tool_calls).toBe(false);
    expect(encode({ parallelToolCalls: false, toolChoice: { type: 'auto' } }).body).toEqual(encode().body);
  });
  test("a provider's own tools are left out and reported", () => {
    const { body } = encode({ tools: [native('web_search_20250305'), f], toolChoice: { type: 'auto' } });
    expect(body.tools).toEqual([
      { type: 'function', function: { name: 'f', parameters: { type: 'object' } } },
    ]);
    expect(dropped({ tools: [native('web_search_20250305'), f] })).toEqual(['tools']);
    expect(
      encode({ tools: [native('web_search_20250305')], toolChoice: { type: 'auto' } }).body,
    ).not.toHaveProperty('tool_choice');
  });
  test('unless the choice forces one', () => {
    expect(
      refusal({
        tools: [native('web_search_20250305'), f],
        toolChoice: { type: 'tool', name: 'web_search' },
      }),
    ).toMatchObject({ param: 'tool_choice', message: expect.stringContaining('web_search') as string });
    expect(refusal({ tools: [native('web_search_20250305')], toolChoice: { type: 'required' } }).param).toBe(
      'tool_choice',
    );
  });
  test('a web search that the provider can do is no loss', () => {
    expect(
      dropped({ tools: [native('web_search_20250305')], webSearch: {} }, { webSearchOptions: true }),
    ).toEqual([]);
  });
  test("the client's own shell and editor have schemas, others are refused", () => {
    const { body } = encode({
      tools: [native('bash_20250124', 'bash'), native('text_editor_20250728', 'edit')],
    });
    expect(body.tools).toMatchObject([
      { function: { name: 'bash', parameters: { properties: { command: {} } } } },
      { function: { name: 'edit' } },
    ]);
    expect(refusal({ tools: [f, native('computer_20250124', 'computer')] }).param).toBe('tools[1].type');
    expect(refusal({ tools: [native('mcp_toolset')] }).param).toBe('tools[0].type');
  });
  test('deferred tools are sent at once', () => {
    expect(dropped({ tools: [{ ...f, deferred: true }] })).toEqual(['tools.deferred']);
  });
  test('strict is sent if the schema allows it', () => {
    expect(dropped({ tools: [{ ...f, strict: true }] })).toEqual(['tools.strict']);
    const parameters = { type: 'object', properties: {}, additionalProperties: false };
    expect(encode({ tools: [{ ...f, strict: true, parameters }] }).body.tools).toMatchObject([
      { function: { strict: true } },
    ]);
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
    expect(chat.client.readEnvelope(body).model).toBe(body.model);
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

describe('system text', () => {
  const header = 'x-anthropic-billing-header: cc_version=1;';

  test.each([
    ['the line alone', header, undefined],
    ['the line before other text', `${header}\nYou are an agent.\nBe brief.`, 'You are an agent.\nBe brief.'],
    ['text without the line', 'You are an agent.', 'You are an agent.'],
  ])('goes without the line of attribution: %s', (_, value, content) => {
    const [first] = history([system(text(value)), user(text('hi'))]);
    expect(first).toEqual(
      content === undefined ? { role: 'user', content: 'hi' } : { role: 'system', content },
    );
  });
  test('names what it can not hold', () => {
    expect(dropped({ messages: [system(text('s'), image), user(text('hi'))] })).toEqual(['messages.image']);
  });
});

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

describe('an image whose bytes are of another type than was declared', () => {
  test.each([
    ['a GIF that is called PNG is sent as GIF', 'image/png', 'R0lGODlhAQAB', 'image/gif'],
    ['a PNG without a type is sent as PNG', '', 'iVBORw0KGgoA', 'image/png'],
    ['a JPEG that is called PNG is sent as JPEG', 'image/png', '/9j/4AAQ', 'image/jpeg'],
    ['an image of unknown bytes is sent with its own type', 'image/png', 'AAAA', 'image/png'],
    ['a PDF that is called PNG is sent with its own type', 'image/png', 'JVBERi0x', 'image/png'],
  ])('%s', (_, mediaType, data, type) => {
    const part: Part = { type: 'image', source: { kind: 'base64', mediaType, data }, at: 'messages[0]' };
    const { body, warnings } = encode({ messages: [user(part)] });
    expect(JSON.stringify(body)).toContain(`"data:${type};base64,${data}"`);
    expect(warnings.some(({ effect }) => effect === 'changed')).toBe(type !== mediaType);
  });
});
