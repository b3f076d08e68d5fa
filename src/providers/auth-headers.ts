// How a provider is sent its key: by its protocol's custom, or as the configuration says.
import type { ProtocolName } from '../canonical/request.ts';
import type { ProviderConfig } from '../config/config.ts';
import { protocols } from '../protocols/registry.ts';

/** Flat: name, value. */
export function authHeaders({ apiKey, auth }: ProviderConfig, protocol: ProtocolName): string[] {
  if (apiKey === undefined) return [];
  if (auth === 'protocol') return protocols[protocol].provider.authHeaders(apiKey);
  return auth === 'bearer' ? ['authorization', `Bearer ${apiKey}`] : [auth, apiKey];
}
