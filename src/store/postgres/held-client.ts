// A connection that is held for one statement, which is sent again and again. A pool's checkout, the description of the columns and the
// driver's result cost more than the statement itself (docs/decisions/0018).
import type { Client, Connection, Submittable } from 'pg';

/** The columns of a row as text, in their order. */
export type TextRow = readonly (string | null)[];

export interface HeldClient {
  /** One call at a time. `values`: as text. */
  run(values: readonly string[]): Promise<TextRow[]>;
  /** Resolves after the statement in flight. */
  close(): Promise<void>;
}

interface Statement {
  text: string;
  /** The server plans it once; undefined: each time, because a statement can come to another connection of the server. */
  name: string | undefined;
  timeoutMs: number;
}

interface Held {
  client: Client;
  /** The server has the named statement. */
  prepared: boolean;
}

/** `connect`: opens a connection. */
export function holdClient(connect: () => Promise<Client>, statement: Statement): HeldClient {
  let held: Held | undefined;
  let running: Promise<unknown> = Promise.resolve();

  async function open(): Promise<Held> {
    const opened = { client: await connect(), prepared: false };
    opened.client.once('end', () => {
      if (held === opened) held = undefined;
    });
    return opened;
  }

  function drop({ client }: Held): void {
    held = undefined;
    client.end().catch(() => undefined);
  }

  async function run(values: readonly string[]): Promise<TextRow[]> {
    const used = (held ??= await open());
    try {
      const rows = await new Promise<TextRow[]>((resolve, reject) => {
        used.client.query(new Lean(statement, values, used.prepared, { resolve, reject }));
      });
      used.prepared = statement.name !== undefined;
      return rows;
    } catch (error) {
      drop(used);
      throw error;
    }
  }

  return {
    run(values) {
      const rows = run(values);
      running = rows.catch(() => undefined);
      return rows;
    },
    async close() {
      await running;
      await held?.client.end().catch(() => undefined);
    },
  };
}

/** What the driver calls on a query that it did not make (https://node-postgres.com/apis/client#clientquery). */
class Lean implements Submittable {
  readonly query_timeout: number;
  /** The driver replaces it, to end its timer. */
  callback: (error: Error | null, rows?: TextRow[]) => void;
  readonly #statement: Statement;
  readonly #values: readonly string[];
  readonly #prepared: boolean;
  readonly #rows: TextRow[] = [];

  constructor(
    statement: Statement,
    values: readonly string[],
    prepared: boolean,
    settle: { resolve: (rows: TextRow[]) => void; reject: (error: Error) => void },
  ) {
    this.#statement = statement;
    this.#values = values;
    this.#prepared = prepared;
    this.query_timeout = statement.timeoutMs;
    this.callback = (error, rows = []) => (error === null ? settle.resolve(rows) : settle.reject(error));
  }

  submit(connection: Connection): void {
    const { text, name = '' } = this.#statement;
    const { stream } = connection;
    stream.cork();
    if (!this.#prepared) connection.parse({ text, name, types: [] }, true);
    connection.bind({ statement: name, values: [...this.#values] }, true);
    connection.execute(null, true);
    connection.sync();
    stream.uncork();
  }

  handleDataRow({ fields }: { fields: TextRow }): void {
    this.#rows.push(fields);
  }

  handleReadyForQuery(): void {
    this.callback(null, this.#rows);
  }

  handleError(error: Error): void {
    this.callback(error);
  }

  handleCommandComplete(): void {
    // ReadyForQuery follows.
  }
}
