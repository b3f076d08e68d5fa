// Opens the database of a command, which is closed however the command ends.
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { NO_STORE, type StoreReader } from '../store/reader.ts';
import { StoreError, type Store } from '../store/store.ts';
import type { Context } from './context.ts';
import { readConfig, sayRead } from './read-config.ts';
import { say } from './ui/lines.ts';
import { clean, shortened } from './ui/style.ts';

export async function withStore<Result>(
  command: Command,
  context: Context,
  use: (store: Store, config: Config) => Promise<Result>,
): Promise<Result> {
  return withDatabase(await readConfig(command, context), use);
}

/** If the database cannot be used, the error names the line of the file that sets it. */
export async function openDatabase({ database, databaseFrom }: Config): Promise<Store> {
  const { openStore } = await import('../store/open.ts');
  try {
    return await openStore(database);
  } catch (error) {
    if (!(error instanceof StoreError) || databaseFrom === undefined) throw error;
    throw new StoreError(error.kind, `${databaseFrom}: ${error.message}`, error);
  }
}

export async function withDatabase<Result>(
  config: Config,
  use: (store: Store, config: Config) => Promise<Result>,
): Promise<Result> {
  const store = await openDatabase(config);
  try {
    return await use(store, config);
  } finally {
    await store.close();
  }
}

/** For commands that only read: creates no database, and prints on stderr which one it reads. */
export async function withReadStore<Result>(
  command: Command,
  context: Context,
  use: (store: StoreReader, config: Config) => Promise<Result>,
): Promise<Result> {
  const config = await readConfig(command, context);
  await sayRead(context, config, { database: true });
  const { databaseExists } = await import('../store/open.ts');
  if (databaseExists(config.database)) return withDatabase(config, use);
  say(
    context.stderr,
    shortened(
      `the database ${clean(config.database)} does not exist yet; gateway serve or gateway keys create creates it`,
    ),
  );
  return use(NO_STORE, config);
}

/** Every command that writes prints its database on stderr, so that the user notices a wrong one. */
export function sayWritten(context: Context, store: Pick<Store, 'location'>): void {
  say(context.stderr, `written to ${clean(store.location)}`);
}
