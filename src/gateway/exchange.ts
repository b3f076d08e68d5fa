// One request as the server hands it to the gateway: what the client sent, and where its answer goes.
import type { Cancellation } from '../cancellation.ts';

/** Flat list of header names (lower case) and values. */
export type HeaderList = string[];

export interface Sink {
  /** The head was written: from then on an error can only be an event of the stream. */
  readonly opened: boolean;
  /** A whole answer, with its length. */
  send(status: number, headers: HeaderList, body: Buffer | string): void;
  /** Opens an event stream; while nothing is written for a while, `keepAlive` is. A second call does nothing. */
  open(headers: HeaderList, keepAlive: string): void;
  /** `false`: the client reads slowly; wait for `onDrain`. */
  write(bytes: Buffer | string): boolean;
  onDrain(listener: () => void): void;
  /** Ends the stream, after these bytes if there are any. */
  end(last?: Buffer | string): void;
}

export interface Exchange {
  readonly requestId: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** `?beta=true`, or ''. */
  readonly query: string;
  /** Cancelled with ClientGone when the client left, with a GatewayError when the server shuts down. */
  readonly cancellation: Cancellation;
  /** The whole body, decompressed, within the limit. Throws or rejects with GatewayError. */
  readBody(): Buffer | Promise<Buffer>;
  readonly sink: Sink;
  /** Calls the one task when the last byte of the answer has left, or the connection is gone: at once where that is so already. */
  whenDelivered(task: () => void): void;
}

/** The client closed the connection: nobody is left to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}
