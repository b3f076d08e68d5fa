// The headers of this protocol: who a request comes from, what of a client's goes on, and the account's hour.
import type { ForwardedHeaders, KeyHeader } from '../protocol.ts';
import { API_KEY, BEARER } from '../shared/headers.ts';

export { requestLimitHeaders as limitHeaders } from '../shared/headers.ts';

export const keyHeaders: readonly KeyHeader[] = [BEARER, API_KEY];

export function authHeaders(apiKey: string): string[] {
  return ['authorization', `Bearer ${apiKey}`];
}

const NOTHING: ForwardedHeaders = { headers: [], query: '', longContext: false };

/** Nothing in a client's headers means anything to a provider. */
export function forwardedHeaders(): ForwardedHeaders {
  return NOTHING;
}
