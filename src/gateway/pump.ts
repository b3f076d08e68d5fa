// Moves a committed stream to the client: frames in, bytes out, one write a network chunk, back-pressure both ways. What a
// frame becomes is the business of relay and translate; how a stream may end is decided here.
import { GatewayError, type ProviderFailure } from '../errors.ts';
import type { Cancellation } from '../cancellation.ts';
import type { Clock } from '../clock.ts';
import type { Usage } from '../canonical/usage.ts';
import type { Frame } from '../protocols/sse.ts';
import type { Outcome, Sink } from './exchange.ts';
import type { FrameSource } from './frames.ts';

/** What one network chunk's frames are to the client, and whether the answer ended with them. */
export interface Moved {
  bytes: Buffer | string;
  /** The answer is complete: nothing more is read. */
  complete?: true;
  /** With `complete`: by the gateway, while the provider would still go on. */
  cut?: boolean;
  /** The answer failed: an error event follows `bytes`. */
  failure?: ProviderFailure;
}

export interface Mover {
  move(frames: readonly Frame[]): Moved;
  /** The provider's body is over without a terminal frame before it. */
  finish(clean: boolean): Moved;
  usage(): Usage | undefined;
  /** The answer's finish was seen, its end was not: silence is waited out for a short time only. */
  stopped?(): boolean;
}

/** Some servers keep a stream open after the finish; what may still come is usage. */
const SETTLE_MS = 5000;

export interface PumpOptions {
  held: readonly Frame[];
  source: FrameSource;
  mover: Mover;
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
  const { source, mover, sink, cancellation } = options;
  return new Promise((resolve, reject) => {
    let over = false;
    let begun = false;
    let cancelSettling = (): void => undefined;

    function write(bytes: Buffer | string): void {
      if (bytes.length === 0) return;
      if (!begun) {
        begun = true;
        options.onFirstByte();
      }
      if (!sink.write(bytes)) {
        source.pause();
        sink.onDrain(() => {
          if (!over) source.resume();
        });
      }
    }

    function close(error: string | null): void {
      over = true;
      cancelSettling();
      cancellation.unsubscribe(onCancel);
      sink.end();
      resolve({ status: 200, error, usage: mover.usage() });
    }

    function fail(failure: ProviderFailure | GatewayError): void {
      source.abort();
      sink.write(options.errorEvent(failure));
      close(failure instanceof GatewayError ? failure.kind : (failure.reason ?? failure.kind));
    }

    function take(moved: Moved): void {
      write(moved.bytes);
      if (moved.failure !== undefined) fail(moved.failure);
      else if (moved.complete === true) {
        if (moved.cut === true) source.abort();
        else source.release();
        close(null);
      } else if (mover.stopped?.() === true) {
        cancelSettling();
        cancelSettling = options.clock.after(SETTLE_MS, () => guarded(() => take(mover.finish(true))));
      }
    }

    /** A fault of our own while the head is out: the stream must not end as if it were whole. */
    function guarded(step: () => void): void {
      if (over) return;
      try {
        step();
      } catch (error) {
        over = true;
        cancelSettling();
        cancellation.unsubscribe(onCancel);
        source.abort();
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    }

    function onCancel(): void {
      if (over) return;
      const { reason } = cancellation;
      if (reason instanceof GatewayError) return fail(reason);
      source.abort();
      over = true;
      cancelSettling();
      resolve({ status: 499, error: 'client_closed', usage: mover.usage() });
    }

    if (cancellation.reason !== undefined) {
      onCancel();
      return;
    }
    cancellation.subscribe(onCancel);
    guarded(() => take(mover.move(options.held)));
    if (over) return;
    source.read({
      frames: (frames) => guarded(() => take(mover.move(frames))),
      end: (clean) => guarded(() => take(mover.finish(clean))),
      fail: (failure) =>
        guarded(() => {
          if (cancellation.reason !== undefined) onCancel();
          else fail(failure);
        }),
    });
  });
}

export const TRUNCATED: ProviderFailure = {
  kind: 'failed',
  message: "the provider's stream ended before the answer was complete",
  reason: 'truncated',
};
