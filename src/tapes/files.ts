// Every file of a tape with its text, for a look at all that would be given away.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { readTape } from './read.ts';

export interface TapeFile {
  /** Below the tape's folder: `0001/client-request.json`. */
  name: string;
  text: string;
}

/** Throws CliError if the folder is no tape. Also files that are no part of a tape: they would be given away with it. */
export function* filesOfTape(folder: string): Iterable<TapeFile> {
  readTape(folder);
  for (const file of filesBelow(folder).sort()) {
    yield { name: path.relative(folder, file).replaceAll(path.sep, '/'), text: readFileSync(file, 'utf8') };
  }
}

/** Not `readdirSync` with `recursive`: from Node 22 on, it goes into linked folders. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const whole = path.join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(whole);
    return entry.isFile() ? [whole] : [];
  });
}
