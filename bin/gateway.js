#!/usr/bin/env node
// Checks the Node version, then runs the built program: one script, with the code that V8 made of it in an earlier start.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`gateway needs Node 20.19 or newer; this is ${process.versions.node}`);
  process.exit(1);
}
// Not imported: an importer touches all that it exports, webcrypto too.
const { createHash } = process.getBuiltinModule('node:crypto');
const DIGEST_BYTES = 32;

const main = fileURLToPath(new URL('../dist/cli/main.cjs', import.meta.url));
// What `tsc -p tsconfig.build.json` wrote since the last build: each module by itself, as a profiler likes it.
const loose = new URL('../dist/cli/main.js', import.meta.url);
if (!existsSync(main) && !existsSync(loose)) {
  console.error('gateway is not built yet; run: npm ci');
  process.exit(1);
}
if (existsSync(loose)) await (await import(loose.href)).run(process.argv.slice(2));
else await runScript();

async function runScript() {
  const cache = `${main}.cache`;
  const { script, digest } = loadScript(cache);
  const program = { exports: {} };
  script.runInThisContext()(program.exports, createRequire(main), program, main);
  await program.exports.run(process.argv.slice(2), async () => {
    const budget = await parserBudget();
    budget('later');
    if (script.cachedDataRejected === false) return;
    const write = () => {
      // V8 takes the code only where it runs with the flags that it was made with.
      budget('default');
      writeCache(cache, digest, script.createCachedData());
      budget('later');
    };
    // What was not called yet is not compiled yet: now it is what a start needs, at the end what requests need, too.
    setTimeout(() => {
      write();
      process.once('exit', write);
    }, 500).unref();
  });
}

// Compiling takes 70 of 230 ms of a start, so its result is kept beside the program, where only those can write who could
// change the program too. V8 refuses what another version of it has made.
function loadScript(cache) {
  const source = readFileSync(main);
  const digest = createHash('sha256').update(source);
  const cachedData = readCache(cache, digest);
  return { script: new Script(source.toString('latin1'), { filename: main, cachedData }), digest };
}

/**
 * V8 11 optimizes undici's parser of replies with the first reply, which leaves 10 MiB behind; later versions wait until this
 * many bytes of it ran, some ten replies. Set when all is loaded: Node's own code cache is refused with flags of ours, too.
 */
async function parserBudget() {
  if (major !== 20) return () => undefined;
  const { setFlagsFromString } = await import('node:v8');
  const bytes = { default: 1_800_000, later: 13_000_000 };
  return (which) => setFlagsFromString(`--wasm-tiering-budget=${bytes[which]}`);
}

/** Before the code stands a digest of program and code: V8 looks at their lengths alone, and dies of a page that a disk lost. */
function readCache(cache, digest) {
  try {
    const file = readFileSync(cache);
    const code = file.subarray(DIGEST_BYTES);
    const wanted = digest.copy().update(code).digest();
    return wanted.equals(file.subarray(0, DIGEST_BYTES)) ? code : undefined;
  } catch {
    return undefined;
  }
}

function writeCache(cache, digest, code) {
  const temporary = `${cache}.${process.pid}`;
  try {
    const wanted = digest.copy().update(code).digest();
    writeFileSync(temporary, Buffer.concat([wanted, code]), { flush: true });
    renameSync(temporary, cache);
  } catch {
    // Installed where this user may not write: each start compiles anew.
  }
}
