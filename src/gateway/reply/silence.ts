// Opens a stream with keep-alives while the provider is silent, so that the client does not give up.
import type { Admitted } from '../../accounts/admission.ts';
import type { ReplyContext } from '../../protocols/interface/answer.ts';
import type { ClientSide } from '../../protocols/interface/protocol.ts';
import type { StreamEncoder, StreamNotices } from '../../protocols/interface/stream.ts';
import type { Exchange } from '../exchange.ts';
import type { Inbound } from '../inbound/read-request.ts';
import type { Contact, Trace } from '../trace.ts';
import { replyContext, type RespondDeps } from './reply-context.ts';
import { responseHeaders, streamHeaders } from './response-headers.ts';

/** A stream that was opened before its provider answered, by the encoder that writes the rest of it. */
export interface OpenedStream {
  encoder: StreamEncoder;
  context: ReplyContext;
}

/** What the gateway adds to a stream: as its machine says, else as it does to one without frames so far. */
export function noticesOf(client: ClientSide, machine: StreamNotices = {}): Required<StreamNotices> {
  return {
    keepAlive: () => machine.keepAlive?.() ?? client.keepAlive,
    fail: (error, requestId, now) =>
      machine.fail?.(error, requestId, now) ?? client.encodeStreamError(error, requestId, now),
  };
}

/** Since the request was read. */
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
  request: { inbound: Inbound; first: Contact; admission: Admitted; exchange: Exchange; readAt: number },
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
    const context = replyContext(inbound, trace, deps, exchange);
    const encoder = client.createStreamEncoder(context);
    if (encoder.keepAlive !== undefined) opened = { encoder, context };
    const notices = noticesOf(client, opened?.encoder);
    const head = responseHeaders(trace.contact ?? first, trace, client, admission, clock);
    exchange.sink.open(streamHeaders(head, admission, client), notices);
    exchange.sink.write(notices.keepAlive());
  });
  return {
    end() {
      cancel();
      return opened;
    },
  };
}
