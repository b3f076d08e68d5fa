// Which engine keeps the data is read from the location alone; the engine is loaded only then, so that a command without
// a database does not pay for it.
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { systemClock, type Clock } from '../clock.ts';
import { StoreError, type Store } from './store.ts';

interface StoreOptions {
  clock?: Clock;
}

/** `location`: the path of a SQLite file, made with its folder where it does not exist. Rejects with StoreError. */
export async function openStore(location: string, options: StoreOptions = {}): Promise<Store> {
  const scheme = schemeOf(location);
  if (scheme !== undefined) throw new StoreError('unavailable', unsupported(scheme));
  const { openSqlite } = await import('./sqlite/store.ts');
  return openSqlite(resolve(location), options.clock ?? systemClock);
}

/** Whether there is a file to open; whether a server has such a database, only opening it can tell. */
export function databaseExists(location: string): boolean {
  return schemeOf(location) !== undefined || stands(resolve(location));
}

/** A file that this user may not look at is there: opening it says so. */
function stands(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

function schemeOf(location: string): string | undefined {
  return /^([a-z][a-z0-9+.-]*):\/\//i.exec(location)?.[1]?.toLowerCase();
}

/** The URL itself is not repeated: it may hold a password. */
function unsupported(scheme: string): string {
  const name = scheme.startsWith('postgres') ? 'PostgreSQL databases are' : `${scheme}:// databases are`;
  return `${name} not supported yet; set database to the path of a file`;
}
