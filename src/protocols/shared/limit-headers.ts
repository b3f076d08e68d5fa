// The account's hour as OpenAI's clients read it.
import type { Admission } from '../../errors.ts';

/** OpenAI's durations: `45s`, `17m3s`, `1h0m0s`. Rounded up, so that a client that waits so long is let in. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const rest = seconds % 60;
  if (hours > 0) return `${hours}h${minutes}m${rest}s`;
  return minutes > 0 ? `${minutes}m${rest}s` : `${rest}s`;
}

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
