// Tokens of the admin API, and the audit of changes.
import { TOKEN, toToken, type TokenRow } from '../../rows.ts';
import type {
  AdminStore,
  AdminToken,
  AuditEntry,
  AuditFilter,
  AuditRow,
  NewAdminToken,
} from '../../admin/admin-records.ts';
import { inSteps } from '../background.ts';
import type { Connection } from '../connection.ts';
import type { Db } from '../driver.ts';

export function prepareAdmin(db: Db) {
  const add = db.prepare(
    `INSERT INTO admin_tokens (id, hash, prefix, label, scope, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const byId = db.prepare<[string], TokenRow>(`${TOKEN} WHERE id = ?`);
  const byHash = db.prepare<[Buffer], TokenRow>(`${TOKEN} WHERE hash = ?`);
  const list = db.prepare<[], TokenRow>(`${TOKEN} ORDER BY created_at, rowid`);
  const revoke = db.prepare('UPDATE admin_tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL');
  const touch = db.prepare(
    'UPDATE admin_tokens SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)',
  );
  const revokeFound = db.transaction((id: string, at: number): TokenRow | undefined => {
    revoke.run(at, id);
    return byId.get(id);
  });
  const begin = db.prepare('INSERT INTO audit (at, actor, address, action, detail) VALUES (?, ?, ?, ?, ?)');
  const end = db.prepare('UPDATE audit SET status = ?, detail = coalesce(?, detail) WHERE id = ?');
  const audit = db.prepare<[object], AuditRow>(
    `SELECT * FROM audit WHERE id < :before AND id >= :from AND at BETWEEN :since AND :until
      AND (:actor IS NULL OR actor = :actor) AND (:action IS NULL OR action = :action) ORDER BY id DESC LIMIT :most`,
  );
  // Rows are in the order of time but for clocks that differ, and have no index of it.
  const prune = db.prepare<[before: number, most: number]>(
    `DELETE FROM audit WHERE at < ? AND id IN (SELECT id FROM audit ORDER BY id LIMIT ?)`,
  );
  return {
    createToken({ id, hash, prefix, label, scope, createdAt, expiresAt }: NewAdminToken): void {
      add.run(id, Buffer.from(hash, 'hex'), prefix, label, scope, createdAt, expiresAt);
    },
    findToken: (hash: string): AdminToken | undefined => optional(byHash.get(Buffer.from(hash, 'hex'))),
    listTokens: (): AdminToken[] => list.all().map(toToken),
    revokeToken: (id: string, at: number): AdminToken | undefined => optional(revokeFound.immediate(id, at)),
    touchToken: (id: string, at: number): void => void touch.run(at, id, at),
    beginAudit: ({ at, actor, address, action, detail }: AuditEntry): number =>
      Number(begin.run(at, actor, address, action, detail).lastInsertRowid),
    endAudit: (id: number, status: number, detail?: string): void => void end.run(status, detail ?? null, id),
    listAudit(before: number, most: number, only: AuditFilter = {}): AuditRow[] {
      const { since = 0, until = Number.MAX_SAFE_INTEGER, from = 0, actor = null, action = null } = only;
      return audit.all({ before, most, since, until, from, actor, action });
    },
    /** Deletes the old ones among the first; returns whether all were. */
    pruneAudit: (before: number, most: number): boolean => prune.run(before, most).changes === most,
  };
}

function optional(row: TokenRow | undefined): AdminToken | undefined {
  return row === undefined ? undefined : toToken(row);
}

export function adminOf(connection: Connection<{ admin: ReturnType<typeof prepareAdmin> }>): AdminStore {
  const { run } = connection;
  return {
    createAdminToken: (token) => run(({ admin }) => admin.createToken(token)),
    findAdminToken: (hash) => run(({ admin }) => admin.findToken(hash)),
    listAdminTokens: () => run(({ admin }) => admin.listTokens()),
    revokeAdminToken: (id, at) => run(({ admin }) => admin.revokeToken(id, at)),
    touchAdminToken: (id, at) => run(({ admin }) => admin.touchToken(id, at)),
    beginAudit: (entry) => run(({ admin }) => admin.beginAudit(entry)),
    endAudit: (id, status, detail) => run(({ admin }) => admin.endAudit(id, status, detail)),
    listAudit: (before, most, only) => run(({ admin }) => admin.listAudit(before, most, only)),
    pruneAudit: (before) => inSteps(connection, ({ admin }, most) => admin.pruneAudit(before, most)),
  };
}
