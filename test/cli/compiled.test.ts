// The code cache of bin/gateway.js: a start must never depend on what an earlier one left behind.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test, vi } from 'vitest';
import { temporaryDirectory } from './harness.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

interface Install {
  cache: string;
  start(...argv: string[]): ChildProcess;
}

function install(): Install {
  const directory = temporaryDirectory();
  for (const part of ['bin', 'package.json', 'dist/cli/main.cjs'])
    cpSync(join(ROOT, part), join(directory, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  const env = { PATH: process.env['PATH'], XDG_CONFIG_HOME: directory, XDG_DATA_HOME: directory };
  return {
    cache: join(directory, 'dist/cli/main.cjs.cache'),
    start(...argv) {
      const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe'];
      const child = spawn(process.execPath, [join(directory, 'bin/gateway.js'), ...argv], {
        cwd: directory,
        ...{ env, stdio },
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      return child;
    },
  };
}

const SERVE = ['serve', '--port', '0', '--host', '127.0.0.1', '--log', 'off'];

/** Serves until `done`, then ends as asked. */
async function serve(own: Install, done: () => void): Promise<void> {
  const child = own.start(...SERVE);
  const printed = child.stdout ? text(child.stdout) : '';
  await vi.waitFor(done, { timeout: 15_000, interval: 20 });
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(await printed).toMatch(/is listening/);
}

test('the first server keeps the code that was compiled, and the next one uses it', async () => {
  const own = install();
  await serve(own, () => expect(existsSync(own.cache)).toBe(true));
  const kept = readFileSync(own.cache);
  const child = own.start(...SERVE);
  await once(child.stdout ?? child, 'data');
  child.kill('SIGTERM');
  await once(child, 'exit');
  expect(readFileSync(own.cache).equals(kept)).toBe(true);
});

test.each([
  [
    'is of something else',
    (whole: Buffer) => Buffer.from(`nonsense${whole.toString('latin1', 8)}`, 'latin1'),
  ],
  ['was cut off', (whole: Buffer) => whole.subarray(0, whole.length >> 1)],
  [
    'has lost a page',
    (whole: Buffer) => Buffer.from(whole).fill(0, whole.length >> 1, (whole.length >> 1) + 4096),
  ],
  ['is empty', () => Buffer.alloc(0)],
])('it is made anew where it %s', async (_, damage) => {
  const own = install();
  await serve(own, () => expect(existsSync(own.cache)).toBe(true));
  const damaged = damage(readFileSync(own.cache));
  writeFileSync(own.cache, damaged);
  await serve(own, () => expect(readFileSync(own.cache).equals(damaged)).toBe(false));
});

test('it is not used for another program, be it as long', async () => {
  const own = install();
  await serve(own, () => expect(existsSync(own.cache)).toBe(true));
  const main = own.cache.replace(/\.cache$/, '');
  writeFileSync(main, readFileSync(main, 'latin1').replace('is listening', 'is LISTENING'));
  const child = own.start(...SERVE);
  const [printed] = (await once(child.stdout ?? child, 'data')) as [Buffer];
  expect(String(printed)).toContain('is LISTENING');
});

test('commands leave none behind, and a folder that may not be written is no failure', async () => {
  const own = install();
  const child = own.start('keys', 'list');
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(existsSync(own.cache)).toBe(false);
  chmodSync(join(own.cache, '..'), 0o500);
  onTestFinished(() => chmodSync(join(own.cache, '..'), 0o700));
  const server = own.start(...SERVE);
  await once(server.stdout ?? server, 'data');
  server.kill('SIGTERM');
  expect(await once(server, 'exit')).toEqual([0, null]);
});
