// What a database holds of sign-ins: codes that wait for their approval, and the tokens of each sign-in, which is a key. The plaintext
// of a device code or of a token is stored nowhere; a user code is sealed, since its eight letters would be found from a hash.
import type { Permission } from '../../canonical/request.ts';
import type { Account, Key } from './key-records.ts';

/** A client asks for a sign-in: until it ends, the owner may approve it. */
export interface SignInCode {
  /** SHA-256 of the device code, in hex. */
  hash: string;
  /** The user code, sealed. */
  sealed: Uint8Array;
  /** Who asked, and from where. */
  userAgent: string;
  address: string;
  createdAt: number;
  expiresAt: number;
}

export interface NewSignInCode extends SignInCode {
  /** A keyed hash of the user code, in hex. */
  userHash: string;
  /** Of the address: codes that wait are bounded by it. */
  network: string;
}

/** The most codes that may wait at once. */
export interface CodeBounds {
  network: number;
  all: number;
}

/** What the owner gives to the client of a code. */
export interface SignInApproval {
  account: string;
  /** Of the account, if it does not exist yet. */
  tier: string;
  /** When the sign-in ends; null: with its revocation. */
  endsAt: number | null;
  at: number;
}

/** `unknown`: also used or expired. `slow_down`: polled too soon; from now on the interval is longer. */
export type PolledCode = 'unknown' | 'slow_down' | 'pending' | 'denied' | 'approved';

export interface SignInKey {
  id: string;
  permissions: readonly Permission[];
}

/** An access token and the refresh token that follows it. Hashes: SHA-256, in hex. */
export interface NewSignInTokens {
  access: string;
  refresh: string;
  /** The first characters of the access token, which the key gets. */
  prefix: string;
  at: number;
  accessExpiresAt: number;
}

/** `unknown`: also a token of a sign-in that is over. `spent`: it was exchanged before; `first`: it has not been sent again until now. */
export type RefreshedTokens =
  | { outcome: 'unknown' }
  | { outcome: 'spent'; key: Key; first: boolean }
  | { outcome: 'refreshed'; key: Key };

export interface SignInStore {
  /** Resolves to false, and stores nothing, if too many codes wait. */
  addCode(code: NewSignInCode, bounds: CodeBounds): Promise<boolean>;
  /** Oldest first: those that are neither approved nor denied nor expired. */
  listCodes(now: number): Promise<SignInCode[]>;
  /** Creates the account if it is new. Resolves to undefined, and changes nothing, unless the code waits. One transaction. */
  approveCode(
    userHash: string,
    approval: SignInApproval,
  ): Promise<{ account: Account; code: SignInCode } | undefined>;
  /** A code that waits, or was approved but not used. */
  denyCode(userHash: string, now: number): Promise<SignInCode | undefined>;
  /** `hash`: of the device code. Counts as a poll. */
  pollCode(hash: string, now: number): Promise<PolledCode>;
  /** Makes the key of an approved code, with its tokens, and deletes the code, so that it is used once. Resolves to undefined, and
   *  changes nothing, if the code is not approved any more. One transaction. */
  useCode(hash: string, key: SignInKey, tokens: NewSignInTokens): Promise<Key | undefined>;
  /** Exchanges a refresh token once; the access tokens of before stay valid. One transaction. */
  refreshTokens(refresh: string, tokens: NewSignInTokens): Promise<RefreshedTokens>;
  /** Revokes the key of any of its tokens. Resolves to undefined if no sign-in has this token. */
  endSignIn(hash: string, at: number): Promise<Key | undefined>;
  /** Deletes codes that expired, and tokens that nobody needs to know any more. */
  pruneSignIns(now: number): Promise<void>;
}

/** A store whose code is loaded when it is first asked: most commands and gateways never do. */
export function loadedLater(load: () => Promise<SignInStore>): SignInStore {
  let loading: Promise<SignInStore> | undefined;
  const store = (): Promise<SignInStore> => (loading ??= load());
  return {
    addCode: async (code, bounds) => (await store()).addCode(code, bounds),
    listCodes: async (now) => (await store()).listCodes(now),
    approveCode: async (userHash, approval) => (await store()).approveCode(userHash, approval),
    denyCode: async (userHash, now) => (await store()).denyCode(userHash, now),
    pollCode: async (hash, now) => (await store()).pollCode(hash, now),
    useCode: async (hash, key, tokens) => (await store()).useCode(hash, key, tokens),
    refreshTokens: async (refresh, tokens) => (await store()).refreshTokens(refresh, tokens),
    endSignIn: async (hash, at) => (await store()).endSignIn(hash, at),
    pruneSignIns: async (now) => (await store()).pruneSignIns(now),
  };
}

/** Seconds between the polls of a client, as it is told. */
export const POLL_INTERVAL_S = 5;
/** Added by each poll that came too soon (RFC 8628, section 3.5), up to the most. */
export const SLOWER_S = 5;
export const SLOWEST_S = 60;
/** Clients and networks are not exact: a poll may come so much sooner. */
export const POLL_TOLERANCE_MS = 1000;
/** Tokens of one sign-in that are known; the oldest go first. */
export const MOST_TOKENS = 400;
const DAY_MS = 86_400_000;
/** For so long after its end, an access token still signs out. */
export const ENDED_KEEP_MS = DAY_MS;
/** For so long, a refresh token is known as spent. */
export const SPENT_KEEP_MS = 30 * DAY_MS;

/** Values of the column `state` of a code. */
export const CODE_STATES = { pending: 0, approved: 1, denied: 2 } as const;
