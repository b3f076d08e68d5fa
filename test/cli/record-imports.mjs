// Loaded with `node --import`: writes what the process loaded of Node itself to the file named in RECORD_IMPORTS.
import { writeFileSync } from 'node:fs';
import process from 'node:process';

process.on('exit', () => writeFileSync(process.env.RECORD_IMPORTS, process.moduleLoadList.join('\n')));
