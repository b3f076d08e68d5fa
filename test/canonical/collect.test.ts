import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCollector, replay } from '../../src/canonical/collect.ts';
import type { StreamEvent, Reply } from '../../src/canonical/reply.ts';
import { replies } from './arbitrary.ts';

function collect(events: readonly StreamEvent[]): ReturnType<ReturnType<typeof createCollector>['result']> {
  const collector = createCollector();
  for (const event of events) collector.push(event);
  return collector.result();
}

const START: StreamEvent = { type: 'start', id: 'r1', model: 'm', created: 7, serviceTier: 'default' };
const END: StreamEvent = { type: 'end', stop: { reason: 'end' }, usage: { input: 3, output: 2 } };

describe('createCollector', () => {
  it('puts the pieces of every block together, in the order of opening', () => {
    const events: StreamEvent[] = [
      START,
      { type: 'reasoning_start', index: 0 },
      { type: 'reasoning_delta', index: 0, text: 'hm' },
      { type: 'reasoning_delta', index: 0, text: 'm' },
      { type: 'reasoning_end', index: 0, signature: 's' },
      { type: 'redacted', index: 1, data: 'xx' },
      { type: 'tool_start', index: 2, id: 'a', name: 'read', extra: { one: 1 } },
      { type: 'tool_start', index: 3, id: 'b', name: 'list' },
      { type: 'tool_delta', index: 2, text: '{"p":' },
      { type: 'tool_end', index: 3 },
      { type: 'tool_delta', index: 2, text: '1}' },
      { type: 'tool_end', index: 2, extra: { two: 2 } },
      { type: 'text_start', index: 4 },
      { type: 'text_delta', index: 4, text: 'done' },
      { type: 'citation', index: 4, citation: { protocol: 'messages', raw: { a: 1 } } },
      { type: 'text_end', index: 4 },
      END,
    ];
    expect(collect(events)).toEqual({
      reply: {
        id: 'r1',
        model: 'm',
        created: 7,
        serviceTier: 'default',
        stop: { reason: 'end' },
        usage: { input: 3, output: 2 },
        parts: [
          { type: 'reasoning', text: 'hmm', signature: 's' },
          { type: 'reasoning', text: '', redacted: 'xx' },
          { type: 'tool_call', id: 'a', name: 'read', arguments: '{"p":1}', extra: { one: 1, two: 2 } },
          { type: 'tool_call', id: 'b', name: 'list', arguments: '{}' },
          { type: 'text', text: 'done', citations: [{ protocol: 'messages', raw: { a: 1 } }] },
        ],
      },
    });
  });

  it('gives a failure, not half an answer, when the stream failed or broke off', () => {
    const failure = { kind: 'overloaded', message: 'later' } as const;
    expect(collect([START, { type: 'error', failure }])).toEqual({ failure });
    expect(collect([START, { type: 'text_start', index: 0 }])).toMatchObject({
      failure: { reason: 'truncated' },
    });
    expect(collect([])).toMatchObject({ failure: { kind: 'failed' } });
  });

  it('does not count usage that came only at the start', () => {
    const start: StreamEvent = { type: 'start', id: '', model: '', usage: { input: 9, output: 1 } };
    const result = collect([start, { type: 'end', stop: { reason: 'end' } }]) as { reply: Reply };
    expect(result.reply.usage).toBeUndefined();
  });
});

describe('laws', () => {
  it('collecting what a reply is replayed as gives that reply', () => {
    fc.assert(
      fc.property(replies, (reply) => {
        expect(collect(replay(reply))).toEqual({ reply });
      }),
    );
  });

  it('starts and ends of blocks nest, with indexes in order and no gap', () => {
    fc.assert(
      fc.property(replies, (reply) => {
        const events = replay(reply);
        let next = 0;
        let open: number | undefined;
        for (const event of events.slice(1, -1)) {
          if (!('index' in event)) throw new Error(`${event.type} between start and end`);
          if (event.type.endsWith('_start')) {
            expect([open, event.index]).toEqual([undefined, next++]);
            open = event.index;
          } else if (event.type === 'redacted' || event.type === 'native') {
            expect([open, event.index]).toEqual([undefined, next++]);
          } else expect(event.index).toBe(open);
          if (event.type.endsWith('_end')) open = undefined;
        }
        expect([events[0]?.type, events.at(-1)?.type, open]).toEqual(['start', 'end', undefined]);
      }),
    );
  });
});
