// A finish that nobody knows: an end where there is an answer, a failure where there is none.
import { describe, expect, it } from 'vitest';
import { isObject, type JsonObject } from '../../src/canonical/json.ts';
import { createLosses } from '../../src/gateway/reply/losses.ts';
import { FailureError } from '../../src/errors.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { createSplitter } from '../../src/protocols/sse/splitter.ts';
import { streamOf, wholeOf } from '../gateway/wire.ts';
import { ALL, BOTH, type OneOfBoth, collected, context, eventsIn, mover, send, written } from './pipeline.ts';

const KNOWN: Record<OneOfBoth, string> = { chat: '"stop"', messages: '"end_turn"' };

const ENDED = { ...KNOWN, responses: '"status":"completed"' };

function ended<Kind extends object>(protocol: OneOfBoth, value: Kind, word: string): Kind {
  return JSON.parse(JSON.stringify(value).replace(KNOWN[protocol], JSON.stringify(word))) as Kind;
}

/** An answer of these words, in either form. */
function answers(protocol: OneOfBoth, said: string, word: string) {
  const stream = streamOf(protocol, said).replace(KNOWN[protocol], JSON.stringify(word));
  return { stream, whole: ended(protocol, wholeOf(protocol, said), word) as JsonObject };
}

function failureOf(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error instanceof FailureError ? error.failure.reason : error;
  }
  return undefined;
}

describe.each(BOTH)('of a provider of %s', (provider) => {
  const wire = protocols[provider];

  it.each(['strange', 'constructor', '__proto__', 'x'.repeat(5000)])(
    'without content is a failure: %.20s',
    (word) => {
      const { stream, whole } = answers(provider, '', word);
      const last = eventsIn(provider, stream).at(-1);
      expect(last).toMatchObject({ type: 'error', failure: { kind: 'failed', reason: 'finish' } });
      expect(last?.type === 'error' && last.failure.message.length).toBeLessThan(300);
      expect(failureOf(() => wire.provider.decodeReply(whole))).toBe('finish');
      expect(failureOf(() => wire.relay.inspectReply(whole))).toBe('finish');
      const classifier = wire.relay.createClassifier({ usageAsked: true });
      const seen = createSplitter({ maxFrame: 1 << 20 })
        .push(Buffer.from(stream))
        .map((frame) => classifier.classify(frame));
      const finishes = seen.filter(({ kind }) => kind === 'finish');
      expect(finishes).toHaveLength(1);
      expect(finishes[0]).toMatchObject({ silence: { reason: 'finish' } });
      // What is committed already is passed on as it came.
      expect(send([Buffer.from(stream)], mover(provider, provider))).toEqual({
        text: stream,
        complete: true,
      });
    },
  );

  it('with content is an end, and the log has its word', () => {
    const { stream, whole } = answers(provider, 'hello', 'strange');
    for (const reply of [collected(eventsIn(provider, stream)), wire.provider.decodeReply(whole)]) {
      expect(reply.stop).toEqual({ reason: 'other', raw: 'strange' });
      const losses = createLosses(protocols.chat.client, String);
      losses.reply(reply);
      expect(losses.list()).toEqual(['the stop reason strange']);
      for (const client of ALL) {
        const body = protocols[client].client.encodeReply(reply, context(client));
        expect(JSON.stringify(body)).toContain(ENDED[client]);
      }
    }
    for (const client of ALL.filter((name) => name !== provider)) {
      expect(written(client, eventsIn(provider, stream))).toContain(ENDED[client]);
    }
    expect(failureOf(() => wire.relay.inspectReply(whole))).toBeUndefined();
  });

  it('with calls says so to either client: agents go by it', () => {
    const stop = { reason: 'other' as const, raw: 'strange' };
    const parts = [{ type: 'tool_call' as const, id: 'a', name: 'f', arguments: '{}' }];
    const reply = { id: '', model: 'm', parts, stop };
    const body = JSON.stringify(protocols[provider].client.encodeReply(reply, context(provider)));
    expect(body).toContain(provider === 'chat' ? '"tool_calls"}' : '"stop_reason":"tool_use"');
    const [start, end] = [
      { type: 'tool_start' as const, index: 0, id: 'a', name: 'f' },
      { type: 'tool_end' as const, index: 0 },
    ];
    const stream = written(provider, [
      { type: 'start', id: '', model: 'm' },
      start,
      end,
      { type: 'end', stop },
    ]);
    expect(stream).toContain(
      provider === 'chat' ? '"finish_reason":"tool_calls"' : '"stop_reason":"tool_use"',
    );
  });

  it('that is known needs no content', () => {
    const { stream, whole } = answers(provider, '', KNOWN[provider].slice(1, -1));
    expect(eventsIn(provider, stream).at(-1)).toMatchObject({ type: 'end', stop: { reason: 'end' } });
    expect(wire.provider.decodeReply(whole)).toMatchObject({ parts: [], stop: { reason: 'end' } });
    expect(failureOf(() => wire.relay.inspectReply(whole))).toBeUndefined();
  });

  it('that is empty counts as absent', () => {
    const { stream, whole } = answers(provider, 'hello', '');
    if (provider === 'messages') expect(failureOf(() => wire.provider.decodeReply(whole))).toBe('truncated');
    else expect(wire.provider.decodeReply(whole)).toMatchObject({ stop: { reason: 'end' } });
    const unended = stream.slice(0, stream.lastIndexOf('\n\n', stream.length - 3) + 2);
    expect(eventsIn(provider, unended).at(-1)).toMatchObject({ failure: { reason: 'truncated' } });
    expect(send([Buffer.from(unended)], mover(provider, provider)).complete).toBe(false);
  });
});

it('blocks of which no text is left are content all the same', () => {
  const value = { ...wholeOf('messages', ''), content: [{ type: 'redacted_thinking', data: 'x' }] };
  const reply = protocols.messages.provider.decodeReply(ended('messages', value, 'strange'));
  expect(reply.stop.reason).toBe('other');
  const message = { role: 'assistant', content: null, reasoning_content: 'hm' };
  const chat = ended('chat', { choices: [{ index: 0, message, finish_reason: 'stop' }] }, 'strange');
  expect(isObject(chat) && protocols.chat.provider.decodeReply(chat).stop.reason).toBe('other');
});
