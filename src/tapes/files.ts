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
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
  for (const file of files.sort()) {
    yield { name: path.relative(folder, file).replaceAll(path.sep, '/'), text: readFileSync(file, 'utf8') };
  }
}
