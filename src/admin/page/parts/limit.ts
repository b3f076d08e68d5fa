// A limit of an account in few words, and what is used of it as a bar.
import type { AccountLimits } from '../api.ts';
import * as format from '../format.ts';
import { html } from '../html.ts';
import { Bar } from './text.ts';
import type { VNode } from 'preact';

type Limit = AccountLimits['limits'][number];

export const PER = { hour: 'an hour', day: 'a day', week: 'a week', month: 'a month' } as const;

/** `60 requests`, `2M tokens`, `$5.00`. */
export function amountText(kind: Limit['kind'], amount: number): string {
  return kind === 'cost'
    ? format.cost(amount)
    : `${format.short(amount)} ${amount === 1 ? kind.slice(0, -1) : kind}`;
}

/** The same where the unit stands beside it: `60`, `2M`, `$5.00`. */
export const amountAlone = (kind: Limit['kind'], amount: number): string =>
  kind === 'cost' ? format.dollars(amount) : format.short(amount);

/** Of the limit and what grants add: 1 is used up. */
export const shareOf = ({ spent, limit, granted }: Limit): number => spent / (limit + granted);

/** As alerts judge. */
export const toneOf = (share: number): 'good' | 'warn' | 'bad' =>
  share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : 'good';

export function Share({ limit }: { limit: Limit }): VNode {
  const all = limit.limit + limit.granted;
  return html`<span class="share ${toneOf(shareOf(limit))}"
    ><${Bar} part=${limit.spent} whole=${all} /><span class="percent"
      >${format.wholeShare(limit.spent, all)}</span
    ></span
  >`;
}
