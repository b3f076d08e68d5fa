#!/usr/bin/env node
// Checks the Node version, then hands over to the compiled program.
import { existsSync } from 'node:fs';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`gateway needs Node 20.19 or newer; this is ${process.versions.node}`);
  process.exit(1);
}
const main = new URL('../dist/cli/main.js', import.meta.url);
if (!existsSync(main)) {
  console.error('gateway is not built yet; run: npm ci');
  process.exit(1);
}
const { run } = await import(main.href);
await run(process.argv.slice(2));
