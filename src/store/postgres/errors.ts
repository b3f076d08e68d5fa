// Turns errors of PostgreSQL, its driver and the network into StoreErrors whose messages say what to do.
import { StoreError, type StoreFault } from '../store.ts';
import type { Server } from './url.ts';

interface Reason {
  kind?: StoreFault;
  /** The cause, and what the user can do. */
  text: string;
}

const WRONG_PASSWORD = '28P01';
const NO_PASSWORD: Reason = {
  text: 'the server asks for a password; set it in the URL, in PGPASSWORD or in ~/.pgpass',
};

/** SQLSTATE, or its class -> reason (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
const STATES: Readonly<Record<string, Reason>> = {
  [WRONG_PASSWORD]: { text: 'the password is not right; set it in the URL, in PGPASSWORD or in ~/.pgpass' },
  '28000': { text: 'the server does not let this user in from here; allow it in pg_hba.conf' },
  '3D000': { text: 'the server has no database of this name; create it: createdb -O USER NAME' },
  '42501': {
    text: 'the user lacks a right; let it own the database: ALTER DATABASE name OWNER TO user',
  },
  '3F000': { text: 'the user has no schema to create tables in; set its search_path' },
  '25006': { text: 'the server only reads (a standby); name the primary server' },
  '53300': {
    text: 'the server has too many connections; raise max_connections, or use PgBouncer (?pgbouncer=true)',
  },
  '53100': { text: "the server's disk is full; free some" },
  '53200': { text: 'the server is out of memory' },
  '57P01': { text: 'the server is ending or starting; it is asked again' },
  '57P02': { text: 'the server is ending or starting; it is asked again' },
  '57P03': { text: 'the server is ending or starting; it is asked again' },
  '57014': { text: "the server's time limit for a statement is too short; raise statement_timeout" },
  '40P01': { kind: 'busy', text: 'another transaction locks the same rows; it is tried again' },
  '40001': { kind: 'busy', text: 'another transaction changes the same rows; it is tried again' },
  '55P03': { kind: 'busy', text: 'another transaction keeps a lock for too long; end it' },
  '42P01': { text: "a table of the gateway's is gone; restore a backup" },
  XX: { kind: 'damaged', text: "the server reports damage; see the server's log" },
  '08': { text: 'the connection failed; it is tried again' },
  '53': { text: 'the server lacks resources' },
  '57': { text: 'the server ended the statement' },
  '58': { text: "reading or writing failed at the server; see the server's log" },
};

/** Error code of the system or of TLS -> reason. */
const SYSTEM: Readonly<Record<string, Reason>> = {
  ECONNREFUSED: { text: 'no server answers there; start it, or correct host and port' },
  ENOTFOUND: { text: 'no host of this name is known; correct the host' },
  EAI_AGAIN: { text: 'the name of the host cannot be resolved now' },
  EHOSTUNREACH: { text: 'the host cannot be reached' },
  ENETUNREACH: { text: 'the network cannot be reached' },
  ETIMEDOUT: { text: 'the host does not answer' },
  ECONNRESET: { text: 'the connection broke' },
  EPIPE: { text: 'the connection broke' },
  ENOENT: { text: 'there is no socket of a server in this folder; start the server, or correct the host' },
  EACCES: { text: "this user may not use the server's socket" },
  CERT_HAS_EXPIRED: { text: "the server's certificate has expired" },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    text: "the server's certificate is for another host; use the name that it holds, or sslmode=verify-ca",
  },
};
const UNTRUSTED = /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_)/;

/** The driver's own messages, which have no code. */
const DRIVER: readonly (readonly [message: RegExp, text: string])[] = [
  [/^The server does not support SSL/, 'the server has no TLS, which sslmode demands; turn it on there'],
  [/timeout/i, 'the server does not answer in time'],
  [
    /^(?:Connection terminated|Client |There was an error establishing|Cannot use a pool|SASL)/,
    'the connection broke',
  ],
];

/** Returns an error that the database did not cause (a duplicate key, a mistake in the code) unchanged. */
export function storeError(
  error: unknown,
  { location, password }: Pick<Server, 'location' | 'password'>,
): unknown {
  if (error instanceof StoreError || !(error instanceof Error)) return error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const reason =
    code === WRONG_PASSWORD && password === undefined ? NO_PASSWORD : reasonOf(code, error.message);
  if (reason === undefined) return error;
  const named = code === '' ? '' : ` (${code})`;
  return new StoreError(
    reason.kind ?? 'unavailable',
    `the database ${location} is not usable now${named}: ${reason.text}`,
    error,
  );
}

function reasonOf(code: string, message: string): Reason | undefined {
  const known = STATES[code] ?? SYSTEM[code] ?? STATES[code.slice(0, 2)];
  if (known !== undefined) return known;
  if (UNTRUSTED.test(code)) {
    return { text: "the server's certificate is not trusted; name its authority: sslrootcert=FILE" };
  }
  const text = DRIVER.find(([pattern]) => pattern.test(message))?.[1];
  return text === undefined ? undefined : { text };
}

/** A fault of one statement leaves the connection usable; any other fault does not. */
export function isStatementFault(error: unknown): boolean {
  return error instanceof Error && 'severity' in error && error.severity === 'ERROR';
}

/** The connection failed before the server could have read the statement, or the statement changes nothing. */
export function isConnectionFault(error: unknown): boolean {
  return error instanceof Error && !('severity' in error) && !/timeout/i.test(error.message);
}

/** The server has no TLS. */
export function isWithoutTls(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('The server does not support SSL');
}
