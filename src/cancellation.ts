// Ends a request from outside: its client left, or the server shuts down. It does what AbortSignal does and costs less: Node sets the
// prototype of an AbortSignal after it is made, so every access to it misses the engine's caches.

export interface Cancellation {
  /** Why it was cancelled; undefined while it is not. */
  readonly reason: Error | undefined;
  /** Calls `listener` once, when it is cancelled; never if it is cancelled already. */
  subscribe(listener: () => void): void;
  unsubscribe(listener: () => void): void;
}

export class CancellationSource implements Cancellation {
  #reason: Error | undefined;
  readonly #listeners: (() => void)[] = [];

  get reason(): Error | undefined {
    return this.#reason;
  }

  subscribe(listener: () => void): void {
    if (this.#reason === undefined) this.#listeners.push(listener);
  }

  unsubscribe(listener: () => void): void {
    const at = this.#listeners.indexOf(listener);
    if (at >= 0) this.#listeners.splice(at, 1);
  }

  /** The first reason stays: a second call does nothing. */
  cancel(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    let listener;
    while ((listener = this.#listeners.shift()) !== undefined) listener();
  }
}

export const NEVER_CANCELLED: Cancellation = new CancellationSource();

/** The reason of a cancellation by `cancelledAfter`. */
export class NoAnswer extends Error {}

/** Cancels after `ms`. Does not keep the process alive. */
export function cancelledAfter(ms: number): Cancellation {
  const source = new CancellationSource();
  // As in `Clock.after`, bytes that wait in sockets are read first.
  setTimeout(() => setImmediate(() => source.cancel(new NoAnswer(`no answer within ${ms} ms`))), ms).unref();
  return source;
}
