// `gateway connect claude --sign-in`: two settings, no key, and all of it gone after --undo.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { createShell, temporaryDirectory } from '../harness.ts';

function user(signIn: string) {
  const shell = createShell();
  const file = path.join(shell.directory, 'gateway.yaml');
  writeFileSync(file, `listen: { hosts: [127.0.0.1], port: 1 }\nproviders: { sim: }\nsign_in: ${signIn}\n`);
  const home = temporaryDirectory();
  const settings = path.join(home, '.claude', 'settings.json');
  const env = { HOME: home, XDG_CONFIG_HOME: '', GATEWAY_CONFIG: file };
  return {
    settings,
    read: () => JSON.parse(readFileSync(settings, 'utf8')) as unknown,
    connect: (line: string) => shell.run(`connect ${line}`, { env }),
    keys: async () =>
      JSON.parse((await shell.run('keys list --all --json', { env })).stdout) as {
        revoked_at: string | null;
      }[],
  };
}

const LOCAL = { forceLoginMethod: 'gateway', forceLoginGatewayUrl: 'http://127.0.0.1:1' };

it('shows what it would write, and how to write it, and writes nothing', async () => {
  const { connect, settings } = user('on');
  const { code, stdout } = await connect('claude --sign-in');
  expect(code).toBe(0);
  expect(stdout).toContain('"forceLoginGatewayUrl": "http://127.0.0.1:1"');
  expect(stdout).toContain('gateway connect claude --sign-in --write');
  expect(existsSync(settings)).toBe(false);
});

it('writes two settings and no key, beside what stands there, and takes them back byte for byte', async () => {
  const { connect, settings, read, keys } = user('on');
  const before = '{ "theme": "dark" }';
  mkdirSync(path.dirname(settings), { recursive: true });
  writeFileSync(settings, before);
  const { code, stdout } = await connect('claude --sign-in --write');
  expect(code).toBe(0);
  expect(stdout).toContain('gateway approve CODE');
  expect(read()).toEqual({ theme: 'dark', ...LOCAL });
  expect(await keys()).toEqual([]);
  expect((await connect('claude --sign-in --write')).stdout).toContain('nothing was changed');
  expect((await connect('claude --undo')).code).toBe(0);
  expect(readFileSync(settings, 'utf8')).toBe(before);
});

it('names the public URL of the file', async () => {
  const { connect, read } = user("{ url: 'https://gw.example.com' }");
  const { stdout } = await connect('claude --sign-in --write --json');
  expect(JSON.parse(stdout)).toMatchObject({
    tool: 'claude',
    url: 'https://gw.example.com',
    written: true,
    key: null,
  });
  expect(read()).toMatchObject({ forceLoginGatewayUrl: 'https://gw.example.com' });
});

it('takes the place of a connection with a key, which is revoked then', async () => {
  const { connect, read, keys } = user('on');
  await connect('claude --write');
  expect((await connect('claude --sign-in --write')).code).toBe(0);
  expect(read()).toEqual(LOCAL);
  expect((await keys()).map(({ revoked_at }) => revoked_at !== null)).toEqual([true]);
});

it('says that sign_in is off, and that other tools sign in nowhere', async () => {
  const { connect } = user('off');
  expect((await connect('claude --sign-in')).stderr).toContain('sign_in is off in the configuration');
  const other = await connect('codex --sign-in');
  expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('--sign-in is for claude')]);
  expect((await connect('claude --sign-in --env')).code).toBe(2);
});
