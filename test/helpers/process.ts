// The real program as a process: the command line, with folders of its own and none of the machine's keys.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { createKey } from '../../src/accounts/access.ts';
import { execute } from '../../src/cli/program.ts';
import { systemClock } from '../../src/clock.ts';
import { createIds } from '../../src/ids.ts';
import { openStore } from '../../src/store/open.ts';

const BIN = fileURLToPath(new URL('../../bin/gateway.js', import.meta.url));

export interface Home {
  directory: string;
  database: string;
  /** Runs a command to its end. */
  run(...args: string[]): Promise<Ended>;
  /** The same without a process of its own, which costs more than the command. */
  command(...args: string[]): Promise<Ended>;
  /** As `command` with `--json`; fails where the command does. */
  json<Value>(...args: string[]): Promise<Value>;
  /** Starts a server on a free port of 127.0.0.1 and waits until it says where it listens. */
  serve(...args: string[]): Promise<Server>;
  /** The same, of a process that may open so many files and connections. */
  serveWith(descriptors: number): Promise<Server>;
  /** A key of account `a`, made without the cost of a process. `database`: a PostgreSQL URL, instead of the file of this folder. */
  newKey(tier: string, database?: string): Promise<string>;
  /** Writes `gateway.yaml` beside the database. */
  configure(config: object): void;
}

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Server {
  url: string;
  child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Fulfilled once the log says so. */
  logged(mark: string): Promise<void>;
  ended: Promise<Ended>;
}

/** Goes away, with all its processes, when the test is over. `environment`: further variables of its programs. */
export function home(environment: Record<string, string> = {}): Home {
  const { shell, remove } = startHome(environment);
  onTestFinished(remove);
  return shell;
}

/** The same for several tests. `remove` ends its processes. */
export function startHome(environment: Record<string, string> = {}): {
  shell: Home;
  remove: () => Promise<void>;
} {
  // The working folder is the user's own configuration folder, whose file needs no consent.
  const around = mkdtempSync(join(tmpdir(), 'gateway-home-'));
  const directory = join(around, 'gateway');
  mkdirSync(directory, { mode: 0o700 });
  const children = new Set<ChildProcess>();
  const remove = async (): Promise<void> => {
    await Promise.all([...children].map(end));
    // Workers of a killed gateway end by themselves a little later, and Node writes its cache of compiled code then.
    await rm(around, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  };

  const environmentOf = () => ({
    PATH: process.env.PATH,
    HOME: directory,
    XDG_CONFIG_HOME: around,
    XDG_DATA_HOME: directory,
    ...environment,
  });

  function start(
    args: string[],
    descriptors?: number,
  ): {
    child: ChildProcess;
    output: { stdout: string; stderr: string };
    ended: Promise<Ended>;
  } {
    const env = environmentOf();
    const limited = ['-c', `ulimit -n ${descriptors}; exec "$0" "$@"`, process.execPath, BIN, ...args];
    const [program, words] =
      descriptors === undefined ? [process.execPath, [BIN, ...args]] : ['/bin/sh', limited];
    const child = spawn(program, words, {
      cwd: directory,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.add(child);
    const output = { stdout: '', stderr: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
    const ended = once(child, 'close').then(([code, signal]: (number | string | null)[]) => {
      children.delete(child);
      return { code, signal, ...output } as Ended;
    });
    return { child, output, ended };
  }

  async function listening(args: string[], descriptors?: number): Promise<Server> {
    const words = ['serve', '--host', '127.0.0.1', '--port', '0', '--log', 'json', ...args];
    const { child, output, ended } = start(words, descriptors);

    const url = await Promise.race([
      shown(child.stdout, () => /http:\/\/127\.0\.0\.1:\d+(?=\s)/.exec(output.stdout)?.[0]),
      ended.then(({ stderr }) => Promise.reject(new Error(`the server did not start: ${stderr}`))),
    ]);
    return {
      url,
      child,
      ended,
      stdout: () => output.stdout,
      stderr: () => output.stderr,
      async logged(mark) {
        await shown(child.stderr, () => (output.stderr.includes(mark) ? mark : undefined));
      },
    };
  }

  async function command(...args: string[]): Promise<Ended> {
    let [stdout, stderr] = ['', ''];
    const code = await execute(args, {
      stdout: { write: (text) => (stdout += text) },
      stderr: { write: (text) => (stderr += text) },
      env: environmentOf(),
      cwd: directory,
      clock: systemClock,
      ids: createIds(),
      onSignal: () => () => undefined,
      onFault: () => () => undefined,
      die: () => undefined,
    });
    return { code, signal: null, stdout, stderr };
  }

  const shell: Home = {
    directory,
    database: join(directory, 'gateway', 'gateway.db'),
    run: (...args) => start(args).ended,
    command,
    async json<Value>(...args: string[]) {
      const { code, stdout, stderr } = await command(...args, '--json');
      if (code !== 0) throw new Error(`gateway ${args.join(' ')} ended with ${code}: ${stderr}`);
      return JSON.parse(stdout) as Value;
    },
    serve: (...args) => listening(args),
    serveWith: (descriptors) => listening([], descriptors),
    async newKey(tier, database = shell.database) {
      const store = await openStore(database);
      const spec = { account: 'a', tier, label: null, models: null, expiresAt: null };
      const { plaintext } = await createKey(
        { store, clock: systemClock, ids: createIds() },
        { ...spec, permissions: ['chat', 'messages', 'responses'] },
      );
      await store.close();
      return plaintext;
    },
    configure: (config) => writeFileSync(join(directory, 'gateway.yaml'), JSON.stringify(config)),
  };
  return { shell, remove };
}

/** Looks at the output again whenever some came. */
function shown(stream: NodeJS.ReadableStream | null, find: () => string | undefined): Promise<string> {
  return new Promise((resolve) => {
    const look = (): void => {
      const found = find();
      if (found === undefined) return;
      stream?.off('data', look);
      resolve(found);
    };
    stream?.on('data', look);
    look();
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  child.kill('SIGKILL');
  await closed;
}
