// Canonical answers as this protocol's clients get them, whole and streamed, checked against the official types.
import { replay } from '../../../src/canonical/collect.ts';
import type { StreamEvent, Reply, ReplyPart, StopReason } from '../../../src/canonical/reply.ts';
import type { JsonObject } from '../../../src/canonical/json.ts';
import type { Ids } from '../../../src/ids.ts';
import type { ReplyContext } from '../../../src/protocols/interface/answer.ts';
import { responses } from '../../../src/protocols/responses/index.ts';
import { checkedEvents, responseSchema } from '../../helpers/responses-schemas.ts';

/** Each id another one, the same in every run. */
export function counted(): Ids {
  let count = 0;
  return { random: () => String(++count).padStart(3, '0') };
}

export function contextOf(asked: JsonObject = {}, over: Partial<ReplyContext['request']> = {}): ReplyContext {
  return {
    ids: counted(),
    created: 1_700_000_000,
    now: () => 1_700_000_009_999,
    request: { includeUsage: true, asked, ...over },
    elapsed: () => 0,
    estimateInput: () => 7,
    seal: (text) => text,
  };
}

export function replyOf(parts: ReplyPart[], stop: StopReason = { reason: 'end' }): Reply {
  return {
    id: 'resp_1',
    model: 'm',
    parts,
    stop,
    usage: { input: 3, cacheRead: 2, output: 4, reasoning: 1 },
  };
}

/** The whole Response, checked. */
export function wholeOf(reply: Reply, context: ReplyContext): JsonObject {
  const value = responses.client.encodeReply(reply, context);
  responseSchema.parse(value);
  return value;
}

/** The stream's events, checked. */
export function streamOf(events: readonly StreamEvent[], context: ReplyContext): JsonObject[] {
  const encoder = responses.client.createStreamEncoder(context);
  return checkedEvents(events.map((event) => encoder.push(event)).join(''));
}

/** The Response with which the stream ends. */
export function streamedOf(reply: Reply, context: ReplyContext): JsonObject {
  return streamOf(replay(reply), context).at(-1)?.response as JsonObject;
}
