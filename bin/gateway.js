#!/usr/bin/env node
// Checks the Node version, then runs the built program: one script, with the code that V8 made of it in an earlier start.
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`gateway needs Node 20.19 or newer; this is ${process.versions.node}`);
  process.exit(1);
}
const main = fileURLToPath(new URL('../dist/cli/main.cjs', import.meta.url));
// What `tsc -p tsconfig.build.json` wrote since the last build: each module by itself, as a profiler likes it.
const loose = new URL('../dist/cli/main.js', import.meta.url);
if (!existsSync(main) && !existsSync(loose)) {
  console.error('gateway is not built yet; run: npm ci');
  process.exit(1);
}
const { run } = existsSync(loose) ? await import(loose.href) : loadProgram();
await run(process.argv.slice(2));

// Compiling takes 70 of 230 ms of a start, so its result is kept beside the program, where only those can write who could
// change the program too. V8 refuses what another version of it has made; a newer build is told by its time.
function loadProgram() {
  const cache = `${main}.cache`;
  const script = new Script(readFileSync(main, 'latin1'), { filename: main, cachedData: readCache(cache) });
  // What was not called yet is not compiled yet: a server has what a start needs, and at its end what requests need.
  if (script.cachedDataRejected !== false && process.argv.includes('serve')) {
    setTimeout(() => {
      writeCache(cache, script);
      process.once('exit', () => writeCache(cache, script));
    }, 500).unref();
  }
  const program = { exports: {} };
  script.runInThisContext()(program.exports, createRequire(main), program, main);
  return program.exports;
}

function readCache(cache) {
  try {
    return statSync(cache).mtimeMs > statSync(main).mtimeMs ? readFileSync(cache) : undefined;
  } catch {
    return undefined;
  }
}

function writeCache(cache, script) {
  const temporary = `${cache}.${process.pid}`;
  try {
    writeFileSync(temporary, script.createCachedData(), { flush: true });
    renameSync(temporary, cache);
  } catch {
    // Installed where this user may not write: each start compiles anew.
  }
}
