// Opens the database that the configuration names. The engine is loaded only when it is needed.
import type { Store } from './store.ts';
import { StoreError } from './store.ts';

/** `location`: a file's path. Rejects with StoreError. */
export async function openStore(location: string): Promise<Store> {
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(location)) {
    const scheme = location.slice(0, location.indexOf(':'));
    throw new StoreError('unavailable', `databases of the kind ${scheme}:// are not supported; name a file`);
  }
  const { openSqlite } = await import('./sqlite/store.ts');
  return openSqlite(location);
}
