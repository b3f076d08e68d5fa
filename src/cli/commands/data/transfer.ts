// `gateway export` writes the database as JSON lines, `gateway import` reads them into an empty one. `gateway backup` copies a file.
import { once } from 'node:events';
import { closeSync, existsSync, openSync, statSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Cancellation } from '../../../cancellation.ts';
import type { Config } from '../../../config/config.ts';
import { plural } from '../../../plural.ts';
import type { AuditEntry } from '../../../store/admin/admin-records.ts';
import type { Store } from '../../../store/store.ts';
import { CliError } from '../../../cli-error.ts';
import { version, type Context, type Terminal } from '../../context.ts';
import { fileFault } from '../../args/file-faults.ts';
import { say } from '../../ui/lines.ts';
import { clean, formatCount } from '../../ui/style.ts';
import { readConfig } from '../../read-config.ts';
import { openDatabase, sayWritten } from '../../database.ts';
import { auditEntry } from '../../audited.ts';
import { exportLines, importedRecords, noCounts, type Counts } from './format.ts';
import { writeNewFile } from './new-file.ts';

const STANDARD_STREAM = '-';

export function defineExport(command: Command, context: Context): void {
  command
    .argument('[file]', 'a new file; - or nothing: standard output', STANDARD_STREAM)
    .addHelpText(
      'after',
      '\nThe file holds accounts, keys (as hashes), hourly counts and usage; not refused requests, stored answers,\nadmin tokens and the audit log.' +
        '\n\nExamples:\n  gateway export gateway.jsonl\n  gateway export | gzip > gateway.jsonl.gz',
    )
    .action(async (file: string, _options: unknown, self: Command) =>
      withExisting(self, context, (store) => exportTo(file, store, context)),
    );
}

export function defineImport(command: Command, context: Context): void {
  command
    .argument('<file>', 'a file of gateway export; -: standard input')
    .addHelpText(
      'after',
      '\nThe database must be empty. All of the file is written, or nothing.' +
        '\n\nExamples:\n  gateway import gateway.jsonl --database new.db\n  gunzip -c gateway.jsonl.gz | gateway import - --database new.db',
    )
    .action(async (file: string, _options: unknown, self: Command) => {
      const store = await openDatabase(await readConfig(self, context));
      try {
        await importFrom(file, store, context);
      } finally {
        await store.close();
      }
    });
}

export function defineBackup(command: Command, context: Context): void {
  command
    .argument('<file>', 'a new file')
    .addHelpText(
      'after',
      '\nServers may run meanwhile.\n\nExample:\n  gateway backup /backups/gateway-2026-11-22.db',
    )
    .action(async (file: string, _options: unknown, self: Command) =>
      withExisting(self, context, (store) => backUp(resolve(context.cwd, file), store, context)),
    );
}

/** Opens the database of the configuration; does not create one. */
async function withExisting(
  command: Command,
  context: Context,
  use: (store: Store, config: Config) => Promise<void>,
): Promise<void> {
  const config = await readConfig(command, context);
  const { databaseExists } = await import('../../../store/open.ts');
  if (!databaseExists(config.database))
    throw new CliError(`the database ${config.database} does not exist; name another with --database`);
  const store = await openDatabase(config);
  try {
    await use(store, config);
  } finally {
    await store.close();
  }
}

async function exportTo(file: string, store: Store, context: Context): Promise<void> {
  const counts = noCounts();
  const head = { created_at: new Date(context.clock.now()).toISOString(), gateway: version() };
  const lines = exportLines(store.exportRecords(), head, counts);
  if (file === STANDARD_STREAM) {
    for await (const text of lines) await written(context.stdout, text);
    say(context.stderr, `exported ${countsText(counts)}`);
    return;
  }
  const path = resolve(context.cwd, file);
  const isWritten = await writeNewFile(path, context, async (part, cancellation) => {
    const descriptor = openSync(part, 'a');
    try {
      for await (const text of lines) {
        writeSync(descriptor, text);
        // A signal is seen between two batches.
        await nextTurn();
        if (cancellation.reason !== undefined) throw cancellation.reason;
      }
    } finally {
      closeSync(descriptor);
    }
  });
  if (isWritten) say(context.stdout, `exported ${countsText(counts)} to ${clean(path)}`);
}

/** Waits until a slow reader has read. */
async function written(stdout: Terminal, text: string): Promise<void> {
  if (stdout.write(text) === false && stdout.stream !== undefined) await once(stdout.stream, 'drain');
}

async function importFrom(file: string, store: Store, context: Context): Promise<void> {
  const counts = noCounts();
  const name = file === STANDARD_STREAM ? 'standard input' : file;
  const lines = withoutMark(linesOf(file, context));
  const audit = (): Promise<AuditEntry> => auditEntry(context, { action: 'import', detail: counts });
  const records = importedRecords(lines, name, counts);
  const done = await store.importRecords(records, audit).catch((error: unknown) => {
    if (
      !(error instanceof Error) ||
      !('code' in error) ||
      !String(error.code).startsWith('SQLITE_CONSTRAINT')
    )
      throw error;
    const how = 'it names an account or a key twice, or a key without its account';
    throw new CliError(`${name} is not a whole export: ${how}; nothing was imported`, 1, error);
  });
  if (!done) {
    const remedy = 'name a new one with --database';
    throw new CliError(`the database ${store.location} is not empty; ${remedy}; nothing was imported`);
  }
  say(context.stdout, `imported ${countsText(counts)}`);
  sayWritten(context, store);
}

/** Opens the file only when its lines are asked for: those that are read before are lost, and a database server takes its time. */
async function* linesOf(file: string, { cwd, stdin }: Context): AsyncGenerator<string> {
  if (file === STANDARD_STREAM) {
    if (stdin === undefined) throw new CliError('there is no standard input');
    yield* createInterface({ input: stdin(), crlfDelay: Infinity });
    return;
  }
  try {
    yield* (await open(resolve(cwd, file))).readLines();
  } catch (error) {
    throw fileFault(file, 'read', error);
  }
}

/** Editors and PowerShell put a byte order mark before the first line. */
async function* withoutMark(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let isFirst = true;
  for await (const line of lines) {
    yield isFirst ? line.replace(/^\ufeff/, '') : line;
    isFirst = false;
  }
}

function countsText(counts: Counts): string {
  return [
    plural(counts.account, 'account', formatCount(counts.account)),
    plural(counts.key, 'key', formatCount(counts.key)),
    plural(counts.hour, 'hourly count', formatCount(counts.hour)),
    plural(counts.usage, 'request', formatCount(counts.usage)),
  ].join(', ');
}

async function backUp(path: string, store: Store, context: Context): Promise<void> {
  const { stdout, stderr } = context;
  const copy = (part: string, cancellation: Cancellation): Promise<void> => store.backup(part, cancellation);
  if (!(await writeNewFile(path, context, copy))) return;
  const size = formatCount(statSync(path).size);
  say(stdout, `copied ${clean(store.location)} to ${clean(path)} (${size} bytes)`);
  const key = `${store.location}.key`;
  if (existsSync(key))
    say(
      stderr,
      `stored answers in it are encrypted: to read them elsewhere, also copy the key file ${clean(key)}`,
    );
}
