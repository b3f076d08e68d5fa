// How the limits of accounts stand, and what grants add to them, as `gateway limits` and `gateway usage` show it.
import type { StoreReader } from '../store/reader.ts';
import type { Account } from '../store/store.ts';
import type { Grant, Standing } from '../store/holds/holds.ts';
import type { Tier } from '../tier.ts';
import { grantJson, limitJson } from './limits-json.ts';
import { tierNamed, type Tiers } from './terms.ts';

export interface AccountLimits {
  account: Pick<Account, 'id' | 'name' | 'tier'>;
  standings: readonly Standing[];
  grants: readonly Grant[];
}

/** What grants add to the limit of requests an hour. */
export function hourlyGrant(standings: readonly Standing[]): number {
  return standings.find(({ limit }) => limit.kind === 'requests' && limit.per === 'hour')?.granted ?? 0;
}

/** Without grants, requests an hour are all that counts for most accounts: that is known without the database. */
export function hourlyStanding(tier: Tier, spent: number, resetsAt: number): Standing[] {
  return tier.limits.map((limit) => ({
    ...{ limit, spent, resetsAt },
    ...{ estimated: 0, held: 0, granted: 0, unpriced: 0 },
  }));
}

/** In the order of the accounts. */
export async function readLimits(
  accounts: readonly AccountLimits['account'][],
  tiers: Tiers,
  store: Pick<StoreReader, 'standings' | 'listGrants'>,
  now: number,
): Promise<AccountLimits[]> {
  const only = accounts.length === 1 ? accounts[0]?.id : undefined;
  const grants = new Map<number, Grant[]>();
  for (const grant of await store.listGrants(only, now)) {
    const before = grants.get(grant.accountId);
    if (before === undefined) grants.set(grant.accountId, [grant]);
    else before.push(grant);
  }
  const found: AccountLimits[] = [];
  for (const account of accounts) {
    const { limits } = tierNamed(account.tier, tiers);
    const standings = limits.length === 0 ? [] : await store.standings(account.id, limits, now);
    found.push({ account, standings, grants: grants.get(account.id) ?? [] });
  }
  return found;
}

/** The shape that `gateway limits --json` prints. */
export function accountLimitsJson({ account: { name, tier }, standings, grants }: AccountLimits) {
  return { account: name, tier, limits: standings.map(limitJson), grants: grants.map(grantJson) };
}
