// Runs at the end of `npm ci` and `npm install` in a checkout: the packages with SQLite are optional, so npm is silent where none of them
// could be installed, and the gateway would be the first to say so. Never fails: PostgreSQL needs neither.
'use strict';

// As src/store/sqlite/driver.ts chooses them.
const isNewer = Number.parseInt(process.versions.node, 10) >= 22;
const names = isNewer ? ['better-sqlite3-napi', 'better-sqlite3'] : ['better-sqlite3'];

function fault(name) {
  try {
    const Engine = require(name);
    new Engine(':memory:').close();
    return undefined;
  } catch (error) {
    return error.code === 'MODULE_NOT_FOUND' ? 'is not installed' : 'has no binary for this Node';
  }
}

const faults = names.map((name) => ({ name, why: fault(name) }));
if (faults.every(({ why }) => why !== undefined)) {
  const reasons = faults.map(({ name, why }) => `${name} ${why}`).join(', ');
  const remedy = isNewer
    ? 'Run npm ci again, with optional packages (--include=optional).'
    : 'Its binary could neither be fetched nor compiled. Use Node 22 or newer, for which it needs no compiler, or install a C++\n' +
      'compiler, make and Python 3; then run npm ci again.';
  process.stderr.write(
    `\ngateway: the SQLite engine is missing: ${reasons}.\n${remedy}\nWith a PostgreSQL database, the gateway works without it.\n\n`,
  );
}
