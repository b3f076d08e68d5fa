// The headers of this protocol (the key, what a provider gets of a client, the hour of the account), and what else is known of
// it without its code, which only requests need.
import type { ClientHeaders, ForwardedHeaders, KeyHeader, ProtocolOutline } from '../interface/outline.ts';
import {
  API_KEY,
  BEARER,
  bearerHeaders as authHeaders,
  NOTHING_FORWARDED,
  requestLimitHeaders as limitHeaders,
} from '../shared/client.ts';

export { authHeaders, limitHeaders };

export const keyHeaders: readonly KeyHeader[] = [BEARER, API_KEY];

/** What Codex says of its session: a provider finds the machine with the warm cache by it. */
const FORWARDED = ['session-id', 'thread-id', 'x-codex-turn-state'] as const;

/** Codex sends the provider's state of a turn back with each request of that turn. */
export const returnedHeaders = ['x-codex-turn-state'] as const;

/** Characters of a value: Codex writes ids, and the provider's own state. */
const MOST = 8192;

export function forwardedHeaders(given: ClientHeaders): ForwardedHeaders {
  let headers: string[] | undefined;
  for (const name of FORWARDED) {
    const value = given[name];
    if (typeof value !== 'string' || value === '' || value.length > MOST) continue;
    (headers ??= []).push(name, value);
  }
  return headers === undefined ? NOTHING_FORWARDED : { headers, query: '', longContext: false };
}

export const outline: ProtocolOutline = {
  path: '/responses',
  setup: {
    title: 'responses',
    base: '/v1',
    baseVariable: 'OPENAI_BASE_URL',
    keyVariable: 'OPENAI_API_KEY',
  },
  hasServerTools: true,
  authHeaders,
  requestHeaders: [],
  firstModels: '',
};
