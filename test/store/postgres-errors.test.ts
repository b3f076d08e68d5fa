// What a gateway says of a PostgreSQL server that it cannot use, with a real server: what is wrong, what to do, and never a password.
import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import { loadDriver } from '../../src/store/postgres/connection.ts';
import { selfSigned } from '../helpers/certificate.ts';
import { createDatabase, freePort, startServer, unprivileged, type TestServer } from '../helpers/postgres.ts';
import { faultOf, opened, temporaryFile } from './support.ts';

const PASSWORD = 'a-right-password';
const { key, cert } = selfSigned('localhost');
let server: TestServer;

/** Statements of the superuser, each in a transaction of its own. */
async function run(...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

/** Of new connections. */
async function setTls(on: boolean): Promise<void> {
  await run(`ALTER SYSTEM SET ssl = ${on ? 'on' : 'off'}`, 'SELECT pg_reload_conf()');
  const client = (): pg.Client =>
    new pg.Client({ connectionString: server.url, ssl: { rejectUnauthorized: false } });
  const hasTls = async (): Promise<boolean> => {
    const one = client();
    return one.connect().then(
      () => one.end().then(() => true),
      () => false,
    );
  };
  await expect.poll(hasTls, { timeout: 10_000 }).toBe(on);
}

beforeAll(async () => {
  server = await startServer();
  const data = join(server.folder, 'data');
  const user = unprivileged();
  for (const [name, text] of [
    ['server.key', key],
    ['server.crt', cert],
  ] as const) {
    writeFileSync(join(data, name), text);
    chmodSync(join(data, name), 0o600);
    if (user !== undefined) chownSync(join(data, name), user.uid, user.gid);
  }
  const rules = ['local all all trust', 'host all postgres all trust', 'host all blocked all reject'];
  writeFileSync(join(data, 'pg_hba.conf'), [...rules, 'host all all all scram-sha-256', ''].join('\n'));
  await run(
    'SELECT pg_reload_conf()',
    `CREATE ROLE gateway LOGIN PASSWORD '${PASSWORD}'`,
    `CREATE ROLE other LOGIN PASSWORD '${PASSWORD}'`,
    'CREATE ROLE blocked LOGIN',
    'CREATE DATABASE gateway OWNER gateway',
    'REVOKE CREATE ON SCHEMA public FROM PUBLIC',
  );
}, 60_000);
afterAll(() => server.remove());

interface At {
  user?: string;
  password?: string;
  port?: number;
  host?: string;
  database?: string;
  search?: string;
}

function url({
  user = 'gateway',
  password = PASSWORD,
  port = server.port,
  host = 'localhost',
  database = 'gateway',
  search = '',
}: At = {}): string {
  return `postgres://${user}${password === '' ? '' : `:${password}`}@${host}:${port}/${database}${search}`;
}

async function messageOf(at: At): Promise<string> {
  const { kind, message } = await faultOf(openStore(url(at)));
  expect(message).not.toContain(PASSWORD);
  expect(message).not.toContain('wrong-password');
  expect(message).not.toContain('\n');
  return `${kind}: ${message}`;
}

describe('a server that cannot be used', () => {
  it('is away', async () => {
    const port = await freePort();
    expect(await messageOf({ port })).toBe(
      `unavailable: the database postgres://gateway@localhost:${port}/gateway is not usable now (ECONNREFUSED): ` +
        'no server answers there; start it, or correct host and port',
    );
    expect(await messageOf({ host: 'no-such-host.invalid' })).toMatch(
      /no host of this name|name of the host/,
    );
  });

  it.each<[string, At, RegExp]>([
    [
      'asks for another password',
      { password: 'wrong-password' },
      /28P01\): the password is not right; set it in/,
    ],
    [
      'asks for a password',
      { password: '' },
      /28P01\): the server asks for a password; set it in the URL, in PGPASSWORD/,
    ],
    ['does not let the user in', { user: 'blocked', password: '' }, /28000\): .* allow it in pg_hba\.conf/],
    ['does not know the user', { user: 'nobody-here' }, /28P01\): the password is not right/],
    ['has no such database', { database: 'nothing' }, /3D000\): .* create it: createdb -O USER NAME/],
  ])('%s', async (_, at, message) => {
    expect(await messageOf(at)).toMatch(message);
  });

  it('lets the user create no tables, and read none', async () => {
    await run('CREATE DATABASE of_another');
    const client = new pg.Client({ connectionString: server.url.replace(/postgres$/, 'of_another') });
    await client.connect();
    await client.query('REVOKE CREATE ON SCHEMA public FROM PUBLIC');
    await client.end();
    expect(await messageOf({ user: 'other', database: 'of_another' })).toMatch(
      /42501\): the user lacks a right; let it own the database: ALTER DATABASE name OWNER TO user/,
    );
    await (await openStore(url())).close();
    expect(await messageOf({ user: 'other' })).toMatch(/42501\): the user lacks a right/);
  });

  it('holds the tables of another program, or of a newer gateway, and stays unchanged', async () => {
    const database = await createDatabase(server.url);
    onTestFinished(() => database.drop());
    const tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'";
    await database.query('CREATE TABLE shop (id integer)');
    expect((await faultOf(openStore(database.url))).message).toMatch(
      /holds tables of another program \(shop\); create a database for the gateway alone; the gateway has not changed it/,
    );
    expect(await database.query(tables)).toEqual([{ tablename: 'shop' }]);
    await database.query('DROP TABLE shop');
    await (await openStore(database.url)).close();
    const names = 'SELECT name FROM migrations ORDER BY name';
    for (const change of [
      "INSERT INTO migrations VALUES ('9999-of-tomorrow', 0)",
      "UPDATE migrations SET name = '0000-before' WHERE name LIKE '0001%'",
    ]) {
      await database.query(change);
      const before = await database.query(names);
      const fault = await faultOf(openStore(database.url));
      expect(fault).toMatchObject({ kind: 'foreign' });
      expect(fault.message).toMatch(/\(step (9999-of-tomorrow|0000-before) is not known here\)/);
      expect(await database.query(names)).toEqual(before);
    }
  });

  it('needs the package pg, which is missing', async () => {
    const missing = Object.assign(new Error("Cannot find package 'pg'"), { code: 'ERR_MODULE_NOT_FOUND' });
    expect((await faultOf(loadDriver(() => Promise.reject(missing)))).message).toBe(
      'PostgreSQL needs the package pg, which is not installed; install the gateway again, with its optional packages: ' +
        'npm i --include=optional',
    );
  });
});

describe('TLS', () => {
  it('is demanded of a server that has none, and preferred no more than that', async () => {
    await setTls(false);
    for (const search of ['?sslmode=require', '?sslmode=verify-full'])
      expect(await messageOf({ search })).toMatch(/the server has no TLS, which sslmode demands/);
    for (const search of ['', '?sslmode=prefer', '?sslmode=disable']) await opened(url({ search }));
  });

  it('is checked as sslmode says, against a certificate that signed itself', async () => {
    await setTls(true);
    const root = temporaryFile('root.crt');
    writeFileSync(root, cert);
    for (const search of ['', '?sslmode=require', `?sslmode=verify-full&sslrootcert=${root}`])
      await opened(url({ search }));
    // `verify-ca` does not check the name.
    await opened(url({ host: '127.0.0.1', search: `?sslmode=verify-ca&sslrootcert=${root}` }));
    expect(await messageOf({ search: '?sslmode=verify-full&sslrootcert=system' })).toMatch(
      /the server's certificate is not trusted; name its authority: sslrootcert=FILE/,
    );
    expect(
      await messageOf({ host: '127.0.0.1', search: `?sslmode=verify-full&sslrootcert=${root}` }),
    ).toMatch(/certificate is for another host; use the name that it holds, or sslmode=verify-ca/);
    const inUse = new pg.Client({ connectionString: server.url });
    await inUse.connect();
    const { rows } = await inUse.query<{ ssl: boolean; count: string }>(
      `SELECT ssl, count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
       WHERE application_name = 'local-llm-gateway' GROUP BY 1`,
    );
    await inUse.end();
    expect(rows.map(({ ssl }) => ssl)).toEqual([true]);
  });
});
