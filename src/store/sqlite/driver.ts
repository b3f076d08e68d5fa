// Loads the package that contains SQLite. Two packages with the same interface are optional dependencies, and either is
// enough: one contains prebuilt binaries, for Node 22 and newer; the other fetches or compiles its binary when it is installed.
import type Database from 'better-sqlite3';
import { StoreError } from '../store.ts';

export type Driver = typeof Database;
export type Db = Database.Database;

const PREBUILT = 'better-sqlite3-napi';
const COMPILED = 'better-sqlite3';
/** With an older Node, the package crashes the process. */
const FIRST_NODE_WITH_PREBUILT = 22;

/** Tests pass their own `load` and `node` (Node's version). Rejects with StoreError if no package can be loaded. */
export async function loadDriver(
  load: (name: string) => Promise<unknown> = (name) => import(name),
  node: string = process.versions.node,
): Promise<Driver> {
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
  const isMissing = reasons.at(-1)?.endsWith(NOT_INSTALLED) === true;
  const remedy = hasPrebuilt
    ? 'install the gateway again, with its optional packages: npm i --include=optional'
    : `use Node 22 or newer, or install a C++ compiler, make and Python 3; then ${
        // npm removes an optional package that it cannot compile, so that nothing is left to rebuild.
        isMissing ? 'install the gateway again (in a checkout: npm ci)' : 'run: npm rebuild better-sqlite3'
      }`;
  throw new StoreError(
    'unavailable',
    `the SQLite engine could not be loaded (${reasons.join('; ')}); ${remedy}`,
    cause,
  );
}

const NOT_INSTALLED = 'is not installed';

function reasonOf(error: unknown): string {
  const { code, message = '' } = error as { code?: string; message?: string };
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') return NOT_INSTALLED;
  if (code === 'ERR_DLOPEN_FAILED') return 'is built for another Node or system';
  // The package's own message lists every path that it tried.
  if (message.startsWith('Could not locate the bindings file')) return 'has no binary';
  return message.split('\n')[0] ?? '';
}

/** Opening a database loads the binary, so only this shows whether it works. */
function usable(module: unknown): Driver {
  const driver = (module as { default: Driver }).default;
  new driver(':memory:').close();
  return driver;
}
