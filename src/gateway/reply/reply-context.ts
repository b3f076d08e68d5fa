// What encoders of answers need to know of the request.
import type { ReplyContext } from '../../protocols/interface/answer.ts';
import type { Exchange, GatewayDeps } from '../exchange.ts';
import type { Inbound } from '../inbound/read-request.ts';
import type { Trace } from '../trace.ts';

export type RespondDeps = Pick<GatewayDeps, 'clock' | 'ids' | 'current' | 'items' | 'log'>;

/** What encoders of answers need of the request. */
export function replyContext(
  inbound: Inbound,
  trace: Pick<Trace, 'key' | 'startedAt'>,
  { clock, ids, current, items, log }: RespondDeps,
  { memory }: Pick<Exchange, 'memory'>,
): ReplyContext {
  const context: ReplyContext = {
    ids,
    created: Math.floor(clock.now() / 1000),
    now: () => clock.now(),
    elapsed: () => clock.monotonic() - trace.startedAt,
    request: inbound.asked(),
    estimateInput: () => inbound.estimate(),
  };
  if (inbound.protocol.client.stored === undefined) return context;
  context.seal = (text) => {
    try {
      return items.seal(trace.key.accountId, text);
    } catch (error) {
      log.error('thinking cannot be sealed: clients do not get it', { reason: String(error) });
      return undefined;
    }
  };
  if (current.config.responses.store) context.stores = true;
  if (memory !== undefined) context.remembers = true;
  return context;
}
