// Opens the store that a location names. The engine's code is loaded only here, so that a command without a database
// does not load it.
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { systemClock, type Clock } from '../clock.ts';
import { StoreError, type Store } from './store.ts';

interface StoreOptions {
  clock?: Clock;
}

/** `location`: the path of a SQLite file, or a postgres:// URL. Creates the file and its folder if they do not exist. Rejects with
 *  StoreError. */
export async function openStore(location: string, options: StoreOptions = {}): Promise<Store> {
  const scheme = schemeOf(location);
  if (scheme === 'postgres' || scheme === 'postgresql') {
    const { openPostgres } = await import('./postgres/store.ts');
    return openPostgres(location, options.clock ?? systemClock);
  }
  if (scheme !== undefined) throw new StoreError('unavailable', unsupported(scheme));
  const { openSqlite } = await import('./sqlite/store.ts');
  return openSqlite(resolve(location), options.clock ?? systemClock);
}

/** Whether the file exists. A URL always counts as existing: only a connection can show whether the server has the database. */
export function databaseExists(location: string): boolean {
  return schemeOf(location) !== undefined || fileExists(resolve(location));
}

/** A file that this user may not inspect counts as existing: opening it then reports the missing permission. */
function fileExists(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

function schemeOf(location: string): string | undefined {
  return /^([a-z][a-z0-9+.-]*):\/\//i.exec(location)?.[1]?.toLowerCase();
}

/** The message does not repeat the URL: it may hold a password. */
function unsupported(scheme: string): string {
  return `${scheme}:// databases are not supported; set database to the path of a file, or to a postgres:// URL`;
}
