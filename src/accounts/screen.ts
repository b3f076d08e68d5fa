// What a client that shows limits on its own screen asks of its account: how they stand, and what was spent.
import type { LimitState, SpentMoney } from '../limit-state.ts';
import type { HoldStore } from '../store/holds/holds.ts';
import type { Key } from '../store/store.ts';
import type { Limit } from '../tier.ts';
import { stateOf } from './refusals.ts';
import { tierNamed, type Tiers } from './terms.ts';

/** What was spent is read as the standing of limits that nothing reaches. */
const SPENT = (['day', 'week', 'month'] as const).map(
  (per) => ({ kind: 'cost', per, most: Number.MAX_SAFE_INTEGER }) as const satisfies Limit,
);

/** Rejects with StoreError. */
export async function readScreen(
  store: Pick<HoldStore, 'standings'>,
  { accountId, tier }: Key,
  tiers: Tiers,
  now: number,
): Promise<{ limits: LimitState[]; spent: SpentMoney }> {
  const standings = await store.standings(accountId, [...SPENT, ...tierNamed(tier, tiers).limits], now);
  const [day, week, month] = standings;
  return {
    limits: standings.slice(SPENT.length).map(stateOf),
    spent: { day: day?.spent ?? 0, week: week?.spent ?? 0, month: month?.spent ?? 0 },
  };
}
