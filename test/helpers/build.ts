// Before all tests: the command line's run the built program, so it is built (0.7 s). What tests write stays in memory: waiting for a
// disk took a quarter of their time.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { memoryFolder } from './memory.ts';

export default function setup(): () => void {
  const prepare = fileURLToPath(new URL('../../bin/prepare.js', import.meta.url));
  const build = spawnSync(process.execPath, [prepare], { encoding: 'utf8' });
  if (build.status !== 0) throw new Error(`the build failed:\n${build.stdout}${build.stderr}`);
  const memory = memoryFolder();
  if (memory !== undefined) process.env['TMPDIR'] ??= memory;
  // What the test files of one run share.
  const folder = mkdtempSync(join(tmpdir(), 'gateway-run-'));
  chmodSync(folder, 0o711);
  process.env['GATEWAY_TEST_RUN'] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
