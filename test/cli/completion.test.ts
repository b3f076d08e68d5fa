// What a shell offers: the words that `gateway __complete` answers, and the scripts in real shells where those are installed.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createShell, temporaryDirectory, type Shell } from './harness.ts';

const FILE = `providers:
  sim:
  work: { protocol: chat, base_url: 'http://h', models: ['qwen3:0.6b', 'qwen3:8b'] }
routes: { fast: [work/qwen3:8b] }
tiers: { team: 1000 }
`;

async function prepared(): Promise<Shell> {
  const shell = createShell();
  writeFileSync(join(shell.directory, 'gateway.yaml'), FILE);
  await shell.run('keys create --account alice --name laptop');
  await shell.run(['keys', 'create', '--account', 'Zoë & Co']);
  return shell;
}

async function wordsOf(shell: Shell, ...words: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await shell.run(['__complete', ...words]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout.split('\n').flatMap((line) => line.split('\t')[0] || []);
}

describe('__complete', () => {
  it('offers commands, subcommands and options, each with what it does', async () => {
    const shell = createShell();
    expect(await wordsOf(shell, 'ke')).toEqual(['keys']);
    expect(await wordsOf(shell, '')).toContain('serve');
    expect(await wordsOf(shell, 'keys', 'r')).toEqual(['rotate', 'revoke']);
    expect(await wordsOf(shell, 'keys', 'create', '--t')).toEqual(['--tier']);
    expect(await wordsOf(shell, 'usage', '--json', '--')).not.toContain('--json');
    expect(await wordsOf(shell, 'usage', '--')).toContain('--config');
    expect((await shell.run(['__complete', 'mod'])).stdout).toMatch(/^models\tevery name/);
  });

  it('offers names of accounts, tiers, models and keys', async () => {
    const shell = await prepared();
    expect(await wordsOf(shell, 'usage', '')).toEqual(['alice', 'Zoë & Co']);
    expect(await wordsOf(shell, 'keys', 'create', '--account', 'a')).toEqual(['alice']);
    expect(await wordsOf(shell, 'keys', 'create', '--account=a')).toEqual(['--account=alice']);
    expect(await wordsOf(shell, 'keys', 'create', '--tier', 't')).toEqual(['team']);
    expect(await wordsOf(shell, 'tiers', 'assign', 'alice', 'te')).toEqual(['team']);
    expect(await wordsOf(shell, 'tiers', 'assign', 'alice', 'a')).toEqual([]);
    expect(await wordsOf(shell, 'explain', 'qwen3:')).toEqual(['qwen3:0.6b', 'qwen3:8b']);
    expect(await wordsOf(shell, 'keys', 'create', '--models', 'auto,fa')).toEqual(['auto,fast']);
    const keys = (await shell.json('keys list')) as { id: string }[];
    expect(await wordsOf(shell, 'keys', 'revoke', '')).toEqual(keys.map(({ id }) => id));
    expect(await wordsOf(shell, 'serve', '--log', 'p')).toEqual(['pretty']);
    expect(await wordsOf(shell, 'serve', '--in')).toEqual([]);
    expect(await wordsOf(shell, 'completion', '')).toEqual(['bash', 'zsh', 'fish']);
    expect(await wordsOf(shell, 'run', 'cl')).toEqual(['claude']);
    expect(await wordsOf(shell, 'connect', 'c')).toEqual(
      expect.arrayContaining(['claude', 'continue', 'cursor']),
    );
    expect(await wordsOf(shell, 'connect', '--shell', 'f')).toEqual(['fish']);
    expect(await wordsOf(shell, 'serve', '--config', '')).toEqual([':files']);
  });

  it('offers nothing, without an error, where nothing is known or the file is invalid', async () => {
    const shell = createShell();
    expect(await wordsOf(shell, 'usage', '')).toEqual([]);
    expect(await wordsOf(shell, 'nonsense', '')).toEqual([]);
    expect(await wordsOf(shell)).toContain('serve');
    writeFileSync(join(shell.directory, 'gateway.yaml'), 'nonsense: [');
    expect(await wordsOf(shell, 'explain', '')).toEqual([]);
  });
});

const has = (program: string): boolean => spawnSync(program, ['--version']).status === 0;

/** A folder with a program `gateway` that answers one request for words, and fails for others. */
function fakeGateway(asked: string, answer: string): NodeJS.ProcessEnv {
  const folder = temporaryDirectory();
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const script = `#!/bin/sh\n[ "$*" = '__complete ${asked}' ] && printf '${answer}'\n`;
  writeFileSync(join(bin, 'gateway'), script);
  chmodSync(join(bin, 'gateway'), 0o755);
  return { PATH: `${bin}:${process.env['PATH'] ?? ''}`, HOME: folder, LC_ALL: 'C.UTF-8', TERM: 'dumb' };
}

async function scriptOf(shell: string): Promise<string> {
  return (await createShell().run(['completion', shell])).stdout;
}

describe.runIf(has('bash'))('the script for bash', () => {
  async function replies(line: string, asked: string, answer: string): Promise<string[]> {
    const script = `${await scriptOf('bash')}
COMP_LINE=${JSON.stringify(line)}; COMP_POINT=\${#COMP_LINE}; _gateway 2>/dev/null
printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = spawnSync('bash', ['--norc', '-c', script], {
      env: fakeGateway(asked, answer),
      encoding: 'utf8',
    });
    return stdout.split('\n').slice(0, -1);
  }

  it('replies with the words, quoted for the shell', async () => {
    expect(await replies('gateway usage ', 'usage ', 'alice\\ttier free\\nBob & Co\\n')).toEqual([
      'alice',
      'Bob\\ \\&\\ Co',
    ]);
  });

  it('replies without what stands before a colon, at which bash divides words', async () => {
    expect(await replies('gateway explain qwen3:', 'explain qwen3:', 'qwen3:0.6b\\nqwen3:8b\\n')).toEqual([
      '0.6b',
      '8b',
    ]);
  });
});

describe.runIf(has('fish'))('the script for fish', () => {
  it('offers the words with their notes', async () => {
    const script = `${await scriptOf('fish')}\ncomplete -C 'gateway keys r'`;
    const { stdout } = spawnSync('fish', ['--no-config', '-c', script], {
      env: fakeGateway('keys r', 'revoke\\trevoke a key\\nrotate\\n'),
      encoding: 'utf8',
    });
    expect(stdout).toBe('revoke\trevoke a key\nrotate\n');
  });
});

describe.runIf(has('zsh'))('the script for zsh', () => {
  it('is valid', async () => {
    const { status, stderr } = spawnSync('zsh', ['-f', '-n', '-c', await scriptOf('zsh')], {
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });
});
