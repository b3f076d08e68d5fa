// The audit of the admin API: who changed what, when and from where. A change has its row before it is made, so that none is without.
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { AuditEntry, Store } from '../store/store.ts';
import { withoutKeys } from '../ids.ts';

/** What stands for an address: the control socket, the command line and the configuration are of this machine. */
export const LOCAL = 'local';

export type Audited = Omit<AuditEntry, 'at' | 'detail'> & { detail?: string };

export interface AuditParts {
  store: Pick<Store, 'beginAudit' | 'endAudit'>;
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
  }: {
    change: () => Promise<Value>;
    statusOf: (value: Value) => number;
    failed?: (error: unknown) => number;
  },
): Promise<Value> {
  const row = await begin(parts, entry);
  let status = 500;
  try {
    const value = await change();
    status = statusOf(value);
    return value;
  } catch (error) {
    status = failed(error);
    throw error;
  } finally {
    await parts.store.endAudit(row, status).catch((error: unknown) => {
      const fields = { audit: row, operation: entry.action, detail: String(error) };
      parts.log.error('an audit row has no status', fields);
    });
  }
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
