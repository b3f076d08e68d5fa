// The headers of this protocol: who a request comes from, what of a client's goes on, and the account's hour.
import type { Admission, ForwardedHeaders, KeyHeader } from '../protocol.ts';
import { API_KEY, BEARER } from '../shared/key-headers.ts';

export const keyHeaders: readonly KeyHeader[] = [BEARER, API_KEY];

export function authHeaders(apiKey: string): string[] {
  return ['authorization', `Bearer ${apiKey}`];
}

const NOTHING: ForwardedHeaders = { headers: [], query: '', longContext: false };

/** Nothing in a client's headers means anything to a provider. */
export function forwardedHeaders(): ForwardedHeaders {
  return NOTHING;
}

/** OpenAI's durations: `45s`, `17m3s`, `1h0m0s`. Rounded up, so that a client that waits so long is let in. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const rest = seconds % 60;
  if (hours > 0) return `${hours}h${minutes}m${rest}s`;
  return minutes > 0 ? `${minutes}m${rest}s` : `${rest}s`;
}

export function limitHeaders(admission: Admission, now: number): string[] {
  return [
    'x-ratelimit-limit-requests',
    String(admission.limit),
    'x-ratelimit-remaining-requests',
    String(Math.max(0, admission.limit - admission.used)),
    'x-ratelimit-reset-requests',
    formatDuration(admission.resetsAt - now),
  ];
}
