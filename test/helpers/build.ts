// Tests of the command line run the built program, so it is built first (0.7 s).
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export default function setup(): void {
  const prepare = fileURLToPath(new URL('../../bin/prepare.js', import.meta.url));
  const build = spawnSync(process.execPath, [prepare], { encoding: 'utf8' });
  if (build.status !== 0) throw new Error(`the build failed:\n${build.stdout}${build.stderr}`);
}
