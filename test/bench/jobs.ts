// What the load client is asked to do and answers; the messages between it and the harness.
import type { Size } from './bodies.ts';
import type { Kind, Wire } from './replies.ts';

export interface Route {
  port: number;
  wire: Wire;
  size: Size;
  kind: Kind;
  model: string;
  key: string;
}

export type Job =
  /** One request, read to its end; the text is compared with the stub's. */
  | { do: 'verify'; route: Route }
  /** Each connection sends its next request when the answer is complete, until the time or the requests are over. */
  | { do: 'closed'; route: Route; connections: number; forMs: number; requests?: number }
  /** Requests leave at fixed times, whatever the answers do. */
  | { do: 'paced'; route: Route; perSecond: number; forMs: number };

export interface Result {
  completed: number;
  failed: number;
  /** The first failure, in words. */
  fault?: string;
  /** Milliseconds from the request's first byte to the answer's last. */
  p50: number;
  p99: number;
  /** Of a paced job: all of them. */
  times?: number[];
  /** Of streams: medians of the milliseconds to the first byte of the body, and from one text frame to the next. */
  firstByte: number;
  betweenFrames: number;
  seconds: number;
}
