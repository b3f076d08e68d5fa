// Chat's headers: in which a key is sent, which of the client's are forwarded, and which show the account's hour.
import type { ForwardedHeaders, KeyHeader } from '../protocol.ts';
import { API_KEY, BEARER } from '../shared/headers.ts';

export { bearerHeaders as authHeaders, requestLimitHeaders as limitHeaders } from '../shared/headers.ts';

export const keyHeaders: readonly KeyHeader[] = [BEARER, API_KEY];

const NOTHING: ForwardedHeaders = { headers: [], query: '', longContext: false };

/** Nothing in a client's headers means anything to a provider. */
export function forwardedHeaders(): ForwardedHeaders {
  return NOTHING;
}
