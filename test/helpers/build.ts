// Before all tests: the command line's run the built program, so it is built (0.7 s). What tests write stays in memory: waiting for a
// disk took a quarter of their time.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { memoryFolder } from './memory.ts';

export default function setup(): void {
  const prepare = fileURLToPath(new URL('../../bin/prepare.js', import.meta.url));
  const build = spawnSync(process.execPath, [prepare], { encoding: 'utf8' });
  if (build.status !== 0) throw new Error(`the build failed:\n${build.stdout}${build.stderr}`);
  const memory = memoryFolder();
  if (memory !== undefined) process.env['TMPDIR'] ??= memory;
}
