// Calls that local models write in other forms reach the client as calls, however the text is cut; text that is no call stays.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCollector } from '../../src/canonical/collect.ts';
import type { Reply, StopReason, StreamEvent } from '../../src/canonical/reply.ts';
import type { Tool } from '../../src/canonical/request.ts';
import { CallRepairer } from '../../src/repair/call-repairer.ts';
import { offeredTools } from '../../src/repair/offered-tools.ts';
import { ARGUMENTS, CALL, TALK, WRITTEN } from './forms.ts';

const TOOLS: Tool[] = [
  {
    type: 'function',
    name: 'read_file',
    parameters: {
      type: 'object',
      properties: { path: { type: 'string' }, limit: { type: 'integer' } },
    },
  },
  {
    type: 'function',
    name: 'Bash',
    parameters: { type: 'object', properties: { command: { type: 'string' } } },
  },
];

function repairer(isJsonAsked = false): CallRepairer {
  let made = 0;
  const ids = { random: () => `id${++made}` };
  return new CallRepairer({ offered: offeredTools(TOOLS, new Map(), new Set()), isJsonAsked, ids: ids });
}

function pieces(text: string, size: number): string[] {
  const all = [];
  for (let at = 0; at < text.length; at += size) all.push(text.slice(at, at + size));
  return all;
}

function textStream(text: string, size: number, reason: StopReason['reason'] = 'end'): StreamEvent[] {
  return [
    { type: 'start', id: 'a', model: 'm' },
    { type: 'text_start', index: 0 },
    ...pieces(text, size).map((piece): StreamEvent => ({ type: 'text_delta', index: 0, text: piece })),
    { type: 'text_end', index: 0 },
    { type: 'end', stop: { reason } },
  ];
}

function callStream(
  args: string,
  size: number,
  name = 'read_file',
  reason: StopReason['reason'] = 'tool_calls',
) {
  return [
    { type: 'start', id: 'a', model: 'm' },
    { type: 'tool_start', index: 0, id: '', name },
    ...pieces(args, size).map((piece) => ({ type: 'tool_delta', index: 0, text: piece })),
    { type: 'tool_end', index: 0 },
    { type: 'end', stop: { reason } },
  ] as StreamEvent[];
}

function collected(
  events: readonly StreamEvent[],
  machine = repairer(),
): { reply: Reply; repaired: readonly string[] } {
  const collector = createCollector();
  for (const event of events) for (const out of machine.push(event)) collector.push(out);
  const result = collector.result();
  if ('failure' in result) throw new Error(result.failure.message);
  return { reply: result.reply, repaired: machine.repaired() };
}

function callsOf(reply: Reply): { name: string; arguments: unknown }[] {
  return reply.parts.flatMap((part) =>
    part.type === 'tool_call' ? [{ name: part.name, arguments: JSON.parse(part.arguments) as unknown }] : [],
  );
}

function textOf(reply: Reply): string {
  return reply.parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

const SIZES = [1, 5, 50, 100_000];

describe.each(Object.entries(WRITTEN))('a call written as %s', (_, text) => {
  it.each(SIZES)('becomes a call in pieces of %i', (size) => {
    const { reply, repaired } = collected(textStream(text, size));
    expect(callsOf(reply)).toEqual([CALL]);
    expect(reply.stop.reason).toBe('tool_calls');
    expect(repaired[0]).toMatch(/^read_file: written as text/);
    expect(textOf(reply)).not.toMatch(/[<{[]/);
  });
});

describe('text that only speaks of calls', () => {
  it.each(TALK)('stays as it is: %j', (text) => {
    for (const size of SIZES) {
      const { reply, repaired } = collected(textStream(text, size));
      expect(callsOf(reply)).toEqual([]);
      expect(textOf(reply)).toBe(text);
      expect(repaired).toEqual([]);
    }
  });

  it('is not held back behind a character that begins no form', () => {
    const machine = repairer();
    machine.push({ type: 'start', id: 'a', model: 'm' });
    machine.push({ type: 'text_start', index: 0 });
    const out = (text: string): string =>
      machine
        .push({ type: 'text_delta', index: 0, text })
        .map((event) => (event.type === 'text_delta' ? event.text : ''))
        .join('');
    expect(out('The set {a, b} is ')).toBe('The set {a, b} is ');
    expect(out('[here](x) <b>bold</b>')).toBe('[here](x) <b>bold</b>');
    expect(out('\n{"version": ')).toBe('\n{"version": ');
    expect(out('\n<tool_')).toBe('\n');
    expect(out('box>')).toBe('<tool_box>');
  });

  it('is JSON that was asked for', () => {
    const text = JSON.stringify(CALL);
    const { reply } = collected(textStream(text, 5), repairer(true));
    expect(textOf(reply)).toBe(text);
  });
});

describe('the arguments of a call', () => {
  it.each(Object.entries(ARGUMENTS))('%s', (_, text) => {
    for (const size of SIZES) expect(callsOf(collected(callStream(text, size)).reply)).toEqual([CALL]);
  });

  it('stay to the letter where nothing is wrong', () => {
    const text = '{ "path": "a", "limit": 12345678901234567890 }';
    const { reply, repaired } = collected(callStream(text, 3));
    expect(reply.parts[0]).toMatchObject({ arguments: text });
    expect(repaired).toEqual([]);
  });

  it('stay cut where the output limit cut them', () => {
    const { reply, repaired } = collected(callStream('{"path": "src', 4, 'read_file', 'length'));
    expect(reply.parts[0]).toMatchObject({ arguments: '{"path": "src' });
    expect(reply.stop.reason).toBe('length');
    expect(repaired).toEqual([]);
  });

  it.each(['READ_FILE', 'functions.read_file', 'read-file', 'functions.read_file:3'])(
    'for the name %s',
    (name) => {
      const { reply, repaired } = collected(callStream(JSON.stringify(CALL.arguments), 7, name));
      expect(callsOf(reply)).toEqual([CALL]);
      expect(repaired).toEqual(['read_file: name']);
    },
  );
});

it('gives a missing id, and the finish of calls', () => {
  const { reply, repaired } = collected(callStream('{}', 5, 'Bash', 'end'));
  expect(reply.parts[0]).toMatchObject({ id: 'call_id1' });
  expect(reply.stop.reason).toBe('tool_calls');
  expect(repaired).toEqual(['finish']);
});

it('keeps two calls and the text between them in their order', () => {
  const one = '<tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>';
  const { reply } = collected(textStream(`First.\n${one}\nThen.\n${one}`, 9));
  expect(reply.parts.map((part) => (part.type === 'text' ? part.text : part.type))).toEqual([
    'First.\n',
    'tool_call',
    '\nThen.\n',
    'tool_call',
  ]);
});

it.each(['; ', ';', ', ', '\n', ' ;\n '])(
  'keeps two calls that are separated by %j, whatever the pieces',
  (mark) => {
    const text = `<|python_tag|>${JSON.stringify(CALL)}${mark}{"name": "bash", "parameters": {"command": "ls"}}<|eom_id|>`;
    for (let size = 1; size < 90; size++) {
      const { reply } = collected(textStream(text, size));
      expect(callsOf(reply)).toEqual([CALL, { name: 'Bash', arguments: { command: 'ls' } }]);
      expect(textOf(reply)).toBe('');
    }
  },
);

it('gives the same for a brace too few, then one too many', () => {
  const few = WRITTEN['Hermes tag with a brace missing'] ?? '';
  const text = `${few}${WRITTEN['Hermes tag with a brace too many'] ?? ''}`;
  for (const size of SIZES) expect(callsOf(collected(textStream(text, size)).reply)).toEqual([CALL, CALL]);
});

it('gives the same whatever the pieces', () => {
  const parts = [...Object.values(WRITTEN), ...TALK, '\n', ' ', '. ', '<', '{"name"'];
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...parts), { maxLength: 4 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 12 }),
      (texts, sizes) => {
        const text = texts.join('');
        const cut: StreamEvent[] = [];
        for (let at = 0, turn = 0; at < text.length; turn++) {
          const size = sizes[turn % sizes.length] ?? 1;
          cut.push({ type: 'text_delta', index: 0, text: text.slice(at, at + size) });
          at += size;
        }
        const [start, open, , ...rest] = textStream('x', 1);
        const whole = collected(textStream(text, text.length + 1)).reply;
        const events = [start, open, ...cut, ...rest].filter((event) => event !== undefined);
        expect(collected(events).reply).toEqual(whole);
      },
    ),
    { numRuns: 300 },
  );
});

it.each([
  ['openings', '<tool_call>\n'],
  ['objects that are not closed', '\n{"name": "read_file", "arguments": {'],
  ['fences', '```json\n{"name": "read_file"\n'],
  ['quotes', '\n{"name": "read_file", "arguments": {"a":"x'],
  ['brackets', '[{'],
  ['braces', '{'],
  ['calls', `${WRITTEN['GLM']}\n`],
])('takes time that grows with the text alone: %s', (_, unit) => {
  const took = (count: number): number => {
    const events = textStream(unit.repeat(count), 20);
    const start = performance.now();
    collected(events);
    return performance.now() - start;
  };
  took(500);
  const [small, large] = [took(1000), took(8000)];
  expect(large).toBeLessThan(40 * Math.max(small, 2));
});

it('takes time that grows with the pieces alone where they are held for long', () => {
  const took = (count: number): number => {
    const text = `<tool_call>{"name": "read_file", "arguments": {"path":"${'y'.repeat(8 * count)}`;
    const events = textStream(text, 8);
    const start = performance.now();
    collected(events);
    return performance.now() - start;
  };
  took(500);
  const [small, large] = [took(4000), took(32_000)];
  expect(large).toBeLessThan(30 * Math.max(small, 5));
});
