// The same protocol on both sides, and a model whose calls may need repair: frames are forwarded as they came while nothing is to be
// repaired, and held back while that is not known. From the first repair on, the rest of the answer is written anew.
import type { JsonObject } from '../../canonical/json.ts';
import type { StreamEvent, Usage } from '../../canonical/reply.ts';
import type { GatewayError } from '../../errors.ts';
import type { ClientSide } from '../../protocols/interface/protocol.ts';
import type { ReplyContext } from '../../protocols/interface/answer.ts';
import type { StreamDecoder, StreamEncoder } from '../../protocols/interface/stream.ts';
import type { Frame, Run } from '../../protocols/sse/splitter.ts';
import { CallRepairer } from '../../repair/call-repairer.ts';
import type { StreamOpening } from '../outbound/first-frame.ts';
import { TRUNCATED, type FrameWriter, type PumpStep } from './pump.ts';
import { createRelay } from './relay.ts';

type RepairedOpening = Extract<StreamOpening, { kind: 'repaired' }>;

export function createRepairedRelay(
  opening: RepairedOpening,
  client: ClientSide,
  context: ReplyContext,
): FrameWriter {
  return new RepairedRelay(opening, client, context);
}

class RepairedRelay implements FrameWriter {
  readonly #relay: FrameWriter;
  readonly #decoder: StreamDecoder;
  readonly #repairer: CallRepairer;
  readonly #client: ClientSide;
  /** Gets all events, so that it can go on at the first repair; what it writes before that is not sent. */
  readonly #encoder: StreamEncoder;
  #first: { events: readonly StreamEvent[]; rest: readonly Frame[] };
  /** Of the frames that wait: what the relay would write, the decoder's events, and the repaired ones. */
  #bytes: (Buffer | string)[] = [];
  #given: StreamEvent[] = [];
  #repaired: StreamEvent[] = [];
  #isRewritten = false;
  #usage: Usage | undefined;

  constructor(opening: RepairedOpening, client: ClientSide, context: ReplyContext) {
    const { relayed, decoder, events, rest, repair } = opening;
    // The frames behind the commit are moved one by one, like all later ones.
    this.#relay = createRelay({ kind: 'relayed', ...relayed, rest: [] }, client);
    this.#decoder = decoder;
    this.#first = { events, rest };
    this.#repairer = new CallRepairer({ ...repair, ids: context.ids });
    this.#client = client;
    this.#encoder = client.createStreamEncoder(context);
  }

  start(): PumpStep {
    const { events, rest } = this.#first;
    this.#first = { events: [], rest: [] };
    const first = this.#step(this.#relay.start(), events);
    if (first.complete === true || first.failure !== undefined) return first;
    const more = this.move(rest);
    return { ...more, bytes: joined([first.bytes, more.bytes]) };
  }

  move(frames: readonly Frame[]): PumpStep {
    const out: (Buffer | string)[] = [];
    for (const frame of frames) {
      const step = this.#step(this.#relay.move([frame]), this.#decoder.push(frame));
      out.push(step.bytes);
      if (step.complete === true || step.failure !== undefined) return { ...step, bytes: joined(out) };
    }
    return { bytes: joined(out) };
  }

  moveRun(run: Run): PumpStep {
    return this.move(run.frames());
  }

  finish(clean: boolean): PumpStep {
    const step = this.#step(this.#relay.finish(clean), this.#decoder.finish(clean));
    return step.complete === true || step.failure !== undefined ? step : { ...step, failure: TRUNCATED };
  }

  usage(): Usage | undefined {
    return this.#relay.usage() ?? this.#usage ?? this.#decoder.usage();
  }

  repaired(): readonly string[] | undefined {
    const repaired = this.#repairer.repaired();
    return repaired.length === 0 ? undefined : repaired;
  }

  answer(): JsonObject | undefined {
    return this.#isRewritten ? this.#encoder.answer?.() : this.#relay.answer?.();
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
    const held = this.#encoded(this.#repairer.giveUp());
    return (
      held +
      (this.#encoder.fail?.(error, requestId, now) ?? this.#client.encodeStreamError(error, requestId, now))
    );
  }

  /** `relayed`: what the relay makes of the frame; `events`: what the decoder does. */
  #step(relayed: PumpStep, events: readonly StreamEvent[]): PumpStep {
    const repaired = events.flatMap((event) => this.#repairer.push(event));
    this.#bytes.push(relayed.bytes);
    this.#given.push(...events);
    this.#repaired.push(...repaired);
    if (!this.#isRewritten && this.#repairer.repaired().length === 0) {
      const isOver = relayed.complete === true || relayed.failure !== undefined;
      if (!isOver && (this.#repairer.isHolding() || this.#decoder.stopped())) return { bytes: '' };
      return { ...relayed, bytes: this.#relayHeld() };
    }
    this.#isRewritten = true;
    return this.#rewriteHeld(relayed);
  }

  #relayHeld(): Buffer | string {
    for (const event of this.#given.splice(0)) this.#encoder.push(event);
    this.#repaired = [];
    return joined(this.#bytes.splice(0));
  }

  #rewriteHeld({ failure }: PumpStep): PumpStep {
    this.#bytes = [];
    this.#given = [];
    const events = this.#repaired.splice(0);
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
