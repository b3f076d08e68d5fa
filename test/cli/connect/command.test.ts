// `gateway connect` as a user runs it: nothing without --write, a key of its own with it, and all of it gone after --undo.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../../src/store/open.ts';
import { createShell, temporaryDirectory, type Result, type Shell } from '../harness.ts';

const FILE = `listen: { hosts: [127.0.0.1], port: 1 }
providers:
  up: { protocol: chat, base_url: 'http://127.0.0.1:9', api_key: k, models: [{ id: m, context_window: 100000, max_output: 8000 }] }
`;

type Options = Parameters<Shell['run']>[1];

interface User {
  directory: string;
  home: string;
  settings: string;
  /** The folder of backups. */
  connections: string;
  run: (line: string, options?: Options) => Promise<Result>;
  connect: (line: string, options?: Options) => Promise<Result>;
  /** As `connect --json`. */
  asked: (line: string) => Promise<unknown>;
  keys: () => Promise<{ id: string; name: string | null; account: string; revoked_at: string | null }[]>;
}

function user(): User {
  const shell = createShell();
  const file = path.join(shell.directory, 'gateway.yaml');
  writeFileSync(file, FILE);
  const home = temporaryDirectory();
  const run: User['run'] = (line, options = {}) =>
    shell.run(line, {
      ...options,
      env: { HOME: home, XDG_CONFIG_HOME: '', GATEWAY_CONFIG: file, ...options.env },
    });
  const connect: User['connect'] = (line, options) => run(`connect ${line}`, options);
  return {
    directory: shell.directory,
    run,
    connect,
    home,
    settings: path.join(home, '.claude', 'settings.json'),
    connections: path.join(shell.directory, 'connect'),
    asked: async (line) => {
      const { code, stdout, stderr } = await connect(`${line} --json`);
      if (code !== 0) throw new Error(stderr);
      return JSON.parse(stdout) as unknown;
    },
    keys: async () => (await shell.json('keys list --all')) as Awaited<ReturnType<User['keys']>>,
  };
}

function program(home: string, name: string): string {
  const bin = path.join(home, 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(path.join(bin, name), '#!/bin/sh\n');
  chmodSync(path.join(bin, name), 0o755);
  return bin;
}

describe('without a tool', () => {
  it('lists which tools are installed, and which are connected', async () => {
    const { connect, asked, home, settings } = user();
    const env = { PATH: program(home, 'claude') };
    mkdirSync(path.join(home, '.config', 'zed'), { recursive: true });
    await connect('claude --write');
    const { stdout, code } = await connect('', { env });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^claude +Claude Code +yes +http:\/\/127\.0\.0\.1:1, model auto$/m);
    expect(stdout).toMatch(/^zed +Zed +yes +-$/m);
    expect(stdout).toMatch(/^codex +Codex CLI +- +-$/m);
    expect(stdout).toMatch(/^xcode +Xcode +\? +by a person$/m);
    const [first] = (await asked('')) as unknown[];
    expect(first).toMatchObject({
      tool: 'claude',
      connected: true,
      state: 'connected',
      model: 'auto',
      files: [settings],
    });
    writeFileSync(settings, `${readFileSync(settings, 'utf8')}\n`);
    expect((await connect('', { env })).stdout).toMatch(/model auto \(settings changed since\)$/m);
    writeFileSync(settings, '{}');
    expect((await connect('', { env })).stdout).toMatch(/^claude.*no longer: its settings are gone$/m);
  });
});

describe('with a tool', () => {
  it('codex is written without a web search that the first target lacks, and with one that it may have', async () => {
    const { connect, directory } = user();
    const textOf = async (line: string): Promise<string> => {
      const { code, stdout, stderr } = await connect(line);
      expect(code, stderr).toBe(0);
      return stdout;
    };
    expect(await textOf('codex --json')).toContain('web_search = \\"disabled\\"');
    const other = path.join(directory, 'other.yaml');
    writeFileSync(other, FILE.replace('protocol: chat', 'protocol: responses'));
    expect(await textOf(`codex --json --config ${other}`)).not.toContain('web_search');
  });

  it('shows what would change, with secrets masked, and writes nothing', async () => {
    const { connect, keys, settings } = user();
    mkdirSync(path.dirname(settings));
    const text = '{\n  "env": {\n    "ANTHROPIC_AUTH_TOKEN": "sk-ant-secret-of-mine"\n  }\n}\n';
    writeFileSync(settings, text);
    const { code, stdout, stderr } = await connect('claude --model up/m');
    expect(code).toBe(0);
    expect(stdout).toContain('Claude Code → http://127.0.0.1:1, model up/m (window 100,000)\n');
    expect(stdout).toContain(`${settings} (changes)\n`);
    expect(stdout).toContain('  -     "ANTHROPIC_AUTH_TOKEN": "…"\n');
    expect(stdout).toContain('  +     "ANTHROPIC_AUTH_TOKEN": "sk-gw-…",\n');
    expect(stdout).toContain('  +     "CLAUDE_CODE_MAX_CONTEXT_TOKENS": "89000",\n');
    expect(stdout).toContain(
      'Nothing is written yet. To write it: gateway connect claude --model up/m --write\n',
    );
    expect(stderr).toContain('no gateway answers at http://127.0.0.1:1 now; start one: gateway serve\n');
    expect(stderr).toContain('Claude Code was not found on this machine\n');
    expect(stdout).not.toContain('secret');
    expect(readFileSync(settings, 'utf8')).toBe(text);
    expect(await keys()).toEqual([]);
  });

  it('--write makes a key of its own, and --undo revokes it and leaves nothing', async () => {
    const { connect, keys, settings, home } = user();
    const written = await connect('claude --write');
    expect(written.code, written.stderr).toBe(0);
    const [key] = await keys();
    expect(key).toMatchObject({ name: 'claude', account: 'local', revoked_at: null });
    expect(written.stdout).toContain(`wrote ${settings}\n`);
    expect(written.stdout).toContain(`key ${key?.id ?? ''} was created for it (account local, name claude)`);
    expect(written.stdout + written.stderr).not.toMatch(/sk-gw-\w{20}/);
    const { env } = JSON.parse(readFileSync(settings, 'utf8')) as { env: Record<string, string> };
    expect(env['ANTHROPIC_AUTH_TOKEN']).toMatch(/^sk-gw-\w{43}$/);
    expect(statSync(settings).mode & 0o777).toBe(0o600);

    const again = await connect('claude --write');
    expect(again.stdout).toContain('All is written already; nothing was changed.\n');
    expect(await keys()).toHaveLength(1);

    const undone = await connect('claude --undo');
    expect(undone.stdout).toBe(
      `${settings} is removed: there was none before\nkey ${key?.id ?? ''} is revoked\n`,
    );
    expect((await keys())[0]?.revoked_at).not.toBeNull();
    expect(existsSync(path.join(home, '.claude'))).toBe(false);
    expect(await connect('claude --undo')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is not connected') as string,
    });
  });

  it('--undo without a tool takes back all tools, and one that cannot be restored does not keep the others', async () => {
    const { connect, run, home, settings, keys } = user();
    const program = path.join(home, '.config', 'opencode', 'opencode.json');
    expect((await connect('--undo')).stdout).toBe('No tool is connected.\n');
    for (const tool of ['claude', 'opencode', 'zed']) await connect(`${tool} --write`);
    const zed = path.join(home, '.config', 'zed', 'settings.json');
    writeFileSync(zed, '{ broken');
    const { code, stdout, stderr } = await connect('--undo');
    expect(code).toBe(1);
    expect(stderr).toMatch(/gateway: zed: .*settings\.json.*; nothing was changed/);
    for (const file of [settings, program]) {
      expect(stdout).toContain(`${file} is removed: there was none before`);
      expect(existsSync(file)).toBe(false);
    }
    expect(readFileSync(zed, 'utf8')).toBe('{ broken');
    const valid = (await keys()).filter(({ revoked_at }) => revoked_at === null);
    expect(valid.map(({ name }) => name)).toEqual([expect.stringContaining('zed')]);
    writeFileSync(zed, '{}');
    const rest = await run('connect --undo --json');
    expect(JSON.parse(rest.stdout)).toMatchObject([{ tool: 'zed', key: { revoked: true } }]);
    expect((await connect('--undo --json')).stdout).toBe('[]\n');
  });

  it('two at a time write one after the other, and --undo restores the bytes from before both', async () => {
    const { connect, keys, settings } = user();
    mkdirSync(path.dirname(settings));
    writeFileSync(settings, '{ "theme": "dark" }\n', { mode: 0o644 });
    const both = await Promise.all([connect('claude --write'), connect('claude --model m --write')]);
    expect(
      both.map(({ code }) => code),
      both.map(({ stderr }) => stderr).join(''),
    ).toEqual([0, 0]);
    const valid = (await keys()).filter(({ revoked_at: at }) => at === null);
    expect(valid).toHaveLength(1);
    const undone = await Promise.all([connect('claude --undo'), connect('claude --undo')]);
    expect(undone.map(({ code }) => code).sort()).toEqual([0, 1]);
    expect(readFileSync(settings, 'utf8')).toBe('{ "theme": "dark" }\n');
    expect((await keys()).every(({ revoked_at: at }) => at !== null)).toBe(true);
  });

  it('goes on after one that was killed at work', async () => {
    const { connect, connections } = user();
    const ended = spawnSync(process.execPath, ['--version']).pid;
    mkdirSync(connections, { recursive: true });
    writeFileSync(path.join(connections, 'lock'), String(ended));
    expect(await connect('claude --write')).toMatchObject({ code: 0 });
    expect(existsSync(path.join(connections, 'lock'))).toBe(false);
  });

  // Claude Code 2.1.330 then says "Not logged in", and nothing else. Cline 3.0.65 writes a new file over it.
  it.each([
    ['claude', 'Claude Code', '.claude/settings.json'],
    ['cline', 'Cline CLI', '.cline/data/settings/providers.json'],
  ])('warns of a file that %s ignores as a whole', async (tool, title, name) => {
    const { connect, home } = user();
    const settings = path.join(home, name);
    mkdirSync(path.dirname(settings), { recursive: true });
    for (const [text, warned] of [
      ['{\n  // mine\n  "theme": "dark"\n}\n', true],
      ['{\n  "theme": "dark",\n}\n', true],
      ['{\n  "theme": "dark"\n}\n', false],
    ] as const) {
      writeFileSync(settings, text);
      const { code, stderr } = await connect(tool);
      expect(code).toBe(0);
      const warning = `warning: ${title} ignores ${settings}: it reads no comments and no comma after a last item; take them out\n`;
      expect(stderr.includes(warning)).toBe(warned);
    }
  });

  it('--write and --undo have their rows in the audit: a key that is created and one that is revoked', async () => {
    const { connect, directory } = user();
    await connect('claude --write');
    await connect('claude --undo');
    const store = await openStore(path.join(directory, 'gateway.db'));
    const rows = (await store.listAudit(Number.MAX_SAFE_INTEGER, 9)).reverse();
    await store.close();
    expect(rows).toMatchObject([
      { action: 'createKey', address: 'local', status: 201 },
      { action: 'revokeKey', address: 'local', status: 200 },
    ]);
  });

  it('--write with another model revokes the key before', async () => {
    const { connect, keys } = user();
    await connect('qwen --write');
    await connect('qwen --model m --write');
    const all = await keys();
    expect(all.map(({ revoked_at: at }) => at === null).sort()).toEqual([false, true]);
  });

  it('a key of the user is written, never as an argument, and stays valid after --undo', async () => {
    const { connect, run, keys, settings } = user();
    const created = await run('keys create --account alice --json');
    const { key, id } = JSON.parse(created.stdout) as { key: string; id: string };
    for (const options of [{ env: { GATEWAY_KEY: key } }, { input: `${key}\n` }]) {
      const line = 'input' in options ? 'claude --write --key-stdin' : 'claude --write';
      const { stdout, code } = await connect(line, options);
      expect({ code, used: stdout.includes(`key ${id}, which was given, is used\n`) }).toEqual({
        code: 0,
        used: true,
      });
      expect(readFileSync(settings, 'utf8')).toContain(key);
      const undone = await connect('claude --undo');
      expect(undone.stdout).toContain(`key ${id} is still valid; to revoke it: gateway keys revoke ${id}\n`);
    }
    expect((await keys()).map(({ revoked_at: at }) => at)).toEqual([null]);
    await run(`keys revoke ${id}`);
    for (const [value, message] of [
      [key, `key ${id} is revoked or expired`],
      ['sk-other', 'is not one of a gateway'],
    ] as const) {
      const { code, stderr } = await connect('claude --write', { env: { GATEWAY_KEY: value } });
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(message) as string });
    }
    expect(existsSync(settings)).toBe(false);
  });

  it('shows the key once where the settings have no place for it', async () => {
    const { connect, asked, home } = user();
    const { stdout } = await connect('zed --write');
    const [key = ''] = /^sk-gw-\w{43}$/m.exec(stdout) ?? [];
    expect(key).not.toBe('');
    expect(readFileSync(path.join(home, '.config/zed/settings.json'), 'utf8')).not.toContain('sk-gw');
    await connect('zed --undo');
    expect(await asked('zed --write')).toMatchObject({
      written: true,
      key: { key: expect.stringMatching(/^sk-gw-/) as string },
    });
  });

  it('makes no key if the settings cannot be written', async () => {
    const { connect, keys, settings } = user();
    mkdirSync(path.dirname(settings));
    writeFileSync(settings, '{ "env": ');
    const { code, stderr } = await connect('claude --write');
    expect(code).toBe(1);
    expect(stderr).toContain(
      `gateway: ${settings}:1:10: not valid JSON: value expected; nothing was changed\n`,
    );
    expect(await keys()).toEqual([]);
  });

  it('prints plans and results as JSON', async () => {
    const { asked, settings } = user();
    expect(await asked('claude')).toMatchObject({
      tool: 'claude',
      url: 'http://127.0.0.1:1',
      running: false,
      model: { name: 'auto', target: 'up/m', context_window: 100_000, max_output: 8000 },
      files: [{ path: settings, exists: false, diff: expect.arrayContaining(['+ {']) as string[] }],
      connected: false,
      written: false,
    });
    expect(await asked('claude --write')).toMatchObject({
      written: true,
      key: { account: 'local', name: 'claude' },
    });
    expect(await asked('claude --undo')).toMatchObject({
      files: [{ path: settings, result: 'removed', left: [] }],
      key: { revoked: true },
    });
  });

  it('a tool that only a person can set up has its steps', async () => {
    const { connect, asked } = user();
    const { stdout, code } = await connect('cursor');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^1\. Cursor sends requests from its own servers/m);
    expect(stdout).toContain('gateway keys create --account local');
    expect(stdout).not.toContain('--write');
    expect(await asked('xcode')).toMatchObject({
      files: [],
      steps: expect.arrayContaining([expect.stringContaining('http://127.0.0.1:1 ')]) as string[],
    });
  });
});

describe('--env', () => {
  it.each([
    ['sh', /^export OPENAI_BASE_URL='http:\/\/127\.0\.0\.1:1\/v1'$/m, /^unset OPENAI_ORG_ID$/m],
    ['fish', /^set -gx ANTHROPIC_BASE_URL 'http:\/\/127\.0\.0\.1:1'$/m, /^set -e OPENAI_ORG_ID$/m],
    ['powershell', /^\$env:OPENAI_MODEL = 'auto'$/m, /^Remove-Item Env:OPENAI_ORG_ID /m],
  ])('prints variables for %s', async (shell, set, unset) => {
    const { connect, keys } = user();
    const { stdout, stderr, code } = await connect(`--env --shell ${shell}`);
    expect(code).toBe(0);
    expect(stdout).toMatch(set);
    expect(stdout).toMatch(unset);
    const [key] = await keys();
    expect(key).toMatchObject({ name: 'env', account: 'local' });
    expect(stderr).toContain(`key ${key?.id ?? ''} was created for it`);
  });

  it('a shell can run it', async () => {
    const { connect } = user();
    const { stdout } = await connect('copilot --env', { env: { SHELL: '/bin/bash' } });
    const { stdout: seen } = spawnSync(
      'sh',
      ['-c', `${stdout}\nprintf %s "$COPILOT_MODEL $COPILOT_PROVIDER_MAX_PROMPT_TOKENS"`],
      { encoding: 'utf8' },
    );
    expect(seen).toBe('auto 92000');
  });

  it.each([
    ['claude', 'ANTHROPIC_BASE_URL', 'http://127.0.0.1:1'],
    ['claude', 'ANTHROPIC_DEFAULT_HAIKU_MODEL', 'auto'],
    ['opencode', 'OPENCODE_CONFIG_CONTENT', /"baseURL":"http:\/\/127\.0\.0\.1:1\/v1"/],
    ['goose', 'OPENAI_HOST', 'http://127.0.0.1:1'],
  ])('%s has %s, although it has settings that can be written', async (tool, name, value) => {
    const { stdout, code } = await user().connect(`${tool} --env --shell sh`);
    expect(code).toBe(0);
    const { stdout: seen } = spawnSync('sh', ['-c', `${stdout}\nprintf %s "$${name}"`], { encoding: 'utf8' });
    if (typeof value === 'string') expect(seen).toBe(value);
    else expect(seen).toMatch(value);
  });

  it('uses the key of the environment again', async () => {
    const { connect, run, keys } = user();
    const { key } = JSON.parse((await run('keys create --account local --json')).stdout) as { key: string };
    const { stdout } = await connect('--env', { env: { GATEWAY_KEY: key } });
    expect(stdout).toContain(key);
    expect(await keys()).toHaveLength(1);
  });
});

it.each([
  ['clade', 2, 'unknown tool "clade"; did you mean claude?'],
  ['claude --write --undo', 2, '--write and --undo exclude each other'],
  ['--write', 2, 'name a tool (claude, '],
  ['cursor --write', 1, 'Cursor has no file that could be written; see: gateway connect cursor'],
  ['copilot --write', 1, 'see: gateway connect copilot --env'],
  [
    'codex --env',
    1,
    'Codex CLI needs more than variables: gateway connect codex; for one start: gateway run codex',
  ],
  ['zed --env', 1, 'Zed needs more than variables: gateway connect zed'],
  ['claude --model mm', 1, 'unknown model "mm"; did you mean m?'],
  ['claude --write --key-stdin', 1, 'standard input holds no key'],
] as const)('connect %s ends with %i', async (line, expected, message) => {
  const { code, stderr } = await user().connect(line);
  expect({ code, stderr }).toEqual({ code: expected, stderr: expect.stringContaining(message) as string });
});

it('an address that changes at each start cannot be written', async () => {
  const { connect, directory } = user();
  writeFileSync(path.join(directory, 'gateway.yaml'), FILE.replace('port: 1', 'port: 0'));
  expect(await connect('claude')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('listen.port is 0') as string,
  });
});
