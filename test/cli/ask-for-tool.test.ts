// `gateway run` and `gateway connect` without a tool: on a terminal a person picks tool and model with the arrow keys.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { pick } from '../../src/cli/ui/pick.ts';
import { capture, createShell, type Shell } from './harness.ts';

const UP = '\u001b[A';
const DOWN = '\u001b[B';
const ENTER = '\r';

/** A shell in which one tool alone is installed. */
function shellWith(program: string): { shell: Shell; env: Record<string, string> } {
  const shell = createShell();
  const bin = join(shell.directory, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, program), '#!/bin/sh\n');
  chmodSync(join(bin, program), 0o755);
  return { shell, env: { PATH: bin, HOME: shell.directory, TERM: 'xterm' } };
}

async function picked(
  keys: readonly string[],
  columns = 60,
): Promise<{ index: number | undefined; text: string }> {
  const shell = createShell();
  const stderr = capture(columns);
  const choices = ['one', 'two', '三つ', ...Array.from({ length: 20 }, (_, at) => `more ${at}`)].map(
    (label) => ({
      label,
      about: `about ${label} \u001b[31m`,
    }),
  );
  const onKey = (listener: (key: string) => void): (() => void) => {
    setImmediate(() => keys.forEach(listener));
    return () => undefined;
  };
  const index = await pick('Which?', choices, 1, { ...shell.context, stderr, onKey });
  return { index, text: stderr.text };
}

it.each([
  [[ENTER], 1],
  [[DOWN, ENTER], 2],
  [[UP, UP, ENTER], 22],
  [['j', 'k', 'k', ENTER], 0],
  [[`${DOWN}${DOWN}\r`], 3],
  [['\u001b'], undefined],
  [['\u0003'], undefined],
])('keys %j pick %s', async (keys, index) => {
  expect((await picked(keys)).index).toBe(index);
});

it('fits the terminal, shows no control characters of names, and leaves nothing behind', async () => {
  const { text } = await picked([DOWN, ENTER], 24);
  expect(text).not.toContain('\u001b[31m');
  expect(text.endsWith('\u001b[J\u001b[?25h')).toBe(true);
  const lines = stripVTControlCharacters(text).split(/[\n\r]/);
  for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(24);
});

it('lists what is installed first, asks for the model, and remembers both', async () => {
  const { shell, env } = shellWith('aider');
  const first = await shell.run('connect', { columns: 80, env, keys: [ENTER, DOWN, ENTER] });
  expect(first.code).toBe(0);
  expect(stripVTControlCharacters(first.stderr)).toMatch(/Which tool do you want to connect\?\n> aider/);
  expect(stripVTControlCharacters(first.stdout)).toContain('aider → http://127.0.0.1:8787, model sim/echo');
  const again = await shell.run('connect', { columns: 80, env, keys: [ENTER, ENTER] });
  expect(stripVTControlCharacters(again.stderr)).toMatch(/> sim\/echo/);
  expect(again.stdout).toContain('model sim/echo');
});

it('asks no model that was named', async () => {
  const { shell, env } = shellWith('aider');
  const { stdout } = await shell.run('connect --model sim/slow', { columns: 80, env, keys: [ENTER] });
  expect(stdout).toContain('model sim/slow');
});

it('ends with 130 and changes nothing where the person leaves', async () => {
  const { shell, env } = shellWith('claude');
  expect(await shell.run('run', { columns: 80, env, keys: ['\u001b'] })).toMatchObject({
    code: 130,
    stdout: '',
  });
  expect(await shell.run('connect', { columns: 80, env, keys: [ENTER, 'q'] })).toMatchObject({ code: 130 });
});

it('asks nobody in a pipe: connect lists the tools, run is wrong usage', async () => {
  const { shell, env } = shellWith('claude');
  expect((await shell.run('connect', { env })).stdout).toContain('INSTALLED');
  expect(await shell.run('run', { env })).toMatchObject({ code: 2 });
  expect(
    JSON.parse((await shell.run('connect --json', { columns: 80, env, keys: [] })).stdout),
  ).toBeInstanceOf(Array);
});

it('connect names NO_PROXY in a shell with a proxy, and --env sets it', async () => {
  const { shell, env } = shellWith('aider');
  const proxied = { ...env, https_proxy: 'http://proxy.corp:1', NO_PROXY: 'corp' };
  expect((await shell.run('connect aider', { env: proxied })).stderr).toContain(
    'NO_PROXY=127.0.0.1,localhost',
  );
  expect((await shell.run('connect aider', { env })).stderr).not.toContain('NO_PROXY');
  const { stdout } = await shell.run('connect --env --json', { env: proxied });
  expect(JSON.parse(stdout)).toMatchObject({ variables: { NO_PROXY: 'corp,127.0.0.1,localhost' } });
  const left = { ...proxied, NO_PROXY: 'localhost,127.0.0.1' };
  expect((await shell.run('connect aider', { env: left })).stderr).not.toContain('NO_PROXY');
});
