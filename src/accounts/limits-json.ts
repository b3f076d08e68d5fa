// How the limits of an account stand, as JSON: a row for each limit, in the order of the file.
import { isoTime } from '../clock.ts';
import type { Grant, Standing } from '../store/holds/holds.ts';
import { amountNumber } from '../tier.ts';

/** `limit` is the tier's, `left` counts what grants add. Money in USD. */
export function limitJson({ limit, spent, estimated, held, granted, unpriced, resetsAt }: Standing) {
  const { kind, per, most, fresh } = limit;
  const amount = (value: number): number => amountNumber(kind, value);
  return {
    kind,
    per,
    limit: amount(most),
    ...(fresh && { count: 'fresh' as const }),
    spent: amount(spent),
    estimated: amount(estimated),
    held: amount(held),
    left: amount(Math.max(0, most + granted - spent - held)),
    granted: amount(granted),
    unpriced,
    resets_at: isoTime(resetsAt),
  };
}

export function grantJson({ id, kind, amount, until }: Grant) {
  return { id, kind, amount: amountNumber(kind, amount), until: isoTime(until) };
}
