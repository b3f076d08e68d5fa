// Builds dist/ after `npm ci`. An installed package contains dist/ and has no bundler, so nothing is built there.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
let bundler;
try {
  bundler = join(dirname(require.resolve('rolldown/package.json')), 'bin', 'cli.mjs');
} catch {
  process.exit(0);
}
const build = spawnSync(process.execPath, [bundler, '--config', '--log-level', 'warn'], {
  cwd: fileURLToPath(new URL('..', import.meta.url)),
  stdio: 'inherit',
});
process.exit(build.status ?? 1);
