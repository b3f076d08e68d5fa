#!/usr/bin/env node
// Checks the Node version, then runs the built program: one script, with the code that V8 made of it in an earlier start.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
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
if (!existsSync(main)) {
  console.error('gateway is not built yet; run: npm ci');
  process.exit(1);
}
const cache = `${main}.cache`;
const { script, digest } = loadScript();
const program = { exports: {} };
script.runInThisContext()(program.exports, createRequire(main), program, main);
await program.exports.run(process.argv.slice(2), onServing);

async function onServing() {
  const setFlags = await flagsSetter();
  setFlags('server');
  if (script.cachedDataRejected === false) return;
  const write = () => {
    // V8 takes the code only where it runs with the flags that it was made with.
    setFlags('default');
    writeCache(script.createCachedData());
    setFlags('server');
  };
  // What was not called yet is not compiled yet: now it is what a start needs, at the end what requests need, too.
  setTimeout(() => {
    write();
    process.once('exit', write);
  }, 500).unref();
}

// Compiling takes 70 of 230 ms of a start, so its result is kept beside the program, where only those can write who could
// change the program too. V8 refuses what another version of it has made.
function loadScript() {
  const source = readFileSync(main);
  const digest = createHash('sha256').update(source);
  const cachedData = readCache(digest);
  return { script: new Script(source.toString('latin1'), { filename: main, cachedData }), digest };
}

/**
 * Flags of V8 for a server, set when all is loaded: with flags of ours, Node's own code cache would be refused, too.
 * - No object is made among the old ones. V8 takes what lives during a few requests for long-lived, and what is made old keeps
 *   alive what it refers to: 4 ms a collection where 1 is enough, a sixth of a small request's processor time.
 * - V8 11 optimizes undici's parser of replies with the first reply, which leaves 10 MiB behind; later versions wait until
 *   this many bytes of it ran, some ten replies.
 */
async function flagsSetter() {
  const { setFlagsFromString } = await import('node:v8');
  const flags = {
    default: ['--allocation-site-pretenuring'],
    server: ['--no-allocation-site-pretenuring'],
  };
  if (major === 20) {
    flags.default.push('--wasm-tiering-budget=1800000');
    flags.server.push('--wasm-tiering-budget=13000000');
  }
  return (which) => {
    for (const flag of flags[which]) setFlagsFromString(flag);
  };
}

/** Before the code stands a digest of program and code: V8 looks at their lengths alone, and dies of a page that a disk lost. */
function readCache(digest) {
  try {
    const file = readFileSync(cache);
    const code = file.subarray(DIGEST_BYTES);
    const wanted = digest.copy().update(code).digest();
    return wanted.equals(file.subarray(0, DIGEST_BYTES)) ? code : undefined;
  } catch {
    return undefined;
  }
}

function writeCache(code) {
  const temporary = `${cache}.${process.pid}`;
  try {
    const wanted = digest.copy().update(code).digest();
    writeFileSync(temporary, Buffer.concat([wanted, code]), { flush: true });
    renameSync(temporary, cache);
  } catch {
    // A full disk, or installed where this user may not write: each start compiles anew.
    rmSync(temporary, { force: true });
  }
}
