// Loaded with `node --import`: writes the address of every imported module to the file named in RECORD_IMPORTS.
import { register } from 'node:module';

const hook = `
  import { appendFileSync } from 'node:fs';
  export async function load(url, context, next) {
    appendFileSync(process.env.RECORD_IMPORTS, url + '\\n');
    return next(url, context);
  }
`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
