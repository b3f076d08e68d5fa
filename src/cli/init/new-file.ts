// Writes a file that must not exist yet: first under another name beside it, so that nobody ever reads a part of it.
import {
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  linkSync,
  openSync,
  rmSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { makeFolder } from '../../folders.ts';
import { CliError } from '../../cli-error.ts';

export interface NewFile {
  /** Where the text stands until `publish`. */
  draft: string;
  /** Gives the file its name. Throws CliError if there is one of that name by now. */
  publish(): void;
  /** Removes the draft, and the file if it was published and `keep` was not called. */
  end(): void;
  keep(): void;
}

const WHY: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write to its folder',
  EPERM: 'this user may not write to its folder',
  EROFS: 'its disk is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is reached',
  ENOTDIR: 'a part of its path is not a folder',
  EEXIST: 'a part of its path is not a folder',
  ENAMETOOLONG: 'its name is too long',
};

export function existingFile(file: string): CliError {
  return new CliError(
    `${file} exists already and stays as it is; change it, or name another file with --file PATH`,
  );
}

/** Only this user can read it. */
export function draftFile(file: string, text: string): NewFile {
  const draft = `${file}.${process.pid}.new`;
  const failed = (error: unknown): CliError => {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    return new CliError(
      `${file} could not be written: ${WHY[code] ?? code}; name another file with --file PATH`,
      1,
      error,
    );
  };
  try {
    makeFolder(path.dirname(file));
    const descriptor = openSync(draft, 'wx', 0o600);
    try {
      writeSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    remove(draft);
    throw failed(error);
  }
  /** What `end` does. */
  let removesFile = false;
  return {
    draft,
    publish() {
      try {
        linkOrCopy(draft, file);
      } catch (error) {
        throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? existingFile(file) : failed(error);
      }
      removesFile = true;
    },
    end() {
      remove(draft);
      if (removesFile) remove(file);
    },
    keep() {
      removesFile = false;
    },
  };
}

function remove(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // Its folder is no folder, or may not be written: nothing was written there either.
  }
}

/** A link fails if the name is taken; a rename would replace the other file. Some file systems have no links. */
function linkOrCopy(draft: string, file: string): void {
  try {
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error;
    copyFileSync(draft, file, constants.COPYFILE_EXCL);
  }
}
