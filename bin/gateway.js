#!/usr/bin/env node
// The executable: checks the Node version, turns on Node's compile cache, runs the bundle.
import { existsSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { compileCache } from './compile-cache.js';

const OLDEST = [20, 20, 2];
const version = process.versions.node.split('.').map(Number);
const at = OLDEST.findIndex((least, index) => version[index] !== least);
if (at >= 0 && version[at] < OLDEST[at]) {
  console.error(`gateway needs Node ${OLDEST.join('.')} or newer; this is ${process.versions.node}`);
  process.exit(1);
}
const main = fileURLToPath(new URL('../dist/cli/main.cjs', import.meta.url));
if (!existsSync(main)) {
  console.error('gateway is not built yet; run: npm ci');
  process.exit(1);
}
const cache = module.enableCompileCache && compileCache(process.env);
if (cache !== undefined) module.enableCompileCache(cache);
await createRequire(main)(main).run(process.argv.slice(2));
