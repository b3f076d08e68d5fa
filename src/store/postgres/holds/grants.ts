// Grants: what is added to the limits of an account until a time.
import type { Grant, GrantStore } from '../../holds/holds.ts';
import type { Changes } from '../changes.ts';
import type { Connection } from '../connection.ts';

const GRANT =
  'SELECT id, account_id AS "accountId", kind, amount, until, created_at AS "createdAt", revoked_at AS "revokedAt" FROM grants';
const ADD = {
  text: `INSERT INTO grants (id, account_id, kind, amount, until, created_at, revoked_at)
    SELECT * FROM json_to_recordset($1::json)
      AS g (id text, "accountId" bigint, kind text, amount bigint, until bigint, "createdAt" bigint, "revokedAt" bigint)`,
};
const LIST = {
  text: `${GRANT} WHERE until > $1 AND revoked_at IS NULL AND ($2::bigint IS NULL OR account_id = $2) ORDER BY number`,
};
const BY_ID = { text: `${GRANT} WHERE id = $1` };
const REVOKE = { text: 'UPDATE grants SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL' };

export function createGrants(connection: Connection, changes: Changes): GrantStore {
  return {
    async addGrants(grants) {
      await connection.run(ADD, JSON.stringify(grants));
      changes.changed();
    },
    listGrants: (accountId, now) => connection.read<Grant>(LIST, now, accountId ?? null),
    async revokeGrant(id, at) {
      await connection.run(REVOKE, id, at);
      changes.changed();
      return (await connection.read<Grant>(BY_ID, id))[0];
    },
  };
}
