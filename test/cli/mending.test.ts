// A failure says what, where and how to mend it, in one line of a length that can be read; a command that reads says what.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { createShell, temporaryDirectory } from './harness.ts';

describe('a value of 10 KB is cut in the line that names it', () => {
  const long = 'x'.repeat(10_240);
  test.each([
    [['keys', 'revoke', long], 'gateway keys list'],
    [['usage', long], 'gateway keys create --account NAME'],
    [['tiers', 'assign', 'a', long], 'known tiers: '],
    [['explain', long], 'Known are `auto`'],
    [['explain', 'sim/echo', '--file', long], ''],
    [['usage', '--since', long], 'gateway usage --help'],
    [['serve', '--log', long], 'gateway serve --help'],
    [['keys', 'list', '--config', long], ''],
    [['keys', 'create', '--account', 'a', '--database', `/${long}`], ''],
    [[long], 'gateway --help'],
    [[`--${long}`], 'gateway --help'],
  ])('%#', async (argv, mend) => {
    const shell = createShell();
    const { code, stderr } = await shell.run(argv);
    expect(code).not.toBe(0);
    expect(stderr.length).toBeLessThan(2000);
    expect(stderr).toContain('xxx');
    expect(stderr).toContain(mend);
  });
});

describe('a file that cannot be used is named with what mends it', () => {
  test.each([
    [
      'keys create --account a --database blocked/below.db',
      /blocked\/below\.db .*not a folder.*; correct the path/,
    ],
    ['keys list --database folder', /folder is not a file; name a file/],
    ['explain sim/echo --file gone.json', /gone\.json cannot be read: it does not exist; check the name/],
    ['explain sim/echo --file folder', /folder cannot be read: it is a folder; name the file in it/],
    ['explain sim/echo --file empty', /gateway: empty is not valid JSON: .*; write a request's body/],
    [
      'explain sim/echo --file {}',
      /gateway: \{\} is no request that a gateway takes: messages.*; correct it/,
    ],
    ['import gone.jsonl --database new.db', /gone\.jsonl cannot be read: it does not exist; check the name/],
    ['import folder --database new.db', /folder cannot be read: it is a folder; name the file in it/],
    ['export nowhere/all.jsonl', /nowhere\/all\.jsonl cannot be written: its folder does not exist; create/],
    ['export blocked/all.jsonl', /blocked\/all\.jsonl cannot be written: .* is a file, not a folder; check/],
    ['backup nowhere/copy.db', /nowhere\/copy\.db cannot be written: its folder does not exist; create/],
    ['keys list --config blocked/gateway.yaml', /blocked\/gateway\.yaml: .*; correct the path/],
  ])('%s', async (line, message) => {
    const shell = createShell();
    for (const name of ['blocked', 'empty']) writeFileSync(join(shell.directory, name), '');
    writeFileSync(join(shell.directory, '{}'), '{}');
    mkdirSync(join(shell.directory, 'folder'));
    if (/^(?:export|backup)/.test(line)) await shell.run('keys create --account a');
    const { code, stderr } = await shell.run(line);
    expect(code).toBe(1);
    expect(stderr.split('\n').filter((text) => text.startsWith('gateway:'))).toHaveLength(1);
    expect(stderr).toMatch(message);
  });
});

test('a database of the file that cannot be used is reported with file and line', async () => {
  const shell = createShell();
  writeFileSync(join(shell.directory, 'gateway.yaml'), 'providers: { sim: }\n\ndatabase: blocked/below.db\n');
  writeFileSync(join(shell.directory, 'blocked'), '');
  for (const line of ['keys create --account a', 'serve --port 0 --log off']) {
    const { code, stderr } = await shell.run(line);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^gateway: gateway\.yaml:3 database: the database .*blocked\/below\.db .*; correct the path$/m,
    );
  }
  // A flag beats the file: the file is not at fault then.
  const { stderr } = await shell.run('keys create --account a --database blocked/other.db');
  expect(stderr).toMatch(/^gateway: the database .*other\.db/m);
});

describe('a command that reads says on stderr what it reads, where that is not the usual', () => {
  const READING = [
    'keys list',
    'accounts list',
    'usage',
    'models',
    'tiers list --json',
    'explain sim/echo',
    'check',
  ];

  it.each(READING)('%s: nothing of the usual places', async (line) => {
    const shell = createShell();
    await shell.run('keys create --account a');
    expect((await shell.run(line)).stderr).toBe('');
  });

  it.each(READING)('%s: a configuration and a database of its own', async (line) => {
    const shell = createShell();
    const other = temporaryDirectory();
    writeFileSync(join(other, 'team.yaml'), 'providers: { sim: }\n');
    await shell.run(`accounts list --database ${other}/team.db`);
    const { code, stderr } = await shell.run(
      `${line} --config ${other}/team.yaml --database ${other}/team.db`,
    );
    expect(code).toBe(0);
    expect(stderr).toContain(`configuration ${other}/team.yaml`);
    const readsData = /^(keys|accounts|usage|models)/.test(line);
    expect(stderr.includes(`database ${other}/team.db`)).toBe(readsData);
  });

  it('before it fails: the name may be known elsewhere', async () => {
    const shell = createShell();
    const other = temporaryDirectory();
    const { stderr } = await shell.run(`usage alice --database ${other}/team.db`);
    expect(stderr).toMatch(/^reads database .*team\.db\n[^]*^gateway: /m);
  });
});
