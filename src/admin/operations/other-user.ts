// Whose program it is at the other end of a connection on this machine. Linux shows each user the arguments of everybody's programs, and
// the owner of each connection; other systems show neither.
import { readFile } from 'node:fs/promises';
import type { SiteExchange } from '../../gateway/exchange.ts';

const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
const ROOT_USER = 0;

/** Whether another user's program sent the request, as far as the system tells. */
export async function isOtherUser({ ports }: Pick<SiteExchange, 'ports'>): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  const texts = await Promise.all(TABLES.map((file) => readFile(file, 'latin1').catch(() => '')));
  const lines = texts.flatMap((text) => text.split('\n').slice(1));
  // Where the tables cannot be read, the arguments of other users' programs are hidden too.
  if (lines.length === 0) return false;
  const users = lines.flatMap((line) => {
    const [, own = '', other = '', , , , , user] = line.trim().split(/\s+/);
    return ports !== undefined && portOf(own) === ports.remote && portOf(other) === ports.local
      ? [Number(user)]
      : [];
  });
  return users.length === 0 || users.some((user) => user !== process.getuid?.() && user !== ROOT_USER);
}

/** `0100007F:1F90` */
const portOf = (address: string): number => Number.parseInt(address.split(':')[1] ?? '', 16);
