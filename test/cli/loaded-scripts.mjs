// Runs the command lines of LINES one after the other in the built program, and writes to the file RECORD which scripts each needs,
// with their bytes, and which parts of Node are loaded after it.
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname } from 'node:path';
import process from 'node:process';
import { compileFunction } from 'node:vm';

// A command that starts a gateway in the background starts this script again: that one must not run all commands anew.
if (process.argv.includes('serve')) process.exit(1);

const require = createRequire(import.meta.url);
// Each line runs the scripts anew; they are compiled once.
const compiled = new Map();
const NAMES = ['exports', 'require', 'module', '__filename', '__dirname'];
require.extensions['.cjs'] = (module, path) => {
  const run = compiled.get(path) ?? compileFunction(readFileSync(path, 'utf8'), NAMES, { filename: path });
  compiled.set(path, run);
  run(module.exports, (id) => module.require(id), module, path, dirname(path));
};
const main = require.resolve('../../dist/cli/main.cjs');
const discard = (...given) => {
  process.nextTick(given.at(-1) instanceof Function ? given.at(-1) : () => undefined);
  return true;
};
process.stdout.write = process.stderr.write = discard;
const loaded = {};
for (const line of JSON.parse(process.env.LINES)) {
  // Scripts alone: a binary can be loaded once.
  for (const path of Object.keys(require.cache)) if (path.endsWith('.cjs')) delete require.cache[path];
  await require(main).run(line);
  const scripts = Object.keys(require.cache).filter((path) => path.endsWith('.cjs'));
  loaded[line.join(' ')] = {
    scripts: Object.fromEntries(scripts.map((path) => [basename(path), statSync(path).size])),
    parts: [...process.moduleLoadList],
  };
}
writeFileSync(process.env.RECORD, JSON.stringify(loaded));
process.exit(0);
