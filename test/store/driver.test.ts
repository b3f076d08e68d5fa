// Which of the two SQLite packages is taken, and what a user reads where neither can be.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { loadDriver, type Driver } from '../../src/store/sqlite/driver.ts';

const working = class {
  close(): void {
    // Nothing was opened.
  }
} as unknown as Driver;

function failing(code: string, message = ''): Error {
  return Object.assign(new Error(message), { code });
}

/** The packages that are installed; `tried` gets the names that were asked for. */
function packages(installed: Record<string, Driver | Error>, tried: string[] = []) {
  return (name: string): Promise<unknown> => {
    tried.push(name);
    const found = installed[name] ?? failing('ERR_MODULE_NOT_FOUND');
    return found instanceof Error ? Promise.reject(found) : Promise.resolve({ default: found });
  };
}

it('takes the prebuilt package alone where Node can run it', async () => {
  const tried: string[] = [];
  expect(await loadDriver(packages({ 'better-sqlite3-napi': working }, tried), '22.22.2')).toBe(working);
  expect(tried).toEqual(['better-sqlite3-napi']);
});

it('takes the compiled one where there is no prebuilt one for this system', async () => {
  const installed = { 'better-sqlite3-napi': failing('ERR_DLOPEN_FAILED'), 'better-sqlite3': working };
  expect(await loadDriver(packages(installed), '24.17.0')).toBe(working);
});

it('never loads the prebuilt one on Node 20, which it crashes', async () => {
  const tried: string[] = [];
  const installed = { 'better-sqlite3-napi': working, 'better-sqlite3': working };
  await loadDriver(packages(installed, tried), '20.20.2');
  expect(tried).toEqual(['better-sqlite3']);
});

const NO_BINARY = failing(
  '',
  'Could not locate the bindings file. Tried:\n → /home/u/x.node\n → /home/u/y.node',
);
it.each([
  [
    '24.17.0',
    { 'better-sqlite3': NO_BINARY },
    '(better-sqlite3-napi is not installed; better-sqlite3 has no binary); install the gateway again',
  ],
  [
    '20.20.2',
    {},
    '(better-sqlite3 is not installed); use Node 22 or newer, or install a C++ compiler, make and Python 3; then install the gateway again (in a checkout: npm ci)',
  ],
  [
    '20.20.2',
    { 'better-sqlite3': failing('ERR_DLOPEN_FAILED', "The module '/home/u/x.node'\nwas compiled") },
    '(better-sqlite3 is built for another Node or system); use Node 22 or newer, or install a C++ compiler, make and Python 3; then run: npm rebuild better-sqlite3',
  ],
])('says in one line what is missing and how to mend it (Node %s)', async (node, installed, words) => {
  const error = (await loadDriver(packages(installed), node).catch((reason: unknown) => reason)) as Error;
  expect(error.message).toContain(`the SQLite engine could not be loaded ${words}`);
  expect(error.message).not.toMatch(/\n|\/home/);
});

const CHECK = join(import.meta.dirname, '../../bin/check-engine.js');

it.each([
  ['none is installed', undefined, /better-sqlite3 is not installed[^]*[Rr]un npm ci again[^]*PostgreSQL/],
  [
    'the engine has no binary',
    "module.exports = class { constructor() { throw new Error('none'); } };",
    /better-sqlite3 has no binary for this Node/,
  ],
  ['it works', 'module.exports = class { close() {} };', /^$/],
])('the end of an installation says whether the engine is there: %s', (_what, engine, said) => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-engine-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  copyFileSync(CHECK, join(folder, 'check-engine.cjs'));
  if (engine !== undefined) {
    const place = join(folder, 'node_modules', 'better-sqlite3');
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, 'index.js'), engine);
  }
  const { status, stderr } = spawnSync(process.execPath, [join(folder, 'check-engine.cjs')], {
    encoding: 'utf8',
  });
  expect(status).toBe(0);
  expect(stderr).toMatch(said);
});
