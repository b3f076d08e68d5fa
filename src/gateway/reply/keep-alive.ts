// A stream whose provider stays silent is opened with keep-alives alone: clients and proxies count silence until the first
// byte of the body.
import type { Admission } from '../../errors.ts';
import type { Clock } from '../../clock.ts';
import type { Exchange } from '../exchange.ts';
import type { Inbound } from '../inbound/read-request.ts';
import type { Contact, Trace } from '../trace.ts';
import { responseHeaders } from './respond.ts';

/** Counted from when the request was read. */
const OPEN_AFTER_MS = 10_000;

interface Silence {
  /** The answer has begun, or the request is over. */
  end(): void;
}

const NO_SILENCE: Silence = { end: () => undefined };

export function keepAliveInSilence(
  request: { inbound: Inbound; first: Contact; admission: Admission; exchange: Exchange; readAt: number },
  trace: Trace,
  clock: Clock,
): Silence {
  const { inbound, first, admission, exchange, readAt } = request;
  if (!inbound.stream) return NO_SILENCE;
  const { client } = inbound.protocol;
  const waitMs = Math.max(OPEN_AFTER_MS - (clock.monotonic() - readAt), 0);
  const end = clock.after(waitMs, () => {
    if (exchange.cancellation.reason !== undefined) return;
    const headers = responseHeaders(trace.contact ?? first, trace, client, admission, clock);
    exchange.sink.open(headers, client.keepAlive);
    exchange.sink.write(client.keepAlive);
  });
  return { end };
}
