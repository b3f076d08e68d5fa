// Holds the whole process, as a signal, a suspended machine or much work does: sockets fill, timers become due.

export function hold(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
