// Operations for accounts, their tiers and their keys.
import { z } from 'zod';
import {
  accountJson,
  createdKeyJson,
  listedKeyJson,
  replacedKeyJson,
  revokedKeyJson,
  tierJson,
} from '../../accounts/json.ts';
import { createKey, replaceKey } from '../../accounts/access.ts';
import { PERMISSIONS } from '../../canonical/request.ts';
import type { Config } from '../../config/config.ts';
import type { KeyPlace } from '../../store/store.ts';
import { operation, type AdminParts, type Operation } from '../operation.ts';
import { count, decodeCursor, id, pageOfRows, type Order } from './paging.ts';
import { Problem } from '../reply.ts';
import {
  Account,
  AccountChange,
  anyName,
  CreatedKey,
  Key,
  NewKey,
  page,
  PAGE,
  RemovedAccount,
  RevokedKey,
  RotatedKey,
  Rotation,
  Tier,
} from '../schemas.ts';

const accountPlace = z.tuple([count]);
const BY_NUMBER: Order<{ id: number }, typeof accountPlace> = {
  list: 'accounts',
  place: accountPlace,
  placeOf: (account) => [account.id],
};
const keyPlace = z.tuple([count, id]);
const BY_AGE: Order<KeyPlace, typeof keyPlace> = {
  list: 'keys',
  place: keyPlace,
  placeOf: (key) => [key.createdAt, key.id],
};

const accountParams = z.object({ account: anyName });
const keyParams = z.object({ id: anyName });

const accounts: readonly Operation[] = [
  operation({
    id: 'listAccounts',
    method: 'GET',
    path: '/accounts',
    tag: 'accounts',
    summary: 'Accounts, the oldest first',
    query: z.strictObject(PAGE),
    reply: page(Account),
    async run({ query }, { store }) {
      const [after] = decodeCursor(BY_NUMBER, query.cursor) ?? [];
      const { items, next } = pageOfRows(
        await store.listAccounts(after, query.limit + 1),
        query.limit,
        BY_NUMBER,
      );
      return { data: items.map(accountJson), next };
    },
  }),
  operation({
    id: 'changeAccount',
    method: 'PATCH',
    path: '/accounts/{account}',
    tag: 'accounts',
    summary: 'Rename an account, or assign it a tier; keys, limits and usage stay',
    params: accountParams,
    body: AccountChange,
    reply: Account,
    problems: [404, 409],
    async run({ params, body }, parts) {
      const { store } = parts;
      const { account: to, tier } = body;
      if (tier !== undefined) checkTier(tier, parts.current.config);
      let name = params.account;
      if (to !== undefined) {
        const renamed = await store.renameAccount(name, to);
        if (renamed === 'taken') throw new Problem(409, 'account_exists', 'another account has this name');
        if (renamed === undefined) throw unknownAccount();
        name = to;
      }
      if (tier !== undefined && (await store.assignTier(name, tier)) === undefined) throw unknownAccount();
      const changed = (await store.listAccounts()).find((account) => account.name === name);
      if (changed === undefined) throw unknownAccount();
      return accountJson(changed);
    },
  }),
  operation({
    id: 'removeAccount',
    method: 'DELETE',
    path: '/accounts/{account}',
    tag: 'accounts',
    summary: 'Delete an account with its keys, stored answers and usage, at once',
    params: accountParams,
    reply: RemovedAccount,
    problems: [404],
    async run({ params: { account: name } }, { store }) {
      const account = await store.findAccount(name);
      if (account === undefined) throw unknownAccount();
      const keys = await store.listKeys(name);
      const { requests } = await store.totals(account.id, 0);
      const removed = await store.removeAccount(name);
      if (removed === undefined) throw unknownAccount();
      return { account: removed.name, keys: keys.length, requests };
    },
  }),
  operation({
    id: 'listTiers',
    method: 'GET',
    path: '/tiers',
    tag: 'accounts',
    summary: 'Tiers and their requests an hour',
    reply: page(Tier),
    run: async (_, { current }) => ({ data: [...current.config.tiers].map(tierJson), next: null }),
  }),
];

const keys: readonly Operation[] = [
  operation({
    id: 'listKeys',
    method: 'GET',
    path: '/keys',
    tag: 'keys',
    summary: 'Keys without their plaintext, the oldest first, with revoked and expired ones',
    query: z.strictObject({ ...PAGE, account: anyName.optional() }),
    reply: page(Key),
    problems: [404],
    async run({ query }, { store }) {
      const { account } = query;
      if (account !== undefined && (await store.findAccount(account)) === undefined) throw unknownAccount();
      const after = decodeCursor(BY_AGE, query.cursor);
      const place = after && { createdAt: after[0], id: after[1] };
      const listed = await store.listKeysAfter(place, query.limit + 1, account);
      const { items, next } = pageOfRows(listed, query.limit, BY_AGE);
      return { data: items.map(listedKeyJson), next };
    },
  }),
  operation({
    id: 'createKey',
    method: 'POST',
    path: '/keys',
    tag: 'keys',
    summary: 'Create a key, and its account if it is new; the plaintext is shown here alone',
    body: NewKey,
    reply: CreatedKey,
    status: 201,
    problems: [409],
    async run({ body }, parts) {
      const { store, clock } = parts;
      const config = parts.current.config;
      const { account, tier } = body;
      if (tier !== undefined) checkTier(tier, config);
      const existing = await store.findAccount(account);
      if (existing !== undefined && tier !== undefined && existing.tier !== tier)
        throw new Problem(
          409,
          'other_tier',
          `the account has tier ${existing.tier} already; change it first`,
        );
      const expiresAt = body.expires_at == null ? null : Date.parse(body.expires_at);
      if (expiresAt !== null && expiresAt <= clock.now())
        throw new Problem(400, 'invalid_request', 'the body: expires_at: is in the past');
      const created = await createKey(parts, {
        account,
        tier: tier ?? config.defaultTier,
        label: body.name ?? null,
        permissions: PERMISSIONS.filter((name) => body.permissions?.includes(name) ?? true),
        models: body.models == null ? null : [...new Set(body.models)],
        expiresAt,
      });
      return createdKeyJson(created);
    },
  }),
  operation({
    id: 'rotateKey',
    method: 'POST',
    path: '/keys/{id}/rotate',
    tag: 'keys',
    summary: 'Create a key in place of another: same account, name, permissions, models and lifetime',
    params: keyParams,
    body: Rotation,
    reply: RotatedKey,
    status: 201,
    problems: [404, 409],
    async run({ params: { id }, body }, parts) {
      const replaced = await replaceKey(parts, id, body.grace_seconds * 1000);
      if (replaced !== undefined) return replacedKeyJson(replaced);
      await checkKey(id, parts);
      throw new Problem(409, 'key_not_valid', 'the key is revoked or expired; create a new one');
    },
  }),
  operation({
    id: 'revokeKey',
    method: 'DELETE',
    path: '/keys/{id}',
    tag: 'keys',
    summary: 'Revoke a key at once; again is no error',
    params: keyParams,
    reply: RevokedKey,
    problems: [404],
    async run({ params: { id } }, { store, clock }) {
      const key = await store.revokeKey(id, clock.now());
      if (key === undefined) throw unknownKey();
      return revokedKeyJson(key);
    },
  }),
];

export const accountOperations: readonly Operation[] = [...accounts, ...keys];

export function unknownAccount(): Problem {
  return new Problem(404, 'unknown_account', 'no account has this name');
}

function unknownKey(): Problem {
  return new Problem(404, 'unknown_key', 'no key has this ID');
}

async function checkKey(id: string, { store }: AdminParts): Promise<void> {
  if ((await store.listKeys()).every((key) => key.id !== id)) throw unknownKey();
}

export function checkTier(tier: string, { tiers }: Config): void {
  if (tiers.has(tier)) return;
  throw new Problem(400, 'unknown_tier', `there is no such tier; known: ${[...tiers.keys()].join(', ')}`);
}
