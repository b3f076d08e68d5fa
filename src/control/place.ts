// Where the control sockets of running gateways are: in the data folder, or where that cannot hold one, in a folder of this user's
// below the runtime or temporary folder. Whoever can connect can stop the gateway, so that only folders that no other user can
// change are used.
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import path from 'node:path';
import type { Environment } from '../environment.ts';

/** A folder for sockets. On Windows the list of all pipes, in which `prefix` stands for the data folder. */
export interface SocketFolder {
  path: string;
  /** Begins the name of each socket; the pid follows. */
  prefix: string;
  /** It holds sockets alone: it is created with mode 0700, and removed when it is empty. */
  own: boolean;
}

const PIPES = '\\\\.\\pipe\\';
/** `sun_path` has 104 bytes on macOS and 108 on Linux, with the zero at its end. */
const LONGEST_PATH = 103;
const SUFFIX = '.sock';

/** The network of this process, by its name in the kernel; null: unknown. In a container that shares the data folder, 127.0.0.1 is
 *  another machine. */
export function networkName(): string | null {
  try {
    return readlinkSync('/proc/self/ns/net');
  } catch {
    return null;
  }
}

/** A server tries them in this order. Readers look into all: their environment may differ from the server's. */
export function socketFolders(
  dataFolder: string,
  env: Environment,
  platform: NodeJS.Platform = process.platform,
): SocketFolder[] {
  const data = realPath(dataFolder);
  const hash = createHash('sha256').update(data).digest('hex').slice(0, 12);
  if (platform === 'win32') return [{ path: PIPES, prefix: `gateway-${hash}-`, own: false }];
  const bases = [env['XDG_RUNTIME_DIR'] ?? '', env['TMPDIR'] ?? '', '/tmp'].filter((base) =>
    path.isAbsolute(base),
  );
  const name = `gateway-${process.geteuid?.() ?? 0}-${hash}`;
  return [
    { path: data, prefix: 'gateway-', own: false },
    ...[...new Set(bases.map((base) => path.join(base, name)))].map((folder) => ({
      path: folder,
      prefix: 'gateway-',
      own: true,
    })),
  ];
}

/** The address of a socket in the folder. */
export function socketAddress({ path: folder, prefix }: SocketFolder, name: string): string {
  return isPipe(folder) ? `${folder}${prefix}${name}` : path.join(folder, `${prefix}${name}${SUFFIX}`);
}

/** The reason why a server cannot use the folder; undefined: it can. Creates a folder of our own. */
export function folderFault(folder: SocketFolder): string | undefined {
  if (isPipe(folder.path)) return undefined;
  if (Buffer.byteLength(socketAddress(folder, String(process.pid))) > LONGEST_PATH) {
    return `${folder.path} is too long for the path of a socket`;
  }
  try {
    if (folder.own) mkdirSync(folder.path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return (error as Error).message;
  }
  return foreignFault(folder);
}

/** The addresses of sockets in the folder, of running gateways and of ended ones. Empty if another user could have put them there. */
export function listSockets(folder: SocketFolder): string[] {
  if (foreignFault(folder) !== undefined) return [];
  const suffix = isPipe(folder.path) ? '' : SUFFIX;
  try {
    return readdirSync(folder.path)
      .filter(
        (name) => name.startsWith(folder.prefix) && /^\d+(-\d+)?$/.test(middle(name, folder.prefix, suffix)),
      )
      .map((name) => (isPipe(folder.path) ? folder.path + name : path.join(folder.path, name)))
      .filter(isOwnSocket);
  } catch {
    return [];
  }
}

/** The pid in a socket's name. */
export function pidOf(address: string): number {
  // The hash in a pipe's name may end with digits.
  return Number(/gateway-(?:[0-9a-f]{12}-)?(\d+)(?:-\d+)?(?:\.sock)?$/.exec(address)?.[1] ?? 0);
}

function middle(name: string, prefix: string, suffix: string): string {
  return name.endsWith(suffix) ? name.slice(prefix.length, name.length - suffix.length) : '';
}

/** lstat: a link could lead to a socket of another program. */
function isOwnSocket(address: string): boolean {
  if (isPipe(address)) return true;
  const stat = lstatSync(address, { throwIfNoEntry: false });
  return stat?.isSocket() === true && stat.uid === process.geteuid?.();
}

function foreignFault({ path: folder, own }: SocketFolder): string | undefined {
  if (isPipe(folder)) return undefined;
  try {
    const stat = lstatSync(folder);
    if (!stat.isDirectory()) return `${folder} is not a folder`;
    if (stat.uid !== process.geteuid?.()) return `${folder} belongs to another user`;
    return (stat.mode & (own ? 0o077 : 0o022)) === 0 ? undefined : `other users can change ${folder}`;
  } catch (error) {
    return (error as Error).message;
  }
}

function isPipe(address: string): boolean {
  return address.startsWith(PIPES);
}

/** One name for each folder, so that server and reader agree. */
function realPath(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return path.resolve(folder);
  }
}
