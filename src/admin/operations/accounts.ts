// Operations for accounts, their tiers and their keys.
import { setImmediate as yieldToOthers } from 'node:timers/promises';
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
import { didYouMean } from '../../config/did-you-mean.ts';
import { KEY_STATES, LIST_ORDERS, type KeyQuery } from '../../store/admin/key-records.ts';
import type { Key as StoredKey, KeyPlace } from '../../store/store.ts';
import { operation, type AdminParts, type Call, type Operation } from '../operation.ts';
import { encodeCursor, pageOfRows, type Order } from './views/cursor.ts';
import { count, decodeCursor, id } from './paging.ts';
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

/** Names that a warning is given for. */
const MOST_WARNINGS = 20;
/** Keys that a search looks at in one turn of the event loop: SQLite reads them in some 10 ms. */
const STEP = 5000;
/** Keys that a search looks at for one page. */
const MOST_LOOKED = 100_000;

const order = z
  .enum(LIST_ORDERS)
  .default('oldest')
  .meta({ description: 'By the time of their creation (default: oldest, the oldest first)' });
/** A text to find. White space alone finds everything. */
export const q = z
  .string()
  .max(256)
  .regex(/^\P{Cc}*$/u, 'has control characters')
  .transform((text) => (text.trim() === '' ? undefined : text.trim()))
  .optional();

/** Each order has its own cursors; those of the other are refused. */
const accountPlace = z.tuple([count]);
const byNumber = (order: string): Order<{ id: number }, typeof accountPlace> => ({
  list: order === 'oldest' ? 'accounts' : 'newest accounts',
  place: accountPlace,
  placeOf: (account) => [account.id],
});
const keyPlace = z.tuple([count, id]);
const byAge = (order: string): Order<KeyPlace, typeof keyPlace> => ({
  list: order === 'oldest' ? 'keys' : 'newest keys',
  place: keyPlace,
  placeOf: (key) => [key.createdAt, key.id],
});

const accountParams = z.object({ account: anyName });
const keyParams = z.object({ id: anyName });

const accounts: readonly Operation[] = [
  operation({
    id: 'listAccounts',
    method: 'GET',
    path: '/accounts',
    tag: 'accounts',
    summary: 'Accounts',
    query: z.strictObject({ ...PAGE, order, q: q.meta({ description: 'A part of the name' }) }),
    reply: page(Account),
    async run({ query: { limit, cursor, order, q: find } }, { store }) {
      const [after] = decodeCursor(byNumber(order), cursor) ?? [];
      const listed = await store.listAccounts({ order, find, after, most: limit + 1 });
      const { items, next } = pageOfRows(listed, limit, byNumber(order));
      return { data: items.map(accountJson), next };
    },
  }),
  operation({
    id: 'readAccount',
    method: 'GET',
    path: '/accounts/{account}',
    tag: 'accounts',
    summary: 'One account',
    params: accountParams,
    reply: Account,
    problems: [404],
    run: async ({ params: { account } }, { store }) => accountJson(await accountNamed(account, store)),
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
    problems: [404, 409, 412],
    conditional: true,
    async run({ params, body }, parts, call) {
      const { store } = parts;
      const { account: to, tier } = body;
      if (tier !== undefined) checkTier(tier, parts.current.config);
      const before = await accountNamed(params.account, store);
      call.check(accountJson(before));
      let name = params.account;
      if (to !== undefined) {
        const renamed = await store.renameAccount(name, to);
        if (renamed === 'taken') throw new Problem(409, 'account_exists', 'another account has this name');
        if (renamed === undefined) throw unknownAccount();
        name = to;
      }
      if (tier !== undefined) {
        const isBound = call.exchange.headers['if-match'] !== undefined;
        if ((await store.assignTier(name, tier, isBound ? before.tier : undefined)) === undefined)
          throw isBound ? changedMeanwhile() : unknownAccount();
        call.noted['before'] = { tier: before.tier };
      }
      return accountJson(await accountNamed(name, store));
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
    problems: [404, 412],
    conditional: true,
    async run({ params: { account: name } }, { store }, call) {
      const account = await accountNamed(name, store);
      call.check(accountJson(account));
      const { keys } = account;
      const { requests } = await store.totals(account.id, 0);
      const removed = await store.removeAccount(name);
      if (removed === undefined) throw unknownAccount();
      return { account: removed.name, keys, requests };
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
    summary: 'Keys without their plaintext',
    query: z.strictObject({
      ...PAGE,
      order,
      account: anyName.optional(),
      state: z
        .enum(KEY_STATES)
        .default('all')
        .meta({ description: 'ended: revoked or expired; default: all' }),
      q: q.meta({ description: 'A part of the name, of the prefix, of the ID or of the account' }),
    }),
    reply: page(Key),
    problems: [404],
    async run({ query }, { store, clock }) {
      const { account: name, order, limit, state, q: find } = query;
      const account = name === undefined ? undefined : await store.findAccount(name);
      if (name !== undefined && account === undefined) throw unknownAccount();
      const cursor = decodeCursor(byAge(order), query.cursor);
      const after = cursor && { createdAt: cursor[0], id: cursor[1] };
      const asked = { order, accountId: account?.id, after, state, find, now: clock.now(), most: limit + 1 };
      const { listed, last } =
        find === undefined ? { listed: await store.pageOfKeys(asked) } : await findKeys(asked, store);
      const { items, next } = pageOfRows(listed, limit, byAge(order));
      const rest = last && encodeCursor(byAge(order), [last.createdAt, last.id]);
      return { data: items.map(listedKeyJson), next: next ?? rest ?? null };
    },
  }),
  operation({
    id: 'readKey',
    method: 'GET',
    path: '/keys/{id}',
    tag: 'keys',
    summary: 'One key, without its plaintext',
    params: keyParams,
    reply: Key,
    problems: [404],
    run: async ({ params: { id } }, { store }) => listedKeyJson(await keyOf(id, store)),
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
    async run({ body }, parts, call) {
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
      noteMade(created.key, call);
      return { ...createdKeyJson(created), warnings: await modelWarnings(created.key, parts) };
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
    problems: [404, 409, 412],
    conditional: true,
    async run({ params: { id }, body }, parts, call) {
      call.check(listedKeyJson(await keyOf(id, parts.store)));
      const replaced = await replaceKey(parts, id, body.grace_seconds * 1000);
      if (replaced !== undefined) {
        noteMade(replaced.key, call);
        return { ...replacedKeyJson(replaced), warnings: await modelWarnings(replaced.key, parts) };
      }
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
    problems: [404, 412],
    conditional: true,
    async run({ params: { id } }, { store, clock }, call) {
      call.check(listedKeyJson(await keyOf(id, store)));
      const key = await store.revokeKey(id, clock.now());
      if (key === undefined) throw unknownKey();
      return revokedKeyJson(key);
    },
  }),
];

export const accountOperations: readonly Operation[] = [...accounts, ...keys];

function noteMade({ id, prefix }: StoredKey, { noted }: Call): void {
  noted['made'] = { id, prefix };
}

/** Names in the key's list that no model has now: a provider may report it later. */
async function modelWarnings({ models }: StoredKey, { routing, discovered }: AdminParts): Promise<string[]> {
  if (models === null) return [];
  await discovered;
  const unknown = models.filter(
    (name) => routing.model(name, null) === undefined && routing.models([name]).length === 0,
  );
  const known = unknown.length === 0 ? [] : routing.models(null).map(({ name }) => name);
  return unknown.slice(0, MOST_WARNINGS).map((name) => {
    const near = didYouMean(name, known);
    return `no model has the name ${name} now${near === undefined ? '' : `; did you mean ${near}?`}`;
  });
}

function changedMeanwhile(): Problem {
  return new Problem(412, 'changed_meanwhile', 'it was changed since the tag of if-match; read it again');
}

export function unknownAccount(): Problem {
  return new Problem(404, 'unknown_account', 'no account has this name');
}

function unknownKey(): Problem {
  return new Problem(404, 'unknown_key', 'no key has this ID');
}

type Store = AdminParts['store'];

/** Looks at keys in steps; other requests are answered between two of them. `last`: where it stopped before the end. */
async function findKeys(query: KeyQuery, store: Store): Promise<{ listed: StoredKey[]; last?: KeyPlace }> {
  const listed: StoredKey[] = [];
  let { after } = query;
  for (let looked = 0; looked < MOST_LOOKED; looked += STEP) {
    const last = await store.passKeys({ ...query, after }, STEP);
    listed.push(...(await store.pageOfKeys({ ...query, after, last, most: query.most - listed.length })));
    if (last === undefined || listed.length >= query.most) return { listed };
    after = last;
    await yieldToOthers();
  }
  return { listed, ...(after && { last: after }) };
}

/** Rejects with Problem 404. */
async function accountNamed(name: string, store: Store) {
  const account = await store.findAccount(name);
  if (account === undefined) throw unknownAccount();
  return { ...account, keys: await store.countKeys(account.id) };
}

/** Rejects with Problem 404. */
async function keyOf(id: string, store: Store) {
  const key = await store.findKeyById(id);
  if (key === undefined) throw unknownKey();
  return key;
}

export function checkTier(tier: string, { tiers }: Config): void {
  if (tiers.has(tier)) return;
  throw new Problem(400, 'unknown_tier', `there is no such tier; known: ${[...tiers.keys()].join(', ')}`);
}
