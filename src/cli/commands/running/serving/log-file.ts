// The log file of a gateway in the background: one for each database, bounded, with one older file beside it.
import { createHash } from 'node:crypto';
import { closeSync, fchmodSync, fstatSync, openSync, renameSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';
import type { Config } from '../../../../config/config.ts';
import { makeFolder } from '../../../../folders.ts';
import type { Environment } from '../../../../environment.ts';

/** Of the current file. The older one, `.1`, has the same bound. */
export const MAX_LOG_BYTES = 10 * 1024 * 1024;

/** Bounded, with one older file beside it. */
export interface LogFile {
  /** Throws the system's error if the disk is full. */
  write(text: string, done?: () => void): void;
  close(): void;
}

/** One file for each database, because one gateway in the background runs on each. */
export async function logFilePath({ database }: Config, env: Environment): Promise<string> {
  const { defaultPaths } = await import('../../../../config/load.ts');
  const defaults = defaultPaths(env);
  if (database === defaults.database) return path.join(defaults.log, 'gateway.log');
  const hash = createHash('sha256').update(database).digest('hex').slice(0, 8);
  return path.join(defaults.log, `gateway-${hash}.log`);
}

/** Creates the file, readable by its owner alone, and its folder. */
export function openToAppend(file: string): number {
  makeFolder(path.dirname(file));
  const descriptor = openSync(file, 'a', 0o600);
  if ((fstatSync(descriptor).mode & 0o077) !== 0) fchmodSync(descriptor, 0o600);
  return descriptor;
}

/** Each write is complete before the next, and a rename moves the full file away, so that no line is in two files or in none. */
export function openLogFile(file: string, maxBytes = MAX_LOG_BYTES): LogFile {
  let descriptor = openToAppend(file);
  let { size } = fstatSync(descriptor);
  /** A failed write left a part of a line. */
  let torn = false;

  function rotate(): void {
    // Another gateway may have renamed the file already, or a person may have removed it.
    if (isSame(descriptor, file)) renameSync(file, `${file}.1`);
    const next = openToAppend(file);
    closeSync(descriptor);
    descriptor = next;
    ({ size } = fstatSync(descriptor));
  }

  return {
    write(text, done) {
      const bytes = Buffer.from(torn ? `\n${text}` : text, 'utf8');
      if (size > 0 && size + bytes.length > maxBytes) rotate();
      torn = true;
      for (let at = 0; at < bytes.length;) {
        const written = writeSync(descriptor, bytes, at);
        at += written;
        size += written;
      }
      torn = false;
      done?.();
    },
    close: () => closeSync(descriptor),
  };
}

function isSame(descriptor: number, file: string): boolean {
  const [mine, current] = [fstatSync(descriptor), statSync(file, { throwIfNoEntry: false })];
  return mine.ino === current?.ino && mine.dev === current.dev;
}
