// The SQLite engine: one package with prebuilt binaries inside, for Node 22 and newer, and one whose binary is fetched or
// compiled when it is installed, with the same interface. Both are optional: either is enough.
import type Database from 'better-sqlite3';
import { StoreError } from '../store.ts';

export type Engine = typeof Database;
export type Db = Database.Database;

const PREBUILT = 'better-sqlite3-napi';
const COMPILED = 'better-sqlite3';
/** With an older one it crashes the process. */
const FIRST_NODE_WITH_PREBUILT = 22;

/** `load` and `node` (its version) are given by tests. Rejects with StoreError where no engine can be loaded. */
export async function loadEngine(
  load: (name: string) => Promise<unknown> = (name) => import(name),
  node: string = process.versions.node,
): Promise<Engine> {
  const hasPrebuilt = Number.parseInt(node, 10) >= FIRST_NODE_WITH_PREBUILT;
  const reasons: string[] = [];
  let cause: unknown;
  for (const name of hasPrebuilt ? [PREBUILT, COMPILED] : [COMPILED]) {
    try {
      return usable(await load(name));
    } catch (error) {
      reasons.push(`${name} ${reasonOf(error)}`);
      cause ??= error;
    }
  }
  const mend = hasPrebuilt
    ? 'install the gateway again, with its optional packages: npm i --include=optional'
    : 'install Node 22 or newer and then the gateway again, or a C++ compiler and then run: npm rebuild better-sqlite3';
  throw new StoreError(
    'unavailable',
    `the SQLite engine could not be loaded (${reasons.join('; ')}); ${mend}`,
    cause,
  );
}

function reasonOf(error: unknown): string {
  const { code, message = '' } = error as { code?: string; message?: string };
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') return 'is not installed';
  if (code === 'ERR_DLOPEN_FAILED') return 'is built for another Node or system';
  // The package's own search for its binary names every path that it tried.
  if (message.startsWith('Could not locate the bindings file')) return 'has no binary';
  return message.split('\n')[0] ?? '';
}

/** The binary is loaded with the first database, so a broken one is found only by opening one. */
function usable(module: unknown): Engine {
  const engine = (module as { default: Engine }).default;
  new engine(':memory:').close();
  return engine;
}
