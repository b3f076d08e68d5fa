// Writes a tape: a folder of files that only its owner can read. A request's `exchange.json` is written last: without it, a reader
// takes the request as not there.
import { lstatSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { CliError } from '../../cli-error.ts';
import { messageOf } from '../../errors.ts';
import { makeFolder } from '../../folders.ts';
import { EXCHANGE_FILE, EXCHANGE_FOLDER, HEAD_FILE, type ExchangeHead, type TapeHead } from '../format.ts';

export interface TapeWriter {
  readonly folder: string;
  /** Throws the error of the file system. */
  head(head: TapeHead): void;
  exchange(number: string, head: ExchangeHead, files: ReadonlyMap<string, string>): void;
}

/** The folder of a new tape. Throws CliError if something has its name, unless it is a tape that is to be replaced. */
export function createTape(folder: string, head: TapeHead, how: { replace: boolean }): TapeWriter {
  try {
    if (lstatSync(folder, { throwIfNoEntry: false }) !== undefined) makeRoom(folder, how);
    makeFolder(path.dirname(folder), 0o755);
    mkdirSync(folder, { mode: 0o700 });
    const writer = openTape(folder);
    writer.head(head);
    return writer;
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`the tape ${folder} can't be written: ${messageOf(error)}`);
  }
}

/** Adds to a tape that is there. */
export function openTape(folder: string): TapeWriter {
  return {
    folder,
    head(head) {
      const file = path.join(folder, HEAD_FILE);
      writeFileSync(`${file}.part`, `${JSON.stringify(head, null, 2)}\n`, { mode: 0o600 });
      renameSync(`${file}.part`, file);
    },
    exchange(number, head, files) {
      const own = path.join(folder, number);
      mkdirSync(own, { mode: 0o700 });
      try {
        for (const [name, text] of files)
          writeFileSync(path.join(own, name), text, { mode: 0o600, flag: 'wx' });
        const last = path.join(own, EXCHANGE_FILE);
        writeFileSync(last, `${JSON.stringify(head, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
      } catch (error) {
        rmSync(own, { recursive: true, force: true });
        throw error;
      }
    },
  };
}

function makeRoom(folder: string, { replace }: { replace: boolean }): void {
  const isTape = lstatSync(path.join(folder, HEAD_FILE), { throwIfNoEntry: false })?.isFile() === true;
  if (!isTape) throw new CliError(`${folder} exists and is no tape: choose another name, or --to FOLDER`);
  if (!replace) throw new CliError(`the tape ${folder} exists: choose another name, or --replace it`);
  const strange = readdirSync(folder).filter(
    (name) => !EXCHANGE_FOLDER.test(name) && !name.startsWith(HEAD_FILE),
  );
  if (strange.length > 0) {
    throw new CliError(`${folder} holds ${strange[0] ?? ''}, which is no part of a tape: it is not replaced`);
  }
  rmSync(folder, { recursive: true });
}
