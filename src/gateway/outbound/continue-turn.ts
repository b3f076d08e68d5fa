// A provider may pause a turn while tools that it runs itself take long; it is asked to continue until the turn is over, since the
// client's protocol has no pause. If that fails, the answer ends at the pause.
import { append, type JsonObject } from '../../canonical/json.ts';
import { FailureError, type ProviderFailure } from '../../errors.ts';
import type { TurnJoiner } from '../../protocols/interface/features.ts';
import type { Frame } from '../../protocols/sse/splitter.ts';
import { isWholeReply, type ProviderReply } from '../../providers/exchange.ts';
import { readBody } from '../../providers/reply-body.ts';
import {
  openFrames,
  type FrameReader,
  type FrameSource,
  type ReplyLimits,
  readWholeReply,
  type WholeReply,
} from './provider-reply.ts';
import type { FramingName } from '../../protocols/interface/protocol.ts';
import type { BuiltRequest } from './build-request.ts';
import { faulty } from '../../failures.ts';

/** Calls after the first: each call of a turn that pauses again is paid for. */
export const MAX_PAUSES = 8;

/** Sends a paused turn back and reads the reply; undefined if it can't be continued. Rejects if the request was cancelled. */
export type ContinueTurn = <T>(
  turn: JsonObject,
  read: (reply: ProviderReply) => T | Promise<T>,
) => Promise<T | undefined>;

/** Joins the whole replies of all calls of a turn. */
export async function wholeTurn(
  first: WholeReply,
  goOn: ContinueTurn,
  request: BuiltRequest,
  limits: ReplyLimits,
): Promise<unknown> {
  const { pausing } = request;
  let reply = first.value;
  if (pausing?.isPaused(reply) !== true) return reply;
  pausing.keepInputs(reply, first.body);
  for (let pauses = 0; pauses < MAX_PAUSES && pausing.isPaused(reply); pauses++) {
    const more = await goOn(reply, async ({ body }) => {
      const { value, body: source } = readWholeReply(
        await readBody(body, limits.maxReply),
        request,
        limits.maxValues,
      );
      pausing.keepInputs(value as JsonObject, source);
      return value as JsonObject;
    });
    if (more === undefined) break;
    reply = pausing.join(reply, more);
  }
  return reply;
}

function framesOf(reply: ProviderReply, limits: ReplyLimits, framing: FramingName): FrameSource {
  if (!isWholeReply(reply, true, framing)) return openFrames(reply.body, limits, framing);
  reply.body.abort();
  const message = 'the provider continued a stream with an answer that is no stream';
  throw new FailureError(faulty('malformed', message));
}

/** Joins the streams of all calls of a turn. */
export class ContinuedFrames implements FrameSource {
  readonly #joiner: TurnJoiner;
  readonly #goOn: ContinueTurn;
  readonly #limits: ReplyLimits;
  readonly #framing: FramingName;
  /** Undefined until the next call is answered. */
  #source: FrameSource | undefined;
  #reader: FrameReader | undefined;
  /** Frames that arrived while there was no reader. */
  readonly #waiting: Frame[] = [];
  #ending: ((to: FrameReader) => void) | undefined;
  #pauses = 0;
  /** Bytes so far: the turn is held for sending it back, within the limit of a whole reply. */
  #length = 0;
  #held = false;
  #over = false;

  /** `limits`: of one event, and of the turn that is sent back. */
  constructor(
    first: FrameSource,
    joiner: TurnJoiner,
    goOn: ContinueTurn,
    limits: ReplyLimits,
    framing: FramingName,
  ) {
    this.#source = first;
    this.#joiner = joiner;
    this.#goOn = goOn;
    this.#limits = limits;
    this.#framing = framing;
  }

  // -- the reader's side --

  read(reader: FrameReader): void {
    this.#reader = reader;
    this.#held = false;
    if (this.#waiting.length > 0) reader.frames(this.#waiting.splice(0));
    if (this.#reader !== reader || this.#over) return;
    if (this.#ending !== undefined) this.#ending(reader);
    else if (this.#source !== undefined) this.#listen(this.#source);
  }

  hold(): void {
    this.#reader = undefined;
    this.#held = true;
    this.#source?.hold();
  }

  pause(): void {
    this.#held = true;
    this.#source?.pause();
  }

  resume(): void {
    this.#held = false;
    this.#source?.resume();
  }

  abort(): void {
    this.#over = true;
    this.#source?.abort();
  }

  release(): void {
    this.#over = true;
    this.#source?.release();
  }

  // -- the provider's side --

  #listen(source: FrameSource): void {
    // The end of a paused call may still be reported: it is not the end of the turn.
    const isCurrent = (): boolean => this.#source === source;
    source.read({
      frames: (frames) => this.#frames(frames),
      end: (clean) => {
        if (isCurrent()) this.#close((to) => to.end(clean));
      },
      fail: (failure) => {
        if (isCurrent()) this.#close((to) => to.fail(failure));
      },
    });
  }

  #frames(frames: readonly Frame[]): void {
    const forwarded: Frame[] = [];
    for (const frame of frames) {
      this.#length += frame.bytes.length;
      if (this.#length > this.#limits.maxReply) this.#joiner.letGo();
      append(forwarded, this.#joiner.push(frame));
      if (this.#joiner.isPaused()) break;
    }
    this.#give(forwarded);
    if (this.#joiner.isPaused() && !this.#over) this.#paused();
  }

  #give(frames: readonly Frame[]): void {
    if (frames.length === 0) return;
    if (this.#reader === undefined) append(this.#waiting, frames);
    else this.#reader.frames(frames);
  }

  #close(tell: (to: FrameReader) => void): void {
    if (this.#reader === undefined) this.#ending = tell;
    else tell(this.#reader);
  }

  #paused(): void {
    this.#source?.release();
    this.#source = undefined;
    if (this.#pauses === MAX_PAUSES) {
      this.#endPaused();
      return;
    }
    this.#pauses++;
    const turn = this.#joiner.turn();
    this.#goOn(turn, (reply) => framesOf(reply, this.#limits, this.#framing))
      .then((next) => {
        if (next === undefined) this.#endPaused();
        else this.#begin(next, turn);
      })
      .catch(() => {
        if (!this.#over) this.#close((to) => to.fail(CUT_OFF));
      });
  }

  #begin(next: FrameSource, turn: JsonObject): void {
    if (this.#over) {
      next.abort();
      return;
    }
    this.#source = next;
    this.#give(this.#joiner.next(turn));
    this.#listen(next);
    if (this.#held) next.pause();
  }

  #endPaused(): void {
    if (this.#over) return;
    this.#give(this.#joiner.giveUp());
    if (!this.#over) this.#close((to) => to.end(true));
  }
}

const CUT_OFF: ProviderFailure = {
  kind: 'failed',
  message: 'the paused turn was cut off',
  reason: 'aborted',
};
