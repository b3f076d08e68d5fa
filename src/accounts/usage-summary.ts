// The usage of a window of time for charts: totals of each group, of one account or of all together.
import { HOUR_MS, isoTime } from '../clock.ts';
import type { Grouping, StoreReader, Totals } from '../store/store.ts';
import { addTotals, NO_USAGE, printed, type Window } from './usage-report.ts';

/** The window begins at the start of an hour. */
export async function summarizeUsage(
  { since, now, by, only }: Omit<Window, 'dayOf'> & { by: Grouping },
  store: StoreReader,
) {
  const first = since - (since % HOUR_MS);
  const groups = new Map<string, { group: Record<string, string | null>; totals: Totals }>();
  for (const { group, totals } of await store.totalsBy(by, only, first)) {
    const key = JSON.stringify(group);
    const before = groups.get(key);
    groups.set(key, { group, totals: before === undefined ? totals : addTotals(before.totals, totals) });
  }
  const accounts = await store.totalsBy('account', only, first);
  return {
    by,
    since: isoTime(first),
    until: isoTime(now),
    totals: printed(accounts.map(({ totals }) => totals).reduce(addTotals, NO_USAGE)),
    groups: [...groups.values()].map(({ group, totals }) => ({ group, totals: printed(totals) })),
  };
}
