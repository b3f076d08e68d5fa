// Codes that wait for an approval, and the tokens of sign-ins.
import {
  CODE_STATES,
  ENDED_KEEP_MS,
  MOST_TOKENS,
  POLL_INTERVAL_S,
  SPENT_KEEP_MS,
  type CodeBounds,
  type NewSignInCode,
  type NewSignInTokens,
  type PolledCode,
  type RefreshedTokens,
  type SignInApproval,
  type SignInCode,
  type SignInKey,
  type SignInStore,
} from '../../admin/sign-ins.ts';
import { CODE, keyOfCode, polled, toCode, type CodeRow } from '../../admin/code-rows.ts';
import { existing, KEY, keyValues, toAccount, toKey, type AccountRow, type KeyRow } from '../../rows.ts';
import type { Account, Key } from '../../store.ts';
import { ADD_ACCOUNT, ADD_KEY } from '../access.ts';
import { inSteps } from '../background.ts';
import type { Connection } from '../connection.ts';
import type { Db } from '../driver.ts';

const bytes = (hash: string): Buffer => Buffer.from(hash, 'hex');

type SignIns = ReturnType<typeof prepareCodes> & ReturnType<typeof prepareTokens>;

/** By database, which differs when another file takes the path. */
const prepared = new WeakMap<Db, SignIns>();

interface Place {
  database: Db;
  /** Found keys are cached. */
  forgetKeys: () => void;
}

function statementsOf({ database: db, forgetKeys }: Place): SignIns {
  const known = prepared.get(db);
  if (known !== undefined) return known;
  const made = { ...prepareCodes(db), ...prepareTokens(db, forgetKeys) };
  prepared.set(db, made);
  return made;
}

function prepareCodes(db: Db) {
  const removeExpired = db.prepare<[number]>('DELETE FROM sign_in_codes WHERE expires_at <= ?');
  const count = db.prepare<[string], { own: number; total: number }>(
    'SELECT coalesce(sum(network = ?), 0) AS own, count(*) AS total FROM sign_in_codes',
  );
  const insert = db.prepare(
    `INSERT INTO sign_in_codes (hash, user_hash, sealed, user_agent, address, network, created_at, expires_at, state, interval)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ${CODE_STATES.pending}, ${POLL_INTERVAL_S})`,
  );
  const list = db.prepare<[number], CodeRow>(
    `${CODE} WHERE state = ${CODE_STATES.pending} AND expires_at > ? ORDER BY sign_in_codes.created_at`,
  );
  const byUser = db.prepare<[Buffer, number], CodeRow>(`${CODE} WHERE user_hash = ? AND expires_at > ?`);
  const byHash = db.prepare<[Buffer, number], CodeRow>(`${CODE} WHERE hash = ? AND expires_at > ?`);
  const addAccount = db.prepare(ADD_ACCOUNT);
  const account = db.prepare<[string], AccountRow>('SELECT * FROM accounts WHERE name = ?');
  const approve = db.prepare(
    `UPDATE sign_in_codes SET state = ${CODE_STATES.approved}, account_id = ?, ends_at = ? WHERE hash = ?`,
  );
  const deny = db.prepare(`UPDATE sign_in_codes SET state = ${CODE_STATES.denied} WHERE hash = ?`);
  const notePoll = db.prepare('UPDATE sign_in_codes SET polled_at = ?, interval = ? WHERE hash = ?');

  const add = db.transaction((code: NewSignInCode, most: CodeBounds): boolean => {
    removeExpired.run(code.createdAt);
    const { own, total } = existing(count.get(code.network));
    if (own >= most.network || total >= most.all) return false;
    const { userAgent, address, network, createdAt, expiresAt } = code;
    const hashes = [bytes(code.hash), bytes(code.userHash), code.sealed];
    insert.run(...hashes, userAgent, address, network, createdAt, expiresAt);
    return true;
  });
  type Approved = { account: Account; code: SignInCode } | undefined;
  const approveFound = db.transaction((userHash: string, to: SignInApproval): Approved => {
    const code = byUser.get(bytes(userHash), to.at);
    if (code?.state !== CODE_STATES.pending) return undefined;
    addAccount.run(to.account, to.tier, to.at);
    const owner = toAccount(existing(account.get(to.account)));
    approve.run(owner.id, to.endsAt, code.hash);
    return { account: owner, code: toCode(code) };
  });
  const denyFound = db.transaction((userHash: string, now: number): SignInCode | undefined => {
    const code = byUser.get(bytes(userHash), now);
    if (code === undefined || code.state === CODE_STATES.denied) return undefined;
    deny.run(code.hash);
    return toCode(code);
  });
  const poll = db.transaction((hash: string, now: number): PolledCode => {
    const code = byHash.get(bytes(hash), now);
    if (code === undefined) return 'unknown';
    const { outcome, interval } = polled(code, now);
    notePoll.run(now, interval, code.hash);
    return outcome;
  });
  return {
    addCode: (code: NewSignInCode, most: CodeBounds) => add.immediate(code, most),
    listCodes: (now: number): SignInCode[] => list.all(now).map(toCode),
    approveCode: (userHash: string, to: SignInApproval) => approveFound.immediate(userHash, to),
    denyCode: (userHash: string, now: number) => denyFound.immediate(userHash, now),
    pollCode: (hash: string, now: number) => poll.immediate(hash, now),
    removeExpiredCodes: (now: number): void => void removeExpired.run(now),
  };
}

interface SignInTokenRow {
  hash: Buffer;
  key_id: string;
  kind: 'access' | 'refresh';
  spent_at: number | null;
  replayed_at: number | null;
}

function prepareTokens(db: Db, forgetKeys: () => void) {
  const approved = db.prepare<[Buffer, number], CodeRow>(
    `${CODE} WHERE hash = ? AND expires_at > ? AND state = ${CODE_STATES.approved}`,
  );
  const removeCode = db.prepare<[Buffer]>('DELETE FROM sign_in_codes WHERE hash = ?');
  const addKey = db.prepare(ADD_KEY);
  const keyById = db.prepare<[string], KeyRow>(`${KEY} WHERE keys.id = ?`);
  const setPrefix = db.prepare('UPDATE keys SET prefix = ? WHERE id = ?');
  const revoke = db.prepare('UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL');
  const insert = db.prepare(
    'INSERT INTO sign_in_tokens (hash, key_id, kind, created_at, expires_at) VALUES (?, ?, ?, ?, ?)',
  );
  const find = db.prepare<[Buffer], SignInTokenRow>('SELECT * FROM sign_in_tokens WHERE hash = ?');
  const spend = db.prepare('UPDATE sign_in_tokens SET spent_at = ? WHERE hash = ?');
  const replay = db.prepare('UPDATE sign_in_tokens SET replayed_at = ? WHERE hash = ?');
  const removeOldest = db.prepare(
    `DELETE FROM sign_in_tokens WHERE hash IN
       (SELECT hash FROM sign_in_tokens WHERE key_id = ? ORDER BY created_at DESC LIMIT -1 OFFSET ${MOST_TOKENS})`,
  );
  const prune = db.prepare<[{ now: number; most: number }]>(
    `DELETE FROM sign_in_tokens WHERE hash IN (
       SELECT t.hash FROM sign_in_tokens AS t JOIN keys ON keys.id = t.key_id
       WHERE t.expires_at <= @now - ${ENDED_KEEP_MS} OR t.spent_at <= @now - ${SPENT_KEEP_MS}
         OR coalesce(keys.revoked_at, keys.expires_at) <= @now - ${SPENT_KEEP_MS}
       LIMIT @most)`,
  );

  /** The key has the token's first characters from now on. */
  function addTokens(id: string, { access, refresh, prefix, at, accessExpiresAt }: NewSignInTokens): Key {
    forgetKeys();
    insert.run(bytes(access), id, 'access', at, accessExpiresAt);
    insert.run(bytes(refresh), id, 'refresh', at, null);
    removeOldest.run(id);
    setPrefix.run(prefix, id);
    return toKey(existing(keyById.get(id)));
  }

  const use = db.transaction((hash: string, key: SignInKey, tokens: NewSignInTokens): Key | undefined => {
    const code = approved.get(bytes(hash), tokens.at);
    if (code === undefined || code.account === null) return undefined;
    removeCode.run(code.hash);
    addKey.run(...keyValues(keyOfCode(code, code.account, key, tokens.at), Number));
    return addTokens(key.id, tokens);
  });
  const refresh = db.transaction((hash: string, tokens: NewSignInTokens): RefreshedTokens => {
    const token = find.get(bytes(hash));
    if (token?.kind !== 'refresh') return { outcome: 'unknown' };
    const row = existing(keyById.get(token.key_id));
    if (row.revoked_at !== null || (row.expires_at !== null && row.expires_at <= tokens.at))
      return { outcome: 'unknown' };
    if (token.spent_at !== null) {
      const first = token.replayed_at === null;
      if (first) replay.run(tokens.at, token.hash);
      return { outcome: 'spent', key: toKey(row), first };
    }
    spend.run(tokens.at, token.hash);
    return { outcome: 'refreshed', key: addTokens(row.id, tokens) };
  });
  const end = db.transaction((hash: string, at: number): Key | undefined => {
    const token = find.get(bytes(hash));
    if (token === undefined) return undefined;
    forgetKeys();
    revoke.run(at, token.key_id);
    return toKey(existing(keyById.get(token.key_id)));
  });
  return {
    useCode: (hash: string, key: SignInKey, tokens: NewSignInTokens) => use.immediate(hash, key, tokens),
    refreshTokens: (hash: string, tokens: NewSignInTokens) => refresh.immediate(hash, tokens),
    endSignIn: (hash: string, at: number) => end.immediate(hash, at),
    /** Returns whether there may be more. */
    pruneTokens: (now: number, most: number): boolean => prune.run({ now, most }).changes === most,
  };
}

export function signInsOf(connection: Connection<Place>): SignInStore {
  const run = <Result>(task: (sql: SignIns) => Result): Promise<Result> =>
    connection.run((place) => task(statementsOf(place)));
  return {
    addCode: (code, most) => run((sql) => sql.addCode(code, most)),
    listCodes: (now) => run((sql) => sql.listCodes(now)),
    approveCode: (userHash, to) => run((sql) => sql.approveCode(userHash, to)),
    denyCode: (userHash, now) => run((sql) => sql.denyCode(userHash, now)),
    pollCode: (hash, now) => run((sql) => sql.pollCode(hash, now)),
    useCode: (hash, key, tokens) => run((sql) => sql.useCode(hash, key, tokens)),
    refreshTokens: (hash, tokens) => run((sql) => sql.refreshTokens(hash, tokens)),
    endSignIn: (hash, at) => run((sql) => sql.endSignIn(hash, at)),
    async pruneSignIns(now) {
      await run((sql) => sql.removeExpiredCodes(now));
      await inSteps(connection, (place, most) => statementsOf(place).pruneTokens(now, most));
    },
  };
}
