// What a running gateway does for the commands of its own user: rows that the composition root gives to the control server. To add
// one, append a row to `controlHandlers` in app.ts.

export interface ControlRequest {
  query: URLSearchParams;
  /** The parsed JSON of the request; undefined if it has none. */
  body: unknown;
}

/** Replies with one JSON value, or with a promise of one. A ControlError becomes its status and message. */
export interface ControlCall {
  method: 'GET' | 'POST' | 'DELETE';
  /** `/status`: exact, so parameters belong in the query or the body. */
  path: string;
  handle(request: ControlRequest): unknown;
}

/**
 * Sends JSON lines until the reader leaves or the gateway ends. `send` never blocks: while a slow reader has too much waiting, events
 * are dropped, and `{"dropped": 12}` comes before the next one. The returned function is called once, at the end.
 */
export interface ControlStream {
  method: 'GET';
  path: string;
  open(request: ControlRequest, send: (event: unknown) => void): () => void;
}

export type ControlHandler = ControlCall | ControlStream;

/** A refusal that the user of a command sees, on both sides of the socket. */
export class ControlError extends Error {
  override readonly name = 'ControlError';
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
