// Grants: what is added to the limits of an account until a time.
import type { Grant, GrantStore } from '../../holds/holds.ts';
import type { Connection } from '../connection.ts';
import type { Db } from '../driver.ts';

const GRANT =
  'SELECT id, account_id AS accountId, kind, amount, until, created_at AS createdAt, revoked_at AS revokedAt FROM grants';

/** `forgetKeys`: keys are found with the end of their account's grants. */
export function prepareGrants(db: Db, forgetKeys: () => void) {
  const insert = db.prepare<[string, number, string, number, number, number, number | null]>(
    'INSERT INTO grants (id, account_id, kind, amount, until, created_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  const add = db.transaction((grants: readonly Grant[]): void => {
    for (const { id, accountId, kind, amount, until, createdAt, revokedAt } of grants)
      insert.run(id, accountId, kind, amount, until, createdAt, revokedAt);
  });
  const list = db.prepare<[{ now: number; account: number | null }], Grant>(
    `${GRANT} WHERE until > @now AND revoked_at IS NULL AND (@account IS NULL OR account_id = @account) ORDER BY rowid`,
  );
  const byId = db.prepare<[string], Grant>(`${GRANT} WHERE id = ?`);
  const revoke = db.prepare('UPDATE grants SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL');
  const prune = db.prepare<[before: number, most: number]>(
    'DELETE FROM grants WHERE id IN (SELECT id FROM grants WHERE until < ? LIMIT ?)',
  );
  const revokeFound = db.transaction((id: string, at: number): Grant | undefined => {
    revoke.run(at, id);
    return byId.get(id);
  });
  return {
    addGrants(grants: readonly Grant[]): void {
      forgetKeys();
      add.immediate(grants);
    },
    listGrants: (accountId: number | undefined, now: number): Grant[] =>
      list.all({ now, account: accountId ?? null }),
    revokeGrant(id: string, at: number): Grant | undefined {
      forgetKeys();
      return revokeFound.immediate(id, at);
    },
    /** Returns whether there may be more. */
    pruneGrants: (before: number, most: number): boolean => prune.run(before, most).changes === most,
  };
}

export function grantsOf({ run }: Pick<Connection<ReturnType<typeof prepareGrants>>, 'run'>): GrantStore {
  return {
    addGrants: (grants) => run((sql) => sql.addGrants(grants)),
    listGrants: (accountId, now) => run((sql) => sql.listGrants(accountId, now)),
    revokeGrant: (id, at) => run((sql) => sql.revokeGrant(id, at)),
  };
}
