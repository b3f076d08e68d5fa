// The headers that carry a provider's API key: those of its protocol, or as the configuration sets.
import type { ProtocolName } from '../canonical/request.ts';
import type { ProviderConfig } from '../config/config.ts';
import { outlines } from '../protocols/outlines.ts';
import { bearerHeaders } from '../protocols/shared/client.ts';

/** Flat: name, value. */
export function authHeaders({ apiKey, auth }: ProviderConfig, protocol: ProtocolName): string[] {
  if (apiKey === undefined) return [];
  if (auth === 'protocol') return outlines[protocol].authHeaders(apiKey);
  return auth === 'bearer' ? bearerHeaders(apiKey) : [auth, apiKey];
}
