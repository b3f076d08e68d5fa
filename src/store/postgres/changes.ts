// Changes of accounts and keys that another process or machine makes, as the server announces them (LISTEN). If it announces none,
// what was read is valid for a second.
import type { Clock } from '../../clock.ts';
import type { Connection } from './connection.ts';
import { CHANGES } from './migrations.ts';

/** Used while changes are announced; bounded, because a connection may break unnoticed. */
const ANNOUNCED_MS = 10_000;
const UNANNOUNCED_MS = 1000;
const RETRY_MS = 1000;

export interface Changes {
  /** Milliseconds that a reading is valid without an announced change. */
  readonly validMs: number;
  /** Differs after each change. */
  readonly version: number;
  onChange(listener: () => void): void;
  /** To be called after a change by this process. */
  changed(): void;
  /** Begins to listen; only servers need it. */
  listen(): void;
  close(): Promise<void>;
}

export function createChanges(connection: Connection, clock: Clock): Changes {
  const listeners: (() => void)[] = [];
  let version = 0;
  let client: Awaited<ReturnType<Connection['connectAlone']>> | undefined;
  let state: 'idle' | 'connecting' | 'listening' = 'idle';
  let closed = false;

  function changed(): void {
    version += 1;
    for (const listener of listeners) listener();
  }

  async function begin(): Promise<void> {
    const own = await connection.connectAlone().catch(() => undefined);
    if (own === undefined) return again();
    client = own;
    own.on('notification', changed);
    // Announcements while no connection listens do not arrive.
    own.once('end', () => {
      client = undefined;
      state = 'connecting';
      changed();
      again();
    });
    if (closed) return void own.end();
    try {
      await own.query(`LISTEN ${CHANGES}`);
      state = 'listening';
      changed();
    } catch {
      await own.end().catch(() => undefined);
    }
  }

  function again(): void {
    if (!closed) clock.after(RETRY_MS, () => void begin());
  }

  return {
    get validMs() {
      return state === 'listening' ? ANNOUNCED_MS : UNANNOUNCED_MS;
    },
    get version() {
      return version;
    },
    onChange: (listener) => void listeners.push(listener),
    changed,
    listen() {
      // PgBouncer gives the connection to another process after the transaction.
      if (state !== 'idle' || connection.server.pooled) return;
      state = 'connecting';
      void begin();
    },
    async close() {
      closed = true;
      await client?.end().catch(() => undefined);
    },
  };
}
