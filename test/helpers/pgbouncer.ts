// A real PgBouncer in transaction mode in front of a test's PostgreSQL. It is a program of the system: tests that need it are left out
// where it is missing.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, unprivileged } from './postgres.ts';

/** Debian's is in /usr/sbin, which is not in every user's PATH. */
const PATH = `${process.env.PATH ?? ''}:/usr/sbin:/usr/local/sbin`;

export const hasBouncer = spawnSync('pgbouncer', ['--version'], { env: { PATH } }).status === 0;
if (!hasBouncer)
  console.warn('LEFT OUT: pgbouncer is not installed, so PostgreSQL is not tested through PgBouncer');

/** Connections of the server that all clients share: fewer than one gateway opens. */
const POOL_SIZE = 3;

export interface Bouncer {
  /** The URL of a database of the server, through PgBouncer. */
  through(url: string): string;
  stop(): Promise<void>;
}

/** `server`: the URL of a user with all rights, who stands for every user of PgBouncer. */
export async function startBouncer(server: string): Promise<Bouncer> {
  const user = unprivileged();
  const folder = mkdtempSync(join(tmpdir(), 'gateway-pgbouncer-'));
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const port = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(file, settings(new URL(server), port), { mode: 0o644 });
  const child = spawn('pgbouncer', [file], {
    ...user,
    env: { PATH },
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.on('data', (bytes: Buffer) => (log += bytes.toString()));
  const ended = once(child, 'close');
  for (let left = 100; !(await listens(port)); left -= 1) {
    if (left === 0 || child.exitCode !== null) throw new Error(`pgbouncer did not start: ${log}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    through(url) {
      const changed = new URL(url);
      changed.port = String(port);
      changed.hostname = '127.0.0.1';
      changed.searchParams.set('pgbouncer', 'true');
      return changed.href;
    },
    async stop() {
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** `server_login_retry`: how soon it connects again to a server that was away. */
function settings(server: URL, port: number): string {
  const password = decodeURIComponent(server.password);
  const target = [
    `host=${server.hostname}`,
    `port=${server.port || '5432'}`,
    `user=${decodeURIComponent(server.username)}`,
    ...(password === '' ? [] : [`password='${password.replaceAll("'", "''")}'`]),
  ];
  return `[databases]
* = ${target.join(' ')}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${POOL_SIZE}
max_client_conn = 200
server_login_retry = 1
`;
}

function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return new Promise((resolve) => {
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}
