// Who may use the admin API, and what was changed through it. Tokens: as with keys, the plaintext exists only in the result of
// the creation. The audit: who changed what, when and from where; its row is written before the change, so that no change lacks
// one.
import { isoTime, type Clock } from '../clock.ts';
import { type Ids, withoutKeys } from '../ids.ts';
import type {
  AdminScope,
  AdminToken,
  NewAdminToken,
  AuditEntry,
  AuditRow,
  AdminStore,
} from '../store/admin/admin-records.ts';
import { hashKey } from './access.ts';
import type { Logger } from '../log.ts';
import type { StoreReader } from '../store/reader.ts';
import type { Key } from '../store/store.ts';

const TOKEN_PREFIX = 'sk-gwa-';
/** Base62 characters: 256 bits. */
const SECRET_LENGTH = 43;
const ID_LENGTH = 12;
/** Visible characters of the secret. */
const VISIBLE_LENGTH = 6;
const PATTERN = /^sk-gwa-[0-9A-Za-z]{43}$/;

/** Other texts need no look-up. */
export function looksLikeToken(text: string): boolean {
  return PATTERN.test(text);
}

/** Rejects with StoreError. */
export async function createAdminToken(
  { store, clock, ids }: { store: AdminStore; clock: Clock; ids: Ids },
  spec: { label: string | null; scope: AdminScope; expiresAt: number | null },
): Promise<{ token: NewAdminToken; plaintext: string }> {
  const plaintext = TOKEN_PREFIX + ids.random(SECRET_LENGTH);
  const token: NewAdminToken = {
    ...spec,
    id: `adm_${ids.random(ID_LENGTH)}`,
    hash: hashKey(plaintext),
    prefix: plaintext.slice(0, TOKEN_PREFIX.length + VISIBLE_LENGTH),
    createdAt: clock.now(),
  };
  await store.createAdminToken(token);
  return { token, plaintext };
}

export function createdTokenJson({ token, plaintext }: { token: NewAdminToken; plaintext: string }) {
  const { id, label, scope, createdAt, expiresAt } = token;
  return {
    id,
    token: plaintext,
    name: label,
    scope,
    created_at: isoTime(createdAt),
    expires_at: isoTime(expiresAt),
  };
}

export function tokenJson(token: AdminToken) {
  return {
    id: token.id,
    prefix: token.prefix,
    name: token.label,
    scope: token.scope,
    created_at: isoTime(token.createdAt),
    last_used_at: isoTime(token.lastUsedAt),
    expires_at: isoTime(token.expiresAt),
    revoked_at: isoTime(token.revokedAt),
  };
}

/** What stands for an address: the control socket, the command line and the configuration are of this machine. */
export const LOCAL = 'local';

/** Names of the keys and tokens in a row, by ID. */
type AuditNames = Readonly<Record<string, string>>;

function auditJson({ id, at, actor, address, action, detail, status }: AuditRow, names: AuditNames) {
  return {
    id,
    at: isoTime(at),
    actor,
    address,
    operation: action,
    detail: JSON.parse(detail) as Record<string, unknown>,
    names,
    status,
  };
}

/** `laptop of ada (sk-gw-Ab12…)` */
const keyName = ({ label, prefix, account }: Key): string =>
  label === null ? `${prefix}… of ${account}` : `${label} of ${account} (${prefix}…)`;

/** Who did it, and what it was done to. */
function idsOf({ actor, detail }: AuditRow): string[] {
  const { id, key } = JSON.parse(detail) as { id?: unknown; key?: unknown };
  return [actor, id, key].filter((value) => typeof value === 'string');
}

/** With the names of keys and tokens that are there still. Rejects with StoreError. */
export async function auditRowsJson(
  rows: readonly AuditRow[],
  store: Pick<StoreReader, 'findKeyById' | 'listAdminTokens'>,
): Promise<ReturnType<typeof auditJson>[]> {
  const ids = [...new Set(rows.flatMap(idsOf))];
  const names = new Map<string, string>();
  const keys = ids.filter((id) => id.startsWith('key_')).map((id) => store.findKeyById(id));
  for (const key of await Promise.all(keys)) if (key !== undefined) names.set(key.id, keyName(key));
  const tokens = ids.some((id) => id.startsWith('adm_')) ? await store.listAdminTokens() : [];
  for (const { id, label } of tokens) if (label !== null) names.set(id, label);
  const known = (id: string): [string, string][] => {
    const name = names.get(id);
    return name === undefined ? [] : [[id, name]];
  };
  return rows.map((row) => auditJson(row, Object.fromEntries(idsOf(row).flatMap(known))));
}

/** What a row of the audit gets. */
type Audited = Omit<AuditEntry, 'at' | 'detail'> & { detail?: string };

export interface AuditParts {
  store: AdminStore;
  clock: Clock;
  log: Pick<Logger, 'error'>;
}

const begin = ({ store, clock }: AuditParts, entry: Audited): Promise<number> =>
  store.beginAudit({ ...entry, detail: withoutKeys(entry.detail ?? '{}'), at: clock.now() });

/**
 * Makes a change. If its row cannot be written, nothing is changed; if only its status cannot be written, the result, which may hold a
 * new key, is given all the same. `statusOf`: of a result, or of what was thrown.
 */
export async function audited<Value>(
  parts: AuditParts,
  entry: Audited,
  {
    change,
    statusOf,
    failed = () => 500,
    noted = () => ({}),
  }: {
    change: () => Promise<Value>;
    statusOf: (value: Value) => number;
    failed?: (error: unknown) => number;
    /** What the row says beside its entry once the change is made: what it made, and what was there before. */
    noted?: (value: Value) => object;
  },
): Promise<Value> {
  const row = await begin(parts, entry);
  let status = 500;
  let detail: string | undefined;
  try {
    const value = await change();
    status = statusOf(value);
    detail = withNoted(entry.detail, noted(value));
    return value;
  } catch (error) {
    status = failed(error);
    throw error;
  } finally {
    await parts.store.endAudit(row, status, detail).catch((error: unknown) => {
      const fields = { audit: row, operation: entry.action, detail: String(error) };
      parts.log.error('an audit row has no status', fields);
    });
  }
}

/** undefined: nothing was noted. */
function withNoted(detail = '{}', noted: object): string | undefined {
  if (Object.keys(noted).length === 0) return undefined;
  return withoutKeys(JSON.stringify({ ...(JSON.parse(detail) as object), ...noted }));
}

/** The row of what opens or closes a way in. Without a database, the owner can still look at what is wrong: the log says what the
 *  audit lacks. */
export async function noted(parts: AuditParts, entry: Audited, status: number): Promise<void> {
  try {
    await parts.store.endAudit(await begin(parts, entry), status);
  } catch (error) {
    const { action: operation, actor } = entry;
    parts.log.error('an audit row cannot be written', { operation, actor, detail: String(error) });
  }
}
