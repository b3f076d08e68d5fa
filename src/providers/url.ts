// Where a call to a provider goes: the one place that makes its URL.
import type { ProtocolName } from '../canonical/request.ts';
import type { ProviderConfig } from '../config/config.ts';

interface Endpoint {
  protocol: ProtocolName;
  /** Behind the base URL; begins with a slash, or with `../` to replace the base's last segment. */
  path: string;
  /** Begins with a question mark, or is empty. */
  query?: string;
}

export function providerUrl(provider: ProviderConfig, { protocol, path, query = '' }: Endpoint): string {
  const base = provider.baseUrls[protocol];
  if (base === undefined) throw new Error(`${provider.name} has no base URL for ${protocol}`);
  return (path.startsWith('..') ? new URL(path, `${base}/`).href : base + path) + query;
}
