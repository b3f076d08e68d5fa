// A request's end from outside: its client left, or the server shuts down. What AbortSignal is for, without its price: each
// AbortSignal is made with a prototype set afterwards, so every access to it misses the engine's caches (18 µs a request).

export interface Cancellation {
  /** Why it was cancelled; undefined while it is not. */
  readonly reason: Error | undefined;
  /** Called once, when it is cancelled; never where it was before. */
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

  /** A second call does nothing: the first reason stays. */
  cancel(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    let listener;
    while ((listener = this.#listeners.shift()) !== undefined) listener();
  }
}

export const NEVER_CANCELLED: Cancellation = new CancellationSource();

/** Cancelled after `ms`. Does not keep the process alive. */
export function cancelledAfter(ms: number): Cancellation {
  const source = new CancellationSource();
  // As `Clock.after`: not before what waits in sockets was read.
  setTimeout(() => setImmediate(() => source.cancel(new Error(`no answer within ${ms} ms`))), ms).unref();
  return source;
}
