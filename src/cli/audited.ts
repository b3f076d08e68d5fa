// What commands change has its row in the audit, as what the admin API changes.
import type { KeySpec } from '../accounts/access.ts';
import type { AuditEntry, AdminStore } from '../store/admin/admin-records.ts';
import type { Key, KeyStore } from '../store/store.ts';
import type { Context } from './context.ts';

/** Characters of an ID in the audit. */
const LONGEST_ID = 100;

/** An operation of the admin API, and its parameters and body. */
interface Change<Value> {
  action: string;
  detail: Readonly<Record<string, unknown>>;
  change: () => Promise<Value>;
  /** 200 without it. */
  statusOf?: (value: Value) => number;
  /** What the row says beside `detail` once the change is made. */
  noted?: (value: Value) => object;
}

/** What a change needs of a command's context. */
export type Changing = Pick<Context, 'clock' | 'ids' | 'stderr'>;

/** The row of a change that a user of this machine makes with a command. */
export async function auditEntry(
  { clock }: Pick<Context, 'clock'>,
  { action, detail }: Pick<Change<unknown>, 'action' | 'detail'>,
): Promise<AuditEntry> {
  const { LOCAL } = await import('../accounts/admin.ts');
  const actor = `cli ${await userName()}`;
  return { at: clock.now(), actor, address: LOCAL, action, detail: JSON.stringify(detail, shortId) };
}

/** A change that a user of this machine makes with a command: it has its row in the audit, as one of the admin API has. Rejects, and
 *  changes nothing, if the row cannot be written. */
export async function auditedChange<Value>(
  store: AdminStore,
  { clock, stderr }: Pick<Context, 'clock' | 'stderr'>,
  { action, detail, change, statusOf = () => 200, noted = () => ({}) }: Change<Value>,
): Promise<Value> {
  const { audited } = await import('../accounts/admin.ts');
  const error = (message: string): void => void stderr.write(`${message}\n`);
  const entry = await auditEntry({ clock }, { action, detail });
  return audited({ store, clock, log: { error } }, entry, { change, statusOf, noted });
}

const shortId = (name: string, value: unknown): unknown =>
  name === 'id' && typeof value === 'string' ? value.slice(0, LONGEST_ID) : value;

async function userName(): Promise<string> {
  const { userInfo } = await import('node:os');
  try {
    return userInfo().username;
  } catch {
    // The system has no name for this user, as in some containers.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

export async function createAuditedKey(store: KeyStore & AdminStore, context: Changing, spec: KeySpec) {
  const { createKey } = await import('../accounts/access.ts');
  const { isoTime } = await import('../clock.ts');
  const { account, tier, label, permissions, models, expiresAt } = spec;
  return auditedChange(store, context, {
    action: 'createKey',
    detail: { account, tier, name: label, permissions, models, expires_at: isoTime(expiresAt) },
    change: () => createKey({ store, clock: context.clock, ids: context.ids }, spec),
    statusOf: () => 201,
    noted: ({ key }) => madeKey(key),
  });
}

/** What a row of the audit says of a key that was made. */
export const madeKey = ({ id, prefix }: Key): object => ({ made: { id, prefix } });

/** undefined: there is no such key. */
export function revokeAuditedKey(
  store: KeyStore & AdminStore,
  context: Changing,
  id: string,
): Promise<Key | undefined> {
  return auditedChange(store, context, {
    action: 'revokeKey',
    detail: { id },
    change: () => store.revokeKey(id, context.clock.now()),
    statusOf: (revoked) => (revoked === undefined ? 404 : 200),
  });
}
