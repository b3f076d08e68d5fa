// What `connect --write` did: one record for each tool in the user's data folder, with the bytes of the files before, so that
// `connect --undo` can restore them.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../clock.ts';
import { makeFolder } from '../folders.ts';
import { CliError } from '../cli-error.ts';
import type { Format, OwnValue } from './texts/changes.ts';
import { sha256 } from './texts/changes.ts';
import { readFileState, replaceFile } from './files.ts';
import { processAt } from '../processes.ts';

export interface FileRecord {
  path: string;
  format: Format;
  /** The file before; null: there was none. */
  before: { backup: string; sha256: string; mode: number } | null;
  /** SHA-256 of the bytes that were written. */
  after: string;
  /** Folders that were created for it, outermost first. */
  folders: string[];
  own: OwnValue[];
}

export interface Connection {
  version: 1;
  tool: string;
  at: string;
  url: string;
  model: string;
  /** The key that was written; null: it is not in this database. `made`: --write created it. */
  key: { id: string; made: boolean } | null;
  files: FileRecord[];
}

const VERSION = 1;
const LONGEST_WAIT_MS = 10_000;
const LOOK_MS = 20;

export interface Connections {
  /** The names of the tools that have a record. */
  tools(): string[];
  read(tool: string): Connection | undefined;
  write(connection: Connection): void;
  /** Removes backups that the record does not name. */
  sweep(connection: Connection): void;
  /** Returns the name of the backup. */
  backUp(tool: string, bytes: Buffer): string;
  bytesOf(backup: string): Buffer;
  remove(tool: string): void;
  /** One at a time over all processes. Rejects with CliError if another one does not end. */
  alone<Result>(action: () => Promise<Result>): Promise<Result>;
}

/** `folder`: of this user alone; created at the first write. */
export function openConnections(folder: string): Connections {
  const fileOf = (tool: string): string => path.join(folder, `${tool}.json`);
  const put = (file: string, bytes: Buffer): void => {
    makeFolder(folder);
    replaceFile({ path: file, target: file, content: undefined }, bytes, 0o600);
  };
  const backupsOf = (tool: string): string[] =>
    namesIn(folder).filter((name) => name.startsWith(`${tool}.`) && name.endsWith('.backup'));
  const lock = path.join(folder, 'lock');
  return {
    async alone(action) {
      makeFolder(folder);
      for (const end = systemClock.monotonic() + LONGEST_WAIT_MS; !takes(lock); await sleep(LOOK_MS)) {
        if (systemClock.monotonic() < end) continue;
        throw new CliError(`another gateway connect is at work; if none is, remove ${lock}`);
      }
      try {
        return await action();
      } finally {
        rmSync(lock, { force: true });
      }
    },
    tools: () =>
      namesIn(folder)
        .filter((name) => name.endsWith('.json'))
        .map((name) => name.slice(0, -'.json'.length)),
    read(tool) {
      const { content } = readFileState(fileOf(tool));
      return content && parseConnection(content.bytes, fileOf(tool));
    },
    write(connection) {
      put(fileOf(connection.tool), Buffer.from(`${JSON.stringify(connection, null, 2)}\n`));
    },
    sweep(connection) {
      const used = new Set(connection.files.map(({ before }) => before?.backup));
      for (const name of backupsOf(connection.tool))
        if (!used.has(name)) rmSync(path.join(folder, name), { force: true });
    },
    backUp(tool, bytes) {
      const name = `${tool}.${sha256(bytes).slice(0, 16)}.backup`;
      put(path.join(folder, name), bytes);
      return name;
    },
    bytesOf: (backup) => readFileSync(path.join(folder, backup)),
    remove(tool) {
      rmSync(fileOf(tool), { force: true });
      for (const name of backupsOf(tool)) rmSync(path.join(folder, name), { force: true });
    },
  };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new CliError(`the folder ${folder} cannot be read: ${(error as Error).message}`, 1, error);
  }
}

/** Takes the lock, if no process that runs has it. */
function takes(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
      throw new CliError(`cannot write ${lock}: ${(error as Error).message}`);
    // A process that has just created the file has not written its pid yet.
    const pid = Number(readFileSync(lock, 'utf8'));
    if (pid !== 0 && processAt(pid) === undefined) rmSync(lock, { force: true });
    return false;
  }
}

function parseConnection(bytes: Buffer, file: string): Connection {
  try {
    const value = JSON.parse(bytes.toString('utf8')) as Partial<Connection>;
    if (value.version === VERSION && Array.isArray(value.files)) return value as Connection;
  } catch {
    // The same error as for another version.
  }
  throw new CliError(`${file} is not a record of this version; move it away to connect anew`);
}
