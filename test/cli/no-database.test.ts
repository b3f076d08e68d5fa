// Commands that only read, where there is no database: a wrong path is seen, and leaves nothing behind.
import { existsSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { home } from '../helpers/process.ts';
import { createShell } from './harness.ts';

it.each(['usage', 'keys list', 'accounts list', 'models', 'audit'])('%s makes none', async (line) => {
  const shell = createShell();
  const { code } = await shell.run(line);
  expect(code).toBe(0);
  expect(readdirSync(shell.directory)).toEqual([]);
});

it.each(['usage', 'keys list', 'accounts list', 'audit'])(
  '%s says that there is none, and where it looked',
  async (line) => {
    const shell = createShell();
    const database = join(shell.directory, 'missing', 'gateway.db');
    const { code, stdout, stderr } = await shell.run([...line.split(' '), '--json', '--database', database]);
    expect({ code, json: JSON.parse(stdout) as unknown }).toEqual({ code: 0, json: [] });
    expect(stderr).toContain(
      `the database ${database} does not exist yet; gateway serve or gateway keys create creates it\n`,
    );
    expect(readdirSync(shell.directory)).toEqual([]);
  },
);

it.each(['usage bob', 'keys list --account bob'])('%s knows no account there', async (line) => {
  const shell = createShell();
  const { code, stderr } = await shell.run(line);
  expect(code).toBe(1);
  expect(stderr).toContain('unknown account "bob"; no account exists yet');
  expect(readdirSync(shell.directory)).toEqual([]);
});

it('a path that can not be looked at is an error, not a database that is still to come', async () => {
  const shell = createShell();
  symlinkSync('circle', join(shell.directory, 'circle'));
  const database = join(shell.directory, 'circle', 'gateway.db');
  const { code, stderr } = await shell.run(['keys', 'list', '--database', database]);
  expect(code).toBe(1);
  expect(stderr).toContain('its path is a circle of links');
});

// A process, so that one which does not come back can be ended.
it.skipIf(!existsSync('/proc/self'))('a place that takes no folder is refused at once', async () => {
  const { code, stderr } = await home().run('keys', 'create', '--account', 'a', '--database', '/proc/x/y.db');
  expect(code).toBe(1);
  expect(stderr).toContain('it does not exist, and cannot be made');
});
