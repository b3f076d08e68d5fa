// The finish words that known providers use beside those of their protocol: refusals, errors and full windows are never an end.
import { describe, expect, it } from 'vitest';
import { FailureError } from '../../src/errors.ts';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import type { FrameClass } from '../../src/protocols/interface/stream.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { createSplitter } from '../../src/protocols/sse/splitter.ts';
import { chunks, completion, events, message } from './answers.ts';
import { ALL, BOTH, context, eventsIn, mover, send, written } from './pipeline.ts';

const REFUSALS = [
  'content_filter: PROHIBITED_CONTENT',
  'content_filter: RECITATION',
  'content_filter: SOMETHING_NEW',
  'SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'sensitive',
];
const FAILURES: [word: string, kind: string][] = [
  ['function_call_filter: MALFORMED_FUNCTION_CALL', 'failed'],
  ['function_call_filter: UNEXPECTED_TOOL_CALL', 'failed'],
  ['MALFORMED_FUNCTION_CALL', 'failed'],
  ['network_error', 'failed'],
  ['abort', 'failed'],
  ['error', 'failed'],
  ['insufficient_system_resource', 'overloaded'],
];
const WINDOW = 'model_context_window_exceeded';

interface Answer {
  whole: JsonObject;
  stream: string;
}

function answer(provider: ProtocolName, said: string, word: string): Answer {
  if (provider === 'chat') {
    return { whole: completion({ content: said }, word), stream: chunks({ content: said }, word) };
  }
  const content = said === '' ? [] : [{ type: 'text', text: said }];
  return { whole: message(content, word), stream: events(content, word) };
}

function failureOf(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error instanceof FailureError ? error.failure : error;
  }
  return undefined;
}

function classes(provider: ProtocolName, stream: string): FrameClass[] {
  const classifier = protocols[provider].relay.createClassifier({ usageAsked: true });
  return createSplitter({ maxFrame: 1 << 20 })
    .push(Buffer.from(stream))
    .map((frame) => classifier.classify(frame));
}

const said = [
  ['after text', 'hi'],
  ['without content', ''],
] as const;

describe.each(BOTH)('a word of a provider of %s', (provider) => {
  const wire = protocols[provider];

  describe.each(said)('%s', (_, text) => {
    it.each([
      ...REFUSALS.map((word) => [word, 'refusal', 'refusal', 'content_filter', 'content_filter']),
      [WINDOW, 'context_window', WINDOW, 'length', 'max_output_tokens'],
    ])('%s is a stop: %s', (word, reason, stopReason, finish, incomplete) => {
      const { whole, stream } = answer(provider, text, word);
      const stop = { reason, raw: word };
      expect(wire.provider.decodeReply(whole).stop).toEqual(stop);
      expect(failureOf(() => wire.relay.inspectReply(whole))).toBeUndefined();
      expect(eventsIn(provider, stream).at(-1)).toMatchObject({ type: 'end', stop });
      const seen = classes(provider, stream);
      expect(seen.filter(({ kind }) => kind === 'finish')).toEqual([{ kind: 'finish' }]);
      expect(seen.filter(({ kind }) => kind === 'error')).toEqual([]);
      expect(send([Buffer.from(stream)], mover(provider, provider))).toEqual({
        text: stream,
        complete: true,
      });
      const words = {
        chat: `"finish_reason":"${finish}"`,
        messages: `"stop_reason":"${stopReason}"`,
        responses: `"incomplete_details":{"reason":"${incomplete}"}`,
      };
      for (const client of ALL) {
        expect(written(client, eventsIn(provider, stream))).toContain(words[client]);
        const reply = protocols[client].client.encodeReply(wire.provider.decodeReply(whole), context(client));
        expect(JSON.stringify(reply)).toContain(words[client]);
      }
    });

    it.each(FAILURES)('%s is an error: %s', (word, kind) => {
      const { whole, stream } = answer(provider, text, word);
      const failure = { kind, reason: 'finish' };
      expect(failureOf(() => wire.provider.decodeReply(whole))).toMatchObject(failure);
      expect(failureOf(() => wire.relay.inspectReply(whole))).toMatchObject(failure);
      expect(eventsIn(provider, stream).at(-1)).toMatchObject({ type: 'error', failure });
      expect(classes(provider, stream).find(({ kind }) => kind === 'error')).toMatchObject({ failure });
      expect(send([Buffer.from(stream)], mover(provider, provider)).complete).toBe(false);
    });
  });
});

describe('a chat choice without a message', () => {
  const bare = (finish: string | null): JsonObject => ({
    ...completion({}, ''),
    choices: [{ index: 0, finish_reason: finish }],
  });

  it.each([...REFUSALS, 'content_filter'])('that a filter ended is an empty refusal: %s', (word) => {
    expect(failureOf(() => protocols.chat.relay.inspectReply(bare(word)))).toBeUndefined();
    const reply = protocols.chat.provider.decodeReply(bare(word));
    expect(reply).toMatchObject({ parts: [], stop: { reason: 'refusal' } });
    expect(protocols.messages.client.encodeReply(reply, context('messages'))).toMatchObject({
      content: [],
      stop_reason: 'refusal',
    });
  });

  it.each(['stop', 'length', null])('is empty under %j', (word) => {
    expect(failureOf(() => protocols.chat.provider.decodeReply(bare(word)))).toMatchObject({
      reason: 'empty',
    });
  });

  it('says which error ended it', () => {
    expect(failureOf(() => protocols.chat.provider.decodeReply(bare('abort')))).toMatchObject({
      reason: 'finish',
    });
  });
});
