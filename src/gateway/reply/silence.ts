// Opens the stream of a provider that is silent for long: clients and proxies measure silence until the first byte of the body.
import type { Admission } from '../../errors.ts';
import type { Exchange } from '../exchange.ts';
import type { Inbound } from '../inbound/read-request.ts';
import type { Contact, Trace } from '../trace.ts';
import { noticesOf, replyContext, responseHeaders, type OpenedStream, type RespondDeps } from './respond.ts';

/** Counted from the time at which the request was read. */
const OPEN_AFTER_MS = 10_000;

interface Silence {
  /** To be called when the answer starts or the request is over. Gives the encoder that opened the stream, if one did. */
  end(): OpenedStream | undefined;
}

const NO_SILENCE: Silence = { end: () => undefined };

/**
 * If the protocol's encoder writes keep-alives, the stream opens with one of them: clients of such a protocol accept nothing before
 * its first event. Else with the protocol's constant keep-alive.
 */
export function keepAliveInSilence(
  request: { inbound: Inbound; first: Contact; admission: Admission; exchange: Exchange; readAt: number },
  trace: Trace,
  deps: RespondDeps,
): Silence {
  const { inbound, first, admission, exchange, readAt } = request;
  const { clock } = deps;
  if (!inbound.stream) return NO_SILENCE;
  const { client } = inbound.protocol;
  let opened: OpenedStream | undefined;
  const waitMs = Math.max(OPEN_AFTER_MS - (clock.monotonic() - readAt), 0);
  const cancel = clock.after(waitMs, () => {
    if (exchange.cancellation.reason !== undefined) return;
    const context = replyContext(inbound, trace, deps);
    const encoder = client.createStreamEncoder(context);
    if (encoder.keepAlive !== undefined) opened = { encoder, context };
    const notices = noticesOf(client, opened?.encoder);
    exchange.sink.open(responseHeaders(trace.contact ?? first, trace, client, admission, clock), notices);
    exchange.sink.write(notices.keepAlive());
  });
  return {
    end() {
      cancel();
      return opened;
    },
  };
}
