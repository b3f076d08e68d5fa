import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCollector, replay } from '../../src/canonical/collect.ts';
import type { StreamEvent, Reply, ReplyPart, StopReason } from '../../src/canonical/reply.ts';
import { createEventRestorer, restoreReply } from '../../src/canonical/reverse-mapping.ts';
import type { ReverseMapping } from '../../src/canonical/reverse-mapping.ts';
import { replies, texts } from './arbitrary.ts';
import { anyCharacter } from '../helpers/any-character.ts';

const NOTHING: ReverseMapping = { toolNames: new Map(), customTools: new Set(), stop: [] };

function text(value: string): ReplyPart {
  return { type: 'text', text: value };
}

function call(name: string, args: string): ReplyPart {
  return { type: 'tool_call', id: 'c1', name, arguments: args };
}

function reply(parts: ReplyPart[], reason: StopReason['reason'] = 'end'): Reply {
  return { id: 'r', model: 'm', parts, stop: { reason }, usage: { input: 1, output: 2 } };
}

function restored(restore: Partial<ReverseMapping>, whole: Reply): Reply {
  return restoreReply(whole, { ...NOTHING, ...restore });
}

/** The events of `whole` with every delta cut into pieces of `size` characters. */
function cut(whole: Reply, size: number): StreamEvent[] {
  return replay(whole).flatMap((event): StreamEvent[] => {
    if (event.type !== 'text_delta' && event.type !== 'tool_delta') return [event];
    const pieces: StreamEvent[] = [];
    for (let at = 0; at < event.text.length; at += size) {
      pieces.push({ ...event, text: event.text.slice(at, at + size) });
    }
    return pieces;
  });
}

function through(restore: ReverseMapping, events: readonly StreamEvent[]): StreamEvent[] {
  const restorer = createEventRestorer(restore);
  return events.flatMap((event) => restorer.push(event));
}

function collect(events: readonly StreamEvent[]): Reply {
  const collector = createCollector();
  for (const event of events) collector.push(event);
  const result = collector.result();
  if ('failure' in result) throw new Error(result.failure.message);
  return result.reply;
}

describe('tool names', () => {
  it('come back as the client gave them', () => {
    const toolNames = new Map([['long_1234', 'mcp.server/long']]);
    const { parts } = restored({ toolNames }, reply([call('long_1234', '{}'), call('other', '{}')]));
    expect(parts).toEqual([call('mcp.server/long', '{}'), call('other', '{}')]);
  });
});

describe('custom tools', () => {
  const restore = { ...NOTHING, customTools: new Set(['patch']) };

  it.each([
    ['an object with an escape', '{"input":"a\\nb"}', 'a\nb'],
    [
      'an object with blanks and every kind of escape',
      ' { "input" : "x\\u00fc\\ud83c\\udf89\\"\\\\\\/" } ',
      'xü🎉"\\/',
    ],
    ['an object with an empty text', '{"input":""}', ''],
    ['an object with another member first', '{"why":"because","input":"text"}', 'text'],
    ['an object without the member, unchanged', '{"inputs":"text"}', '{"inputs":"text"}'],
    ['an object whose member is a number, unchanged', '{"input":7}', '{"input":7}'],
    ['text that is no JSON, unchanged', 'plain text', 'plain text'],
    ['an object that breaks off after an escape', '{"input":"cut off\\n', 'cut off\n'],
    ['an object with a line end in its text', '{"input":"raw\nline"}', 'raw\nline'],
    ['an object with a wrong escape', '{"input":"bad \\u12 escape"}', 'bad \\u12 escape'],
    ['a beginning that breaks off, unchanged', '"input"', '"input"'],
  ])('are unwrapped from %s, whole and one character at a time', (_, args, input) => {
    const whole = reply([call('patch', args)], 'tool_calls');
    const expected = [{ type: 'tool_call', id: 'c1', name: 'patch', arguments: input, custom: true }];
    expect(restoreReply(whole, restore).parts).toEqual(expected);
    expect(collect(through(restore, cut(whole, 1))).parts).toEqual(expected);
  });

  it('stream on while they arrive', () => {
    const restorer = createEventRestorer(restore);
    restorer.push({ type: 'tool_start', index: 0, id: 'c', name: 'patch' });
    expect(restorer.push({ type: 'tool_delta', index: 0, text: '{"input":"ab' })).toEqual([
      { type: 'tool_delta', index: 0, text: 'ab' },
    ]);
    expect(restorer.push({ type: 'tool_delta', index: 0, text: '\\' })).toEqual([]);
    expect(restorer.push({ type: 'tool_delta', index: 0, text: 'nc' })).toEqual([
      { type: 'tool_delta', index: 0, text: '\nc' },
    ]);
  });

  it('never give half of a character', () => {
    const events = through(restore, cut(reply([call('patch', '{"input":"\\ud83c\\udf89!"}')]), 1));
    const pieces = events.flatMap((event) => (event.type === 'tool_delta' ? [event.text] : []));
    expect(pieces).toEqual(['🎉', '!']);
  });

  it('are known by the name that the client gave', () => {
    const renamed = {
      ...NOTHING,
      toolNames: new Map([['wire', 'my.patch']]),
      customTools: new Set(['my.patch']),
    };
    expect(restoreReply(reply([call('wire', '{"input":"x"}')]), renamed).parts).toMatchObject([
      { name: 'my.patch', arguments: 'x', custom: true },
    ]);
  });

  it('unwrap whatever was wrapped', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.integer({ min: 1, max: 5 }), (input, size) => {
        const whole = reply([call('patch', JSON.stringify({ input }))]);
        expect(collect(through(restore, cut(whole, size))).parts).toMatchObject([{ arguments: input }]);
      }),
    );
  });
});

describe('structured output by a forced tool', () => {
  const restore = { ...NOTHING, structuredTool: 'answer' };

  it('becomes the text of an ordinary answer', () => {
    expect(restoreReply(reply([call('answer', '{"a":1}')], 'tool_calls'), restore)).toEqual(
      reply([text('{"a":1}')], 'end'),
    );
  });

  it('stays cut off where it was cut off', () => {
    expect(restoreReply(reply([call('answer', '{"a')], 'length'), restore)).toEqual(
      reply([text('{"a')], 'length'),
    );
  });

  it('leaves other calls what they are', () => {
    const whole = reply([call('answer', '{}'), call('other', '{}')], 'tool_calls');
    expect(restoreReply(whole, restore)).toEqual(reply([text('{}'), call('other', '{}')], 'tool_calls'));
  });
});

describe('stop sequences', () => {
  it('is cut before the first match, and its usage is reported', () => {
    expect(restored({ stop: ['STOP'] }, reply([text('one STOP two')]))).toEqual({
      ...reply([text('one ')]),
      stop: { reason: 'stop_sequence', sequence: 'STOP' },
    });
  });

  it('cut where the first one is complete', () => {
    expect(restored({ stop: ['bcde', 'cd', ''] }, reply([text('abcdef')]))).toMatchObject({
      parts: [text('ab')],
      stop: { sequence: 'cd' },
    });
  });

  it('leave no empty text where the match is at the beginning', () => {
    expect(restored({ stop: ['x'] }, reply([text('xyz')])).parts).toEqual([]);
  });

  it('are never searched in reasoning or in the arguments of calls', () => {
    const whole = reply([{ type: 'reasoning', text: 'a STOP' }, call('read', '{"p":"STOP"}'), text('fine')]);
    expect(restored({ stop: ['STOP'] }, whole)).toEqual(whole);
  });

  it('are not put together from two blocks', () => {
    const whole = reply([text('ST'), call('read', '{}'), text('OP')]);
    expect(restored({ stop: ['STOP'] }, whole)).toEqual(whole);
  });

  it('keep back only what may become one', () => {
    const restorer = createEventRestorer({ ...NOTHING, stop: ['STOP'] });
    restorer.push({ type: 'text_start', index: 0 });
    expect(restorer.push({ type: 'text_delta', index: 0, text: 'hello' })).toEqual([
      { type: 'text_delta', index: 0, text: 'hello' },
    ]);
    expect(restorer.push({ type: 'text_delta', index: 0, text: ' STO' })).toEqual([
      { type: 'text_delta', index: 0, text: ' ' },
    ]);
    expect(restorer.push({ type: 'text_end', index: 0 })).toEqual([
      { type: 'text_delta', index: 0, text: 'STO' },
      { type: 'text_end', index: 0 },
    ]);
  });

  it('close every open block, say that it is done and give nothing more', () => {
    const restorer = createEventRestorer({ ...NOTHING, stop: ['STOP'] });
    restorer.push({ type: 'tool_start', index: 0, id: 'c', name: 'read' });
    restorer.push({ type: 'text_start', index: 1 });
    expect(restorer.done()).toBe(false);
    expect(restorer.push({ type: 'text_delta', index: 1, text: 'x STOP y' })).toEqual([
      { type: 'text_delta', index: 1, text: 'x ' },
      { type: 'text_end', index: 1 },
      { type: 'tool_end', index: 0 },
      { type: 'end', stop: { reason: 'stop_sequence', sequence: 'STOP' } },
    ]);
    expect(restorer.done()).toBe(true);
    expect(restorer.push({ type: 'end', stop: { reason: 'end' } })).toEqual([]);
  });
});

describe('laws', () => {
  it('an answer with nothing to restore is unchanged', () => {
    fc.assert(
      fc.property(replies, (whole) => {
        expect(restoreReply(whole, NOTHING)).toEqual(whole);
        // The long way round gives the same.
        const ofAnother = { ...NOTHING, toolNames: new Map([['\0 no tool', 'other']]) };
        expect(restoreReply(whole, ofAnother)).toEqual(whole);
      }),
    );
  });

  it('however an answer streams, it is restored as the whole one is', () => {
    const restore: ReverseMapping = {
      toolNames: new Map([['free', 'given']]),
      customTools: new Set(['given']),
      structuredTool: 'read',
      stop: ['STOP', 'TO', 'END.', 'a"'],
    };
    fc.assert(
      fc.property(replies, fc.integer({ min: 1, max: 4 }), (whole, size) => {
        const streamed = collect(through(restore, cut(whole, size)));
        const { parts, stop } = restoreReply(whole, restore);
        expect({ parts: streamed.parts, stop: streamed.stop }).toEqual({ parts, stop });
      }),
      { numRuns: 300 },
    );
  });

  it('no text before a cut holds a stop sequence', () => {
    fc.assert(
      fc.property(
        texts,
        fc.array(
          texts.filter((stop) => stop !== ''),
          { maxLength: 3 },
        ),
        (value, stop) => {
          const { parts } = restored({ stop }, reply([text(value)]));
          const given = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
          expect(value.startsWith(given)).toBe(true);
          expect(stop.filter((sequence) => given.includes(sequence))).toEqual([]);
        },
      ),
    );
  });
});
