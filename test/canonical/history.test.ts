import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { repairHistory } from '../../src/canonical/history.ts';
import type {
  Message,
  Part,
  ProtocolName,
  GenerationRequest,
  ToolCallPart,
  ToolResultPart,
  Warning,
} from '../../src/canonical/request.ts';
import { DEFAULT_TRAITS } from '../../src/canonical/traits.ts';
import type { Traits } from '../../src/canonical/traits.ts';
import { protocols } from '../../src/protocols/registry.ts';

interface Case {
  target?: ProtocolName;
  protocol?: ProtocolName;
  traits?: Partial<Traits>;
}

function run(messages: Message[], { target = 'messages', protocol = 'chat', traits = {} }: Case = {}) {
  const request: GenerationRequest = {
    protocol,
    model: 'm',
    stream: false,
    includeUsage: false,
    native: [],
    messages,
  };
  const before = structuredClone(request);
  const repaired = repairHistory(request, {
    rules: protocols[target].provider.historyRules,
    traits: { ...DEFAULT_TRAITS, ...traits },
  });
  expect(request).toEqual(before);
  return { messages: repaired.request.messages, warnings: repaired.warnings };
}

function effects(warnings: readonly Warning[]): string[] {
  return warnings.map(({ effect, field }) => `${effect} ${typeof field === 'string' ? field : field.path}`);
}

function text(value: string): Part {
  return { type: 'text', text: value };
}

function call(id: string): ToolCallPart {
  return { type: 'tool_call', id, name: 'read', arguments: '{}' };
}

function result(callId: string, content: ToolResultPart['content'] = `of ${callId}`): ToolResultPart {
  return { type: 'tool_result', callId, content };
}

const user = (...parts: Part[]): Message => ({ role: 'user', parts });
const assistant = (...parts: Part[]): Message => ({ role: 'assistant', parts });
const system = (value: string): Message => ({ role: 'system', parts: [text(value)] });

const MISSING: Part = {
  type: 'tool_result',
  callId: 'a',
  content: '[no result: interrupted]',
  isError: true,
};

describe('a conversation that is whole', () => {
  it('is unchanged, without a warning', () => {
    const messages = [
      system('be good'),
      user(text('hi')),
      assistant(text('reading'), call('a'), call('b')),
      user(result('b'), result('a'), text('go on')),
      system('in the middle'),
      user(text('and')),
      assistant(text('done')),
    ];
    expect(run(messages)).toEqual({ messages, warnings: [] });
  });
});

describe('calls and results', () => {
  it('gives a call that was interrupted a result that says so', () => {
    const { messages, warnings } = run([user(text('hi')), assistant(call('a')), user(text('stop that'))]);
    expect(messages).toEqual([user(text('hi')), assistant(call('a')), user(MISSING, text('stop that'))]);
    expect(effects(warnings)).toEqual(['changed messages.toolCall']);
  });

  it('gives it also to a call at the end, and to one before another assistant turn', () => {
    expect(run([user(text('hi')), assistant(call('a'))]).messages.at(-1)).toEqual(user(MISSING));
    const { messages } = run([user(text('hi')), assistant(call('a')), system('x'), assistant(text('y'))]);
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'system', 'assistant']);
  });

  it('keeps answered calls in front of those without a result', () => {
    const { messages } = run([assistant(call('a'), call('b')), user(result('b'))]);
    expect(messages[1]).toEqual(user(result('b'), MISSING));
  });

  it('turns a result without a call into text, with its images', () => {
    const image: Part = { type: 'image', source: { kind: 'url', url: 'https://example.com' } };
    const { messages, warnings } = run([
      user(result('a', 'lost'), result('b', [text('one'), image, text('two')]), result('c', ''), text('hi')),
    ]);
    expect(messages).toEqual([
      user(
        text('[orphan tool result] lost'),
        text('[orphan tool result] one\ntwo'),
        image,
        text('[orphan tool result]'),
        text('hi'),
      ),
    ]);
    expect(effects(warnings)).toEqual(['dropped messages.toolResult']);
  });

  it('does not take the result of an older turn for one of the newest', () => {
    const { messages } = run([
      assistant(call('a')),
      user(text('?')),
      assistant(text('x')),
      user(result('a')),
    ]);
    expect(messages.at(-1)).toEqual(user(text('[orphan tool result] of a')));
  });

  it('keeps the last of two results and appends the earlier one', () => {
    const { messages, warnings } = run([assistant(call('a')), user(result('a', 'old'), result('a', 'new'))]);
    expect(messages[1]).toEqual(user(result('a', 'new\nold')));
    expect(effects(warnings)).toEqual(['changed messages.toolResult']);
    const mixed = run([assistant(call('a')), user(result('a', 'old')), user(result('a', [text('new')]))]);
    expect(mixed.messages[1]).toEqual(user(result('a', [text('new'), text('old')])));
  });

  it('puts results directly after their calls, before other content and system text', () => {
    const { messages, warnings } = run([
      assistant(call('a'), call('b')),
      user(text('meanwhile'), result('a')),
      system('note'),
      user(result('b'), text('go on')),
    ]);
    expect(messages).toEqual([
      assistant(call('a'), call('b')),
      user(result('a'), result('b'), text('meanwhile')),
      system('note'),
      user(text('go on')),
    ]);
    expect(effects(warnings)).toEqual(['quiet messages.toolResult']);
  });

  it('puts results of one turn that came as messages of their own together', () => {
    const { messages } = run([
      assistant(call('a'), call('b')),
      user(result('a')),
      user(result('b')),
      user(text('x')),
    ]);
    expect(messages[1]).toEqual(user(result('a'), result('b'), text('x')));
  });
});

describe('ids', () => {
  it('that repeat in later turns become unique, each result with its own call', () => {
    const { messages } = run([
      assistant(call('call_0')),
      user(result('call_0', 'first')),
      assistant(call('call_0')),
      user(result('call_0', 'second')),
      assistant(call('call_0_2')),
      user(result('call_0_2', 'third')),
    ]);
    expect(messages).toEqual([
      assistant(call('call_0')),
      user(result('call_0', 'first')),
      assistant(call('call_0_2')),
      user(result('call_0_2', 'second')),
      assistant(call('call_0_2_2')),
      user(result('call_0_2_2', 'third')),
    ]);
  });

  it('that repeat within a turn go with the results in their order', () => {
    const { messages } = run([assistant(call(''), call('')), user(result('', 'one'), result('', 'two'))]);
    expect(messages).toEqual([assistant(call(''), call('_2')), user(result('', 'one'), result('_2', 'two'))]);
  });

  it('lose a signature that another gateway packed into them', () => {
    const { messages } = run([assistant(call('a__thought__QQ==')), user(result('a'))]);
    expect(messages).toEqual([assistant(call('a')), user(result('a'))]);
  });
});

describe('messages', () => {
  it('of one role become one, but not over system text', () => {
    const { messages } = run([
      system('s1'),
      system('s2'),
      user(text('a')),
      user(text('b')),
      system('s3'),
      user(text('c')),
      assistant(text('d')),
      assistant(call('x')),
      user(result('x')),
    ]);
    expect(messages).toEqual([
      system('s1'),
      system('s2'),
      user(text('a'), text('b')),
      system('s3'),
      user(text('c')),
      assistant(text('d'), call('x')),
      user(result('x')),
    ]);
  });

  it('of authors with different names stay apart', () => {
    const messages: Message[] = [
      { ...user(text('a')), name: 'ann' },
      { ...user(text('b')), name: 'bob' },
    ];
    expect(run(messages).messages).toEqual(messages);
  });

  it('without content are left out, and their neighbours become one', () => {
    const { messages, warnings } = run([user(text('a')), assistant(), user(text('')), user(text('b'))]);
    expect(messages).toEqual([user(text('a'), text('b'))]);
    expect(effects(warnings)).toEqual(['quiet messages']);
  });

  it('keep members that only their protocol knows when they become one', () => {
    const native = { protocol: 'chat', path: 'messages[].x', name: 'x', value: 1, fate: 'report' } as const;
    const { messages } = run([user(text('a')), { ...user(text('b')), native: [native] }]);
    expect(messages).toEqual([{ ...user(text('a'), text('b')), native: [native] }]);
  });

  it('hold no halves of surrogate pairs', () => {
    const half = 'a\ud83c';
    const { messages, warnings } = run([
      user(text(half), { type: 'document', source: { kind: 'parts', parts: [text(half)] } }),
      assistant(text('🎉'), { ...call('a'), arguments: `{"a":"${half}"}` }),
      user(result('a', [text(half)])),
    ]);
    const spelt = JSON.stringify(messages);
    expect(spelt).not.toContain('\\ud83c');
    expect(spelt.match(/a\ufffd/g)).toHaveLength(4);
    expect(spelt).toContain('🎉');
    expect(effects(warnings)).toEqual(['quiet messages']);
  });

  it.each<[string, Part]>([
    [
      'a title',
      { type: 'document', source: { kind: 'file', protocol: 'messages', id: 'f' }, title: 'a\ud83c' },
    ],
    ['a context', { type: 'document', source: { kind: 'text', text: 'x' }, context: 'a\ud83c' }],
    ['the text of a document', { type: 'document', source: { kind: 'text', text: 'a\ud83c' } }],
    [
      "a block of one protocol's own",
      { type: 'native', protocol: 'messages', kind: 'search_result', value: { title: 'a\ud83c' } },
    ],
  ])('hold none in %s either', (_, part) => {
    expect(JSON.stringify(run([user(part)]).messages)).toContain('a\ufffd');
  });

  it('hold none in the ids of calls, which stay those of their results', () => {
    const { messages } = run([user(text('q')), assistant(call('a\ud83c')), user(result('a\ud83c', 'r'))]);
    expect(messages.slice(1)).toEqual([assistant(call('a\ufffd')), user(result('a\ufffd', 'r'))]);
  });
});

describe('reasoning', () => {
  const signed: Part = { type: 'reasoning', text: 'hm', signature: 's' };
  const unsigned: Part = { type: 'reasoning', text: 'hm' };
  const empty: Part = { type: 'reasoning', text: 'hm', signature: '' };
  const redacted: Part = { type: 'reasoning', text: '', redacted: 'xx' };
  const turn = assistant(signed, unsigned, empty, redacted, text('x'));

  it.each<[string, Case, Part[]]>([
    ['only signed goes to messages', { target: 'messages', protocol: 'messages' }, [signed, redacted]],
    ['by way of chat too', { target: 'messages', protocol: 'chat' }, [signed, redacted]],
    ['none goes to a chat provider that never takes it', { target: 'chat', protocol: 'messages' }, []],
    [
      'text goes to a chat provider that takes it',
      { target: 'chat', protocol: 'messages', traits: { replayReasoning: 'tool_turns' } },
      [signed, unsigned, empty],
    ],
  ])('%s', (_, options, left) => {
    const { messages, warnings } = run([turn], options);
    expect(messages).toEqual([assistant(...left, text('x'))]);
    expect(effects(warnings)).toEqual(['quiet messages.reasoning']);
  });

  it('leaves no empty turn behind', () => {
    expect(run([user(text('a')), assistant(unsigned), user(text('b'))]).messages).toEqual([
      user(text('a'), text('b')),
    ]);
  });
});

describe('a last turn of the user that says nothing', () => {
  const turns = [user(text('a')), assistant(text('b'))];

  it.each<[ProtocolName, string]>([
    ['messages', ' \n'],
    ['messages', ''],
    ['chat', ''],
  ])(
    'is a full stop towards %s, so that the model does not go on from its own turn (%j)',
    (target, blank) => {
      const { messages, warnings } = run([...turns, user(text(blank))], { target });
      expect(messages).toEqual([...turns, user(text('.'))]);
      expect(effects(warnings)).toEqual(['changed messages']);
    },
  );

  it('is one for all, with system text between and behind another such turn', () => {
    const { messages } = run([...turns, user(text(' ')), system('s'), user(text(' '))]);
    expect(messages.at(-1)).toEqual(user(text('.')));
  });

  it.each<ProtocolName>(['chat', 'messages'])(
    'is one too where it is the only turn, towards %s',
    (target) => {
      expect(run([user(text(''))], { target }).messages).toEqual([user(text('.'))]);
      expect(run([system('s'), user(text(''))], { target }).messages.at(-1)).toEqual(user(text('.')));
    },
  );

  it('is left out behind a turn that says something', () => {
    expect(run([user(text('a')), user(text(''))]).messages).toEqual([user(text('a'))]);
  });

  it('stays where the server takes it', () => {
    const { messages } = run([...turns, user(text(' '))], { target: 'chat' });
    expect(messages.at(-1)).toEqual(user(text(' ')));
  });
});

describe('laws', () => {
  const id = fc.constantFrom('a', 'b', 'a_2', '', 'c__thought__x');
  const part = fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom('x', '', '\ud800', ' ').map(text) },
    { weight: 2, arbitrary: id.map(call) },
    { weight: 3, arbitrary: id.map((callId) => result(callId)) },
    { weight: 1, arbitrary: fc.constant<Part>({ type: 'reasoning', text: 'r' }) },
  );
  const message = fc
    .tuple(fc.constantFrom('user', 'assistant', 'system'), fc.array(part, { maxLength: 4 }))
    .map(([role, parts]): Message => ({
      role: role,
      parts: parts.filter(({ type }) =>
        role === 'user'
          ? type === 'text' || type === 'tool_result'
          : role === 'system'
            ? type === 'text'
            : type !== 'tool_result',
      ),
    }));
  const conversation = fc.array(message, { maxLength: 10 });

  it('every call has its one result directly after its turn, and every result its call', () => {
    fc.assert(
      fc.property(conversation, (given) => {
        const { messages } = run(given);
        const seen = new Set<string>();
        messages.forEach(({ role, parts }, at) => {
          expect(parts.length).toBeGreaterThan(0);
          const after = messages[at + 1];
          if (role !== 'system') expect(after?.role).not.toBe(role);
          const calls = parts.flatMap((item) => (item.type === 'tool_call' ? [item.id] : []));
          for (const callId of calls) {
            expect(seen.has(callId)).toBe(false);
            seen.add(callId);
          }
          if (role !== 'assistant') return;
          const results = (after?.parts ?? []).flatMap((item) =>
            item.type === 'tool_result' ? [item.callId] : [],
          );
          expect([...results].sort()).toEqual([...calls].sort());
          expect(
            after?.parts.slice(0, calls.length).every((item) => item.type === 'tool_result') ?? true,
          ).toBe(true);
        });
        const results = messages.flatMap(({ parts }) => parts.filter(({ type }) => type === 'tool_result'));
        expect(results).toHaveLength(seen.size);
      }),
      { numRuns: 200 },
    );
  });

  it('what is repaired needs no repair', () => {
    fc.assert(
      fc.property(conversation, (given) => {
        const once = run(given).messages;
        expect(run(once)).toEqual({ messages: once, warnings: [] });
      }),
      { numRuns: 100 },
    );
  });

  it('a conversation that grows keeps its beginning, up to the turn that was the last', () => {
    fc.assert(
      fc.property(conversation, conversation, (beginning, more) => {
        const before = run(beginning).messages;
        const after = run([...beginning, ...more]).messages;
        const settled = before.findLastIndex(({ role }) => role === 'assistant');
        expect(after.slice(0, Math.max(0, settled))).toEqual(before.slice(0, Math.max(0, settled)));
      }),
      { numRuns: 200 },
    );
  });
});
