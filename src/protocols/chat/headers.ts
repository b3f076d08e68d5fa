// Chat's headers: those that carry a key, those that are forwarded, and those that show the account's hourly limit.
import type { ForwardedHeaders, KeyHeader } from '../protocol.ts';
import { API_KEY, BEARER } from '../shared/headers.ts';

export { bearerHeaders as authHeaders, requestLimitHeaders as limitHeaders } from '../shared/headers.ts';

export const keyHeaders: readonly KeyHeader[] = [BEARER, API_KEY];

const NOTHING: ForwardedHeaders = { headers: [], query: '', longContext: false };

/** No header of a chat client is meant for a provider. */
export function forwardedHeaders(): ForwardedHeaders {
  return NOTHING;
}
