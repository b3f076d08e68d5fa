// The same protocol on both sides: frames are forwarded as they came, but for usage that only the gateway asked for.
import type { GatewayError } from '../../errors.ts';
import type { JsonObject } from '../../canonical/json.ts';
import type { Usage } from '../../canonical/reply.ts';
import type { AnswerMarks, ReplyIds } from '../../protocols/interface/answer.ts';
import type { ClientSide } from '../../protocols/interface/protocol.ts';
import type { StreamClassifier, StreamEncoder } from '../../protocols/interface/stream.ts';
import { createSplitter, type Frame, type Run } from '../../protocols/sse/splitter.ts';
import type { RelayedOpening } from '../outbound/first-frame.ts';
import type { PumpStep, FrameWriter } from './pump.ts';
import { BROKEN_OFF } from '../../failures.ts';

const NOTHING = Buffer.alloc(0);

/** `opened`: the encoder that opened the stream already. */
export function createRelay(
  opening: RelayedOpening,
  client: ClientSide,
  opened?: StreamEncoder,
): FrameWriter {
  const relay = new Relay(opening, client);
  return opened?.adopt === undefined ? relay : new AdoptedRelay(relay, opened, opened.adopt.bind(opened));
}

class Relay implements FrameWriter {
  readonly #classifier: StreamClassifier;
  readonly #client: ClientSide;
  #opening: RelayedOpening | undefined;
  #finished: boolean;

  constructor(opening: RelayedOpening, client: ClientSide) {
    this.#classifier = opening.classifier;
    this.#client = client;
    this.#opening = opening;
    this.#finished = opening.finished;
  }

  start(): PumpStep {
    const { held = [], rest = [] } = this.#opening ?? {};
    this.#opening = undefined;
    return this.#move([...held], rest);
  }

  move(frames: readonly Frame[]): PumpStep {
    return this.#move([], frames);
  }

  /** Nearly always every frame in it is quiet, and the Buffer that came is forwarded whole. */
  moveRun(run: Run): PumpStep {
    return this.#classifier.isQuiet(run.text)
      ? { bytes: this.#shifted(run.bytes) }
      : this.#move([], run.frames());
  }

  finish(clean: boolean): PumpStep {
    return clean && this.#finished
      ? { bytes: NOTHING, complete: true }
      : { bytes: NOTHING, failure: BROKEN_OFF };
  }

  usage(): Usage | undefined {
    return this.#classifier.usage();
  }

  marks(): AnswerMarks {
    return this.#classifier.marks();
  }

  answer(): JsonObject | undefined {
    return this.#classifier.answer?.();
  }

  keepAlive(): string {
    return this.#classifier.keepAlive?.() ?? this.#client.keepAlive;
  }

  fail(error: GatewayError, requestId: string, now: number): string {
    return (
      this.#classifier.fail?.(error, requestId, now) ?? this.#client.encodeStreamError(error, requestId, now)
    );
  }

  #shifted(bytes: Buffer): Buffer {
    return this.#classifier.shifted?.(bytes) ?? bytes;
  }

  /** `out`: bytes that are due before these frames. */
  #move(out: Buffer[], frames: readonly Frame[]): PumpStep {
    for (const frame of frames) {
      const seen = this.#classifier.classify(frame);
      if (seen.kind === 'error') return { bytes: joined(out), failure: seen.failure };
      if (seen.kind !== 'drop') out.push(this.#shifted(frame.bytes));
      if (seen.kind === 'end') return { bytes: joined(out), complete: true };
      if (seen.kind === 'finish') this.#finished = true;
    }
    return { bytes: joined(out) };
  }
}

/** Frames are whole here: their bytes are those of a relay. */
class AdoptedRelay implements FrameWriter {
  readonly #relay: FrameWriter;
  readonly #opened: StreamEncoder;
  readonly #adopt: (frame: Frame) => Buffer;

  constructor(relay: FrameWriter, opened: StreamEncoder, adopt: (frame: Frame) => Buffer) {
    this.#relay = relay;
    this.#opened = opened;
    this.#adopt = adopt;
  }

  start(): PumpStep {
    return this.#adopted(this.#relay.start());
  }

  move(frames: readonly Frame[]): PumpStep {
    return this.#adopted(this.#relay.move(frames));
  }

  moveRun(run: Run): PumpStep {
    return this.#adopted(this.#relay.moveRun(run));
  }

  finish(clean: boolean): PumpStep {
    return this.#relay.finish(clean);
  }

  usage(): Usage | undefined {
    return this.#relay.usage();
  }

  marks(): AnswerMarks {
    return this.#relay.marks();
  }

  answer(): JsonObject | undefined {
    return this.#opened.answer?.();
  }

  replyIds(): ReplyIds | undefined {
    return this.#opened.replyIds();
  }

  keepAlive(): string {
    return this.#bytes(this.#relay.keepAlive()).toString();
  }

  fail(error: GatewayError, requestId: string, now: number): string {
    return this.#bytes(this.#relay.fail(error, requestId, now)).toString();
  }

  #adopted(step: PumpStep): PumpStep {
    return { ...step, bytes: this.#bytes(step.bytes) };
  }

  #bytes(bytes: Buffer | string): Buffer {
    const given = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
    const splitter = createSplitter({ maxFrame: Infinity });
    return joined([...splitter.push(given), ...splitter.finish()].map(this.#adopt));
  }
}

/** A single Buffer is written unchanged, several in one write. */
function joined(bytes: readonly Buffer[]): Buffer {
  const [only] = bytes;
  if (only === undefined) return NOTHING;
  return bytes.length === 1 ? only : Buffer.concat(bytes);
}
