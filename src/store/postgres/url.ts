// Reads a postgres:// URL as libpq does: host, port, user, password, database, and TLS. The password may stand in the URL, in
// PGPASSWORD or in ~/.pgpass (https://www.postgresql.org/docs/current/libpq-connect.html).
import { existsSync, readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { homeFolder } from '../../folders.ts';
import { StoreError } from '../store.ts';
import type { Environment } from '../../environment.ts';

const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
type SslMode = (typeof SSL_MODES)[number];
const PARAMETERS = ['sslmode', 'sslrootcert', 'host', 'port', 'pgbouncer'];
const DEFAULT_PORT = 5432;
/** libpq's word for the certificates that the system trusts. */
const SYSTEM = 'system';

export interface Server {
  /** The URL without password and parameters, for messages. */
  location: string;
  host: string;
  port: number;
  user: string;
  password: string | undefined;
  database: string;
  /** undefined: no TLS. */
  tls: ConnectionOptions | undefined;
  /** Whether to connect without TLS if the server has no TLS. */
  tlsOptional: boolean;
  /** Each transaction may run on another connection of the server: no named statements, no LISTEN. */
  pooled: boolean;
}

/** Throws StoreError without the text of the URL, which may hold a password. */
export function readUrl(text: string, env: Environment = process.env): Server {
  let url: URL;
  try {
    // URL takes no user without a host, which libpq reads from a parameter.
    url = new URL(text.replace(/^(\w+:\/\/[^/?#]*@)(?=\/)/, '$1localhost'));
  } catch {
    throw wrong(
      'it cannot be read; write postgres://USER@HOST:5432/DATABASE, and percent-encode : / @ ? # in a password',
    );
  }
  const { searchParams: parameters } = url;
  const unknown = [...parameters.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) throw wrong(`${unknown} is not a parameter; known are ${PARAMETERS.join(', ')}`);
  const setting = (name: string, variable: string): string | undefined =>
    nonEmpty(parameters.get(name)) ?? nonEmpty(env[variable]);
  const host =
    nonEmpty(parameters.get('host')) ??
    nonEmpty(decoded(url.hostname)) ??
    nonEmpty(env['PGHOST']) ??
    'localhost';
  const port = Number(nonEmpty(url.port) ?? setting('port', 'PGPORT') ?? DEFAULT_PORT);
  const user = nonEmpty(decoded(url.username)) ?? nonEmpty(env['PGUSER']) ?? ownName();
  const database = nonEmpty(decoded(url.pathname.slice(1))) ?? nonEmpty(env['PGDATABASE']) ?? user;
  const isSocket = host.startsWith('/');
  const mode = isSocket ? 'disable' : sslMode(setting('sslmode', 'PGSSLMODE') ?? 'prefer');
  const at = { host: bare(host), port, user, database };
  return {
    ...at,
    location: `postgres://${encodeURIComponent(user)}@${isSocket ? encodeURIComponent(host) : host}:${port}/${encodeURIComponent(database)}`,
    password: nonEmpty(decoded(url.password)) ?? nonEmpty(env['PGPASSWORD']) ?? passwordOf(at, env),
    tls: tlsOf(mode, setting('sslrootcert', 'PGSSLROOTCERT')),
    tlsOptional: mode === 'prefer',
    pooled: flag('pgbouncer', parameters.get('pgbouncer')),
  };
}

/** As libpq does. A container's user may have no name. */
function ownName(): string {
  try {
    return userInfo().username;
  } catch {
    throw wrong(
      'it names no user, and this process runs as one without a name; write postgres://USER@HOST/DATABASE',
    );
  }
}

function wrong(why: string): StoreError {
  return new StoreError('unavailable', `the database's postgres:// URL is wrong: ${why}`);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong('a % in it is not followed by two hexadecimal digits; write %25 for a %');
  }
}

function nonEmpty(text: string | null | undefined): string | undefined {
  return text === null || text === '' ? undefined : text;
}

/** An IPv6 address without its brackets. */
function bare(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}

function flag(name: string, value: string | null): boolean {
  if (value === null || value === 'false') return false;
  if (value === 'true') return true;
  throw wrong(`${name} is true or false`);
}

function sslMode(text: string): SslMode {
  const mode = SSL_MODES.find((known) => known === text);
  if (mode === undefined) throw wrong(`sslmode is one of ${SSL_MODES.join(', ')}`);
  return mode;
}

/** As in libpq, `require` with a root certificate checks it, and `verify-ca` needs one: any certificate of a public authority would
 *  pass otherwise. */
function tlsOf(mode: SslMode, given: string | undefined): ConnectionOptions | undefined {
  if (mode === 'disable') return undefined;
  const file = given ?? ownCertificate();
  if (mode === 'verify-full') return file === undefined || file === SYSTEM ? {} : { ca: certificate(file) };
  if (mode === 'verify-ca' || (mode === 'require' && given !== undefined)) {
    if (file === undefined || file === SYSTEM)
      throw wrong(
        `sslmode=${mode} needs sslrootcert=FILE; with certificates that the system trusts, use verify-full`,
      );
    return { ca: certificate(file), checkServerIdentity: () => undefined };
  }
  return { rejectUnauthorized: false };
}

function ownCertificate(): string | undefined {
  const home = homeFolder();
  const usual = home && join(home, '.postgresql', 'root.crt');
  return usual !== undefined && existsSync(usual) ? usual : undefined;
}

function certificate(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw wrong(
      `the certificate ${file} (sslrootcert) cannot be read; correct the path, or let this user read it`,
    );
  }
}

/** The first matching line of the password file. As in libpq, a file that others can read is not used. */
function passwordOf(
  at: Record<'host' | 'port' | 'user' | 'database', string | number>,
  env: Environment,
): string | undefined {
  const home = env['HOME'] ?? homeFolder();
  const file = nonEmpty(env['PGPASSFILE']) ?? (home && join(home, '.pgpass'));
  if (file === undefined) return undefined;
  let lines: string[];
  try {
    if ((statSync(file).mode & 0o077) !== 0) return undefined;
    lines = readFileSync(file, 'utf8')
      .replace(/^\ufeff/, '')
      .split(/\r?\n/);
  } catch {
    return undefined;
  }
  const wanted = [at.host, at.port, at.database, at.user].map(String);
  for (const line of lines) {
    if (line.startsWith('#')) continue;
    const fields = [...line.matchAll(/((?:[^:\\]|\\.)*)(?::|$)/g)].map(([, field = '']) =>
      field.replace(/\\(.)/g, '$1'),
    );
    if (wanted.every((value, index) => fields[index] === '*' || fields[index] === value))
      return nonEmpty(fields[4]);
  }
  return undefined;
}
