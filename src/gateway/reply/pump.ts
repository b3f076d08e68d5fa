// Moves a committed stream to the client: frames in, bytes out, one write a network chunk, back-pressure both ways. What a
// frame becomes is the business of relay and translate; how a stream may end is decided here.
import { GatewayError, type ProviderFailure } from '../../errors.ts';
import type { Cancellation } from '../../cancellation.ts';
import type { Clock } from '../../clock.ts';
import type { Usage } from '../../canonical/usage.ts';
import type { Frame, Run } from '../../protocols/sse/splitter.ts';
import type { Outcome, Sink } from '../exchange.ts';
import type { FrameReader, FrameSource } from '../outbound/provider-frames.ts';

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

export interface FrameWriter {
  move(frames: readonly Frame[]): PumpStep;
  /** The same, for frames that were not told apart yet. */
  moveRun(run: Run): PumpStep;
  /** The provider's body is over without a terminal frame before it. */
  finish(clean: boolean): PumpStep;
  usage(): Usage | undefined;
  /** What the client's protocol could not hold. */
  lost?(): string[] | undefined;
  /** The answer's finish was seen, its end was not: silence is waited out for a short time only. */
  stopped?(): boolean;
}

/** Some servers keep a stream open after the finish; what may still come is usage. */
const SETTLE_MS = 5000;

export interface PumpOptions {
  held: readonly Frame[];
  source: FrameSource;
  mover: FrameWriter;
  sink: Sink;
  cancellation: Cancellation;
  clock: Clock;
  /** The client's error event for a failure, complete. */
  errorEvent: (error: ProviderFailure | GatewayError) => string;
  /** Told with the first bytes that were written. */
  onFirstByte: () => void;
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
  #begun = false;
  #cancelSettling: (() => void) | undefined;

  constructor(options: PumpOptions, resolve: (outcome: Outcome) => void, reject: (error: Error) => void) {
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(): void {
    const { cancellation, held, mover, source } = this.#options;
    if (cancellation.reason !== undefined) {
      this.#cancelled();
      return;
    }
    cancellation.subscribe(this.#onCancel);
    this.#guarded(() => this.#take(mover.move(held)));
    if (!this.#over) source.read(this);
  }

  // -- the provider's side --

  frames(frames: readonly Frame[]): void {
    if (this.#over) return;
    try {
      this.#take(this.#options.mover.move(frames));
    } catch (error) {
      this.#broken(error);
    }
  }

  run(run: Run): void {
    if (this.#over) return;
    try {
      this.#take(this.#options.mover.moveRun(run));
    } catch (error) {
      this.#broken(error);
    }
  }

  end(clean: boolean): void {
    this.#guarded(() => this.#take(this.#options.mover.finish(clean)));
  }

  fail(failure: ProviderFailure): void {
    this.#guarded(() => {
      if (this.#options.cancellation.reason !== undefined) this.#cancelled();
      else this.#failed(failure);
    });
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
      if (this.#options.mover.stopped?.() === true) this.#settle();
    }
  }

  #write(bytes: Buffer | string): void {
    if (bytes.length === 0) return;
    this.#writing();
    const { sink, source } = this.#options;
    if (sink.write(bytes)) return;
    source.pause();
    sink.onDrain(this.#onDrain);
  }

  #writing(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#options.onFirstByte();
  }

  #settle(): void {
    const { clock, mover } = this.#options;
    this.#cancelSettling?.();
    this.#cancelSettling = clock.after(SETTLE_MS, () => this.#guarded(() => this.#take(mover.finish(true))));
  }

  #stop(): void {
    this.#over = true;
    this.#cancelSettling?.();
    this.#options.cancellation.unsubscribe(this.#onCancel);
  }

  #close(error: string | null, last: Buffer | string): void {
    const { sink, mover } = this.#options;
    this.#stop();
    sink.end(last);
    this.#resolve({ status: 200, error, usage: mover.usage(), lost: mover.lost?.() });
  }

  #failed(failure: ProviderFailure | GatewayError): void {
    const { source, errorEvent } = this.#options;
    source.abort();
    const error = failure instanceof GatewayError ? failure.kind : (failure.reason ?? failure.kind);
    this.#close(error, errorEvent(failure));
  }

  #cancelled(): void {
    if (this.#over) return;
    const { cancellation, mover, source } = this.#options;
    const { reason } = cancellation;
    if (reason instanceof GatewayError) return this.#failed(reason);
    source.abort();
    this.#stop();
    this.#resolve({ status: 499, error: 'client_closed', usage: mover.usage(), lost: mover.lost?.() });
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

export const TRUNCATED: ProviderFailure = {
  kind: 'failed',
  message: "the provider's stream ended before the answer was complete",
  reason: 'truncated',
};
