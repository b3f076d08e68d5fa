// The connections to the server: a few for reads and writes, and one for admissions, so that no report delays a request. Text that
// PostgreSQL cannot store (a zero character) is replaced.
import type Pg from 'pg';
import { StoreError } from '../store.ts';
import { isConnectionFault, isStatementFault, isWithoutTls, storeError } from './errors.ts';
import { holdClient, type HeldClient } from './held-client.ts';
import type { Server } from './url.ts';

type Driver = Pick<typeof Pg, 'Client' | 'Pool'>;
type Pool = Pg.Pool;
type Client = Pg.ClientBase;
type ClientConfig = Pg.ClientConfig;

const MAX_CONNECTIONS = 4;
const CONNECT_TIMEOUT_MS = 2000;
/** Time limit of statements that a request waits for. */
const REQUEST_TIMEOUT_MS = 2000;
const TIMEOUT_MS = 60_000;

interface Sql {
  text: string;
  /** The server plans a named statement once for each connection. */
  name?: string;
  /** Whether a request waits for the result. */
  urgent?: boolean;
  /** Whether rows are arrays: objects of many members are slow. */
  arrays?: boolean;
}

export type Value = string | number | boolean | null | Buffer | readonly (string | number | Buffer)[];

export interface Result<Row> {
  rows: Row[];
  /** Rows that were changed. */
  changes: number;
}

export interface Session {
  run<Row>(sql: Sql, ...values: Value[]): Promise<Result<Row>>;
}

/** Every method rejects with StoreError if the database is not usable. */
export interface Connection extends Session {
  /** A statement that changes nothing: repeated once if its connection broke. */
  read<Row>(sql: Sql, ...values: Value[]): Promise<Row[]>;
  /** A connection for one urgent statement, which ends with the others. */
  hold(sql: Required<Pick<Sql, 'text' | 'name'>>): Pick<HeldClient, 'run'>;
  transaction<Result>(task: (session: Session) => Promise<Result>): Promise<Result>;
  /** A connection of its own, which the caller ends. */
  connectAlone(): Promise<InstanceType<Driver['Client']>>;
  readonly server: Server;
  readonly closed: boolean;
  close(): Promise<void>;
}

export async function connect(driver: Driver, server: Server): Promise<Connection> {
  const config = await agreedConfig(driver, server);
  const shared = createPool(driver, config, MAX_CONNECTIONS);
  const held: HeldClient[] = [];
  let closing: Promise<void> | undefined;

  function refuseClosed(): void {
    if (closing !== undefined)
      throw new StoreError('unavailable', `the database ${server.location} was closed`);
  }

  async function connectAlone(): Promise<InstanceType<Driver['Client']>> {
    const client = new driver.Client(config);
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  async function using<Result>(pool: Pool, task: (session: Session) => Promise<Result>): Promise<Result> {
    refuseClosed();
    try {
      const client = await pool.connect();
      let usable = false;
      try {
        const result = await task({ run: (sql, ...values) => execute(client, server, sql, values) });
        usable = true;
        return result;
      } catch (error) {
        usable = isStatementFault(error);
        throw error;
      } finally {
        client.release(!usable);
      }
    } catch (error) {
      throw storeError(error, server);
    }
  }

  const once = <Row>(pool: Pool, sql: Sql, values: Value[]): Promise<Result<Row>> =>
    using(pool, (session) => session.run<Row>(sql, ...values));

  return {
    run: (sql, ...values) => once(shared, sql, values),
    async read<Row>(sql: Sql, ...values: Value[]) {
      try {
        return (await once<Row>(shared, sql, values)).rows;
      } catch (error) {
        if (!(error instanceof StoreError) || !isConnectionFault(error.cause)) throw error;
        return (await once<Row>(shared, sql, values)).rows;
      }
    },
    hold({ text, name }) {
      const named = server.pooled ? undefined : name;
      const client = holdClient(connectAlone, { text, name: named, timeoutMs: REQUEST_TIMEOUT_MS });
      held.push(client);
      return {
        async run(values) {
          refuseClosed();
          try {
            return await client.run(values);
          } catch (error) {
            throw storeError(error, server);
          }
        },
      };
    },
    transaction: (task) => using(shared, (session) => inTransaction(session, task)),
    connectAlone,
    server,
    get closed() {
      return closing !== undefined;
    },
    close: () =>
      (closing ??= Promise.all([shared.end(), ...held.map((client) => client.close())]).then(
        () => undefined,
      )),
  };
}

/** Without a password the driver would report an error and leave the connection open; the server refuses this one, and closes it. */
const NONE = ' ';

const INT8 = 20;

/** Numbers of the database are counts and milliseconds, which a JavaScript number holds exactly. */
const TYPES: NonNullable<ClientConfig['types']> = {
  getTypeParser: ((oid: number) => PARSERS[oid] ?? asText) as never,
};

const asText = (text: string): string => text;
const BYTEA = 17;
const BOOL = 16;
const NUMBERS = [INT8, 21, 23, 700, 701, 1700];
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  ...Object.fromEntries(NUMBERS.map((oid) => [oid, Number])),
  [BOOL]: (text) => text === 't',
  [BYTEA]: (text) => Buffer.from(text.slice(2), 'hex'),
};

/** pg reads `navigator` to find out whether it runs at Cloudflare. Node 20 has no `navigator`: pg then uses `Response`, and Node
 *  loads its `fetch` (25 ms of processor time). So `navigator` exists while pg is loaded. */
async function loadPg(): Promise<unknown> {
  const isMissing = !('navigator' in globalThis);
  if (isMissing) {
    const value = { userAgent: `Node.js/${process.versions.node}` };
    Object.defineProperty(globalThis, 'navigator', { value, configurable: true });
  }
  try {
    return await import('pg');
  } finally {
    if (isMissing) Reflect.deleteProperty(globalThis, 'navigator');
  }
}

/** Tests pass their own `load`. Rejects with StoreError if the package cannot be loaded. */
export async function loadDriver(load: () => Promise<unknown> = loadPg): Promise<Driver> {
  try {
    const module = (await load()) as Driver & { default?: Driver };
    return module.default ?? module;
  } catch (error) {
    const remedy = 'install the gateway again, with its optional packages: npm i --include=optional';
    throw new StoreError(
      'unavailable',
      `PostgreSQL needs the package pg, which is not installed; ${remedy}`,
      error,
    );
  }
}

/** With `sslmode=prefer`, the first connection shows whether the server has TLS. */
async function agreedConfig(driver: Driver, server: Server): Promise<ClientConfig> {
  const { host, port, user, database, password, tls } = server;
  const config: ClientConfig = {
    ...{ host, port, user, database, password: () => password ?? NONE, types: TYPES },
    ssl: tls ?? false,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    // PgBouncer refuses most other parameters of a connection.
    application_name: 'local-llm-gateway',
  };
  if (!server.tlsOptional) return config;
  const probe = new driver.Client(config);
  probe.on('error', () => undefined);
  try {
    await probe.connect();
    return config;
  } catch (error) {
    if (isWithoutTls(error)) return { ...config, ssl: false };
    throw storeError(error, server);
  } finally {
    await probe.end().catch(() => undefined);
  }
}

function createPool(driver: Driver, config: ClientConfig, max: number): Pool {
  const pool = new driver.Pool({ ...config, max, idleTimeoutMillis: TIMEOUT_MS });
  // A connection that breaks is replaced by the next statement. One in use reports it twice: to its statement, and here.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

async function execute<Row>(client: Client, server: Server, sql: Sql, values: Value[]): Promise<Result<Row>> {
  const named = sql.name === undefined || server.pooled ? {} : { name: sql.name };
  const config = {
    ...named,
    text: sql.text,
    query_timeout: sql.urgent === true ? REQUEST_TIMEOUT_MS : TIMEOUT_MS,
    ...(values.length > 0 && { values: values.map(storable) }),
    ...(sql.arrays && { rowMode: 'array' as const }),
  };
  const { rows, rowCount } = await client.query(config);
  return { rows: rows as Row[], changes: rowCount ?? 0 };
}

function storable(value: Value): unknown {
  if (typeof value === 'string') return withoutZeros(value);
  return Array.isArray(value)
    ? value.map((item: unknown) => (typeof item === 'string' ? withoutZeros(item) : item))
    : value;
}

const withoutZeros = (text: string): string => (text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text);

async function inTransaction<Result>(
  session: Session,
  task: (session: Session) => Promise<Result>,
): Promise<Result> {
  await session.run({ text: 'BEGIN' });
  try {
    const result = await task(session);
    await session.run({ text: 'COMMIT' });
    return result;
  } catch (error) {
    if (isStatementFault(error)) await session.run({ text: 'ROLLBACK' });
    throw error;
  }
}
