// Usage rows that the database could not take, in files of the data folder, until a gateway on that folder writes them. A batch
// has its writer and number in the file as well, so that a file which is written twice counts once.
import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../clock.ts';
import { makeFolder } from '../folders.ts';
import type { Logger } from '../log.ts';
import { messageOf } from '../errors.ts';
import { StoreError, type Store } from './store.ts';
import type { UsageRow } from './usage-columns.ts';

const VERSION = 1;
const MAX_BYTES = 64 * 1024 * 1024;
const TYPE = 'usage-spool';
const SUFFIX = '.jsonl';
/** Of a file that is being written. */
const PART = '.part';
/** After this time the process that wrote a part is taken for dead. */
const ABANDONED_MS = 60_000;

/** The first line of a file. */
interface Head {
  type: typeof TYPE;
  version: typeof VERSION;
  /** `createdAt` of the database. */
  database: number;
  writer: string;
}

/** Of one writer, ascending. */
export interface NumberedRows {
  number: number;
  rows: readonly UsageRow[];
}

export interface UsageSpool {
  /** Writes the batches, oldest first, to a new file, as far as there is room. Resolves to the number of batches in it, 0 if it
   *  cannot be written; the log has the reason. A writer whose batches are in a file must not number others. */
  save(writer: string, batches: readonly NumberedRows[]): Promise<number>;
  /** Writes the rows of all files to the database and removes the files. Never rejects: what fails is left for the next time. */
  drain(): Promise<void>;
  /** Ends `drain` after its batch. */
  close(): Promise<void>;
}

interface SpoolOptions {
  store: Pick<Store, 'location' | 'createdAt' | 'recordUsage'>;
  /** For a database that is not a file: files of SQLite lie beside it. */
  dataFolder: string;
  clock: Clock;
  log: Logger;
  /** Of all files of the database. */
  maxBytes?: number;
}

export function createUsageSpool(options: SpoolOptions): UsageSpool {
  const { store, clock, log, maxBytes = MAX_BYTES } = options;
  const place = spoolPlace(store.location, options.dataFolder);
  const leftAlone = new Set<string>();
  let failing = false;
  let closed = false;
  let draining: Promise<void> | undefined;

  async function drainAll(): Promise<void> {
    for (const { file } of drainable(place, clock.now())) {
      if (closed) return;
      if (leftAlone.has(file)) continue;
      try {
        const counts = await drainFile(file, store.createdAt, record);
        await rm(file, { force: true });
        failing = false;
        log.info('the usage rows of a spool file were written', { file, ...counts });
      } catch (error) {
        if (closed) return;
        if (error instanceof StoreError) return reportWaiting(file, error);
        // Another gateway on the folder may have written it.
        if (!isMissing(error)) leaveAlone(file, error);
      }
    }
  }

  async function record(writer: string, { number, rows }: NumberedRows): Promise<void> {
    if (closed) throw new Error('the gateway ends');
    await store.recordUsage(rows, { writer, number });
  }

  function reportWaiting(file: string, error: StoreError): void {
    if (!failing)
      log.warn('the usage rows of a spool file cannot be written; they wait', {
        file,
        reason: error.message,
      });
    failing = true;
  }

  function leaveAlone(file: string, error: unknown): void {
    leftAlone.add(file);
    log.warn('a spool file of usage rows is left alone', { file, reason: messageOf(error) });
  }

  return {
    async save(writer, batches) {
      try {
        makeFolder(place.folder);
        const used = filesOf(place, Infinity).reduce((sum, { size }) => sum + size, 0);
        const base = path.join(place.folder, place.prefix + writer);
        const head: Head = { type: TYPE, version: VERSION, database: store.createdAt, writer };
        const saved = await saveFile(base, head, batches, maxBytes - used);
        const rows = batches.slice(0, saved).reduce((sum, batch) => sum + batch.rows.length, 0);
        if (saved > 0) log.warn('usage rows wait in a spool file', { file: base + SUFFIX, rows });
        return saved;
      } catch (error) {
        log.error('usage rows cannot be written to a spool file', { reason: messageOf(error) });
        return 0;
      }
    },
    drain: () => (draining ??= drainAll().finally(() => (draining = undefined))),
    async close() {
      closed = true;
      await draining;
    },
  };
}

interface Place {
  folder: string;
  /** Begins the name of each file of the database; the writer follows. */
  prefix: string;
}

/** Several databases may share a folder. */
function spoolPlace(location: string, dataFolder: string): Place {
  if (path.isAbsolute(location)) {
    return { folder: path.dirname(location), prefix: `${path.basename(location)}.usage-` };
  }
  const hash = createHash('sha256').update(location).digest('hex').slice(0, 12);
  return { folder: dataFolder, prefix: `postgres-${hash}.usage-` };
}

/** Oldest first. Parts only of processes that do not write them any more at `now`. */
function filesOf({ folder, prefix }: Place, now: number): { file: string; size: number }[] {
  const found: { file: string; size: number; at: number }[] = [];
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(prefix) || !(name.endsWith(SUFFIX) || name.endsWith(PART))) continue;
    const file = path.join(folder, name);
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat?.isFile() !== true) continue;
    if (name.endsWith(SUFFIX) || stat.mtimeMs < now - ABANDONED_MS) {
      found.push({ file, size: stat.size, at: stat.mtimeMs });
    }
  }
  return found.sort((a, b) => a.at - b.at);
}

function drainable(place: Place, now: number): { file: string }[] {
  try {
    return filesOf(place, now);
  } catch {
    // The folder does not exist, or cannot be read.
    return [];
  }
}

/** Other processes see the file when it is complete. Resolves to the number of batches in it. */
async function saveFile(
  base: string,
  head: Head,
  batches: readonly NumberedRows[],
  room: number,
): Promise<number> {
  const part = base + PART;
  const handle = await open(part, 'wx', 0o600);
  try {
    const saved = await append(handle, head, batches, room);
    await handle.sync();
    await handle.close();
    if (saved > 0) await rename(part, base + SUFFIX);
    else await rm(part);
    return saved;
  } catch (error) {
    await handle.close();
    await rm(part, { force: true });
    throw error;
  }
}

async function append(
  handle: FileHandle,
  head: Head,
  batches: readonly NumberedRows[],
  room: number,
): Promise<number> {
  let left = room;
  const write = async (text: string): Promise<boolean> => {
    const bytes = Buffer.from(text);
    left -= bytes.length;
    if (left >= 0) await handle.appendFile(bytes);
    return left >= 0;
  };
  let saved = 0;
  if (!(await write(lineOf(head)))) return 0;
  for (const { number, rows } of batches) {
    if (!(await write(rows.map((row) => lineOf({ batch: number, row })).join('')))) break;
    saved += 1;
  }
  return saved;
}

const lineOf = (value: object): string => `${JSON.stringify(value)}\n`;

/** A line that a crash cut off is skipped. */
async function drainFile(
  file: string,
  database: number,
  record: (writer: string, batch: NumberedRows) => Promise<void>,
): Promise<{ rows: number; unreadable: number }> {
  const handle = await open(file);
  let writer: string | undefined;
  let batch: { number: number; rows: UsageRow[] } | undefined;
  const counts = { rows: 0, unreadable: 0 };
  const flush = async (): Promise<void> => {
    if (batch === undefined || writer === undefined) return;
    await record(writer, batch);
    counts.rows += batch.rows.length;
  };
  try {
    for await (const line of handle.readLines()) {
      if (writer === undefined) {
        writer = writerOf(line, database);
        continue;
      }
      const entry = entryOf(line);
      if (entry === undefined) counts.unreadable += 1;
      else if (entry.batch === batch?.number) batch.rows.push(entry.row);
      else {
        await flush();
        batch = { number: entry.batch, rows: [entry.row] };
      }
    }
    await flush();
  } finally {
    await handle.close();
  }
  return counts;
}

/** Throws if the first line is not that of this version, or of another database. */
function writerOf(line: string, database: number): string {
  const head = parsed(line) ?? {};
  const { writer } = head;
  if (head['type'] !== TYPE || head['version'] !== VERSION || typeof writer !== 'string') {
    throw new Error(`it is not a spool file of version ${VERSION}`);
  }
  if (head['database'] === database) return writer;
  throw new Error('it is of another database, which was at the same place');
}

function entryOf(line: string): { batch: number; row: UsageRow } | undefined {
  const { batch, row } = parsed(line) ?? {};
  if (typeof batch !== 'number' || typeof row !== 'object' || row === null) return undefined;
  return { batch, row: row as UsageRow };
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
