// Starts the processes of a benchmark, pinned where the system allows: what is measured has a core of its own.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';

/** `measured` has its core alone; everything else shares the other. `both`: for what has several processes. */
export type Core = 'measured' | 'load' | 'both';
const CORES: Record<Core, string> = { measured: '0', load: '1', both: '0,1' };

export const pinned = cpus().length > 1 && spawnSync('taskset', ['--version']).status === 0;

const started = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of started) child.kill('SIGKILL');
});

export interface Program {
  file: string;
  args: string[];
  cwd?: string;
  /** Messages between this process and the program. */
  ipc?: boolean;
}

export interface Running {
  child: ChildProcess;
  pid: number;
  /** What it said on stderr, to tell why it ended. */
  stderr(): string;
  stop(): Promise<void>;
}

export function start({ file, args, cwd, ipc = false }: Program, core: Core): Running {
  const [command, ...rest] = pinned ? ['taskset', '-c', CORES[core], file, ...args] : [file, ...args];
  const child = spawn(command ?? file, rest, {
    cwd,
    stdio: ['ignore', 'ignore', 'pipe', ...(ipc ? (['ipc'] as const) : [])],
  });
  started.add(child);
  const ended = once(child, 'exit').then(() => void started.delete(child));
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-2000);
  });
  return {
    child,
    pid: child.pid ?? 0,
    stderr: () => stderr,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await ended;
    },
  };
}

/** One of the programs of this folder, compiled. */
export function ownProgram(name: 'bare' | 'floor' | 'stub' | 'load', ...args: string[]): Program {
  const file = fileURLToPath(new URL(`./${name}.js`, import.meta.url));
  return { file: process.execPath, args: [file, ...args] };
}

export function pinSelf(): void {
  if (pinned) spawnSync('taskset', ['-a', '-cp', CORES.load, String(process.pid)]);
}
