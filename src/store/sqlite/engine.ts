// The SQLite engine: one package with a prebuilt binary for newer Nodes, one that is compiled, with the same interface.
import type Database from 'better-sqlite3';
import { StoreError } from '../store.ts';

export type Engine = typeof Database;
export type Db = Database.Database;

// An optional dependency: a plain string, because the compiler does not know it where it is not installed.
const PREBUILT: string = 'better-sqlite3-napi';
const FIRST_NODE_WITH_PREBUILT = 22;

export async function loadEngine(): Promise<Engine> {
  const major = Number.parseInt(process.versions.node, 10);
  if (major >= FIRST_NODE_WITH_PREBUILT) {
    try {
      return usable(await import(PREBUILT));
    } catch {
      // Not installed, or not for this platform.
    }
  }
  try {
    return usable(await import('better-sqlite3'));
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    throw new StoreError(
      'unavailable',
      `the SQLite engine could not be loaded (${reason}); try: npm rebuild better-sqlite3`,
      error,
    );
  }
}

/** The binary is loaded with the first database, so a broken one is found only by opening one. */
function usable(module: unknown): Engine {
  const engine = (module as { default: Engine }).default;
  new engine(':memory:').close();
  return engine;
}
