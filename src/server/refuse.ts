// What becomes of a request that fails: an answer in the client's protocol, a line of the log, a count.
import { GatewayError } from '../errors.ts';
import { ClientGone, type GatewayDeps } from '../gateway/exchange.ts';
import { withoutKeys } from '../ids.ts';

/** A request as its refusal sees it. */
interface Refused {
  readonly requestId: string;
  readonly path: string;
  readonly admitted: boolean;
  /** Nobody is there to be told. */
  readonly isGone: boolean;
  fail(error: GatewayError): void;
}

export function refuse(request: Refused, error: unknown, deps: GatewayDeps): void {
  const { requestId, path } = request;
  if (error instanceof ClientGone || request.isGone) return;
  if (error instanceof GatewayError) {
    const { status, kind, message, account } = error;
    if (!request.admitted) {
      const at = deps.clock.now();
      const refused = { at, requestId, account, path: shown(path), status, kind, message: shown(message) };
      for (const observer of deps.observers) observer.wasRefused?.(refused);
    }
    deps.database.refused(error, { request: requestId, path });
    if (!request.admitted) deps.metrics?.refused(path, error);
    if (status < 500) deps.log.info('refused', { request: requestId, path, status, kind, message });
    request.fail(error);
    return;
  }
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  deps.log.error('a fault of the gateway', { request: requestId, path, detail });
  const fault = new GatewayError('internal', 'the gateway failed; its log says more');
  if (!request.admitted) deps.metrics?.refused(path, fault);
  request.fail(fault);
}

/** Characters of a client's path, or of a message that repeats a client's words. */
const MOST_SHOWN = 1000;

const shown = (text: string): string => withoutKeys(text).slice(0, MOST_SHOWN);
