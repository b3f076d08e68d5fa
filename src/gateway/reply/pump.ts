// Moves a committed stream to the client: frames in, bytes out, one write a network chunk, back-pressure both ways. What a
// frame becomes is the business of relay and translate; how a stream may end is decided here.
import { GatewayError, type ProviderFailure } from '../../errors.ts';
import type { Clock } from '../../clock.ts';
import type { JsonObject } from '../../canonical/json.ts';
import type { Usage } from '../../canonical/reply.ts';
import type { Histogram } from '../../histogram.ts';
import type { Frame, Run } from '../../protocols/sse/splitter.ts';
import type { NewItem } from '../../store/items/sealed-items.ts';
import type { AnswerMarks, HiddenTexts, ReplyIds } from '../../protocols/interface/answer.ts';
import type { StreamNotices } from '../../protocols/interface/stream.ts';
import type { Exchange } from '../exchange.ts';
import type { Outcome, Progress, Trace } from '../trace.ts';
import type { FrameReader, FrameSource } from '../outbound/provider-reply.ts';

/** What one network chunk's frames are to the client, and whether the answer ended with them. */
export interface PumpStep {
  bytes: Buffer | string;
  /** The answer is complete: nothing more is read. */
  complete?: true;
  /** With `complete`: by the gateway, while the provider would still go on. */
  cut?: boolean;
  /** The answer failed: an error event follows `bytes`. */
  failure?: ProviderFailure;
}

export interface FrameWriter extends Required<StreamNotices> {
  /** What came before the commit, and the rest of its network chunk. */
  start(): PumpStep;
  move(frames: readonly Frame[]): PumpStep;
  /** The same, for bytes not yet split into frames. */
  moveRun(run: Run): PumpStep;
  /** The provider's body is over without a terminal frame before it. */
  finish(clean: boolean): PumpStep;
  usage(): Usage | undefined;
  /** As far as the answer came. */
  marks(): AnswerMarks;
  /** What the client's protocol could not hold. */
  lost?(): string[] | undefined;
  /** Tool calls that were repaired. */
  repaired?(): readonly string[] | undefined;
  /** What later requests may need of the complete answer. */
  items?(): readonly NewItem[] | undefined;
  /** The complete answer as the client has it, if its protocol stores answers. */
  answer?(): JsonObject | undefined;
  /** Of that answer. */
  hidden?(): HiddenTexts | undefined;
  /** Undefined: the client has the provider's id, or none yet. */
  replyIds?(): ReplyIds | undefined;
  /** The answer's finish was seen, its end was not: silence is waited out for a short time only. */
  stopped?(): boolean;
}

/** Some servers keep a stream open after the finish; what may still come is usage. */
const SETTLE_MS = 5000;

interface PumpOptions {
  source: FrameSource;
  writer: FrameWriter;
  /** The client's error event for a failure, complete. */
  errorEvent: (error: ProviderFailure | GatewayError) => string;
  /** A failed stream ends without the end of its body. */
  cutsBroken: boolean;
  exchange: Pick<Exchange, 'sink' | 'cancellation'>;
  /** Gets the time of the first bytes that were written, and how many they are. */
  trace: Pick<Trace, 'firstByteAt' | 'progress'>;
  /** To be called before the last bytes are sent. undefined: nothing is held. Never rejects. */
  settle: ((outcome: Outcome) => Promise<void>) | undefined;
  clock: Clock;
}

/** Resolves when the stream has ended, however it did; never rejects for what a client or a provider does. */
export function pump(options: PumpOptions): Promise<Outcome> {
  return new Promise((resolve, reject) => new Pump(options, resolve, reject).start());
}

class Pump implements FrameReader {
  readonly #options: PumpOptions;
  readonly #resolve: (outcome: Outcome) => void;
  readonly #reject: (error: Error) => void;
  readonly #onCancel = (): void => this.#cancelled();
  readonly #onDrain = (): void => {
    if (!this.#over) this.#options.source.resume();
  };
  #over = false;
  /** When the provider's last chunk came, where somebody counts the time between them. */
  #chunkAt = 0;
  #cancelSettling: (() => void) | undefined;

  constructor(options: PumpOptions, resolve: (outcome: Outcome) => void, reject: (error: Error) => void) {
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(): void {
    const { exchange, writer, source } = this.#options;
    const { cancellation } = exchange;
    if (cancellation.reason !== undefined) {
      this.#cancelled();
      return;
    }
    cancellation.subscribe(this.#onCancel);
    if (this.#options.trace.progress.gaps !== undefined) this.#chunkAt = this.#options.clock.monotonic();
    this.#guarded(() => this.#take(writer.start()));
    if (!this.#over) source.read(this);
  }

  // -- the provider's side --

  frames(frames: readonly Frame[]): void {
    if (this.#over) return;
    const { gaps } = this.#options.trace.progress;
    if (gaps !== undefined) this.#came(frames.length, gaps);
    try {
      this.#take(this.#options.writer.move(frames));
    } catch (error) {
      this.#broken(error);
    }
  }

  run(run: Run): void {
    if (this.#over) return;
    const { gaps } = this.#options.trace.progress;
    if (gaps !== undefined) this.#came(run.count(), gaps);
    try {
      this.#take(this.#options.writer.moveRun(run));
    } catch (error) {
      this.#broken(error);
    }
  }

  end(clean: boolean): void {
    this.#guarded(() => this.#take(this.#options.writer.finish(clean)));
  }

  fail(failure: ProviderFailure): void {
    this.#guarded(() => {
      if (this.#options.exchange.cancellation.reason !== undefined) this.#cancelled();
      else this.#failed(failure);
    });
  }

  /** The first of chunks that come together took the time, the others none. */
  #came(chunks: number, gaps: Histogram): void {
    const now = this.#options.clock.monotonic();
    gaps.observe((now - this.#chunkAt) / 1000);
    if (chunks > 1) gaps.observe(0, chunks - 1);
    this.#chunkAt = now;
  }

  // -- the client's side --

  #take(moved: PumpStep): void {
    const { bytes, failure } = moved;
    if (failure !== undefined) {
      this.#write(bytes);
      this.#failed(failure);
    } else if (moved.complete === true) {
      if (bytes.length > 0) this.#writing();
      if (moved.cut === true) this.#options.source.abort();
      else this.#options.source.release();
      this.#close(null, bytes);
    } else {
      this.#write(bytes);
      if (this.#options.writer.stopped?.() === true) this.#settle();
    }
  }

  #write(bytes: Buffer | string): void {
    if (bytes.length === 0) return;
    this.#writing();
    const { exchange, source } = this.#options;
    const { progress } = this.#options.trace;
    progress.written += bytes.length;
    if (progress.watched) countPieces(progress, bytes);
    if (exchange.sink.write(bytes)) return;
    source.pause();
    exchange.sink.onDrain(this.#onDrain);
  }

  #writing(): void {
    const { trace, clock } = this.#options;
    trace.firstByteAt ??= clock.monotonic();
  }

  #settle(): void {
    const { clock, writer } = this.#options;
    this.#cancelSettling?.();
    this.#cancelSettling = clock.after(SETTLE_MS, () => this.#guarded(() => this.#take(writer.finish(true))));
  }

  #stop(): void {
    this.#over = true;
    this.#cancelSettling?.();
    this.#options.exchange.cancellation.unsubscribe(this.#onCancel);
  }

  #close(error: string | null, last: Buffer | string): void {
    const { writer, settle } = this.#options;
    this.#stop();
    if (settle === undefined) this.#send(error, last);
    const items = error === null ? writer.items?.() : undefined;
    const outcome: Outcome = {
      status: 200,
      error,
      usage: writer.usage(),
      marks: writer.marks(),
      lost: writer.lost?.(),
      repaired: writer.repaired?.(),
      items,
      replyIds: writer.replyIds?.(),
    };
    if (settle === undefined) this.#resolve(outcome);
    else {
      settle(outcome).then(() => {
        this.#send(error, last);
        this.#resolve(outcome);
      }, this.#reject);
    }
  }

  #send(error: string | null, last: Buffer | string): void {
    const { exchange, cutsBroken } = this.#options;
    if (error !== null && cutsBroken) exchange.sink.breakOff(last);
    else exchange.sink.end(last);
  }

  #failed(failure: ProviderFailure | GatewayError): void {
    const { source, errorEvent } = this.#options;
    source.abort();
    const error = failure instanceof GatewayError ? failure.kind : (failure.reason ?? failure.kind);
    this.#close(error, errorEvent(failure));
  }

  #cancelled(): void {
    if (this.#over) return;
    const { exchange, writer, source } = this.#options;
    const { reason } = exchange.cancellation;
    if (reason instanceof GatewayError) return this.#failed(reason);
    source.abort();
    this.#stop();
    this.#resolve({
      status: 499,
      error: 'client_closed',
      usage: writer.usage(),
      marks: writer.marks(),
      lost: writer.lost?.(),
      replyIds: writer.replyIds?.(),
    });
  }

  #guarded(step: () => void): void {
    if (this.#over) return;
    try {
      step();
    } catch (error) {
      this.#broken(error);
    }
  }

  /** A fault of our own while the head is out: the stream must not end as if it were whole. */
  #broken(error: unknown): void {
    this.#stop();
    this.#options.source.abort();
    this.#reject(error instanceof Error ? error : new Error(String(error)));
  }
}

/** Pieces are counted in the first bytes of a write only. */
const MOST_COUNTED = 16 * 1024;
const LF = 10;

/** A blank line ends a piece. */
function countPieces(progress: Progress, bytes: Buffer | string): void {
  const length = Math.min(bytes.length, MOST_COUNTED);
  const isString = typeof bytes === 'string';
  let before = 0;
  for (let at = 0; at < length; at += 1) {
    const byte = isString ? bytes.charCodeAt(at) : bytes[at];
    if (byte === LF && before === LF) progress.pieces += 1;
    before = byte ?? 0;
  }
  progress.pieceBytes += length;
}
