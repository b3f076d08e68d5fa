// Whose request it is: its key's. At endpoints whose clients know of no keys, the account's that the configuration names: for programs
// of this machine alone, and never for a web page that may not ask.
import { authenticate, hasCredential } from '../../accounts/access.ts';
import { keylessKey } from './keyless.ts';
import { GatewayError } from '../../errors.ts';
import type { Endpoint } from '../../protocols/interface/endpoint.ts';
import type { KeyHeader } from '../../protocols/interface/outline.ts';
import type { ClientProtocol } from '../../protocols/interface/protocol.ts';
import type { Key } from '../../store/store.ts';
import type { Exchange, GatewayDeps } from '../exchange.ts';

interface Asked {
  protocol: ClientProtocol;
  endpoint: Endpoint;
}

/** Throws or rejects with GatewayError as `authenticate` does, and 403 for a client that must not ask here at all. */
export function askingKey(
  { protocol, endpoint }: Asked,
  exchange: Exchange,
  deps: Pick<GatewayDeps, 'current' | 'store' | 'clock' | 'ids'>,
): Key | Promise<Key> {
  const { headers } = exchange;
  const { client } = protocol;
  const { config } = deps.current;
  if (config.ollama !== null && endpoint.keyless !== undefined) {
    if (client.isKeyless === true) refuseStrangers(exchange, config.listen.origins);
    if (mayAskWithout(endpoint.keyless, exchange, client.keyHeaders))
      return keylessKey(config.ollama.account, config.defaultTier, deps);
  }
  const permission = ('permission' in endpoint ? endpoint.permission : undefined) ?? protocol.permission;
  const asked = { headers, endpoint: permission, keyHeaders: client.keyHeaders };
  return authenticate(asked, deps.store, deps.clock.now());
}

/** Also one with a key: what is served here needs none, so nobody else shall find it. */
function refuseStrangers({ headers: { origin }, isLocal }: Exchange, origins: readonly string[]): void {
  if (!isLocal) {
    const message = 'this path is for programs of the machine on which the gateway runs; use /v1 with a key';
    throw new GatewayError('forbidden_host', message);
  }
  if (origin === undefined || (typeof origin === 'string' && origins.includes(origin))) return;
  const message = 'web pages of this origin may not ask here (listen.origins in the configuration adds one)';
  throw new GatewayError('forbidden_host', message);
}

function mayAskWithout(
  keyless: true | 'unsigned',
  { headers, isLocal }: Exchange,
  keyHeaders: readonly KeyHeader[],
): boolean {
  if (!isLocal || hasCredential(headers, keyHeaders)) return false;
  return keyless === true || headers.origin === undefined;
}
