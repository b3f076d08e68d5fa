// What every engine must do with sign-ins: codes that are used once, tokens that are exchanged once, and their end.
import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { HOUR_MS } from '../../src/clock.ts';
import {
  MOST_TOKENS,
  SPENT_KEEP_MS,
  type NewSignInCode,
  type NewSignInTokens,
  type SignInApproval,
} from '../../src/store/admin/sign-ins.ts';
import type { Key, Store, StoredRecord } from '../../src/store/store.ts';
import { type Contract, HOUR, newKey } from './support.ts';

const TEN_MINUTES = 600_000;
const BOUNDS = { network: 3, all: 5 };

const sha = (text: string): string => createHash('sha256').update(text).digest('hex');

function codeOf(name: string, change: Partial<NewSignInCode> = {}): NewSignInCode {
  return {
    hash: sha(name),
    userHash: sha(`user ${name}`),
    sealed: Buffer.from(name),
    userAgent: 'claude-code/2.1.332',
    address: '127.0.0.1',
    network: '127.0.0.1',
    createdAt: HOUR,
    expiresAt: HOUR + TEN_MINUTES,
    ...change,
  };
}

const approvalOf = (change: Partial<SignInApproval> = {}): SignInApproval => ({
  ...{ account: 'alice', tier: 'pro', endsAt: null, at: HOUR + 1000 },
  ...change,
});

const tokensOf = (name: string, at = HOUR + 2000): NewSignInTokens => ({
  access: sha(`access ${name}`),
  refresh: sha(`refresh ${name}`),
  prefix: `sk-gw-${name}`,
  at,
  accessExpiresAt: at + HOUR_MS,
});

const KEY = { id: 'key_sign', permissions: ['messages'] as const };

export function signInContract(name: string, contract: Contract): void {
  const { open } = contract;
  let store: Store;
  beforeEach(() => {
    store = contract.store();
  });

  async function signIn(code = 'one', endsAt: number | null = null, id = KEY.id): Promise<Key> {
    await store.addCode(codeOf(code), BOUNDS);
    await store.approveCode(sha(`user ${code}`), approvalOf({ endsAt }));
    const key = await store.useCode(sha(code), { ...KEY, id }, tokensOf(code));
    if (key === undefined) throw new Error('the code was not used');
    return key;
  }

  describe(`${name}: codes of sign-ins`, () => {
    it('lists a code until it is approved, denied or expired', async () => {
      expect(await store.addCode(codeOf('one'), BOUNDS)).toBe(true);
      expect(await store.addCode(codeOf('two', { createdAt: HOUR + 1 }), BOUNDS)).toBe(true);
      const { userHash: _user, network: _network, ...listed } = codeOf('one');
      const [first, second] = await store.listCodes(HOUR);
      expect({ ...first, sealed: Buffer.from(first?.sealed ?? []) }).toEqual(listed);
      expect(second?.hash).toBe(sha('two'));
      await store.approveCode(sha('user one'), approvalOf());
      expect((await store.listCodes(HOUR)).map(({ hash }) => hash)).toEqual([sha('two')]);
      await store.denyCode(sha('user two'), HOUR);
      expect(await store.listCodes(HOUR)).toEqual([]);
      await store.addCode(codeOf('three'), BOUNDS);
      expect(await store.listCodes(HOUR + TEN_MINUTES)).toEqual([]);
    });

    it('bounds the codes that wait, of a network and of all', async () => {
      for (const code of ['1', '2', '3']) expect(await store.addCode(codeOf(code), BOUNDS)).toBe(true);
      expect(await store.addCode(codeOf('4'), BOUNDS)).toBe(false);
      const other = { network: '10.0.0.1' };
      expect(await store.addCode(codeOf('4', other), BOUNDS)).toBe(true);
      expect(await store.addCode(codeOf('5', other), BOUNDS)).toBe(true);
      expect(await store.addCode(codeOf('6', { network: '10.0.0.2' }), BOUNDS)).toBe(false);
      const later = { createdAt: HOUR + TEN_MINUTES, expiresAt: HOUR + 2 * TEN_MINUTES };
      expect(await store.addCode(codeOf('6', later), BOUNDS)).toBe(true);
    });

    it('counts codes that come at once', async () => {
      const added = await Promise.all(
        ['1', '2', '3', '4', '5', '6'].map((code) => store.addCode(codeOf(code), BOUNDS)),
      );
      expect(added.filter(Boolean)).toHaveLength(BOUNDS.network);
    });

    it('approves a code once, with a new account or an old one, whose tier stays', async () => {
      await store.addCode(codeOf('one'), BOUNDS);
      await store.addCode(codeOf('two'), BOUNDS);
      const approved = await store.approveCode(sha('user one'), approvalOf());
      expect(approved).toMatchObject({
        account: { name: 'alice', tier: 'pro' },
        code: { userAgent: 'claude-code/2.1.332' },
      });
      expect(await store.approveCode(sha('user one'), approvalOf({ account: 'mallory' }))).toBeUndefined();
      const again = await store.approveCode(sha('user two'), approvalOf({ tier: 'free' }));
      expect(again?.account.tier).toBe('pro');
      expect((await store.listAccounts()).map((account) => account.name)).toEqual(['alice']);
    });

    it('approves and denies nothing that is unknown or expired, and makes no account then', async () => {
      await store.addCode(codeOf('one'), BOUNDS);
      const late = approvalOf({ at: HOUR + TEN_MINUTES });
      expect(await store.approveCode(sha('user one'), late)).toBeUndefined();
      expect(await store.approveCode(sha('user other'), approvalOf())).toBeUndefined();
      expect(await store.denyCode(sha('user one'), HOUR + TEN_MINUTES)).toBeUndefined();
      expect(await store.denyCode(sha('user other'), HOUR)).toBeUndefined();
      expect(await store.listAccounts()).toEqual([]);
    });

    it('tells a client what became of its code, and the same of unknown, used and expired ones', async () => {
      await store.addCode(codeOf('one'), BOUNDS);
      expect(await store.pollCode(sha('one'), HOUR)).toBe('pending');
      await store.approveCode(sha('user one'), approvalOf());
      expect(await store.pollCode(sha('one'), HOUR + 5000)).toBe('approved');
      await store.denyCode(sha('user one'), HOUR + 6000);
      expect(await store.pollCode(sha('one'), HOUR + 10_000)).toBe('denied');
      expect(await store.useCode(sha('one'), KEY, tokensOf('one'))).toBeUndefined();
      expect(await store.pollCode(sha('one'), HOUR + TEN_MINUTES)).toBe('unknown');
      expect(await store.pollCode(sha('other'), HOUR)).toBe('unknown');
      await signIn('two');
      expect(await store.pollCode(sha('two'), HOUR + 60_000)).toBe('unknown');
    });

    it('slows a client down that polls too soon, more each time', async () => {
      await store.addCode(codeOf('one'), BOUNDS);
      const at = async (ms: number) => store.pollCode(sha('one'), HOUR + ms);
      expect(await at(0)).toBe('pending');
      expect(await at(4100)).toBe('pending');
      expect(await at(5000)).toBe('slow_down');
      expect(await at(11_000)).toBe('slow_down');
      expect(await at(24_000)).toBe('slow_down');
      expect(await at(45_000)).toBe('pending');
    });

    it('uses an approved code once, whoever asks at once', async () => {
      await store.addCode(codeOf('one'), BOUNDS);
      expect(await store.useCode(sha('one'), KEY, tokensOf('early'))).toBeUndefined();
      await store.approveCode(sha('user one'), approvalOf());
      const used = await Promise.all(
        ['a', 'b', 'c'].map((id) => store.useCode(sha('one'), { ...KEY, id: `key_${id}` }, tokensOf(id))),
      );
      expect(used.filter((key) => key !== undefined)).toHaveLength(1);
      expect(await store.listKeys()).toHaveLength(1);
    });

    it('lets a code go with its account, and keeps it when the account is renamed', async () => {
      await store.addCode(codeOf('one'), BOUNDS);
      await store.addCode(codeOf('two'), BOUNDS);
      await store.approveCode(sha('user one'), approvalOf());
      await store.approveCode(sha('user two'), approvalOf({ account: 'bob' }));
      await store.renameAccount('alice', 'Alice B.');
      await store.removeAccount('bob');
      expect(await store.pollCode(sha('two'), HOUR)).toBe('unknown');
      expect(await store.useCode(sha('one'), KEY, tokensOf('one'))).toMatchObject({ account: 'Alice B.' });
    });
  });

  describe(`${name}: tokens of sign-ins`, () => {
    it('finds the key of an access token until the token or the sign-in ends', async () => {
      const key = await signIn('one', HOUR + 30 * 60_000);
      expect(key).toMatchObject({
        ...{ id: 'key_sign', account: 'alice', prefix: 'sk-gw-one', permissions: ['messages'], models: null },
        ...{
          origin: 'claude-code/2.1.332 from 127.0.0.1',
          expiresAt: HOUR + 30 * 60_000,
          label: null,
          native: true,
        },
      });
      expect(await store.findKey(sha('access one'))).toEqual(key);
      const [two] = [await signIn('two', null, 'key_two')];
      expect(two.expiresAt).toBeNull();
      expect((await store.findKey(sha('access two')))?.expiresAt).toBe(HOUR + 2000 + HOUR_MS);
      expect(await store.findKey(sha('refresh two'))).toBeUndefined();
      expect(await store.findKey(sha('other'))).toBeUndefined();
    });

    it('exchanges a refresh token once, and leaves the access token of before', async () => {
      await signIn();
      const later = tokensOf('next', HOUR + HOUR_MS);
      const exchanged = await store.refreshTokens(sha('refresh one'), later);
      expect(exchanged).toMatchObject({
        outcome: 'refreshed',
        key: { id: 'key_sign', prefix: 'sk-gw-next' },
      });
      const spent = { outcome: 'spent', key: { id: 'key_sign', revokedAt: null } };
      expect(await store.refreshTokens(sha('refresh one'), tokensOf('x'))).toMatchObject({
        ...spent,
        first: true,
      });
      expect(await store.refreshTokens(sha('refresh one'), tokensOf('x'))).toMatchObject({
        ...spent,
        first: false,
      });
      expect((await store.findKey(sha('access one')))?.id).toBe('key_sign');
      expect((await store.findKey(sha('access next')))?.id).toBe('key_sign');
      expect(await store.findKey(sha('access x'))).toBeUndefined();
      expect(await store.listKeys()).toHaveLength(1);
    });

    it('gives one of several who send a refresh token at once a new pair', async () => {
      await signIn();
      const all = ['a', 'b', 'c'].map((next) => store.refreshTokens(sha('refresh one'), tokensOf(next)));
      const outcomes = (await Promise.all(all)).map(({ outcome }) => outcome);
      expect(outcomes.sort()).toEqual(['refreshed', 'spent', 'spent']);
    });

    it('takes an access token for no refresh token, and exchanges none of a sign-in that is over', async () => {
      await signIn('one', HOUR + HOUR_MS);
      const later = tokensOf('next', HOUR + HOUR_MS);
      expect(await store.refreshTokens(sha('access one'), tokensOf('x'))).toEqual({ outcome: 'unknown' });
      expect(await store.refreshTokens(sha('other'), tokensOf('x'))).toEqual({ outcome: 'unknown' });
      expect(await store.refreshTokens(sha('refresh one'), later)).toEqual({ outcome: 'unknown' });
      await signIn('two', null, 'key_two');
      await store.revokeKey('key_two', HOUR + 3000);
      expect(await store.refreshTokens(sha('refresh two'), later)).toEqual({ outcome: 'unknown' });
    });

    it('ends a sign-in by any of its tokens, at once and again, and no other key', async () => {
      await signIn();
      await store.createKey(newKey({ id: 'key_other' }));
      expect(await store.endSignIn(newKey({ id: 'key_other' }).hash, HOUR)).toBeUndefined();
      await store.refreshTokens(sha('refresh one'), tokensOf('next'));
      expect((await store.findKey(sha('access next')))?.revokedAt).toBeNull();
      expect(await store.endSignIn(sha('access one'), HOUR + 9)).toMatchObject({
        id: 'key_sign',
        revokedAt: HOUR + 9,
      });
      for (const token of ['one', 'next'])
        expect((await store.findKey(sha(`access ${token}`)))?.revokedAt).toBe(HOUR + 9);
      expect(await store.endSignIn(sha('refresh next'), HOUR + 10)).toMatchObject({ revokedAt: HOUR + 9 });
      expect(await store.endSignIn(sha('other'), HOUR)).toBeUndefined();
      expect((await store.listKeys()).map(({ revokedAt }) => revokedAt)).toEqual([null, HOUR + 9]);
    });

    it('is revoked as any key, rotated by nobody but its client, and goes with its account', async () => {
      await signIn();
      const by = { id: 'key_new', hash: 'ab'.repeat(32), prefix: 'sk-gw-new', createdAt: HOUR + 3000 };
      expect(await store.replaceKey('key_sign', by, HOUR + 4000)).toBeUndefined();
      await store.revokeKey('key_sign', HOUR + 5000);
      expect((await store.findKey(sha('access one')))?.revokedAt).toBe(HOUR + 5000);
      await store.removeAccount('alice');
      expect(await store.findKey(sha('access one'))).toBeUndefined();
      expect(await store.endSignIn(sha('refresh one'), HOUR)).toBeUndefined();
    });

    it('keeps a bounded number of tokens, the newest', async () => {
      await signIn();
      for (let at = 1; at <= MOST_TOKENS / 2; at += 1) {
        const before = at === 1 ? 'one' : String(at - 1);
        await store.refreshTokens(sha(`refresh ${before}`), tokensOf(String(at), HOUR + 3000 + at));
      }
      expect(await store.findKey(sha('access one'))).toBeUndefined();
      expect((await store.findKey(sha('access 1')))?.id).toBe('key_sign');
    });

    it('forgets codes that expired, and tokens after their time', async () => {
      await signIn();
      await store.addCode(codeOf('two'), BOUNDS);
      await store.refreshTokens(sha('refresh one'), tokensOf('next', HOUR + 3000));
      const at = HOUR + 3000 + SPENT_KEEP_MS;
      await store.pruneSignIns(at);
      expect(await store.listCodes(HOUR)).toEqual([]);
      expect(await store.findKey(sha('access one'))).toBeUndefined();
      expect(await store.refreshTokens(sha('refresh one'), tokensOf('x', at))).toEqual({
        outcome: 'unknown',
      });
      expect(await store.refreshTokens(sha('refresh next'), tokensOf('y', at))).toMatchObject({
        outcome: 'refreshed',
      });
    });

    it('goes with an export: the client of a sign-in keeps working', async () => {
      await signIn();
      await store.addCode(codeOf('two'), BOUNDS);
      const copy = await open();
      const entry = { at: HOUR, actor: 'owner', address: 'local', action: 'import', detail: '{}' };
      expect(await copy.importRecords(store.exportRecords(), () => Promise.resolve(entry))).toBe(true);
      expect(await recordsOf(copy)).toEqual(await recordsOf(store));
      expect(await copy.findKey(sha('access one'))).toEqual(await store.findKey(sha('access one')));
      expect(await copy.refreshTokens(sha('refresh one'), tokensOf('next'))).toMatchObject({
        outcome: 'refreshed',
      });
      expect(await copy.listCodes(HOUR)).toEqual([]);
      await copy.close();
    });
  });
}

async function recordsOf(store: Store): Promise<StoredRecord[]> {
  const records: StoredRecord[] = [];
  for await (const batch of store.exportRecords()) records.push(...batch);
  return records;
}
