// How the stream of a 200 reply begins: up to its first frame with content or a finish. Anything else is a failure of the target,
// before anything was written.
import { FailureError, type ProviderFailure } from '../../errors.ts';
import { append } from '../../canonical/json.ts';
import type { Reply, StreamEvent } from '../../canonical/reply.ts';
import type { Ids } from '../../ids.ts';
import type { FrameClass, StreamClassifier, StreamDecoder } from '../../protocols/interface/stream.ts';
import { ByteList } from '../../protocols/sse/byte-list.ts';
import type { Frame } from '../../protocols/sse/splitter.ts';
import type { FrameSource, WholeReply } from './provider-reply.ts';
import type { BuiltRequest } from './build-request.ts';
import { faulty, NO_ANSWER } from '../../failures.ts';

export type CommittedReply =
  | WholeReply
  /** A stream that nobody asked for, put together. */
  | { kind: 'folded'; reply: Reply }
  | { kind: 'stream'; opening: StreamOpening; source: FrameSource };

/** A stream up to its commit, and the machine that read it and reads on: no frame is parsed twice. */
export type StreamOpening = {
  /** Frames of the same network chunk behind the commit, not looked at yet. */
  rest: readonly Frame[];
} & (
  | {
      kind: 'relayed';
      classifier: StreamClassifier;
      held: readonly Buffer[];
      /** The commit was a finish or stop reason. */
      finished: boolean;
    }
  | { kind: 'translated'; decoder: StreamDecoder; events: readonly StreamEvent[] }
  /** Relayed while no step changes it: both machines read it. */
  | {
      kind: 'stepped';
      relayed: Pick<RelayedOpening, 'classifier' | 'held' | 'finished'>;
      decoder: StreamDecoder;
      events: readonly StreamEvent[];
    }
);

export type RelayedOpening = Extract<StreamOpening, { kind: 'relayed' }>;

const NONE: readonly never[] = [];

/** To be called when the answer has begun: what came before its commit would stay in memory as long as the stream. */
export function forgetStart(opening: StreamOpening): void {
  opening.rest = NONE;
  if (opening.kind !== 'relayed') opening.events = NONE;
  if (opening.kind === 'relayed') opening.held = NONE;
  else if (opening.kind === 'stepped') opening.relayed.held = NONE;
}

interface OpeningOptions {
  request: BuiltRequest;
  /** The client asked for usage in the stream. */
  usageAsked: boolean;
  ids: Ids;
}

/** Reads up to the first frame with content or a finish. An error before it is a failure of the target, not of the stream. */
export function readUntilCommit(source: FrameSource, options: OpeningOptions): Promise<StreamOpening> {
  const reader = options.request.crossing ? new OpeningOfTranslation(options) : new OpeningOfRelay(options);
  return new Promise((resolve, reject) => {
    const fail = (failure: ProviderFailure): void => {
      source.abort();
      reject(new FailureError(failure));
    };
    source.read({
      frames(frames) {
        try {
          const opening = reader.read(frames);
          if (opening === undefined) return;
          source.hold();
          resolve(opening);
        } catch (error) {
          if (!(error instanceof FailureError)) throw error;
          fail(error.failure);
        }
      },
      end: () => fail(NO_ANSWER),
      fail: (failure) => fail(failure),
    });
  });
}

/** What may come before any content: head, role, keep-alives for as long as a provider waits. */
const MOST_HELD_BYTES = 8 * 1024 * 1024;
const MOST_HELD_FRAMES = 10_000;

/** Whether the answer begins with a frame of this class. Throws FailureError for one that no answer begins with. */
function commits(seen: FrameClass): boolean {
  switch (seen.kind) {
    case 'error':
      throw new FailureError(seen.failure);
    // A terminal frame after nothing ends nothing.
    case 'end':
      throw new FailureError(NO_ANSWER);
    case 'finish':
      if (seen.silence !== undefined) throw new FailureError(seen.silence);
      return true;
    case 'content':
      return true;
    case 'drop':
    case 'quiet':
      return false;
  }
}

/** Counts what came before the commit; throws FailureError if it is more than any provider has reason to send. */
class OpeningSize {
  #bytes = 0;
  #frames = 0;

  add(frame: Frame): void {
    this.#bytes += frame.bytes.length;
    this.#frames++;
    if (this.#bytes > MOST_HELD_BYTES || this.#frames > MOST_HELD_FRAMES) {
      throw new FailureError(WITHOUT_CONTENT);
    }
  }
}

/** Holds the bytes of the frames: objects would take ten times as much. */
class OpeningOfRelay {
  readonly #classifier: StreamClassifier;
  readonly #size = new OpeningSize();
  readonly #earlier = new ByteList();
  readonly #decoded: { decoder: StreamDecoder; events: StreamEvent[] } | undefined;

  constructor({ request: { protocol, steps, target, relayed }, usageAsked, ids }: OpeningOptions) {
    this.#classifier =
      relayed?.createClassifier?.({ usageAsked }) ?? protocol.relay.createClassifier({ usageAsked });
    if (steps === undefined) return;
    const decoder = protocol.provider.createStreamDecoder({ ids, traits: target.traits });
    this.#decoded = { decoder, events: [] };
  }

  read(frames: readonly Frame[]): StreamOpening | undefined {
    const held: Buffer[] = [];
    for (const [index, frame] of frames.entries()) {
      const seen = this.#classifier.classify(frame);
      if (seen.kind !== 'drop') held.push(this.#classifier.shifted?.(frame.bytes) ?? frame.bytes);
      if (this.#decoded !== undefined) append(this.#decoded.events, this.#decoded.decoder.push(frame));
      if (commits(seen)) return this.#opening(seen, held, frames.slice(index + 1));
    }
    for (const frame of frames) this.#size.add(frame);
    for (const bytes of held) this.#earlier.append(bytes);
    return undefined;
  }

  #opening(seen: FrameClass, held: readonly Buffer[], rest: readonly Frame[]): StreamOpening {
    const earlier = this.#earlier.take();
    const relayed = {
      classifier: this.#classifier,
      held: earlier.length === 0 ? held : [earlier, ...held],
      finished: seen.kind === 'finish',
    };
    return this.#decoded === undefined
      ? { kind: 'relayed', ...relayed, rest }
      : { kind: 'stepped', relayed, ...this.#decoded, rest };
  }
}

/** The decoder sees the same frames: what it can't understand fails the target, too. */
class OpeningOfTranslation {
  readonly #classifier: StreamClassifier;
  readonly #decoder: StreamDecoder;
  readonly #size = new OpeningSize();
  readonly #events: StreamEvent[] = [];

  constructor({ request: { protocol, target }, ids }: OpeningOptions) {
    this.#classifier = protocol.relay.createClassifier({ usageAsked: true });
    this.#decoder = protocol.provider.createStreamDecoder({ ids, traits: target.traits });
  }

  read(frames: readonly Frame[]): StreamOpening | undefined {
    for (const [index, frame] of frames.entries()) {
      const committed = commits(this.#classifier.classify(frame));
      for (const event of this.#decoder.push(frame)) {
        if (event.type === 'error') throw new FailureError(event.failure);
        this.#events.push(event);
      }
      if (!committed) continue;
      const rest = frames.slice(index + 1);
      return { kind: 'translated', decoder: this.#decoder, events: this.#events, rest };
    }
    for (const frame of frames) this.#size.add(frame);
    return undefined;
  }
}

const WITHOUT_CONTENT = faulty('empty', "the provider's stream went on and on without any content");
