// A file that a command writes, whole or not at all: it has the name NAME.part until it is complete. A signal leaves nothing.
import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from 'node:fs';
import { CancellationSource, type Cancellation } from '../../../cancellation.ts';
import { CliError } from '../../../cli-error.ts';
import type { Context } from '../../context.ts';
import { fileFault, isSystemError } from '../../args/file-faults.ts';

/** `write` fills the empty file `part`, and ends soon after the cancellation. Resolves to false if a signal has ended the process.
 *  Rejects with CliError, and as `write` does. */
export async function writeNewFile(
  path: string,
  context: Pick<Context, 'onSignal' | 'die'>,
  write: (part: string, cancellation: Cancellation) => Promise<void>,
): Promise<boolean> {
  if (existsSync(path)) throw taken(path);
  const part = `${path}.part`;
  makePart(part, path);
  const source = new CancellationSource();
  let signal: NodeJS.Signals | undefined;
  const forget = context.onSignal((name) => {
    // The second time, `write` does not end.
    if (signal !== undefined) end(name);
    signal = name;
    source.cancel(new Error(`ended by ${name}`));
  });
  function end(name: NodeJS.Signals): void {
    // SQLite has a journal beside a file that it writes.
    for (const file of [part, `${part}-journal`]) rmSync(file, { force: true });
    context.die(name);
  }
  try {
    await write(part, source);
    if (signal === undefined) publish(part, path);
  } catch (error) {
    rmSync(part, { force: true });
    if (signal === undefined) throw isSystemError(error) ? fileFault(path, 'written', error) : error;
  } finally {
    forget();
  }
  if (signal !== undefined) end(signal);
  return signal === undefined;
}

/** Only its owner may read it: accounts and usage concern nobody else. */
function makePart(part: string, path: string): void {
  try {
    closeSync(openSync(part, 'wx', 0o600));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw fileFault(path, 'written', error);
    const why = 'another command writes it, or one was killed; if none runs, remove it';
    throw new CliError(`the file ${part} exists: ${why}`);
  }
}

/** Gives the file its name when its bytes are on the disk. A file that has taken the name meanwhile stays. */
function publish(part: string, path: string): void {
  const descriptor = openSync(part, 'r+');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  try {
    linkSync(part, path);
    rmSync(part);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw taken(path);
    // A file system without links.
    renameSync(part, path);
  }
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

function taken(path: string): CliError {
  return new CliError(`the file ${path} exists; name a new one`);
}
