// How a 200 reply begins: a whole body that is an answer, or a stream up to its first frame of worth. What begins otherwise is
// a failure of the target, before anything was written.
import { isAscii } from 'node:buffer';
import { FailureError, type ProviderFailure } from '../../errors.ts';
import type { Reply } from '../../canonical/reply.ts';
import type { Usage } from '../../canonical/usage.ts';
import type { Ids } from '../../ids.ts';
import type { StreamDecoder } from '../../protocols/protocol.ts';
import { createSplitter, type Frame } from '../../protocols/sse/splitter.ts';
import type { ProviderReply } from '../../providers/exchange.ts';
import { type FrameSource, checkReply } from './provider-frames.ts';
import type { BuiltRequest } from './build-request.ts';

export interface WholeReply {
  kind: 'whole';
  /** As it came. */
  body: Buffer | string;
  value: unknown;
  usage: Usage | undefined;
}

export type CommittedReply =
  | WholeReply
  /** A stream that nobody asked for, put together. */
  | { kind: 'folded'; reply: Reply }
  | { kind: 'stream'; held: readonly Frame[]; source: FrameSource };

/** Some servers answer whole where a stream was asked for, or the other way round. */
export function isWholeReply(reply: ProviderReply, streamAsked: boolean): boolean {
  const type = reply.header('content-type') ?? '';
  return streamAsked ? type.includes('json') : !type.includes('event-stream');
}

/** Throws FailureError for bytes that are no answer, or one of more than `maxValues` JSON values. */
export function readWholeReply(bytes: Buffer, { protocol }: BuiltRequest, maxValues: number): WholeReply {
  const ascii = isAscii(bytes);
  const text = bytes.toString(ascii ? 'latin1' : 'utf8');
  checkReply(bytes, maxValues, ascii ? text : undefined);
  const value = parseReply(text);
  const { usage } = protocol.relay.inspectReply(value);
  // A string leaves in one write with its head; other bytes than ASCII go on as they came.
  return { kind: 'whole', body: ascii ? text : bytes, value, usage };
}

function parseReply(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const reason = text === '' ? 'empty' : 'malformed';
    const message =
      reason === 'empty' ? 'the provider sent an empty answer' : 'the provider sent no valid JSON';
    throw new FailureError({ kind: 'failed', message, reason });
  }
}

/** Frames up to the first with content or a finish. An error before it is a failure of the target, not of the stream. */
export function readUntilCommit(
  source: FrameSource,
  { protocol, crossing, target }: BuiltRequest,
  ids: Ids,
): Promise<readonly Frame[]> {
  const decode = (): StreamDecoder => protocol.provider.createStreamDecoder({ ids, traits: target.traits });
  return new Promise((resolve, reject) => {
    const before = createHeldBytes();
    const watch = protocol.relay.createWatch({ usageAsked: true });
    const fail = (failure: ProviderFailure): void => {
      source.abort();
      reject(new FailureError(failure));
    };
    source.read({
      frames(frames) {
        let committed = 0;
        for (const [index, frame] of frames.entries()) {
          const seen = watch(frame);
          const failure = seen.failure ?? seen.silence;
          if (failure !== undefined) return fail(failure);
          // A terminal frame after nothing ends nothing, and bytes that can't be read are no content.
          if (seen.terminal === true) return fail(EMPTY);
          if (protocol.relay.isBroken(frame)) return fail(MALFORMED);
          if (seen.stopped !== true && !protocol.relay.commits(frame)) continue;
          committed = index + 1;
          break;
        }
        if (committed === 0) {
          if (!before.add(frames)) fail(WITHOUT_CONTENT);
          return;
        }
        const earlier = before.frames();
        const held = [...earlier, ...frames];
        const broken = crossing ? failureIn(held.slice(0, earlier.length + committed), decode()) : undefined;
        if (broken !== undefined) return fail(broken);
        source.hold();
        resolve(held);
      },
      end: () => fail(EMPTY),
      fail: (failure) => fail(failure),
    });
  });
}

/** What may come before any content: head, role, keep-alives for as long as a provider waits. */
const MOST_HELD_BYTES = 8 * 1024 * 1024;
const MOST_HELD_FRAMES = 10_000;

interface HeldBytes {
  /** Whether there was room for them. */
  add(frames: readonly Frame[]): boolean;
  /** All of them again. */
  frames(): Frame[];
}

/** Frames as their bytes alone: each as an object takes ten times as much. */
function createHeldBytes(): HeldBytes {
  let bytes = Buffer.alloc(0);
  let length = 0;
  let count = 0;

  function room(more: number): void {
    if (length + more <= bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(512, 2 * (length + more)));
    bytes.copy(larger, 0, 0, length);
    bytes = larger;
  }

  return {
    add(frames) {
      count += frames.length;
      const more = frames.reduce((sum, frame) => sum + frame.bytes.length, 0);
      if (count > MOST_HELD_FRAMES || length + more > MOST_HELD_BYTES) return false;
      room(more);
      for (const frame of frames) length += frame.bytes.copy(bytes, length);
      return true;
    },
    frames() {
      if (length === 0) return [];
      const splitter = createSplitter({ maxFrame: length });
      return [...splitter.push(bytes.subarray(0, length)), ...splitter.finish()];
    },
  };
}

/** Frames that look like content and can't be understood: where they are translated, that is seen before anything is written. */
function failureIn(frames: readonly Frame[], decoder: StreamDecoder): ProviderFailure | undefined {
  for (const frame of frames) {
    const failed = decoder.push(frame).find((event) => event.type === 'error');
    if (failed !== undefined) return failed.failure;
  }
  return undefined;
}

const EMPTY: ProviderFailure = {
  kind: 'failed',
  message: "the provider's stream ended before any content",
  reason: 'empty',
};

const WITHOUT_CONTENT: ProviderFailure = {
  kind: 'failed',
  message: "the provider's stream went on and on without any content",
  reason: 'empty',
};

const MALFORMED: ProviderFailure = {
  kind: 'failed',
  message: "the provider's stream began with a frame that is not JSON",
  reason: 'malformed',
};
