#!/usr/bin/env node
// The executable: checks the Node version, turns on Node's compile cache, runs the bundle. It is CommonJS, because Node's loader
// of ES modules would take a tenth of the processor time of a small command.
'use strict';
const { existsSync } = require('node:fs');
const nodeModule = require('node:module');
const { join } = require('node:path');

const OLDEST = [20, 20, 2];
const version = process.versions.node.split('.').map(Number);
const at = OLDEST.findIndex((least, index) => version[index] !== least);
if (at >= 0 && version[at] < OLDEST[at]) {
  console.error(`gateway needs Node ${OLDEST.join('.')} or newer; this is ${process.versions.node}`);
  process.exit(1);
}
const main = join(__dirname, '../dist/cli/main.cjs');
if (!existsSync(main)) {
  console.error('gateway is not built yet; run: npm ci');
  process.exit(1);
}
if (nodeModule.enableCompileCache) {
  const { compileCache } = require('./compile-cache.js');
  const cache = compileCache(process.env);
  if (cache !== undefined) nodeModule.enableCompileCache(cache);
}
void require(main).run(process.argv.slice(2));
