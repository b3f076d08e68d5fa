// The one place where the frames of a relay can be looked at or changed: for the steps that asked, its frames are decoded as well. They
// are forwarded as they came while no step changes an event, and held back while a step waits. From the first change on, the rest of
// the answer is written anew.
import type { JsonObject } from '../../canonical/json.ts';
import type { StreamEvent, Usage } from '../../canonical/reply.ts';
import type { GatewayError } from '../../errors.ts';
import type { AnswerMarks, HiddenTexts, ReplyContext, ReplyIds } from '../../protocols/interface/answer.ts';
import type { ClientSide } from '../../protocols/interface/protocol.ts';
import type { StreamDecoder, StreamEncoder } from '../../protocols/interface/stream.ts';
import type { Frame, Run } from '../../protocols/sse/splitter.ts';
import type { EventStep } from '../outbound/event-steps.ts';
import type { StreamOpening } from '../outbound/first-frame.ts';
import type { FrameWriter, PumpStep } from './pump.ts';
import { BROKEN_OFF } from '../../failures.ts';

type SteppedOpening = Pick<Extract<StreamOpening, { kind: 'stepped' }>, 'decoder' | 'events' | 'rest'>;

/** `next`: the relay of the same frames. */
export function frames(
  next: FrameWriter,
  opening: SteppedOpening,
  step: EventStep,
  client: ClientSide,
  context: ReplyContext,
): FrameWriter {
  return new SteppedFrames(next, opening, step, client, context);
}

class SteppedFrames implements FrameWriter {
  readonly #relay: FrameWriter;
  readonly #decoder: StreamDecoder;
  readonly #step: EventStep;
  readonly #client: ClientSide;
  /** Gets all events, so that it can continue at the first change; what it writes before that is not sent. */
  readonly #encoder: StreamEncoder;
  #first: { events: readonly StreamEvent[]; rest: readonly Frame[] };
  /** Of the frames that wait: what the relay would write, the decoder's events, and those that the step passed on. */
  #bytes: (Buffer | string)[] = [];
  #given: StreamEvent[] = [];
  #passed: StreamEvent[] = [];
  #isRewritten = false;
  #usage: Usage | undefined;

  constructor(
    relay: FrameWriter,
    { decoder, events, rest }: SteppedOpening,
    step: EventStep,
    client: ClientSide,
    context: ReplyContext,
  ) {
    this.#relay = relay;
    this.#decoder = decoder;
    this.#first = { events, rest };
    this.#step = step;
    this.#client = client;
    this.#encoder = client.createStreamEncoder(context);
  }

  start(): PumpStep {
    const { events, rest } = this.#first;
    this.#first = { events: [], rest: [] };
    const first = this.#moved(this.#relay.start(), events);
    if (first.complete === true || first.failure !== undefined) return first;
    const more = this.move(rest);
    return { ...more, bytes: joined([first.bytes, more.bytes]) };
  }

  move(frames: readonly Frame[]): PumpStep {
    const out: (Buffer | string)[] = [];
    for (const frame of frames) {
      const step = this.#moved(this.#relay.move([frame]), this.#decoder.push(frame));
      out.push(step.bytes);
      if (step.complete === true || step.failure !== undefined) return { ...step, bytes: joined(out) };
    }
    return { bytes: joined(out) };
  }

  moveRun(run: Run): PumpStep {
    return this.move(run.frames());
  }

  finish(clean: boolean): PumpStep {
    const step = this.#moved(this.#relay.finish(clean), this.#decoder.finish(clean));
    return step.complete === true || step.failure !== undefined ? step : { ...step, failure: BROKEN_OFF };
  }

  usage(): Usage | undefined {
    return this.#relay.usage() ?? this.#usage ?? this.#decoder.usage();
  }

  marks(): AnswerMarks {
    return this.#relay.marks();
  }

  repaired(): readonly string[] | undefined {
    const repaired = this.#step.repaired();
    return repaired.length === 0 ? undefined : repaired;
  }

  answer(): JsonObject | undefined {
    return this.#isRewritten ? this.#encoder.answer?.() : this.#relay.answer?.();
  }

  hidden(): HiddenTexts | undefined {
    return this.#isRewritten ? this.#encoder.hidden?.() : undefined;
  }

  replyIds(): ReplyIds | undefined {
    return this.#isRewritten ? this.#encoder.replyIds() : undefined;
  }

  stopped(): boolean {
    return this.#decoder.stopped();
  }

  keepAlive(): string {
    return this.#isRewritten
      ? (this.#encoder.keepAlive?.() ?? this.#client.keepAlive)
      : this.#relay.keepAlive();
  }

  fail(error: GatewayError, requestId: string, now: number): string {
    if (!this.#isRewritten) {
      const held = joined(this.#bytes.splice(0)).toString();
      return held + this.#relay.fail(error, requestId, now);
    }
    const held = this.#encoded(this.#step.giveUp());
    return (
      held +
      (this.#encoder.fail?.(error, requestId, now) ?? this.#client.encodeStreamError(error, requestId, now))
    );
  }

  /** `relayed`: what the relay makes of the frame; `events`: what the decoder does. */
  #moved(relayed: PumpStep, events: readonly StreamEvent[]): PumpStep {
    const passed = events.flatMap((event) => this.#step.push(event));
    this.#bytes.push(relayed.bytes);
    this.#given.push(...events);
    this.#passed.push(...passed);
    if (!this.#isRewritten && this.#step.repaired().length === 0) {
      const isOver = relayed.complete === true || relayed.failure !== undefined;
      if (!isOver && (this.#step.isHolding() || this.#decoder.stopped())) return { bytes: '' };
      return { ...relayed, bytes: this.#relayHeld() };
    }
    this.#isRewritten = true;
    return this.#rewriteHeld(relayed);
  }

  #relayHeld(): Buffer | string {
    for (const event of this.#given.splice(0)) this.#encoder.push(event);
    this.#passed = [];
    return joined(this.#bytes.splice(0));
  }

  #rewriteHeld({ failure }: PumpStep): PumpStep {
    this.#bytes = [];
    this.#given = [];
    const events = this.#passed.splice(0);
    const last = events.at(-1);
    const error = last?.type === 'error' ? last.failure : failure;
    const bytes = this.#encoded(events.filter(({ type }) => type !== 'error'));
    if (error !== undefined) return { bytes, failure: error };
    if (last?.type !== 'end') return { bytes };
    this.#usage = last.usage;
    return { bytes, complete: true };
  }

  #encoded(events: readonly StreamEvent[]): string {
    return events.map((event) => this.#encoder.push(event)).join('');
  }
}

function joined(pieces: readonly (Buffer | string)[]): Buffer {
  return Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)));
}
