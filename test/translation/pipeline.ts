// A provider's bytes all the way to the client's, without sockets: what the gateway does between splitting and writing.
import { createCollector } from '../../src/canonical/collect.ts';
import type { StreamEvent, Reply } from '../../src/canonical/reply.ts';
import type { ProtocolName, GenerationRequest } from '../../src/canonical/request.ts';
import type { ReverseMapping } from '../../src/canonical/reverse-mapping.ts';
import { DEFAULT_TRAITS } from '../../src/canonical/traits.ts';
import type { FrameWriter } from '../../src/gateway/reply/pump.ts';
import type { BuiltRequest } from '../../src/gateway/outbound/build-request.ts';
import { createRelay } from '../../src/gateway/reply/relay.ts';
import { createTranslation } from '../../src/gateway/reply/translate.ts';
import type { Ids } from '../../src/ids.ts';
import type { ReplyContext } from '../../src/protocols/interface/answer.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { createSplitter } from '../../src/protocols/sse/splitter.ts';

export const ALL = ['chat', 'messages', 'responses'] as const;
export const BOTH = ['chat', 'messages'] as const;
/** The two protocols that an older test compares. */
export type OneOfBoth = (typeof BOTH)[number];
/** Always the same, so that two runs can be compared. */
export const ids: Ids = { random: (length) => 'x'.repeat(length) };
export const NOTHING: ReverseMapping = { toolNames: new Map(), customTools: new Set(), stop: [] };

const NOW = 1_700_000_000_000;

export function context(client: ProtocolName, over: Partial<GenerationRequest> = {}): ReplyContext {
  const request: GenerationRequest = {
    protocol: client,
    model: 'asked',
    stream: true,
    includeUsage: true,
    messages: [],
    native: [],
    ...over,
  };
  return { ids, created: 1_700_000_000, now: () => NOW, request, elapsed: () => 0, estimateInput: () => 7 };
}

export function mover(client: ProtocolName, provider: ProtocolName, restore = NOTHING): FrameWriter {
  const wire = protocols[provider];
  if (client === provider) {
    const classifier = wire.relay.createClassifier({ usageAsked: true });
    return createRelay({ kind: 'relayed', classifier, held: [], finished: false, rest: [] }, wire.client);
  }
  const decoder = wire.provider.createStreamDecoder({ ids, traits: DEFAULT_TRAITS });
  // All of it that a translation reads.
  const target = { traits: DEFAULT_TRAITS, provider: { headers: {} } };
  const request = { protocol: wire, target, restore } as BuiltRequest;
  const opening = { kind: 'translated' as const, decoder, events: [], rest: [] };
  return createTranslation(opening, request, protocols[client].client, context(client));
}

const MAX_FRAME = 1 << 20;

export interface Sent {
  text: string;
  complete: boolean;
}

/** What a client gets of these network chunks, until the answer is complete or failed. */
export function send(chunks: readonly Buffer[], to: FrameWriter, clean = true, maxFrame = MAX_FRAME): Sent {
  const splitter = createSplitter({ maxFrame });
  const out: Buffer[] = [];
  const steps = chunks.map((chunk) => () => {
    const run = splitter.run(chunk);
    return run === undefined ? to.move(splitter.push(chunk)) : to.moveRun(run);
  });
  for (const step of [...steps, () => to.move(splitter.finish())]) {
    const moved = step();
    out.push(Buffer.from(moved.bytes));
    if (moved.complete === true || moved.failure !== undefined)
      return { text: Buffer.concat(out).toString(), complete: moved.complete === true };
  }
  const last = to.finish(clean);
  out.push(Buffer.from(last.bytes));
  return { text: Buffer.concat(out).toString(), complete: last.complete === true };
}

/** `bytes` cut at these places. */
export function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [0, ...[...places].map((at) => at % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end));
}

/** The canonical events of a stream in this protocol. */
export function eventsIn(protocol: ProtocolName, stream: string | Buffer): StreamEvent[] {
  const decoder = protocols[protocol].provider.createStreamDecoder({ ids, traits: DEFAULT_TRAITS });
  const splitter = createSplitter({ maxFrame: 1 << 20 });
  const frames = [...splitter.push(Buffer.from(stream)), ...splitter.finish()];
  return [...frames.flatMap((frame) => decoder.push(frame)), ...decoder.finish(true)];
}

export function collected(events: readonly StreamEvent[]): Reply {
  const collector = createCollector();
  for (const event of events) collector.push(event);
  const result = collector.result();
  if ('failure' in result) throw new Error(JSON.stringify(result.failure));
  return result.reply;
}

export function written(
  client: ProtocolName,
  events: readonly StreamEvent[],
  over: Partial<GenerationRequest> = {},
): string {
  const encoder = protocols[client].client.createStreamEncoder(context(client, over));
  return events.map((event) => encoder.push(event)).join('');
}
