// What a database holds of the admin API: its tokens, and the audit of changes.
/** What a token of the admin API may do: `write` includes `read`. */
export type AdminScope = 'read' | 'write';

/** A token of the admin API without its plaintext: the database stores only its SHA-256 and its first characters. */
export interface AdminToken {
  /** `adm_` and base62. */
  id: string;
  prefix: string;
  label: string | null;
  scope: AdminScope;
  createdAt: number;
  lastUsedAt: number | null;
  expiresAt: number | null;
  revokedAt: number | null;
}

export interface NewAdminToken extends Omit<AdminToken, 'lastUsedAt' | 'revokedAt'> {
  /** SHA-256 of the token, in hex. */
  hash: string;
}

/** A change that the admin API or a command is about to make. */
export interface AuditEntry {
  at: number;
  /** The ID of a token, or of a browser session; or who acts on this machine: `owner`, `cli NAME`, `configuration`. */
  actor: string;
  /** The client's address, or `local`. */
  address: string;
  /** The name of the operation. */
  action: string;
  /** The operation's parameters and body, as JSON; never a secret. */
  detail: string;
}

export interface AuditRow extends AuditEntry {
  /** Ascending. */
  id: number;
  /** Of the answer. null: the operation did not end. */
  status: number | null;
}

/** Which rows of the audit; what is left out does not matter. */
export interface AuditFilter {
  actor?: string | undefined;
  /** The name of the operation. */
  action?: string | undefined;
  /** Times of the window, both included. */
  since?: number | undefined;
  until?: number | undefined;
  /** The lowest ID that is looked at. */
  from?: number | undefined;
}

export interface AdminStore {
  createAdminToken(token: NewAdminToken): Promise<void>;
  findAdminToken(hash: string): Promise<AdminToken | undefined>;
  /** Oldest first, with revoked and expired ones. */
  listAdminTokens(): Promise<AdminToken[]>;
  /** Sets `revokedAt` if it is null. Resolves to undefined if no token has this ID. */
  revokeAdminToken(id: string, at: number): Promise<AdminToken | undefined>;
  /** Sets `lastUsedAt`, unless it is later already. */
  touchAdminToken(id: string, at: number): Promise<void>;
  /** Resolves to the ID of the new row. */
  beginAudit(entry: AuditEntry): Promise<number>;
  /** `detail`: what is known now; undefined: it stays. */
  endAudit(id: number, status: number, detail?: string): Promise<void>;
  /** Newest first, with IDs below `before`. */
  listAudit(before: number, most: number, only?: AuditFilter): Promise<AuditRow[]>;
  /** Deletes what is older. */
  pruneAudit(before: number): Promise<void>;
}
