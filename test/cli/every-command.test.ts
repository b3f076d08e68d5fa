// What every command has, found by walking over the commands themselves: help with an example and defaults, completion of its
// options and values.
import type { Argument, Command, Option } from 'commander';
import { describe, expect, it } from 'vitest';
import { valuesOf } from '../../src/cli/commands/complete.ts';
import { describeProgram } from '../../src/cli/program.ts';
import { createIds } from '../../src/ids.ts';
import { systemClock } from '../../src/clock.ts';
import { capture, createShell } from './harness.ts';

const nothing = (): (() => void) => () => undefined;
const program = await describeProgram({
  stdout: capture(),
  stderr: capture(),
  env: {},
  cwd: '/',
  clock: systemClock,
  ids: createIds(),
  onSignal: nothing,
  onFault: nothing,
  die: nothing,
});
const run = (line: string | string[]) => createShell().run(line);

function pathsBelow(command: Command, path: readonly string[] = []): [string, Command][] {
  return command.commands.flatMap((child): [string, Command][] => {
    const own = [...path, child.name()];
    return [[own.join(' '), child], ...pathsBelow(child, own)];
  });
}

const COMMANDS = pathsBelow(program);

async function offered(...words: string[]): Promise<string[]> {
  const { stdout } = await run(['__complete', ...words]);
  return stdout.split('\n').flatMap((line) => line.split('\t')[0] || []);
}

describe.each(COMMANDS)('%s', (path, command) => {
  const words = path.split(' ');

  it('has help with an example, and completion of its commands and options', async () => {
    const { code, stdout } = await run([...words, '--help']);
    expect(code).toBe(0);
    expect(stdout).toContain(`Usage: gateway ${path}`);
    expect(stdout).toMatch(new RegExp(`Examples?:\n(.*\n)*? {2}gateway ${path}\\b`));
    expect(stdout).toMatch(/\$GATEWAY_CONFIG[^]*\$GATEWAY_DATABASE/);
    expect(await offered(...words.slice(0, -1), words.at(-1) ?? '')).toContain(words.at(-1));
    const visible = command.options.filter(({ hidden }) => !hidden).map(({ long }) => long);
    expect(await offered(...words, '--')).toEqual(expect.arrayContaining([...visible, '--config', '--help']));
    if (command.commands.length > 0)
      expect(await offered(...words, '')).toEqual(command.commands.map((child) => child.name()));
  });

  it('says the default of every option with a value, and what its values and arguments are', () => {
    const options = command.options.filter(({ required }) => required);
    const silent = (option: Option): boolean =>
      option.defaultValue === undefined && !/default|required/.test(option.description);
    expect(options.filter(silent).map(({ flags }) => flags)).toEqual([]);
    // A value that completion does not know: a row in the table of complete.ts.
    const values: readonly (Option | Argument)[] = [...options, ...command.registeredArguments];
    const unknown = values.filter((value) => valuesOf(command, value) === undefined);
    expect(unknown.map((value) => value.name())).toEqual([]);
  });
});

it.each([
  ['usage --by provder', 'Did you mean provider?'],
  ['serve --log prety', 'Did you mean pretty?'],
  ['completion bahs', 'Did you mean bash?'],
  ['keys create --account a --permissions mesages', 'Did you mean messages?'],
])('%s names the nearest choice', async (line, nearest) => {
  const { code, stderr } = await run(line);
  expect(code).toBe(2);
  expect(stderr).toContain(`${nearest}; see: gateway `);
});
