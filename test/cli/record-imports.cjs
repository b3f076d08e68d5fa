// Loaded with `node --require`: writes what the process loaded, Node's own parts and scripts, to the file named in RECORD_IMPORTS.
'use strict';
const { writeFileSync } = require('node:fs');
const process = require('node:process');

process.on('exit', () =>
  writeFileSync(
    process.env.RECORD_IMPORTS,
    [...process.moduleLoadList, ...Object.keys(require.cache)].join('\n'),
  ),
);
