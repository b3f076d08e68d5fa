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
  | { do: 'paced'; route: Route; perSecond: number; forMs: number }
  /** As `closed`, while other connections do the same on another route. */
  | {
      do: 'beside';
      route: Route;
      connections: number;
      forMs: number;
      others: { route: Route; connections: number };
    };

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
  /** Of streams whose frames hold the stub's clock, in milliseconds. To the first text: from the request to the first text, without
   *  the time that the stub took. Of later texts: from the stub's write to the client's read. */
  firstTexts: number[];
  laterTexts: number[];
  seconds: number;
}
