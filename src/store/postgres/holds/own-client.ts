// A connection of its own for several statements at once, which is opened again after it broke.
import type { Connection } from '../connection.ts';
import { storeError } from '../errors.ts';
import { StoreError } from '../../store.ts';

type Client = Awaited<ReturnType<Connection['connectAlone']>>;
export type Row = Record<string, unknown>;

export interface OwnClient {
  /** The rows of each statement. One call at a time. The statements have no parameters. Rejects with StoreError; the connection is closed
   *  then, which rolls back an open transaction. */
  run(statements: readonly string[]): Promise<Row[][]>;
  close(): Promise<void>;
}

/** A text as a literal, whatever the server's settings. */
export function literal(text: string): string {
  const safe = text.replaceAll('\0', '\ufffd').replaceAll("'", "''");
  return safe.includes('\\') ? ` E'${safe.replaceAll('\\', '\\\\')}'` : `'${safe}'`;
}

export function ownClient(connection: Connection, timeoutMs: number): OwnClient {
  let opened: Promise<Client> | undefined;

  function open(): Promise<Client> {
    const opening = connection.connectAlone().then((client) => {
      client.once('end', () => forget());
      return client;
    });
    const forget = (): void => {
      if (opened === opening) opened = undefined;
    };
    opening.catch(forget);
    return opening;
  }

  return {
    async run(statements) {
      if (connection.closed)
        throw new StoreError('unavailable', `the database ${connection.server.location} was closed`);
      let client: Client | undefined;
      try {
        client = await (opened ??= open());
        const text = statements.join(';\n');
        const config = { text, query_timeout: timeoutMs };
        const result: unknown = await client.query(config);
        const results = (Array.isArray(result) ? result : [result]) as { rows: Row[] }[];
        return results.map(({ rows }) => rows);
      } catch (error) {
        opened = undefined;
        client?.end().catch(() => undefined);
        throw storeError(error, connection.server);
      }
    },
    async close() {
      const client = await opened?.catch(() => undefined);
      await client?.end().catch(() => undefined);
    },
  };
}
