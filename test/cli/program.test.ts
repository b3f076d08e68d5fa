import { describe, expect, it, test } from 'vitest';
import { createShell } from './harness.ts';
import { guardToolWords } from '../../src/cli/program.ts';

const COMMANDS = [
  'init',
  'serve',
  'run',
  'connect',
  'keys',
  'accounts',
  'tiers',
  'usage',
  'models',
  'check',
  'explain',
  'config',
];
const GROUPS = ['serve', 'run', 'keys', 'accounts', 'tiers', 'config', 'completion'];
const ALL = [
  'init',
  'serve',
  'run',
  'connect',
  'keys',
  'keys create',
  'keys list',
  'keys rotate',
  'keys revoke',
  'accounts',
  'accounts list',
  'accounts rename',
  'accounts remove',
  'tiers',
  'tiers list',
  'tiers assign',
  'usage',
  'models',
  'check',
  'explain',
  'config',
  'config check',
  'config show',
  'uninstall',
  'completion',
];

describe('help', () => {
  it('lists every command', async () => {
    const { code, stdout, stderr } = await createShell().run('--help');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const name of COMMANDS) expect(stdout).toMatch(new RegExp(`^  ${name}\\b`, 'm'));
  });

  it.each(ALL)('of %s has an example and the options that every command takes', async (name) => {
    const { code, stdout, stderr } = await createShell().run(`${name} --help`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`Usage: gateway ${name}`);
    expect(stdout).toMatch(/Examples?:\n {2}gateway /);
    for (const option of ['--config <file>', '--database <url>', '--debug']) expect(stdout).toContain(option);
    if (!GROUPS.includes(name)) expect(stdout).toContain('--json');
  });

  it('is also reached by `help COMMAND`', async () => {
    const shell = createShell();
    expect(await shell.run('help keys create')).toEqual(await shell.run('keys create --help'));
    expect(await shell.run('help')).toEqual(await shell.run('--help'));
  });
});

test.each(['--version', '-v', '-V'])('%s prints the version alone', async (flag) => {
  expect(await createShell().run(flag)).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as string,
    stderr: '',
  });
});

describe('wrong usage is one line on stderr and exit 2', () => {
  test.each([
    ['sevre', "unknown command 'sevre' (Did you mean serve?)"],
    ['help nope', "unknown command 'nope'; see: gateway --help"],
    ['help kees', "unknown command 'kees' (Did you mean keys?)"],
    ['help keys craete', "unknown command 'craete' (Did you mean create?)"],
    ['sevre --help', "unknown command 'sevre' (Did you mean serve?)"],
    ['help keys xyzzy list', "unknown command 'xyzzy'"],
    ['keys create web', 'did you mean --account web?'],
    ['keys list web', 'did you mean --account web?'],
    ['keys create sk-gw-0123456789012345678901234567890123456789012', 'too many arguments'],
    ['keys crate', "unknown command 'crate' (Did you mean create?)"],
    ['keys create', "required option '--account <name>' not specified"],
    ['keys create --account', 'argument missing'],
    ['keys create --acount alice', "unknown option '--acount' (Did you mean --account?)"],
    ['keys create --account a --tiers pro', "unknown option '--tiers' (Did you mean --tier?)"],
    ['keys create --account a --permissions chat,mesages', 'Unknown permission "mesages"'],
    ['keys create --account a --models ,', 'separated by commas'],
    ['keys create --account a --expires 2020-01-01', 'in the past'],
    ['keys create --account a --expires soon', 'Give a duration'],
    ['keys revoke', "missing required argument 'id'"],
    ['keys revoke a b', 'too many arguments'],
    ['tiers assign alice', "missing required argument 'tier'"],
    ['usage --since 2126-01-01', 'in the future'],
    ['usage --by week', 'Allowed choices are account, key, label, model'],
    ['serve --port 65536', '0 to 65535'],
    ['serve --port http', '0 to 65535'],
    ['serve --log loud', 'Allowed choices are pretty, json, off'],
    ['serve now', 'too many arguments'],
    ['--nonsense', "unknown option '--nonsense'"],
  ])('%s', async (line, message) => {
    const { code, stdout, stderr } = await createShell().run(line);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr).toMatch(/^gateway: [^\n]+; see: gateway[a-z ]* --help\n$/);
  });

  test.each([
    ['an empty one', ''],
    ['a control character', 'al\u0007ice'],
    ['an escape sequence', '\u001b[31mred'],
    ['a line break', 'a\nb'],
    ['129 characters', 'x'.repeat(129)],
    ['a space before it', ' alice'],
    ['a space after it', 'alice '],
    ['a no-break space after it', 'alice\u00a0'],
    ['a zero-width space', 'ali\u200bce'],
    ['a zero-width joiner', 'ali\u200dce'],
    ['a soft hyphen', 'ali\u00adce'],
    ['a mark of direction', 'ali\u202ece'],
    ['a filler', 'alice\u3164'],
  ])('an account name of %s', async (_what, name) => {
    const { code, stderr } = await createShell().run(['keys', 'create', '--account', name]);
    expect(code).toBe(2);
    expect(stderr.trimEnd()).not.toMatch(/\p{Cc}/u);
  });

  test.each([
    ['gateway', []],
    ['keys', ['keys']],
    ['tiers', ['tiers']],
  ])('%s without a command shows the help', async (_, argv) => {
    const { code, stdout, stderr } = await createShell().run(argv);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('Usage: gateway');
  });
});

test.each([
  ['serve --port 1', 'serve --port 1'],
  ['run', 'run'],
  ['run --help', 'run --help'],
  ['run claude --help', 'run -- claude --help'],
  ['run --model m claude -p hi', 'run --model m -- claude -p hi'],
  ['run --model=m claude --model x', 'run --model=m -- claude --model x'],
  ['--config f --debug run claude', '--config f --debug run -- claude'],
  ['run -- node app.js', 'run -- -- node app.js'],
  ['run --database d -- node', 'run --database d -- -- node'],
  ['keys create --account run', 'keys create --account run'],
])('the words of a tool are not read as options of `run`: %s', (line, guarded) => {
  expect(guardToolWords(line.split(' ')).join(' ')).toBe(guarded);
});
