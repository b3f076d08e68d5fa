// Loaded with `node --import`: writes what the process loaded, Node's own parts and scripts, to the file named in RECORD_IMPORTS.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import process from 'node:process';

const { cache } = createRequire(import.meta.url);
process.on('exit', () =>
  writeFileSync(process.env.RECORD_IMPORTS, [...process.moduleLoadList, ...Object.keys(cache)].join('\n')),
);
