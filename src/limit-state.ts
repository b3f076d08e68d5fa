// How a limit of an account stands, as clients show it on their screens.
import type { Period } from './calendar.ts';
import type { LimitKind } from './tier.ts';

export interface LimitState {
  kind: LimitKind;
  per: Period;
  /** Requests, tokens or billionths of a dollar. */
  spent: number;
  /** With what grants add. */
  most: number;
  /** Milliseconds since the epoch. */
  resetsAt: number;
}

/** Billionths of a dollar in the windows that hold this moment. */
export type SpentMoney = Readonly<Record<Exclude<Period, 'hour'>, number>>;

export interface ShareOfLimit extends LimitState {
  /** Of the limit, that is spent. */
  share: number;
}

/** The fullest first; of two that are as full, the one that lasts longer. */
export function byShare(limits: readonly LimitState[]): ShareOfLimit[] {
  return limits
    .map((limit) => ({ ...limit, share: limit.most > 0 ? limit.spent / limit.most : 1 }))
    .sort((a, b) => b.share - a.share || b.resetsAt - a.resetsAt);
}

export function fullestOf(limits: readonly LimitState[]): ShareOfLimit | undefined {
  return byShare(limits)[0];
}
