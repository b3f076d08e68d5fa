// Starts a tool in the terminal of this process: its streams, its signals, its exit code.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { constants as system, tmpdir } from 'node:os';
import path from 'node:path';
import { isatty } from 'node:tty';
import { isForeign } from '../../folders.ts';
import { processAt } from '../../processes.ts';
import type { Environment } from '../../environment.ts';
import type { Context } from '../context.ts';

/** A folder that only this user can read. */
interface PrivateFolder {
  fileAt: (name: string) => string;
  write(files: Readonly<Record<string, string>>): void;
  remove(): void;
}

/** Also removes the folders of processes that were killed and could not do it: they hold keys. */
export function createPrivateFolder(): PrivateFolder {
  removeAbandonedFolders();
  const folder = mkdtempSync(path.join(tmpdir(), `${PREFIX}${processSpace()}-${process.pid}-`));
  return {
    fileAt: (name) => path.join(folder, name),
    write(files) {
      for (const [name, text] of Object.entries(files)) {
        writeFileSync(path.join(folder, name), text, { mode: 0o600 });
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const PREFIX = 'gateway-run-';

function removeAbandonedFolders(): void {
  const space = processSpace();
  for (const name of readdirSync(tmpdir())) {
    const [, ofSpace, pid] = /^gateway-run-(\d+)-(\d+)-\w{6}$/.exec(name) ?? [];
    if (pid === undefined || ofSpace !== space || processAt(Number(pid)) !== undefined) continue;
    const folder = path.join(tmpdir(), name);
    try {
      const stat = lstatSync(folder);
      if (stat.isDirectory() && !isForeign(stat)) rmSync(folder, { recursive: true, force: true });
    } catch {
      // Another run removes it at the same time.
    }
  }
}

/** Containers may share a temporary folder, but not the numbers of their processes. */
function processSpace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0';
  } catch {
    return '0';
  }
}

/** Signals go to the program while it runs. */
export interface SignalRelay {
  /** A signal that came before the program started. */
  readonly early: NodeJS.Signals | undefined;
  to(child: ChildProcess): void;
  stop(): void;
}

export function relaySignals(context: Context): SignalRelay {
  let program: ChildProcess | undefined;
  let early: NodeJS.Signals | undefined;
  // A terminal sends Ctrl-C to every process of its group: a second one would end most agents.
  const fromTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor));
  const stop = context.onSignal((signal) => {
    if (program === undefined) early = signal;
    else if (signal !== 'SIGINT' || !fromTerminal) program.kill(signal);
  });
  return {
    get early() {
      return early;
    },
    to: (child) => (program = child),
    stop,
  };
}

export interface Ended {
  /** As a shell counts: 128 and its number for a signal. */
  code: number;
  signal: NodeJS.Signals | null;
}

/** Runs a program to its end, with the streams of this process. Rejects if it can't be started. */
export async function runProgram(
  command: { file: string; args: readonly string[]; env: Environment; cwd: string },
  signals: SignalRelay,
): Promise<Ended> {
  const { file, args, env, cwd } = command;
  // Commands that only look for programs do without this module, and no signal can come in between.
  const { spawn } = process.getBuiltinModule('node:child_process');
  const child = spawn(file, args, { cwd, env, stdio: 'inherit' });
  signals.to(child);
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return { code: code ?? 128 + (signal === null ? 0 : system.signals[signal]), signal };
}
