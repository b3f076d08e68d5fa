// How much of each limit the accounts have used, read from the database when metrics with account names are asked for.
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { tierNamed, type Tiers } from '../../accounts/terms.ts';
import type { Clock } from '../../clock.ts';
import type { Store } from '../../store/store.ts';
import { type Family, labels } from './exposition.ts';

/** Further accounts have no sample. */
const MOST_ACCOUNTS = 1000;
/** Accounts that are read in one turn of the event loop. */
const STEP = 50;

/** `spent` and the limit with what grants add: 1 is used up. */
export async function limitShares(
  store: Pick<Store, 'listAccounts' | 'standings'>,
  tiers: Tiers,
  clock: Clock,
): Promise<Family> {
  const samples: [string, number][] = [];
  for (const [index, { id, name, tier }] of (await store.listAccounts({ most: MOST_ACCOUNTS })).entries()) {
    const { limits } = tierNamed(tier, tiers);
    if (limits.length === 0) continue;
    if (index % STEP === STEP - 1) await yieldToOthers();
    for (const { limit, spent, granted } of await store.standings(id, limits, clock.now())) {
      const { kind, per, most } = limit;
      samples.push([labels({ account: name, kind, per }), spent / (most + granted)]);
    }
  }
  const help = 'What an account has used of a limit, as a part of it; 1: it is used up.';
  return { name: 'gateway_limit_used_ratio', help, type: 'gauge', samples };
}
