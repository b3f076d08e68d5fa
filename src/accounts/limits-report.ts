// How the limits of accounts stand, and what grants add to them, as `gateway limits` and `gateway usage` show it.
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { Ids } from '../ids.ts';
import type { StoreReader } from '../store/reader.ts';
import type { Account } from '../store/store.ts';
import type { Grant, Standing } from '../store/holds/holds.ts';
import { type LimitKind, type Tier, tierText } from '../tier.ts';
import { grantJson, limitJson } from './limits-json.ts';
import { tierNamed, type Tiers } from './terms.ts';

/** Accounts that are read in one turn of the event loop. */
const STEP = 50;

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
  store: Pick<StoreReader, 'allStandings' | 'listGrants'>,
  now: number,
): Promise<AccountLimits[]> {
  const only = accounts.length === 1 ? accounts[0]?.id : undefined;
  const grants = new Map<number, Grant[]>();
  for (const grant of await store.listGrants(only, now)) {
    const before = grants.get(grant.accountId);
    if (before === undefined) grants.set(grant.accountId, [grant]);
    else before.push(grant);
  }
  const standings = new Map<number, readonly Standing[]>();
  const asked = accounts
    .map(({ id, tier }) => ({ accountId: id, limits: tierNamed(tier, tiers).limits }))
    .filter(({ limits }) => limits.length > 0);
  for (let at = 0; at < asked.length; at += STEP) {
    if (at > 0) await yieldToOthers();
    const some = asked.slice(at, at + STEP);
    const read = await store.allStandings(some, now);
    for (const [index, { accountId }] of some.entries()) standings.set(accountId, read[index] ?? []);
  }
  return accounts.map((account) => ({
    account,
    standings: standings.get(account.id) ?? [],
    grants: grants.get(account.id) ?? [],
  }));
}

/** What is used of the limit with most of it used, as a part: 1 is used up. undefined: nothing limits the account. */
export function fullestShare({ standings }: Pick<AccountLimits, 'standings'>): number | undefined {
  if (standings.length === 0) return undefined;
  return Math.max(...standings.map(({ limit, spent, granted }) => spent / (limit.most + granted)));
}

const GRANT_ID = 'grant_';
const ID_LENGTH = 12;

/** What is added to the limits of an account: amounts in requests, tokens or billionths of a dollar. */
export type Raised = readonly (readonly [kind: LimitKind, amount: number])[];

export function newGrants(
  accountId: number,
  raised: Raised,
  until: number,
  { clock, ids }: { clock: Clock; ids: Ids },
): Grant[] {
  const createdAt = clock.now();
  return raised.map(([kind, amount]) => {
    const id = GRANT_ID + ids.random(ID_LENGTH);
    return { id, accountId, kind, amount, until, createdAt, revokedAt: null };
  });
}

/** A grant for what the tier does not limit would do nothing: says so, else undefined. */
export function grantFault(
  { name, tier }: Pick<Account, 'name' | 'tier'>,
  raised: Raised,
  tiers: Tiers,
): string | undefined {
  const held = tierNamed(tier, tiers);
  const [free] = raised.filter(([kind]) => held.limits.every((limit) => limit.kind !== kind));
  if (free === undefined) return undefined;
  return `tier ${tier} of account ${JSON.stringify(name)} has no limit of ${free[0]}: it allows ${tierText(held)}`;
}

/** The shape that `gateway limits --json` prints. */
export function accountLimitsJson({ account: { name, tier }, standings, grants }: AccountLimits) {
  return { account: name, tier, limits: standings.map(limitJson), grants: grants.map(grantJson) };
}
