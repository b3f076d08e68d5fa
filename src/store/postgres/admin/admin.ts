// Tokens of the admin API, and the audit of changes.
import { existing, TOKEN, toToken, type TokenRow } from '../../rows.ts';
import type {
  AdminToken,
  AuditEntry,
  AuditFilter,
  AuditRow,
  NewAdminToken,
} from '../../admin/admin-records.ts';
import type { Connection } from '../connection.ts';

const ADD = {
  text: `INSERT INTO admin_tokens (id, hash, prefix, label, scope, created_at, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7)`,
};
const BY_ID = { text: `${TOKEN} WHERE id = $1` };
const BY_HASH = { text: `${TOKEN} WHERE hash = $1` };
const LIST = { text: `${TOKEN} ORDER BY created_at, number` };
const REVOKE = { text: 'UPDATE admin_tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL' };
const TOUCH = {
  text: 'UPDATE admin_tokens SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)',
};
const BEGIN = {
  text: 'INSERT INTO audit (at, actor, address, action, detail) VALUES ($1, $2, $3, $4, $5) RETURNING id',
};
const END = { text: 'UPDATE audit SET status = $2, detail = coalesce($3, detail) WHERE id = $1' };
const AUDIT = {
  text: `SELECT id, at, actor, address, action, detail, status FROM audit
    WHERE id < $1 AND id >= $3 AND at BETWEEN $4 AND $5 AND ($6::text IS NULL OR actor = $6)
      AND ($7::text IS NULL OR action = $7) ORDER BY id DESC LIMIT $2`,
};
const PRUNE = { text: 'DELETE FROM audit WHERE at < $1' };

export function createAdmin(connection: Connection) {
  const first = (rows: readonly TokenRow[]): AdminToken | undefined => rows.map(toToken)[0];
  return {
    async createAdminToken({
      id,
      hash,
      prefix,
      label,
      scope,
      createdAt,
      expiresAt,
    }: NewAdminToken): Promise<void> {
      await connection.run(ADD, id, Buffer.from(hash, 'hex'), prefix, label, scope, createdAt, expiresAt);
    },
    findAdminToken: async (hash: string) => first(await connection.read(BY_HASH, Buffer.from(hash, 'hex'))),
    listAdminTokens: async () => (await connection.read<TokenRow>(LIST)).map(toToken),
    async revokeAdminToken(id: string, at: number): Promise<AdminToken | undefined> {
      await connection.run(REVOKE, id, at);
      return first(await connection.read(BY_ID, id));
    },
    async touchAdminToken(id: string, at: number): Promise<void> {
      await connection.run(TOUCH, id, at);
    },
    async beginAudit({ at, actor, address, action, detail }: AuditEntry): Promise<number> {
      const { rows } = await connection.run<{ id: number }>(BEGIN, at, actor, address, action, detail);
      return existing(rows[0]).id;
    },
    async endAudit(id: number, status: number, detail?: string): Promise<void> {
      await connection.run(END, id, status, detail ?? null);
    },
    listAudit(before: number, most: number, only: AuditFilter = {}) {
      const { since = 0, until = Number.MAX_SAFE_INTEGER, from = 0, actor = null, action = null } = only;
      return connection.read<AuditRow>(AUDIT, before, most, from, since, until, actor, action);
    },
    async pruneAudit(before: number): Promise<void> {
      await connection.run(PRUNE, before);
    },
  };
}
