import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/canonical/json.ts';
import type { ReplyPart, StopReason } from '../../../../src/canonical/reply.ts';
import { signatureOfEncrypted } from '../../../../src/canonical/thinking-signature.ts';
import { encodeStoredReply } from '../../../../src/protocols/responses/reply/encode.ts';
import { openReasoning } from '../../../../src/protocols/responses/reply/items.ts';
import { createStreamEncoder } from '../../../../src/protocols/responses/stream/encoder.ts';
import { contextOf, replyOf, streamedOf, wholeOf } from '../answers.ts';

const text = (words: string): ReplyPart => ({ type: 'text', text: words });
const refusal = (words: string): ReplyPart => ({ type: 'text', text: words, refusal: true });
const call = (id: string, name: string, args: string, custom?: true): ReplyPart => ({
  type: 'tool_call',
  id,
  name,
  arguments: args,
  ...(custom && { custom }),
});
const page = (url: string, start?: number): ReplyPart => ({
  type: 'text',
  text: 'cited',
  citations: [
    { protocol: 'chat', raw: {}, url, title: 'T', ...(start !== undefined && { start, end: start + 1 }) },
  ],
});
const outputText = (words: string, annotations: JsonObject[] = []): JsonObject => ({
  type: 'output_text',
  text: words,
  annotations,
  logprobs: [],
});
const source = (start_index: number, end_index: number, url: string): JsonObject => ({
  type: 'url_citation',
  start_index,
  end_index,
  url,
  title: 'T',
});

interface Row {
  parts: ReplyPart[];
  stop?: StopReason;
  asked?: JsonObject;
  expected: JsonObject;
}

const ROWS: Record<string, Row> = {
  text: {
    parts: [text('grüß 😀')],
    expected: {
      status: 'completed',
      incomplete_details: null,
      output: [{ type: 'message', status: 'completed', content: [outputText('grüß 😀')] }],
    },
  },
  nothing: { parts: [], expected: { status: 'completed', output: [] } },
  'texts that follow one another, as one': {
    parts: [text('One, '), page('https://a.example'), text('.'), page('https://b.example', 2)],
    expected: {
      output: [
        {
          content: [
            outputText('One, cited.cited', [
              source(5, 10, 'https://a.example'),
              source(13, 14, 'https://b.example'),
            ]),
          ],
        },
      ],
    },
  },
  'a refusal behind text': {
    parts: [text('Hm.'), refusal('No.')],
    stop: { reason: 'refusal', explanation: 'No.' },
    expected: {
      status: 'incomplete',
      incomplete_details: { reason: 'content_filter' },
      output: [{ content: [outputText('Hm.'), { type: 'refusal', refusal: 'No.' }], status: 'incomplete' }],
    },
  },
  'a refusal that is explained beside the answer': {
    parts: [],
    stop: { reason: 'refusal', explanation: 'No.' },
    expected: { status: 'completed', output: [{ content: [{ type: 'refusal', refusal: 'No.' }] }] },
  },
  "a model's refusal without a word": {
    parts: [],
    stop: { reason: 'refusal', raw: 'refusal' },
    expected: {
      status: 'completed',
      output: [{ content: [{ type: 'refusal', refusal: 'The model refused to answer.' }] }],
    },
  },
  "a model's refusal behind a call": {
    parts: [call('call_1', 'f', '{}')],
    stop: { reason: 'refusal', raw: 'refusal', explanation: 'No.' },
    expected: {
      status: 'incomplete',
      incomplete_details: { reason: 'content_filter' },
      output: [{ type: 'function_call' }, { content: [{ type: 'refusal', refusal: 'No.' }] }],
    },
  },
  "a model's refusal that it thought about": {
    parts: [{ type: 'reasoning', text: 'hm' }],
    stop: { reason: 'refusal', raw: 'refusal', explanation: 'No.' },
    expected: {
      status: 'completed',
      output: [{ type: 'reasoning' }, { content: [{ type: 'refusal', refusal: 'No.' }] }],
    },
  },
  "a model's refusal after half an answer": {
    parts: [text('Hm.')],
    stop: { reason: 'refusal', raw: 'refusal' },
    expected: {
      status: 'incomplete',
      incomplete_details: { reason: 'content_filter' },
      output: [
        { content: [outputText('Hm.'), { type: 'refusal', refusal: 'The model refused to answer.' }] },
      ],
    },
  },
  "a filter's stop without a word": {
    parts: [text('half')],
    stop: { reason: 'refusal', raw: 'content_filter' },
    expected: {
      status: 'incomplete',
      incomplete_details: { reason: 'content_filter' },
      output: [{ status: 'incomplete' }],
    },
  },
  'a cut: the last item alone is incomplete': {
    parts: [text('whole'), call('call_1', 'f', '{"a":')],
    stop: { reason: 'length' },
    expected: {
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      completed_at: null,
      output: [{ status: 'completed' }, { type: 'function_call', status: 'incomplete', arguments: '{"a":' }],
    },
  },
  'a cut in the middle of a thought': {
    parts: [{ type: 'reasoning', text: 'hm' }],
    stop: { reason: 'length' },
    expected: { status: 'incomplete', output: [{ type: 'reasoning', status: 'incomplete' }] },
  },
  'a thought, and calls side by side': {
    parts: [
      { type: 'reasoning', text: 'hm' },
      text('Look.'),
      call('call_1', 'f', '{"a":[1,"é"]}'),
      call('call_2', 'g', ''),
      call('call_3', 'patch', '*** Begin', true),
    ],
    stop: { reason: 'tool_calls' },
    expected: {
      status: 'completed',
      output: [
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] },
        { type: 'message' },
        { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{"a":[1,"é"]}' },
        { type: 'function_call', call_id: 'call_2', name: 'g', arguments: '{}' },
        { type: 'custom_tool_call', call_id: 'call_3', name: 'patch', input: '*** Begin' },
      ],
    },
  },
  "texts around another protocol's block, as two messages": {
    parts: [
      text('a'),
      { type: 'native', protocol: 'messages', kind: 'server_tool_use', value: { type: 'server_tool_use' } },
      text('b'),
    ],
    expected: { output: [{ content: [outputText('a')] }, { content: [outputText('b')] }] },
  },
  'calls of tools that have items of their own': {
    parts: [
      call('call_1', 'local_shell', '{"command":["ls"],"timeout_ms":5}'),
      call('call_2', 'shell', '{"commands":["ls","pwd"]}'),
      call('call_3', 'apply_patch', '{"operation":{"type":"delete_file","path":"a"}}'),
      call('call_4', 'tool_search', '{"query":"x"}'),
      call('call_5', 'mcp__f', '{}'),
    ],
    stop: { reason: 'tool_calls' },
    asked: {
      tools: [
        { type: 'local_shell' },
        { type: 'shell' },
        { type: 'apply_patch' },
        { type: 'tool_search', execution: 'client' },
        { type: 'namespace', name: 'mcp', tools: [{ type: 'function', name: 'f' }] },
      ],
    },
    expected: {
      output: [
        {
          type: 'local_shell_call',
          call_id: 'call_1',
          action: { type: 'exec', command: ['ls'], env: {}, timeout_ms: 5 },
        },
        {
          type: 'shell_call',
          call_id: 'call_2',
          action: { commands: ['ls', 'pwd'], timeout_ms: null, max_output_length: null },
        },
        {
          type: 'apply_patch_call',
          call_id: 'call_3',
          operation: { type: 'delete_file', path: 'a' },
        },
        { type: 'tool_search_call', call_id: 'call_4', arguments: { query: 'x' }, execution: 'client' },
        { type: 'function_call', call_id: 'call_5', name: 'f', namespace: 'mcp', arguments: '{}' },
      ],
    },
  },
  'calls of such tools with other arguments, as plain calls': {
    parts: [call('call_1', 'local_shell', '{"command":"ls"}'), call('call_2', 'apply_patch', 'not JSON')],
    stop: { reason: 'tool_calls' },
    asked: { tools: [{ type: 'local_shell' }, { type: 'apply_patch' }] },
    expected: {
      output: [
        { type: 'function_call', call_id: 'call_1', name: 'local_shell', arguments: '{"command":"ls"}' },
        { type: 'function_call', call_id: 'call_2', name: 'apply_patch', arguments: 'not JSON' },
      ],
    },
  },
  'calls of members of namespaces by their bare names, where only one has the name': {
    parts: [call('call_1', 'spawn', '{}'), call('call_2', 'wait', '{}'), call('call_3', 'read', '{}')],
    stop: { reason: 'tool_calls' },
    asked: {
      tools: [
        {
          type: 'namespace',
          name: 'agents',
          tools: ['spawn', 'wait', 'read'].map((name) => ({ type: 'function', name })),
        },
        { type: 'namespace', name: 'jobs', tools: [{ type: 'function', name: 'wait' }] },
        { type: 'function', name: 'read' },
      ],
    },
    expected: {
      output: [
        { type: 'function_call', call_id: 'call_1', name: 'spawn', namespace: 'agents', arguments: '{}' },
        { type: 'function_call', call_id: 'call_2', name: 'wait', arguments: '{}' },
        { type: 'function_call', call_id: 'call_3', name: 'read', arguments: '{}' },
      ],
    },
  },
  'what a client asked for, again': {
    parts: [text('a')],
    asked: {
      instructions: 'Be kind.',
      temperature: 0.3,
      max_output_tokens: 100,
      metadata: { a: 'b' },
      store: false,
      tools: [{ type: 'function', name: 'f' }],
      tool_choice: 'required',
      parallel_tool_calls: false,
      reasoning: { effort: 'low' },
      text: { verbosity: 'low' },
      prompt_cache_key: 'k',
    },
    expected: {
      instructions: 'Be kind.',
      temperature: 0.3,
      max_output_tokens: 100,
      metadata: { a: 'b' },
      store: false,
      tools: [{ type: 'function', name: 'f', description: null, parameters: null, strict: null }],
      tool_choice: 'required',
      parallel_tool_calls: false,
      reasoning: { effort: 'low', summary: null },
      text: { format: { type: 'text' }, verbosity: 'low' },
      prompt_cache_key: 'k',
    },
  },
};

describe('an answer', () => {
  test.each(Object.entries(ROWS))('of %s', (_, { parts, stop, asked, expected }) => {
    const reply = replyOf(parts, stop);
    const whole = wholeOf(reply, contextOf(asked));
    expect(whole).toMatchObject(expected);
    expect(whole.usage).toEqual({
      input_tokens: 5,
      input_tokens_details: { cached_tokens: 2, cache_write_tokens: 0 },
      output_tokens: 4,
      output_tokens_details: { reasoning_tokens: 1 },
      total_tokens: 9,
    });
    expect(streamedOf(reply, contextOf(asked))).toEqual(whole);
  });

  test('is completed when it ends, not when it begins', () => {
    const reply = { ...replyOf([text('a')]), created: 1_700_000_002 };
    const times = { created_at: 1_700_000_002, completed_at: 1_700_000_009 };
    expect(wholeOf(reply, contextOf())).toMatchObject(times);
    expect(streamedOf(reply, contextOf())).toMatchObject(times);
    const later = 1_700_000_020;
    expect(wholeOf({ ...reply, created: later }, contextOf())).toMatchObject({ completed_at: later });
  });

  test('without usage has an estimate, since strict readers demand numbers', () => {
    const reply = { ...replyOf([text('12345')]), usage: undefined };
    const { usage } = wholeOf(reply, contextOf());
    expect(usage).toMatchObject({ input_tokens: 7, output_tokens: 2, total_tokens: 9 });
    expect(streamedOf(reply, contextOf()).usage).toEqual(usage);
  });

  test('keeps an id of this protocol, and notes where it gives another one', () => {
    expect(wholeOf(replyOf([]), contextOf()).id).toBe('resp_1');
    const encoder = createStreamEncoder(contextOf());
    encoder.push({ type: 'start', id: 'resp_1', model: 'm' });
    expect(encoder.replyIds()).toBeUndefined();
    const other = createStreamEncoder(contextOf());
    const opening = other.push({ type: 'start', id: 'chatcmpl-1', model: 'm' });
    const ours = /resp_\w+/.exec(opening)?.[0];
    expect(other.replyIds()).toEqual({ theirs: 'chatcmpl-1', ours });
  });
});

test('a refusal whose text equals its explanation is written once', () => {
  const reply = replyOf([text('No.')], { reason: 'refusal', explanation: 'No.' });
  expect(wholeOf(reply, contextOf()).output).toMatchObject([
    { content: [{ type: 'refusal', refusal: 'No.' }] },
  ]);
  expect(wholeOf(reply, contextOf()).status).toBe('completed');
});

describe('thinking that its provider wants back', () => {
  const INCLUDED = { include: ['reasoning.encrypted_content'] };
  const signed: ReplyPart = { type: 'reasoning', text: 'hm', signature: 'c2ln' };
  const redacted: ReplyPart = { type: 'reasoning', text: '', redacted: 'cmVk' };

  test.each([
    ['signed', signed],
    ['redacted', redacted],
  ])('is handed out %s where the client asks for it or nothing is stored, and read again', (_, part) => {
    for (const asked of [INCLUDED, { store: false }, {}]) {
      const whole = wholeOf(replyOf([part]), contextOf(asked));
      const [item] = whole.output as { encrypted_content: string }[];
      expect(openReasoning(item?.encrypted_content ?? '')).toEqual(part);
      expect(streamedOf(replyOf([part]), contextOf(asked))).toEqual(whole);
    }
    const [plain] = wholeOf(replyOf([part]), { ...contextOf(), stores: true }).output as object[];
    expect(plain).not.toHaveProperty('encrypted_content');
  });

  test('of a provider of this protocol keeps its id and its content, but for a stream that began with another id', () => {
    const signature = signatureOfEncrypted({ id: 'rs_7', content: 'blob' });
    const reply = replyOf([{ type: 'reasoning', text: 'hm', signature }]);
    expect(wholeOf(reply, contextOf()).output).toMatchObject([{ id: 'rs_7', encrypted_content: 'blob' }]);
    const [streamed] = streamedOf(reply, contextOf()).output as object[];
    expect(streamed).not.toHaveProperty('encrypted_content');
  });

  test('is hidden, but sealed with its text, where the client wants no summary', () => {
    const over = { reasoning: { hidden: true as const } };
    const whole = wholeOf(replyOf([signed]), contextOf(INCLUDED, over));
    const [item] = whole.output as { encrypted_content: string; summary: unknown[] }[];
    expect(item?.summary).toEqual([]);
    expect(openReasoning(item?.encrypted_content ?? '')).toEqual(signed);
    expect(streamedOf(replyOf([signed]), contextOf(INCLUDED, over))).toEqual(whole);
  });

  test('is raw text of an open model: content beside the summary, sealed only where the client asks for it', () => {
    const raw: ReplyPart = { type: 'reasoning', text: 'hm', raw: true };
    const whole = wholeOf(replyOf([raw]), contextOf(INCLUDED));
    const [item] = whole.output as { encrypted_content: string }[];
    expect(item).toMatchObject({
      summary: [{ type: 'summary_text', text: 'hm' }],
      content: [{ type: 'reasoning_text', text: 'hm' }],
    });
    expect(openReasoning(item?.encrypted_content ?? '')).toEqual({ type: 'reasoning', text: 'hm' });
    expect(streamedOf(replyOf([raw]), contextOf(INCLUDED))).toEqual(whole);
    const [bare] = wholeOf(replyOf([raw]), contextOf()).output as object[];
    expect(bare).not.toHaveProperty('encrypted_content');
    const { answer, hidden } = encodeStoredReply(replyOf([raw]), { ...contextOf(), stores: true });
    const [stored] = answer.output as { id: string }[];
    expect(openReasoning(hidden.get(stored?.id ?? '') ?? '')).toEqual({ type: 'reasoning', text: 'hm' });
  });

  test.each(['', '{', '{}', 'gw1.', 'gw1.e30', 'gAAAA', '{"text":1}'])('%s is nobody of ours', (blob) => {
    expect(openReasoning(blob)).toBeUndefined();
  });
});
