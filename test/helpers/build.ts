// Tests of the command line run the compiled program, so it is built first (incrementally).
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';

export default function setup(): void {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  const build = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { encoding: 'utf8' });
  if (build.status !== 0) throw new Error(`tsc failed:\n${build.stdout}${build.stderr}`);
}
