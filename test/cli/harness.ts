// Runs commands in-process with a context of the test's own: captured streams, a fixed clock, a folder that goes away.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import type { Context, Terminal } from '../../src/cli/context.ts';
import { execute } from '../../src/cli/program.ts';
import { createIds } from '../../src/ids.ts';

export const NOW = Date.parse('2026-11-21T14:25:30.000Z');

export interface Capture extends Terminal {
  text: string;
}

export function capture(columns?: number): Capture {
  return {
    text: '',
    isTTY: columns !== undefined,
    columns,
    write(text) {
      this.text += text;
    },
  };
}

export interface Shell {
  context: Context;
  directory: string;
  clock: { now: number };
  /** Runs one command line on the folder's own database; terminals of `columns`, pipes without. */
  run(
    line: string | string[],
    options?: {
      columns?: number;
      env?: Context['env'];
      /** What a person answers to every question, or to one after the other until the input ends. undefined: there is no
       *  terminal to ask on. */
      answer?: string | readonly string[];
      /** Keys that a person presses, one after the other, each time when the terminal is read. */
      keys?: readonly string[];
      /** What standard input holds. */
      input?: string;
    },
  ): Promise<Result>;
  /** As `run`, and reads what it printed. */
  json(line: string | string[]): Promise<unknown>;
  /** Sends a signal to whoever listens. */
  signal(name: NodeJS.Signals): void;
  deaths: NodeJS.Signals[];
}

export interface Result {
  code: number;
  stdout: string;
  stderr: string;
}

export function temporaryDirectory(prefix = 'gateway-cli-'): string {
  const directory = mkdtempSync(join(tmpdir(), prefix));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** `home`: also the user's own folder of configuration and data. What a test puts there lies at the usual place. */
export function createShell(home = temporaryDirectory()): Shell {
  const directory = join(home, 'gateway');
  mkdirSync(directory);
  const time = { now: NOW };
  const clock: Clock = { now: () => time.now, monotonic: () => time.now, after: () => () => undefined };
  const listeners = new Set<(signal: NodeJS.Signals) => void>();
  const deaths: NodeJS.Signals[] = [];
  const base: Context = {
    stdout: capture(),
    stderr: capture(),
    // No variable of the developer's own reaches a test, and no configuration of theirs.
    env: { XDG_CONFIG_HOME: home, XDG_DATA_HOME: home },
    cwd: directory,
    clock,
    ids: createIds(),
    onFault: () => () => undefined,
    onSignal(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    die: (signal) => void deaths.push(signal),
  };
  const run: Shell['run'] = async (line, { columns, env = {}, answer, keys, input } = {}) => {
    const stdout = capture(columns);
    const stderr = capture(columns);
    const argv = typeof line === 'string' ? line.split(' ').filter((word) => word !== '') : line;
    const answers = typeof answer === 'string' ? undefined : [...(answer ?? [])];
    const ask = (question: string): Promise<string | undefined> => {
      stderr.write(question);
      return Promise.resolve(typeof answer === 'string' ? answer : answers?.shift());
    };
    const pressed = [...(keys ?? [])];
    const onKey: Context['onKey'] = (listener) => {
      let isOver = false;
      const press = (): void => {
        const key = isOver ? undefined : pressed.shift();
        if (key === undefined) return;
        listener(key);
        setImmediate(press);
      };
      setImmediate(press);
      return () => (isOver = true);
    };
    const code = await execute(argv, {
      ...base,
      stdout,
      stderr,
      env: { ...base.env, ...env },
      ask: answer === undefined ? undefined : ask,
      onKey: keys === undefined ? undefined : onKey,
      readInput: () => Promise.resolve(input ?? ''),
    });
    return { code, stdout: stdout.text, stderr: stderr.text };
  };
  return {
    context: base,
    directory,
    clock: time,
    run,
    async json(line) {
      const words = typeof line === 'string' ? line.split(' ') : line;
      const { stdout, stderr, code } = await run([...words, '--json']);
      if (code !== 0) throw new Error(`exit ${code}: ${stderr}`);
      return JSON.parse(stdout) as unknown;
    },
    signal(name) {
      for (const listener of [...listeners]) listener(name);
    },
    deaths,
  };
}
