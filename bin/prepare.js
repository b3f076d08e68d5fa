// Builds dist/ after `npm ci`. An installed package contains dist/ and has no bundler, so nothing is built there.
'use strict';
const { spawnSync } = require('node:child_process');
const { dirname, join } = require('node:path');

let bundler;
try {
  bundler = join(dirname(require.resolve('rolldown/package.json')), 'bin', 'cli.mjs');
} catch {
  process.exit(0);
}
const build = spawnSync(process.execPath, [bundler, '--config', '--log-level', 'warn'], {
  cwd: join(__dirname, '..'),
  stdio: 'inherit',
});
process.exit(build.status ?? 1);
