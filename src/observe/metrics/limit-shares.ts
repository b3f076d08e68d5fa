// How much of each limit the accounts have used, read from the database when metrics with account names are asked for.
import { readLimits } from '../../accounts/limits-report.ts';
import type { Tiers } from '../../accounts/terms.ts';
import type { Clock } from '../../clock.ts';
import type { Store } from '../../store/store.ts';
import { type Family, labels } from './exposition.ts';

/** Further accounts have no sample. */
const MOST_ACCOUNTS = 1000;

/** `spent` and the limit with what grants add: 1 is used up. */
export async function limitShares(
  store: Pick<Store, 'listAccounts' | 'allStandings' | 'listGrants'>,
  tiers: Tiers,
  clock: Clock,
): Promise<Family> {
  const accounts = await store.listAccounts({ most: MOST_ACCOUNTS });
  const samples: [string, number][] = [];
  for (const { account, standings } of await readLimits(accounts, tiers, store, clock.now())) {
    for (const { limit, spent, granted } of standings) {
      const { kind, per, most } = limit;
      samples.push([labels({ account: account.name, kind, per }), spent / (most + granted)]);
    }
  }
  const help = 'What an account has used of a limit, as a part of it; 1: it is used up.';
  return { name: 'gateway_limit_used_ratio', help, type: 'gauge', samples };
}
