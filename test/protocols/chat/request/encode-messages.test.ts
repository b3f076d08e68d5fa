import { describe, expect, test } from 'vitest';
import { type JsonObject } from '../../../../src/canonical/json.ts';
import type { Message, Part } from '../../../../src/canonical/request.ts';
import { type Traits } from '../../../../src/canonical/traits.ts';
import {
  text,
  user,
  assistant,
  system,
  call,
  result,
  image,
  imageWire,
  encode,
  history,
  dropped,
} from './encoded.ts';

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
