// Codes that wait for an approval, and the tokens of sign-ins.
import {
  CODE_STATES,
  ENDED_KEEP_MS,
  MOST_TOKENS,
  POLL_INTERVAL_S,
  SPENT_KEEP_MS,
  type NewSignInTokens,
  type SignInStore,
} from '../../admin/sign-ins.ts';
import { CODE, keyOfCode, polled, toCode, type CodeRow } from '../../admin/code-rows.ts';
import { existing, KEY, keyValues, toAccount, toKey, type AccountRow, type KeyRow } from '../../rows.ts';
import type { Key } from '../../store.ts';
import { ADD_ACCOUNT, ADD_KEY } from '../access.ts';
import type { Changes } from '../changes.ts';
import type { Connection, Session } from '../connection.ts';
import { LOCKS } from '../migrations.ts';

const LOCK_CODES = { text: `SELECT pg_advisory_xact_lock(${LOCKS.codes})` };
const REMOVE_EXPIRED = { text: 'DELETE FROM sign_in_codes WHERE expires_at <= $1' };
const COUNT = {
  text: 'SELECT count(*) FILTER (WHERE network = $1) AS own, count(*) AS total FROM sign_in_codes',
};
const ADD_CODE = {
  text: `INSERT INTO sign_in_codes
      (hash, user_hash, sealed, user_agent, address, network, created_at, expires_at, state, interval)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, ${CODE_STATES.pending}, ${POLL_INTERVAL_S})`,
};
const LIST = {
  text: `${CODE} WHERE state = ${CODE_STATES.pending} AND expires_at > $1 ORDER BY sign_in_codes.created_at`,
};
const LOCKED = 'FOR UPDATE OF sign_in_codes';
const BY_USER = { text: `${CODE} WHERE user_hash = $1 AND expires_at > $2 ${LOCKED}` };
const BY_HASH = { text: `${CODE} WHERE hash = $1 AND expires_at > $2 ${LOCKED}` };
const ACCOUNT = { text: 'SELECT * FROM accounts WHERE name = $1' };
const APPROVE = {
  text: `UPDATE sign_in_codes SET state = ${CODE_STATES.approved}, account_id = $2, ends_at = $3 WHERE hash = $1`,
};
const DENY = { text: `UPDATE sign_in_codes SET state = ${CODE_STATES.denied} WHERE hash = $1` };
const NOTE_POLL = { text: 'UPDATE sign_in_codes SET polled_at = $2, interval = $3 WHERE hash = $1' };
const REMOVE_CODE = { text: 'DELETE FROM sign_in_codes WHERE hash = $1' };

const KEY_BY_ID = { text: `${KEY} WHERE keys.id = $1` };
const SET_PREFIX = { text: 'UPDATE keys SET prefix = $2 WHERE id = $1' };
const REVOKE = { text: 'UPDATE keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL' };
const ADD_TOKEN = {
  text: 'INSERT INTO sign_in_tokens (hash, key_id, kind, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)',
};
const FIND_TOKEN = { text: 'SELECT * FROM sign_in_tokens WHERE hash = $1 FOR UPDATE' };
const SPEND = { text: 'UPDATE sign_in_tokens SET spent_at = $2 WHERE hash = $1' };
const REPLAY = { text: 'UPDATE sign_in_tokens SET replayed_at = $2 WHERE hash = $1' };
const REMOVE_OLDEST = {
  text: `DELETE FROM sign_in_tokens WHERE hash IN
    (SELECT hash FROM sign_in_tokens WHERE key_id = $1 ORDER BY created_at DESC OFFSET ${MOST_TOKENS})`,
};
const PRUNE_TOKENS = {
  text: `DELETE FROM sign_in_tokens AS t USING keys WHERE keys.id = t.key_id AND (
    t.expires_at <= $1::bigint - ${ENDED_KEEP_MS} OR t.spent_at <= $1::bigint - ${SPENT_KEEP_MS}
    OR coalesce(keys.revoked_at, keys.expires_at) <= $1::bigint - ${SPENT_KEEP_MS})`,
};

interface SignInTokenRow {
  hash: Buffer;
  key_id: string;
  kind: 'access' | 'refresh';
  spent_at: number | null;
  replayed_at: number | null;
}

const bytes = (hash: string): Buffer => Buffer.from(hash, 'hex');

export function createSignIns(connection: Connection, changes: Changes): SignInStore {
  return { ...codesOf(connection), ...tokensOf(connection, changes) };
}

type Codes = Pick<SignInStore, 'addCode' | 'listCodes' | 'approveCode' | 'denyCode' | 'pollCode'>;

function codesOf(connection: Connection): Codes {
  return {
    addCode: (code, most) =>
      connection.transaction(async (session) => {
        // Codes that come at once are counted one after the other.
        await session.run(LOCK_CODES);
        await session.run(REMOVE_EXPIRED, code.createdAt);
        const { rows } = await session.run<{ own: number; total: number }>(COUNT, code.network);
        const { own, total } = existing(rows[0]);
        if (own >= most.network || total >= most.all) return false;
        const { userAgent, address, network, createdAt, expiresAt } = code;
        const hashes = [bytes(code.hash), bytes(code.userHash), Buffer.from(code.sealed)];
        await session.run(ADD_CODE, ...hashes, userAgent, address, network, createdAt, expiresAt);
        return true;
      }),
    listCodes: async (now) => (await connection.read<CodeRow>(LIST, now)).map(toCode),
    approveCode: (userHash, to) =>
      connection.transaction(async (session) => {
        const [code] = (await session.run<CodeRow>(BY_USER, bytes(userHash), to.at)).rows;
        if (code?.state !== CODE_STATES.pending) return undefined;
        await session.run(ADD_ACCOUNT, to.account, to.tier, to.at);
        const account = toAccount(existing((await session.run<AccountRow>(ACCOUNT, to.account)).rows[0]));
        await session.run(APPROVE, code.hash, account.id, to.endsAt);
        return { account, code: toCode(code) };
      }),
    denyCode: (userHash, now) =>
      connection.transaction(async (session) => {
        const [code] = (await session.run<CodeRow>(BY_USER, bytes(userHash), now)).rows;
        if (code === undefined || code.state === CODE_STATES.denied) return undefined;
        await session.run(DENY, code.hash);
        return toCode(code);
      }),
    pollCode: (hash, now) =>
      connection.transaction(async (session) => {
        const [code] = (await session.run<CodeRow>(BY_HASH, bytes(hash), now)).rows;
        if (code === undefined) return 'unknown';
        const { outcome, interval } = polled(code, now);
        await session.run(NOTE_POLL, code.hash, now, interval);
        return outcome;
      }),
  };
}

function tokensOf(connection: Connection, changes: Changes): Omit<SignInStore, keyof Codes> {
  return {
    useCode: (hash, key, tokens) =>
      connection.transaction(async (session) => {
        const [code] = (await session.run<CodeRow>(BY_HASH, bytes(hash), tokens.at)).rows;
        if (code?.state !== CODE_STATES.approved || code.account === null) return undefined;
        await session.run(REMOVE_CODE, code.hash);
        await session.run(ADD_KEY, ...keyValues(keyOfCode(code, code.account, key, tokens.at), Boolean));
        return addTokens(session, key.id, tokens);
      }),
    refreshTokens: (hash, tokens) =>
      connection.transaction(async (session) => {
        const [token] = (await session.run<SignInTokenRow>(FIND_TOKEN, bytes(hash))).rows;
        if (token?.kind !== 'refresh') return { outcome: 'unknown' };
        const key = await keyOf(session, token.key_id);
        if (key.revokedAt !== null || (key.expiresAt !== null && key.expiresAt <= tokens.at))
          return { outcome: 'unknown' };
        if (token.spent_at !== null) {
          const first = token.replayed_at === null;
          if (first) await session.run(REPLAY, token.hash, tokens.at);
          return { outcome: 'spent', key, first };
        }
        await session.run(SPEND, token.hash, tokens.at);
        return { outcome: 'refreshed', key: await addTokens(session, key.id, tokens) };
      }),
    async endSignIn(hash, at) {
      const key = await connection.transaction(async (session) => {
        const [token] = (await session.run<SignInTokenRow>(FIND_TOKEN, bytes(hash))).rows;
        if (token === undefined) return undefined;
        await session.run(REVOKE, token.key_id, at);
        return keyOf(session, token.key_id);
      });
      changes.changed();
      return key;
    },
    async pruneSignIns(now) {
      await connection.run(REMOVE_EXPIRED, now);
      await connection.run(PRUNE_TOKENS, now);
    },
  };
}

async function keyOf(session: Session, id: string): Promise<Key> {
  return toKey(existing((await session.run<KeyRow>(KEY_BY_ID, id)).rows[0]));
}

/** The key has the token's first characters from now on. */
async function addTokens(session: Session, id: string, tokens: NewSignInTokens): Promise<Key> {
  const { access, refresh, prefix, at, accessExpiresAt } = tokens;
  await session.run(ADD_TOKEN, bytes(access), id, 'access', at, accessExpiresAt);
  await session.run(ADD_TOKEN, bytes(refresh), id, 'refresh', at, null);
  await session.run(REMOVE_OLDEST, id);
  await session.run(SET_PREFIX, id, prefix);
  return keyOf(session, id);
}
