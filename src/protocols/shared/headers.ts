// Headers that clients of several protocols send or read.
import type { Admission } from '../../errors.ts';
import type { ForwardedHeaders, KeyHeader } from '../protocol.ts';

// Every endpoint takes a key in both headers, each protocol's own first.
export const BEARER: KeyHeader = { name: 'authorization', bearer: true, shown: 'Authorization: Bearer KEY' };
export const API_KEY: KeyHeader = { name: 'x-api-key', bearer: false, shown: 'x-api-key: KEY' };

export const NOTHING_FORWARDED: ForwardedHeaders = { headers: [], query: '', longContext: false };

/** For a protocol none of whose headers is meant for a provider. */
export function noneForwarded(): ForwardedHeaders {
  return NOTHING_FORWARDED;
}

/** The standard header that sends a key to a provider, as a flat list: name, value. */
export function bearerHeaders(apiKey: string): string[] {
  return ['authorization', `Bearer ${apiKey}`];
}

/** OpenAI's durations: `45s`, `17m3s`, `1h0m0s`. Rounded up, so that a client that waits that long is admitted. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const rest = seconds % 60;
  if (hours > 0) return `${hours}h${minutes}m${rest}s`;
  return minutes > 0 ? `${minutes}m${rest}s` : `${rest}s`;
}

/** The account's hourly limit in the headers that clients of OpenAI's protocols read. */
export function requestLimitHeaders(admission: Admission, now: number): string[] {
  return [
    'x-ratelimit-limit-requests',
    String(admission.limit),
    'x-ratelimit-remaining-requests',
    String(Math.max(0, admission.limit - admission.used)),
    'x-ratelimit-reset-requests',
    formatDuration(admission.resetsAt - now),
  ];
}
