// Operations for the limits of accounts, and for grants, which raise them until a time.
import { z } from 'zod';
import { grantJson } from '../../../accounts/limits-json.ts';
import {
  accountLimitsJson,
  type AccountLimits as Standings,
  fullestShare,
  grantFault,
  newGrants,
  type Raised,
  readLimits,
} from '../../../accounts/limits-report.ts';
import { DAY_MS, isoTime } from '../../../clock.ts';
import { nanosOf } from '../../../tier.ts';
import { operation, type Operation } from '../../operation.ts';
import { Problem } from '../../reply.ts';
import { anyName, page, PAGE } from '../../schemas.ts';
import { q, unknownAccount } from '../accounts.ts';
import type { Order } from './cursor.ts';
import { count, pageOf } from '../paging.ts';
import { AccountLimits, NewGrant, NewGrants, RevokedGrant } from './schemas.ts';

const MOST_GRANT_MS = 366 * DAY_MS;

const accountPlace = z.tuple([count]);
const BY_NUMBER: Order<Standings, typeof accountPlace> = {
  list: 'limits',
  place: accountPlace,
  placeOf: ({ account }) => [account.id],
};
const fullPlace = z.tuple([z.number(), count]);
const BY_SHARE: Order<Standings, typeof fullPlace> = {
  list: 'fullest limits',
  place: fullPlace,
  placeOf: (limits) => [-(fullestShare(limits) ?? -1), limits.account.id],
};

const limitsJson = (limits: Standings) => ({
  ...accountLimitsJson(limits),
  share: fullestShare(limits) ?? null,
});

export const limitOperations: readonly Operation[] = [
  operation({
    id: 'listLimits',
    method: 'GET',
    path: '/limits',
    tag: 'limits',
    summary: 'Every limit of the accounts with what is spent, held and left, and grants',
    query: z.strictObject({
      ...PAGE,
      account: anyName.optional(),
      q: q.meta({ description: 'A part of the name' }),
      order: z
        .enum(['oldest', 'fullest'])
        .default('oldest')
        .meta({ description: '`fullest`: the account first of which most of a limit is used' }),
    }),
    reply: page(AccountLimits),
    problems: [404],
    async run({ query }, { store, current, clock }) {
      const { account: name, order, q: find } = query;
      const one = name === undefined ? undefined : await store.findAccount(name);
      if (name !== undefined && one === undefined) throw unknownAccount();
      const accounts = one === undefined ? await store.listAccounts({ find }) : [one];
      const all = await readLimits(accounts, current.config.tiers, store, clock.now());
      const { items, next } =
        order === 'fullest'
          ? pageOf([...all].sort(fullestFirst), query, BY_SHARE)
          : pageOf(all, query, BY_NUMBER);
      return { data: items.map(limitsJson), next };
    },
  }),
  operation({
    id: 'raiseLimits',
    method: 'POST',
    path: '/limits/{account}/grants',
    tag: 'limits',
    summary: 'Add to the limits of an account until a time, at once for all gateways',
    params: z.object({ account: anyName }),
    body: NewGrant,
    reply: NewGrants,
    status: 201,
    problems: [404],
    async run({ params, body }, { store, current, clock, ids }) {
      const account = await store.findAccount(params.account);
      if (account === undefined) throw unknownAccount();
      const until = Date.parse(body.until);
      const now = clock.now();
      if (until <= now || until > now + MOST_GRANT_MS)
        throw new Problem(400, 'invalid_request', 'the body: until: must be in the future, within a year');
      const raised = raisedBy(body);
      const fault = grantFault(account, raised, current.config.tiers);
      if (fault !== undefined) throw new Problem(400, 'not_limited', `${fault}; assign another tier`);
      const grants = newGrants(account.id, raised, until, { clock, ids });
      await store.addGrants(grants);
      return { data: grants.map(grantJson) };
    },
  }),
  operation({
    id: 'revokeGrant',
    method: 'DELETE',
    path: '/grants/{id}',
    tag: 'limits',
    summary: 'End a grant, at once for all gateways; again is no error',
    params: z.object({ id: anyName }),
    reply: RevokedGrant,
    problems: [404],
    async run({ params }, { store, clock }, { noted }) {
      const revoked = await store.revokeGrant(params.id, clock.now());
      if (revoked === undefined) throw new Problem(404, 'unknown_grant', 'no grant has this ID');
      const accounts = await store.listAccounts();
      noted['account'] = accounts.find(({ id }) => id === revoked.accountId)?.name;
      return { id: revoked.id, revoked_at: isoTime(revoked.revokedAt) };
    },
  }),
];

function fullestFirst(a: Standings, b: Standings): number {
  const [one, other] = [BY_SHARE.placeOf(a, 0), BY_SHARE.placeOf(b, 0)];
  return one[0] - other[0] || one[1] - other[1];
}

function raisedBy({ requests, tokens, cost }: z.output<typeof NewGrant>): Raised {
  const given = { requests, tokens, cost: cost === undefined ? undefined : nanosOf(cost) };
  return (['requests', 'tokens', 'cost'] as const).flatMap((kind) => {
    const amount = given[kind];
    return amount === undefined ? [] : [[kind, amount] as const];
  });
}
