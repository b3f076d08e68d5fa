// Sign-in of an agent by a code, without HTTP: a client asks for a code, the owner approves it, and the client gets a key whose tokens it
// exchanges for new ones. All of it is in the database, so that any worker, gateway or command on it may do any of these steps.
import { hashKey, KEY_PREFIX } from '../accounts/access.ts';
import { networkOf } from '../accounts/throttle.ts';
import { PERMISSIONS } from '../canonical/request.ts';
import type { Clock } from '../clock.ts';
import { type Ids, withoutKeys } from '../ids.ts';
import type {
  CodeBounds,
  NewSignInTokens,
  SignInApproval,
  SignInCode,
  SignInStore,
} from '../store/admin/sign-ins.ts';
import type { Account, ItemStore, Key } from '../store/store.ts';
import {
  createCodeSafe,
  DEVICE_PREFIX,
  newUserCode,
  readUserCode,
  REFRESH_PREFIX,
  SECRET_LENGTH,
  shownCode,
} from './codes.ts';

/** Time to approve a code, in milliseconds. */
export const CODE_MS = 600_000;
/** An access token is short-lived: its client exchanges it. */
const ACCESS_MS = 3_600_000;
/** Codes that may wait at once. Behind a proxy, all clients have its address. */
const BOUNDS: CodeBounds = { network: 30, all: 300 };
const ID_LENGTH = 12;
const VISIBLE_LENGTH = 6;
const LONGEST_AGENT = 120;

/** A code that waits for the owner. */
interface WaitingSignIn {
  /** `ABCD-EFGH` */
  code: string;
  userAgent: string;
  address: string;
  createdAt: number;
  expiresAt: number;
}

export interface Tokens {
  access: string;
  refresh: string;
  /** Of the access token, from now. */
  expiresInMs: number;
  key: Key;
}

type Polled =
  { outcome: 'pending' | 'slow_down' | 'denied' | 'unknown' } | { outcome: 'approved'; tokens: Tokens };

type Refreshed =
  | { outcome: 'unknown' }
  | { outcome: 'spent'; key: Key; first: boolean }
  | { outcome: 'refreshed'; tokens: Tokens };

/** Every method rejects with StoreError. */
export interface SignIn {
  /** undefined: too many codes wait. */
  begin(asked: {
    userAgent: string;
    address: string;
  }): Promise<{ deviceCode: string; code: string } | undefined>;
  poll(deviceCode: string): Promise<Polled>;
  refresh(token: string): Promise<Refreshed>;
  /** Ends the sign-in of any of its tokens. `now`: it was not over before. undefined: no sign-in has this token. */
  end(token: string): Promise<{ key: Key; now: boolean } | undefined>;
  /** Oldest first. */
  waiting(): Promise<WaitingSignIn[]>;
  /** `code`: as a person writes it. undefined: no sign-in waits with it. */
  approve(
    code: string,
    approval: Omit<SignInApproval, 'at'>,
  ): Promise<{ account: Account; client: WaitingSignIn } | undefined>;
  deny(code: string): Promise<WaitingSignIn | undefined>;
}

export function createSignIn(deps: {
  store: SignInStore & Pick<ItemStore, 'itemKey'>;
  clock: Clock;
  ids: Ids;
}): SignIn {
  const { store, clock, ids } = deps;
  const safe = createCodeSafe(() => store.itemKey());

  /** undefined: the code was sealed with another key than the database has now. */
  function shown({ hash, sealed, userAgent, address, createdAt, expiresAt }: SignInCode) {
    const letters = safe.open(sealed, hash);
    if (letters === undefined) return undefined;
    return { code: shownCode(letters), userAgent, address, createdAt, expiresAt };
  }

  return {
    async begin({ userAgent, address }) {
      const deviceCode = DEVICE_PREFIX + ids.random(SECRET_LENGTH);
      const letters = newUserCode(ids);
      const hash = hashKey(deviceCode);
      const createdAt = clock.now();
      const code = {
        ...{ hash, userHash: safe.hash(letters), sealed: safe.seal(letters, hash) },
        ...{ userAgent: agentOf(userAgent), address, network: networkOf(address) },
        ...{ createdAt, expiresAt: createdAt + CODE_MS },
      };
      return (await store.addCode(code, BOUNDS)) ? { deviceCode, code: shownCode(letters) } : undefined;
    },
    async poll(deviceCode) {
      const hash = hashKey(deviceCode);
      const outcome = await store.pollCode(hash, clock.now());
      if (outcome !== 'approved') return { outcome };
      const tokens = newTokens(deps);
      const key = await store.useCode(
        hash,
        { id: `key_${ids.random(ID_LENGTH)}`, permissions: PERMISSIONS },
        tokens.stored,
      );
      return key === undefined ? { outcome: 'unknown' } : { outcome, tokens: tokens.of(key) };
    },
    async refresh(token) {
      const tokens = newTokens(deps);
      const result = await store.refreshTokens(hashKey(token), tokens.stored);
      return result.outcome === 'refreshed'
        ? { outcome: 'refreshed', tokens: tokens.of(result.key) }
        : result;
    },
    async end(token) {
      const at = clock.now();
      const key = await store.endSignIn(hashKey(token), at);
      return key && { key, now: key.revokedAt === at };
    },
    waiting: async () => (await store.listCodes(clock.now())).map(shown).filter((code) => code !== undefined),
    async approve(code, approval) {
      const letters = readUserCode(code);
      if (letters === undefined) return undefined;
      const approved = await store.approveCode(safe.hash(letters), { ...approval, at: clock.now() });
      const client = approved && shown(approved.code);
      return client && { account: approved.account, client };
    },
    async deny(code) {
      const letters = readUserCode(code);
      if (letters === undefined) return undefined;
      const denied = await store.denyCode(safe.hash(letters), clock.now());
      return denied && shown(denied);
    },
  };
}

/** What the database gets of a new pair, and what its client gets of it. */
function newTokens({ clock, ids }: { clock: Clock; ids: Ids }) {
  const access = KEY_PREFIX + ids.random(SECRET_LENGTH);
  const refresh = REFRESH_PREFIX + ids.random(SECRET_LENGTH);
  const at = clock.now();
  const stored: NewSignInTokens = {
    access: hashKey(access),
    refresh: hashKey(refresh),
    prefix: access.slice(0, KEY_PREFIX.length + VISIBLE_LENGTH),
    at,
    accessExpiresAt: at + ACCESS_MS,
  };
  const of = (key: Key): Tokens => {
    const expiresInMs = Math.min(ACCESS_MS, (key.expiresAt ?? Infinity) - at);
    return { access, refresh, expiresInMs, key };
  };
  return { stored, of };
}

/** What a client calls itself, as a line that can be shown. */
function agentOf(text: string): string {
  const line = withoutKeys(text.slice(0, LONGEST_AGENT).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ')).trim();
  return line === '' ? 'a client without a name' : line;
}
