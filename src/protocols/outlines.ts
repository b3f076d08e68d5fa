// The outline of every wire protocol, by name: for routing, lists of models and commands, which then need not load the protocols.
import type { ProtocolName } from '../canonical/request.ts';
import { outline as chat } from './chat/outline.ts';
import { outline as messages } from './messages/outline.ts';
import type { ProtocolOutline } from './interface/outline.ts';
import { outline as responses } from './responses/outline.ts';
import { bearerHeaders } from './shared/client.ts';

export const outlines: Readonly<Record<ProtocolName, ProtocolOutline>> = { chat, messages, responses };

/** The headers that carry a provider's API key, flat: those of its protocol, or as the configuration sets. */
export function authHeaders(
  { apiKey, auth }: { apiKey?: string | undefined; auth: string },
  protocol: ProtocolName,
): string[] {
  if (apiKey === undefined) return [];
  if (auth === 'protocol') return outlines[protocol].authHeaders(apiKey);
  return auth === 'bearer' ? bearerHeaders(apiKey) : [auth, apiKey];
}
