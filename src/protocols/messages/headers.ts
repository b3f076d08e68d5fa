// The rate-limit headers of this protocol: the account's hour, with the reset as RFC 3339.
import type { Admission } from '../protocol.ts';

export function limitHeaders(admission: Admission): string[] {
  return [
    'anthropic-ratelimit-requests-limit',
    String(admission.limit),
    'anthropic-ratelimit-requests-remaining',
    String(Math.max(0, admission.limit - admission.used)),
    'anthropic-ratelimit-requests-reset',
    resetText(admission.resetsAt),
  ];
}

/** The hour's, written once: 1 µs otherwise. */
let written = { resetsAt: NaN, text: '' };

function resetText(resetsAt: number): string {
  if (written.resetsAt !== resetsAt) {
    written = { resetsAt, text: new Date(resetsAt).toISOString().replace(/\.\d+Z$/, 'Z') };
  }
  return written.text;
}
