// The limits of an account in Codex's own status line and in its /status, which have room for two.
import type { Period } from '../../calendar.ts';
import { byShare, type LimitState, type ShareOfLimit } from '../../limit-state.ts';

/** Codex names a window by its minutes: a month of 31 days would be a year to it. */
const MINUTES: Readonly<Record<Period, number>> = { hour: 60, day: 1440, week: 10_080, month: 43_200 };

/** The two fullest, the one of the shorter window first. */
export function codexHeaders(limits: readonly LimitState[]): string[] {
  const [first, second] = byShare(limits)
    .slice(0, 2)
    .sort((a, b) => MINUTES[a.per] - MINUTES[b.per]);
  return [...windowHeaders('primary', first), ...windowHeaders('secondary', second)];
}

/** Codex writes its own sentence for a used-up limit, with this text in its middle. Names of accounts may hold any letter, headers may not. */
export function codexSentence(message: string): string[] {
  return ['x-codex-promo-message', message.replace(/[^ -~]/g, '?')];
}

function windowHeaders(place: string, limit: ShareOfLimit | undefined): string[] {
  if (limit === undefined) return [];
  const { share, per, resetsAt } = limit;
  return [
    `x-codex-${place}-used-percent`,
    String(Math.min(100, Math.round(100 * share))),
    `x-codex-${place}-window-minutes`,
    String(MINUTES[per]),
    `x-codex-${place}-reset-at`,
    String(Math.ceil(resetsAt / 1000)),
  ];
}
