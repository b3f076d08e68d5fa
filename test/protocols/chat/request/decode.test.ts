import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/canonical/json.ts';
import { GatewayError } from '../../../../src/errors.ts';
import { chat } from '../../../../src/protocols/chat/index.ts';
import { CHAT_FIELDS } from '../../../../src/protocols/chat/fields.ts';
import { READERS } from '../../../../src/protocols/chat/request/decode.ts';

const decode = (over: JsonObject = {}) =>
  chat.client.decodeRequest({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...over });
const parts = (...messages: JsonObject[]) => decode({ messages }).messages;
const native = (over: JsonObject) => decode(over).native.map(({ path, fate }) => [path, fate]);
const refusal = (over: JsonObject) => {
  try {
    decode(over);
  } catch (error) {
    if (error instanceof GatewayError) return error.options.param;
    throw error;
  }
  return undefined;
};
const text = (value: string) => ({ type: 'text', text: value });

describe('options', () => {
  test.each<[name: string, over: JsonObject, expected: object]>([
    ['max_tokens', { max_tokens: 5 }, { maxOutputTokens: 5 }],
    [
      'max_completion_tokens rather than max_tokens before it',
      { max_tokens: 5, max_completion_tokens: 6 },
      { maxOutputTokens: 6 },
    ],
    [
      'max_completion_tokens rather than max_tokens after it',
      { max_completion_tokens: 6, max_tokens: 5 },
      { maxOutputTokens: 6 },
    ],
    [
      'max_tokens where max_completion_tokens is null',
      { max_completion_tokens: null, max_tokens: 5 },
      { maxOutputTokens: 5 },
    ],
    [
      'the sampling options',
      { temperature: 0, top_p: 0.5, top_k: 4 },
      { temperature: 0, topP: 0.5, topK: 4 },
    ],
    ['one stop sequence', { stop: 'a' }, { stop: ['a'] }],
    ['stop sequences without the empty ones', { stop: ['a', '', 'b'] }, { stop: ['a', 'b'] }],
    [
      'a stream with usage',
      { stream: true, stream_options: { include_usage: true } },
      { stream: true, includeUsage: true },
    ],
    ['user', { user: 'u' }, { user: 'u' }],
    ['safety_identifier rather than user', { user: 'u', safety_identifier: 's' }, { user: 's' }],
    ['service_tier', { service_tier: 'flex' }, { serviceTier: 'flex' }],
    ['prompt_cache_key', { prompt_cache_key: 'k' }, { cacheKey: { value: 'k', from: 'asked' } }],
    ['parallel_tool_calls', { parallel_tool_calls: false }, { parallelToolCalls: false }],
    [
      'an answer of any JSON',
      { response_format: { type: 'json_object' } },
      { responseFormat: { type: 'json_object' } },
    ],
    [
      'an answer of a schema',
      {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'n', description: 'd', schema: { type: 'object' }, strict: true },
        },
      },
      {
        responseFormat: {
          type: 'json_schema',
          name: 'n',
          description: 'd',
          schema: { type: 'object' },
          strict: true,
        },
      },
    ],
    [
      'a web search',
      {
        web_search_options: {
          search_context_size: 'low',
          user_location: { type: 'approximate', approximate: { city: 'Oslo' } },
        },
      },
      { webSearch: { contextSize: 'low', location: { city: 'Oslo' } } },
    ],
    ['a choice of any tool', { tool_choice: 'required' }, { toolChoice: { type: 'required' } }],
    [
      'a choice of one function',
      { tool_choice: { type: 'function', function: { name: 'f' } } },
      { toolChoice: { type: 'tool', name: 'f' } },
    ],
    [
      'a choice of one custom tool',
      { tool_choice: { type: 'custom', custom: { name: 'f' } } },
      { toolChoice: { type: 'tool', name: 'f' } },
    ],
    [
      'a choice among allowed tools',
      {
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'f' } }] },
        },
      },
      { toolChoice: { type: 'allowed', mode: 'required', names: ['f'] } },
    ],
  ])('reads %s', (_, over, expected) => {
    const request = decode(over);
    expect(request).toMatchObject(expected);
    expect(request.native).toEqual([]);
  });
  test('null is absence, and absent stays absent', () => {
    const bare = decode();
    const nulls = Object.fromEntries(Object.keys(READERS).map((name) => [name, null]));
    delete nulls.model;
    delete nulls.messages;
    expect(decode(nulls)).toEqual(bare);
    expect(Object.keys(bare).sort()).toEqual([
      'includeUsage',
      'messages',
      'model',
      'native',
      'protocol',
      'stream',
    ]);
  });
  test('the text format asks for nothing', () => {
    expect(decode({ response_format: { type: 'text' } })).toEqual(decode());
  });
});

describe('thinking', () => {
  test.each<[name: string, over: JsonObject, reasoning: object]>([
    ['reasoning_effort', { reasoning_effort: 'high' }, { effort: 'high' }],
    ['reasoning_effort none as thinking off', { reasoning_effort: 'none' }, { effort: 'none', mode: 'off' }],
    [
      'an effort beside an empty summary',
      { reasoning_effort: { effort: 'low', summary: null } },
      { effort: 'low' },
    ],
    [
      'an effort whose thinking is not shown',
      { reasoning: { effort: 'xhigh', exclude: true } },
      { effort: 'xhigh', hidden: true },
    ],
    ['a budget of OpenRouter', { reasoning: { max_tokens: 3000 } }, { mode: 'on', budgetTokens: 3000 }],
    ['thinking that OpenRouter turns on', { reasoning: { enabled: true } }, { mode: 'on' }],
    ['thinking that OpenRouter turns off', { reasoning: { enabled: false } }, { mode: 'off' }],
    [
      'a budget of messages',
      { thinking: { type: 'enabled', budget_tokens: 5000 } },
      { mode: 'on', budgetTokens: 5000 },
    ],
    ['thinking that is off', { thinking: { type: 'disabled' } }, { mode: 'off' }],
    [
      'thinking that is off, whatever its budget',
      { thinking: { type: 'disabled', budget_tokens: 5000 } },
      { mode: 'off' },
    ],
    ['an effort rather than enabled', { reasoning: { enabled: true, effort: 'low' } }, { effort: 'low' }],
    ['adaptive thinking', { thinking: { type: 'adaptive' } }, { mode: 'adaptive' }],
    ['enable_thinking', { enable_thinking: true }, { mode: 'on' }],
    [
      'enable_thinking of a chat template',
      { chat_template_kwargs: { enable_thinking: false } },
      { mode: 'off' },
    ],
  ])('reads %s', (_, over, reasoning) => {
    const request = decode(over);
    expect(request.reasoning).toEqual(reasoning);
    expect(request.native).toEqual([]);
  });
  test.each<[name: string, over: JsonObject, left: string[]]>([
    ['an unknown effort', { reasoning_effort: 'strange' }, ['reasoning_effort']],
    ['a summary of OpenRouter', { reasoning: { effort: 'low', summary: 'auto' } }, ['reasoning.summary']],
    [
      'a summary beside the effort',
      { reasoning_effort: { effort: 'low', summary: 'auto' } },
      ['reasoning_effort.summary'],
    ],
    ['a thinking member that is unknown', { thinking: { type: 'enabled', keep: 'all' } }, ['thinking.keep']],
    [
      'other members for a chat template',
      { chat_template_kwargs: { enable_thinking: true, other: 1 } },
      ['chat_template_kwargs'],
    ],
  ])('reports %s', (_, over, left) => {
    expect(native(over)).toEqual(left.map((path) => [path, 'report']));
  });
});

describe('what has no canonical name', () => {
  test.each<[name: string, over: JsonObject, expected: [string, string][]]>([
    ['a seed', { seed: 1 }, [['seed', 'report']]],
    ['several answers', { n: 2 }, [['n', 'reject']]],
    ['one answer', { n: 1 }, [['n', 'quiet']]],
    [
      'probabilities that are asked for',
      { logprobs: true, top_logprobs: 2 },
      [
        ['logprobs', 'reject'],
        ['top_logprobs', 'quiet'],
      ],
    ],
    ['probabilities that are not asked for', { logprobs: false }, [['logprobs', 'quiet']]],
    [
      'an answer in audio',
      { modalities: ['text', 'audio'], audio: { voice: 'a' } },
      [
        ['modalities', 'reject'],
        ['audio', 'reject'],
      ],
    ],
    ['an answer in text alone', { modalities: ['text'] }, [['modalities', 'quiet']]],
    ['an empty bias', { logit_bias: {} }, [['logit_bias', 'quiet']]],
    ['a bias', { logit_bias: { 5: 1 } }, [['logit_bias', 'report']]],
    [
      'penalties, one of them zero',
      { frequency_penalty: 0, presence_penalty: 0.5 },
      [
        ['frequency_penalty', 'quiet'],
        ['presence_penalty', 'report'],
      ],
    ],
    ['store: false', { store: false }, [['store', 'quiet']]],
    ['store: true', { store: true }, [['store', 'report']]],
    ['metadata', { metadata: { a: 'b' } }, [['metadata', 'report']]],
    [
      'the time that a prompt stays in the cache',
      { prompt_cache_retention: '24h' },
      [['prompt_cache_retention', 'quiet']],
    ],
    [
      'obfuscation of a stream',
      { stream_options: { include_usage: true, include_obfuscation: false } },
      [['stream_options.include_obfuscation', 'quiet']],
    ],
    ['an unknown member', { never_heard_of: [1] }, [['never_heard_of', 'report']]],
    ['an unknown form of answers', { response_format: { type: 'grammar' } }, [['response_format', 'report']]],
    [
      'names of Object.prototype',
      JSON.parse('{"__proto__": 1, "constructor": 2}') as JsonObject,
      [
        ['__proto__', 'report'],
        ['constructor', 'report'],
      ],
    ],
  ])('knows what becomes of %s', (_, over, expected) => {
    const value = { model: 'm', messages: [{ role: 'user', content: 'hi' }] } as JsonObject;
    for (const name of Object.keys(over))
      Object.defineProperty(value, name, { value: over[name], enumerable: true });
    expect(chat.client.decodeRequest(value).native.map(({ path, fate }) => [path, fate])).toEqual(expected);
  });
});

describe('messages', () => {
  test('system and developer text stays where it stands', () => {
    expect(
      parts(
        { role: 'developer', content: [text('a'), text('b')] },
        { role: 'user', content: 'hi', name: 'bob' },
        { role: 'system', content: 'later' },
      ),
    ).toEqual([
      { role: 'system', developer: true, parts: [text('a'), text('b')] },
      { role: 'user', parts: [text('hi')], name: 'bob' },
      { role: 'system', parts: [text('later')] },
    ]);
  });
  test('a turn of the assistant: reasoning, text, refusal, calls', () => {
    expect(
      parts({
        role: 'assistant',
        content: 'a',
        refusal: 'no',
        reasoning_content: 'hm',
        tool_calls: [
          {
            id: 'x',
            type: 'function',
            function: { name: 'f', arguments: '{"b":1,"a":2}' },
            extra_content: { google: { s: 1 } },
          },
          { id: 'y', type: 'custom', custom: { name: 'g', input: 'free' } },
        ],
      })[0]?.parts,
    ).toEqual([
      { type: 'reasoning', text: 'hm' },
      text('a'),
      { type: 'text', text: 'no', refusal: true },
      {
        type: 'tool_call',
        id: 'x',
        name: 'f',
        arguments: '{"b":1,"a":2}',
        extra: { extra_content: { google: { s: 1 } } },
      },
      { type: 'tool_call', id: 'y', name: 'g', arguments: 'free', custom: true },
    ]);
  });
  test('tool messages are results of the user', () => {
    expect(
      parts(
        { role: 'tool', tool_call_id: 'x', content: 'one', name: 'f' },
        { role: 'tool', tool_call_id: 'y', content: [text('two')] },
        { role: 'tool', tool_call_id: 'z', content: '' },
      ),
    ).toMatchObject([
      {
        role: 'user',
        parts: [{ type: 'tool_result', callId: 'x', content: 'one' }],
        native: [{ fate: 'quiet' }],
      },
      { role: 'user', parts: [{ type: 'tool_result', callId: 'y', content: [text('two')] }] },
      { role: 'user', parts: [{ type: 'tool_result', callId: 'z', content: '' }] },
    ]);
  });
  test('the legacy form: a result belongs to the nearest call of its name', () => {
    const call = (name: string) => ({
      role: 'assistant',
      content: null,
      function_call: { name, arguments: '{}' },
    });
    const messages = parts(
      call('f'),
      { role: 'function', name: 'f', content: '1' },
      call('f'),
      { role: 'function', name: 'f', content: '2' },
      { role: 'function', name: 'never', content: '3' },
    );
    expect(
      messages
        .flatMap((message) => message.parts)
        .map((part) => ('callId' in part ? part.callId : 'id' in part && part.id)),
    ).toEqual(['call_fn_1', 'call_fn_1', 'call_fn_2', 'call_fn_2', 'call_fn_3']);
    expect(messages[1]).not.toHaveProperty('name');
  });
  describe('a result of the legacy form after calls', () => {
    const asks = (...ids: string[]) => ({
      role: 'assistant',
      content: null,
      tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
    });
    const legacy = { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } };
    const says = (name = 'f') => ({ role: 'function', name, content: 'x' });
    const tool = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'x' });
    test.each<[string, JsonObject[], string[]]>([
      ['of the usual form', [asks('a'), says()], ['a']],
      ['of another name', [asks('a'), says('g')], ['call_fn_1']],
      ['side by side, in their order', [asks('a', 'b'), says(), says()], ['a', 'b']],
      ['one of which was answered', [asks('a', 'b'), tool('a'), says()], ['a', 'b']],
      ['of two turns, the later of which waits', [asks('a'), asks('b'), says()], ['b']],
      ['of two turns, the earlier of which waits', [asks('a'), asks('b'), tool('b'), says()], ['b', 'a']],
      ['that are all answered: the newest', [asks('a'), says(), asks('b'), says(), says()], ['a', 'b', 'b']],
      ['whose ids repeat', [asks('a'), says(), asks('a', 'b'), says(), says()], ['a', 'a', 'b']],
      ['of both forms', [asks('a'), legacy, says(), says()], ['call_fn_1', 'a']],
    ])('%s', (_what, messages, expected) => {
      const results = parts(...messages).flatMap((message) => message.parts);
      expect(results.flatMap((part) => (part.type === 'tool_result' ? [part.callId] : []))).toEqual(expected);
    });
  });
  test('unknown members ride along', () => {
    expect(parts({ role: 'user', content: 'a', weird: 1 })[0]?.native).toMatchObject([
      { path: 'messages[].weird', name: 'weird', fate: 'report' },
    ]);
  });
  test('a mark on the message is one on its last part', () => {
    expect(
      parts({
        role: 'user',
        content: [text('a'), text('b')],
        cache_control: { type: 'ephemeral', ttl: '1h' },
      })[0]?.parts,
    ).toEqual([text('a'), { ...text('b'), cache: { ttl: '1h' } }]);
  });
  test('an earlier audio answer is a reference', () => {
    expect(parts({ role: 'assistant', content: null, audio: { id: 'a1' } })[0]?.parts).toEqual([
      { type: 'audio', source: { kind: 'reference', id: 'a1' }, at: 'messages[0].audio' },
    ]);
  });
});

describe('parts', () => {
  const at = 'messages[0].content[0]';
  test.each<[name: string, part: JsonObject, expected: object]>([
    [
      'an image in base64',
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
      { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' }, detail: 'low', at },
    ],
    [
      'a PDF in the form of an image',
      { type: 'image_url', image_url: { url: 'data:application/pdf;base64,AAAA' } },
      { type: 'document', source: { kind: 'base64', mediaType: 'application/pdf', data: 'AAAA' }, at },
    ],
    [
      'an image whose URL stands alone',
      { type: 'image_url', image_url: 'https://a.example/b.png' },
      { type: 'image', source: { kind: 'url', url: 'https://a.example/b.png' }, at },
    ],
    [
      'a file by URL',
      { type: 'file', file: { filename: 'a.pdf', file_data: 'https://a.example/a.pdf' } },
      { type: 'document', source: { kind: 'url', url: 'https://a.example/a.pdf' }, title: 'a.pdf', at },
    ],
    [
      'a file in a data URL',
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
      {
        type: 'document',
        source: { kind: 'base64', mediaType: 'application/pdf', data: 'JVBERi0=' },
        title: 'a.pdf',
        at,
      },
    ],
    [
      'a file in base64',
      { type: 'file', file: { file_data: 'JVBERi0=' } },
      { type: 'document', source: { kind: 'base64', mediaType: 'application/pdf', data: 'JVBERi0=' }, at },
    ],
    [
      'a file by id',
      { type: 'file', file: { file_id: 'f1' } },
      { type: 'document', source: { kind: 'file', protocol: 'chat', id: 'f1' }, at },
    ],
    [
      'a file in a data URL of text',
      { type: 'file', file: { file_data: 'data:text/plain,a%20b' } },
      { type: 'document', source: { kind: 'base64', mediaType: 'text/plain', data: 'YSBi' }, at },
    ],
    [
      'audio',
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
      { type: 'audio', source: { kind: 'base64', format: 'mp3', data: 'AAAA' }, at },
    ],
    ['a refusal', { type: 'refusal', refusal: 'no' }, { type: 'text', text: 'no', refusal: true }],
    [
      'a cache breakpoint of chat',
      { type: 'text', text: 'a', prompt_cache_breakpoint: { mode: 'explicit' } },
      { type: 'text', text: 'a', cache: {} },
    ],
    [
      'a cache_control of messages',
      { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'a', cache: {} },
    ],
  ])('reads %s', (_, part, expected) => {
    expect(parts({ role: 'user', content: [part] })[0]?.parts).toEqual([expected]);
  });
  test.each<[string, JsonObject]>([
    [`${at}.type`, { type: 'video_url', video_url: {} }],
    [`${at}.type`, { text: 'a' }],
    [`${at}.text`, { type: 'text' }],
    [`${at}.image_url.url`, { type: 'image_url', image_url: {} }],
    [`${at}.file`, { type: 'file', file: {} }],
    [`${at}.input_audio.data`, { type: 'input_audio' }],
  ])('refuses %s', (param, part) => {
    expect(refusal({ messages: [{ role: 'user', content: [part] }] })).toBe(param);
  });
});

describe('tools', () => {
  test('functions and custom tools, in order', () => {
    const parameters = { type: 'object', properties: { b: {}, a: {} } };
    expect(
      decode({
        tools: [
          {
            type: 'function',
            function: { name: 'f', description: 'd', parameters, strict: false },
            cache_control: { type: 'ephemeral' },
          },
          { type: 'custom', custom: { name: 'g', format: { type: 'text' } } },
          { type: 'web_search', name: 'w' },
        ],
      }).tools,
    ).toEqual([
      { type: 'function', name: 'f', description: 'd', parameters, strict: false, cache: {} },
      { type: 'custom', name: 'g', format: { type: 'text' } },
      {
        type: 'native',
        protocol: 'chat',
        kind: 'web_search',
        name: 'w',
        value: { type: 'web_search', name: 'w' },
      },
    ]);
  });
  test.each<[string, JsonObject]>([
    ['tools[0].function', { tools: [{ type: 'function' }] }],
    ['tools[0].function.name', { tools: [{ type: 'function', function: { name: '' } }] }],
    ['tools[1].function.name', { tools: [{ function: { name: 'f' } }, { function: { name: 'f' } }] }],
    ['tool_choice', { tool_choice: 'maybe' }],
    ['tool_choice', { tool_choice: { type: 'function' } }],
    ['function_call', { functions: [{ name: 'f' }], function_call: 'maybe' }],
  ])('refuses %s', (param, over) => {
    expect(refusal(over)).toBe(param);
  });
  test('the legacy form is remembered, with one call a turn', () => {
    expect(decode({ functions: [{ name: 'f' }], function_call: { name: 'f' } })).toMatchObject({
      tools: [{ type: 'function', name: 'f' }],
      toolChoice: { type: 'tool', name: 'f' },
      parallelToolCalls: false,
      legacyFunctions: true,
      native: [],
    });
  });
});

test('the ledger and the code agree on what is read', () => {
  const topLevel = Object.entries(CHAT_FIELDS).filter(([path]) => !/[.[]/.test(path));
  const read = topLevel
    .filter(([, { fate }]) => fate === 'carried' || fate === 'mapped')
    .map(([path]) => path);
  expect(Object.keys(READERS).sort()).toEqual(read.sort());
});
