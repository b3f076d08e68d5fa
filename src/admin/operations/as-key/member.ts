// What a member reads with a key of their own: the account's limits, and the owner's reports of that account alone.
import { z } from 'zod';
import { listedKeyJson } from '../../../accounts/json.ts';
import { accountLimitsJson, readLimits } from '../../../accounts/limits-report.ts';
import type { Key } from '../../../store/store.ts';
import type { Caller } from '../../authenticate.ts';
import { operation, type AdminParts, type Call, type Operation } from '../../operation.ts';
import { Problem } from '../../reply.ts';
import { Key as KeySchema, Model, page, PAGE } from '../../schemas.ts';
import { listModels } from '../gateway.ts';
import { AccountLimits } from '../views/schemas.ts';

export const Member = z.object({
  account: z.string(),
  tier: z.string(),
  limits: AccountLimits.shape.limits,
  grants: AccountLimits.shape.grants,
  key: KeySchema.meta({ description: 'Of the session' }),
});

/** The owner's operations with a parameter `account`, which is the member's own. */
const OF_ACCOUNT: Readonly<Record<string, string>> = {
  readUsage: 'readOwnUsage',
  readUsageSummary: 'readOwnUsageSummary',
  listRequests: 'listOwnRequests',
  listLimits: 'listOwnLimits',
  listConversations: 'listOwnConversations',
};

/** The owner's operations that give one thing, which says whose it is. */
const OF_ONE: Readonly<Record<string, string>> = {
  readRequest: 'readOwnRequest',
  readConversation: 'readOwnConversation',
};

/** `owners`: all operations of the owner. */
export function memberOperations(owners: readonly Operation[]): readonly Operation[] {
  return [...own, ...owners.flatMap((of) => derived(of) ?? [])];
}

function derived(of: Operation): Operation | undefined {
  const [list, one] = [OF_ACCOUNT[of.id], OF_ONE[of.id]];
  const id = list ?? one;
  if (id === undefined) return undefined;
  const run = list === undefined ? oneOfMember(of) : allOfMember(of);
  return {
    ...of,
    ...{ id, run, path: `/me${of.path}`, tag: 'member', audience: 'member' },
    summary: `${of.summary}; of the caller's account`,
    problems: [404, 409],
    query: z.strictObject(
      Object.fromEntries(Object.entries(of.query.shape).filter(([name]) => name !== 'account')),
    ),
  };
}

const allOfMember =
  (of: Operation): Operation['run'] =>
  async (input, parts, call) => {
    const query = { ...input.query, account: await ownName(call, parts) };
    return of.run({ ...input, query }, parts, call);
  };

/** What belongs to another account looks like what is not there. */
const oneOfMember =
  (of: Operation): Operation['run'] =>
  async (input, parts, call) => {
    const account = await ownName(call, parts);
    const value = await of.run(input, parts, call).catch((error: unknown) => {
      if (error instanceof Problem && error.status === 404) return {};
      throw error;
    });
    if ((value as { account?: unknown }).account === account) return value;
    throw new Problem(404, 'not_found', 'your account has no such thing');
  };

/** A key that was read before a renaming bears a name that another account may have now. */
async function ownName({ caller }: Call, { store }: AdminParts): Promise<string> {
  const { account, accountId } = memberOf(caller);
  if ((await store.findAccount(account))?.id === accountId) return account;
  throw new Problem(409, 'account_changed', 'your account was renamed a moment ago; ask again');
}

/** Operations for members have a caller, who is one. */
function memberOf(caller: Caller | undefined): Key {
  if (caller?.member !== undefined) return caller.member;
  throw new Problem(403, 'other_audience', 'this is for members');
}

const own: readonly Operation[] = [
  operation({
    id: 'readMember',
    method: 'GET',
    path: '/me',
    tag: 'member',
    summary: "The caller's account with every limit, and the key of the session",
    audience: 'member',
    reply: Member,
    async run(_, { store, clock, current }, { caller }) {
      const key = memberOf(caller);
      const account = { id: key.accountId, name: key.account, tier: key.tier };
      const [limits] = await readLimits([account], current.config.tiers, store, clock.now());
      const none = { account, standings: [], grants: [] };
      return { ...accountLimitsJson(limits ?? none), key: listedKeyJson(key) };
    },
  }),
  operation({
    id: 'listOwnModels',
    method: 'GET',
    path: '/me/models',
    tag: 'member',
    summary: "Every name that the caller's key may send",
    audience: 'member',
    query: z.strictObject(PAGE),
    reply: page(Model),
    run: ({ query }, parts, { caller }) => listModels(memberOf(caller).models, query, parts),
  }),
];
