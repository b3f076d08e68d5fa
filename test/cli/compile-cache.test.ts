// What is run is read from nowhere that another user can write, and nothing is written beside the installed program.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, test, vi } from 'vitest';
import { temporaryDirectory } from './harness.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

interface CompileCache {
  compileCache: (env: Record<string, string | undefined>) => string | undefined;
}

/** The files of `bin` are plain JavaScript, which the compiler does not know. */
const { compileCache } = (await import(join(ROOT, 'bin/compile-cache.js'))) as CompileCache;

describe('the folder of compiled code', () => {
  const modeOf = (path: string): number => statSync(path).mode & 0o777;

  it.skipIf(process.platform === 'win32')('is made for its owner alone, whatever the umask', () => {
    const home = temporaryDirectory();
    const before = process.umask(0);
    onTestFinished(() => void process.umask(before));
    const folder = compileCache({ XDG_CACHE_HOME: join(home, 'cache') });
    expect(folder).toBe(join(home, 'cache/gateway/compile-cache'));
    expect(modeOf(folder ?? '')).toBe(0o700);
    expect(modeOf(join(home, 'cache'))).toBe(0o700);
    expect(compileCache({ XDG_CACHE_HOME: join(home, 'cache') })).toBe(folder);
  });

  it.skipIf(process.platform === 'win32').each([
    ['it can be written by others', 'gateway/compile-cache', 0o777],
    ['it can be read by others', 'gateway/compile-cache', 0o755],
    ['a folder above it can be written by others', 'gateway', 0o777],
    ['a folder above it can be written by a group', '.', 0o770],
  ])('is not used where %s', (_why, which, mode) => {
    const cache = join(temporaryDirectory(), 'cache');
    mkdirSync(join(cache, 'gateway/compile-cache'), { recursive: true, mode: 0o700 });
    chmodSync(join(cache, which), mode);
    expect(compileCache({ XDG_CACHE_HOME: cache })).toBeUndefined();
  });

  it.skipIf(!existsSync('/proc'))('is not waited for in a place that has no folders', () => {
    expect(compileCache({ XDG_CACHE_HOME: '/proc/gateway' })).toBeUndefined();
  });

  it('is never in the folder that is worked in', () => {
    vi.stubEnv('HOME', temporaryDirectory());
    onTestFinished(() => void vi.unstubAllEnvs());
    const folder = compileCache({ XDG_CACHE_HOME: 'cache' });
    expect(existsSync('cache')).toBe(false);
    expect(folder).not.toMatch(/^cache/);
  });

  it('is not used where it leads elsewhere, or can not be made', () => {
    const cache = temporaryDirectory();
    const elsewhere = temporaryDirectory();
    mkdirSync(join(cache, 'gateway'), { mode: 0o700 });
    symlinkSync(elsewhere, join(cache, 'gateway/compile-cache'));
    expect(compileCache({ XDG_CACHE_HOME: cache })).toBeUndefined();
    expect(compileCache({ XDG_CACHE_HOME: join(ROOT, 'package.json') })).toBeUndefined();
  });
});

test('a server leaves the installed program unchanged, and only its owner can read its compiled code', async () => {
  const directory = temporaryDirectory();
  for (const part of ['bin', 'package.json', 'dist/cli'])
    cpSync(join(ROOT, part), join(directory, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  const before = contents(directory);
  const home = temporaryDirectory();
  const env = { PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: home, XDG_DATA_HOME: home };
  const bin = join(directory, 'bin/gateway.js');
  const argv = ['serve', '--port', '0', '--host', '127.0.0.1', '--log', 'off'];
  const child = spawn(process.execPath, [bin, ...argv], {
    cwd: home,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(contents(directory)).toEqual(before);
  const cache = join(home, '.cache/gateway/compile-cache');
  const keeps = 'enableCompileCache' in process.getBuiltinModule('node:module');
  expect(existsSync(cache) && readdirSync(cache).length > 0).toBe(keeps);
});

/** Each file's path and text. */
function contents(directory: string): Map<string, string> {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true });
  return new Map(
    files
      .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
      .map(({ parentPath, name }) => [
        join(parentPath, name),
        readFileSync(join(parentPath, name), 'latin1'),
      ]),
  );
}
