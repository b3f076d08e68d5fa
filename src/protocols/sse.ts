// Server-sent events by bytes: any split of the input gives the same frames.
// https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream

/** One event as it came. `bytes` includes its blank line, so that frames put together are the stream again. */
export interface Frame {
  readonly bytes: Buffer;
  /** `bytes` as latin1: to look for ASCII marks without decoding. */
  readonly text: string;
  /** The last `event:` field, '' if none. */
  readonly event: string;
  /** The `data:` lines joined with \n, UTF-8 decoded; '' if none (a comment, a keep-alive). */
  readonly data: string;
}
