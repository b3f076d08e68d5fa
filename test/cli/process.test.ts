// What only a real process shows: exit codes, signals, pipes, and what is loaded.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, readFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import type TypeScript from 'typescript';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import { describeProgram } from '../../src/cli/program.ts';
import { createShell, temporaryDirectory } from './harness.ts';
import { ts } from '../helpers/typescript.ts';

const BIN = fileURLToPath(new URL('../../bin/gateway.js', import.meta.url));
const RECORDER = new URL('record-imports.mjs', import.meta.url).href;
const LOADED_SCRIPTS = fileURLToPath(new URL('loaded-scripts.mjs', import.meta.url));

interface Options {
  directory?: string;
  env?: Record<string, string>;
  node?: string[];
  stdout?: number;
  /** In place of the gateway's. */
  script?: string;
}

function start(argv: string[], options: Options = {}): ChildProcess {
  const directory = options.directory ?? temporaryDirectory();
  const child = spawn(process.execPath, [...(options.node ?? []), options.script ?? BIN, ...argv], {
    cwd: directory,
    env: { PATH: process.env['PATH'], XDG_CONFIG_HOME: directory, XDG_DATA_HOME: directory, ...options.env },
    stdio: ['ignore', options.stdout ?? 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

async function finish(
  child: ChildProcess,
): Promise<{ code: number | null; signal: string | null; stdout: string; stderr: string }> {
  const [stdout, stderr, [code, signal]] = await Promise.all([
    child.stdout ? text(child.stdout) : '',
    child.stderr ? text(child.stderr) : '',
    once(child, 'close') as Promise<[number | null, string | null]>,
  ]);
  return { code, signal, stdout, stderr };
}

/** Reads a stream until it has shown what is waited for. */
async function until(stream: NodeJS.ReadableStream | null, pattern: RegExp): Promise<string> {
  let seen = '';
  for await (const chunk of stream ?? []) {
    seen += String(chunk);
    if (pattern.test(seen)) return seen;
  }
  throw new Error(`ended without ${String(pattern)}: ${seen}`);
}

/** Parts of Node that undici, pino, TLS, the start of programs and `performance` need. */
const HEAVY = ['http2', 'worker_threads', 'tls', 'child_process', 'perf_hooks'];
/** These hash the content of files, or the path of a socket. The other commands below do without `crypto`. */
const HASHING = ['models', 'connect'];

/** `serve` and `run` only tell their options. Those that hash come last: a part stays loaded for the lines that follow. */
const LIGHT = [
  ['--help'],
  ['--version'],
  ['serve', '--help'],
  ['run', '--help'],
  ['connect', '--help'],
  ['keys', 'create', '--help'],
  ['keys', 'list'],
  ['sevre'],
  ['models'],
  ['connect'],
];

test('the executable loads nothing heavy, and ends with 0', async () => {
  const directory = temporaryDirectory();
  const record = join(directory, 'imports');
  const env = { RECORD_IMPORTS: record };
  const { code, stderr } = await finish(
    start(['keys', 'list'], { directory, node: ['--import', RECORDER], env }),
  );
  expect(code, stderr).toBe(0);
  const imports = readFileSync(record, 'utf8').split('\n');
  expect(imports).toContain('NativeModule events');
  for (const name of [...HEAVY, 'crypto']) expect(imports).not.toContain(`NativeModule ${name}`);
});

test('small commands load nothing heavy', async () => {
  const loaded = await loadedBy(LIGHT, temporaryDirectory());
  for (const [line, { parts }] of Object.entries(loaded)) {
    expect(parts).toContain('NativeModule events');
    const heavy = HASHING.includes(line) ? HEAVY : [...HEAVY, 'crypto'];
    for (const name of heavy) expect(parts, line).not.toContain(`NativeModule ${name}`);
  }
});

test('a command on PostgreSQL does not load fetch', async () => {
  const line = ['keys', 'list', '--database', 'postgres://postgres@127.0.0.1:9/gateway'];
  const loaded = await loadedBy([line], temporaryDirectory());
  const { parts = [] } = loaded[line.join(' ')] ?? {};
  expect(parts).toContain('NativeModule dns');
  expect(parts).not.toContain('NativeModule internal/deps/undici/undici');
});

interface Loaded {
  /** With their bytes. */
  scripts: Record<string, number>;
  /** Node's own, with those of the lines before. */
  parts: string[];
}

/** What each command line loads. One process runs them all, one after the other. */
async function loadedBy(lines: string[][], directory: string): Promise<Record<string, Loaded>> {
  const record = join(directory, 'record');
  const file = join(directory, 'gateway.yaml');
  const named: Record<string, string> = existsSync(file) ? { GATEWAY_CONFIG: file } : {};
  const env = { HOME: directory, ...named, LINES: JSON.stringify(lines), RECORD: record };
  const { code } = await finish(start([], { directory, env, script: LOADED_SCRIPTS }));
  expect(code).toBe(0);
  const loaded = JSON.parse(readFileSync(record, 'utf8')) as Record<string, Loaded>;
  expect(Object.keys(loaded)).toEqual(lines.map((line) => line.join(' ')));
  return loaded;
}

/** Arguments of commands that need some; `dashboard` would start a gateway. None runs, and no provider is configured. */
const ARGUMENTS: Readonly<Record<string, string[]>> = {
  'accounts remove': ['a', '--yes'],
  'accounts rename': ['a', 'b'],
  'admin tokens create': ['--name', 'a'],
  'admin tokens revoke': ['tok_1'],
  backup: ['copy.db'],
  completion: ['bash'],
  dashboard: ['--help'],
  explain: ['auto'],
  import: ['export.jsonl'],
  'keys create': ['--account', 'a'],
  'keys revoke': ['key_1'],
  'keys rotate': ['key_1'],
  run: ['--', 'true'],
  'tiers assign': ['a', 'pro'],
};

/** Without a running gateway, `run` starts one. */
const SERVING = ['run'];
/** `check` asks the simulated provider, which is part of a gateway; the one of FILE does not answer, so that it is asked for no more
 *  than its list. */
const ASKING_SIMULATED = ['check', 'run'];
/** These read a file where others do without YAML and the schema, which are 350 KB: `init` the one that it writes. */
const READING = ['config show', 'init'];

const FILE = 'providers: { lab: { protocol: chat, base_url: "http://127.0.0.1:9", models: [a] } }\n';

test.each([
  ['without', undefined, 640_000],
  ['with', FILE, 1_070_000],
])(
  '%s a configuration file, a command loads no script that it does not need',
  async (_, file, most) => {
    const leaves = (command: Command, path: string): string[] =>
      command.commands.length === 0
        ? [path]
        : command.commands.flatMap((child) => leaves(child, `${path} ${child.name()}`));
    const { commands } = await describeProgram(createShell().context);
    const lines = [
      ...commands
        .flatMap((command) => leaves(command, command.name()))
        .filter((path) => path !== 'serve' && path !== 'init')
        .map((path) => [...path.split(' '), ...(ARGUMENTS[path] ?? [])]),
      ['--version'],
      ['connect', 'claude'],
      ['connect', 'claude', '--write'],
      ['connect', 'claude', '--undo'],
      ['connect', '--env'],
      ['__complete', 'run', '--model', ''],
      ...(file === undefined
        ? // The others find no file that it wrote.
          [['init', '--yes']]
        : // TOML, and YAML for two purposes.
          [
            ['connect', 'codex', '--write'],
            ['connect', 'continue', '--write'],
          ]),
    ];
    const directory = temporaryDirectory();
    if (file !== undefined) writeFileSync(join(directory, 'gateway.yaml'), file);
    const loaded = await loadedBy(lines, directory);
    for (const { scripts } of Object.values(loaded)) expect(scripts).toHaveProperty(['program.cjs']);
    const serving = Object.keys(loaded).filter((line) => 'serving.cjs' in (loaded[line]?.scripts ?? {}));
    expect(serving.map((line) => line.split(' ')[0]).sort()).toEqual(
      file === undefined ? ASKING_SIMULATED : SERVING,
    );
    for (const [line, { scripts }] of Object.entries(loaded)) {
      const isReading = file === undefined && READING.some((path) => line.startsWith(path));
      if (serving.includes(line) || isReading) continue;
      const bytes = Object.values(scripts).reduce((sum, size) => sum + size, 0);
      expect(bytes, `${line}: ${JSON.stringify(scripts)}`).toBeLessThan(most);
    }
  },
  120_000,
);

test('the executable does without the loader of ES modules', () => {
  const bin = fileURLToPath(new URL('../../bin/', import.meta.url));
  expect(JSON.parse(readFileSync(join(bin, 'package.json'), 'utf8'))).toEqual({ type: 'commonjs' });
  for (const name of ['gateway.js', 'compile-cache.js', '../dist/cli/main.cjs'])
    expect(readFileSync(join(bin, name), 'utf8')).not.toMatch(/^import |[^.\w]import\(/m);
});

test.each(['program.ts', 'commands/running/serve.ts', 'commands/keys.ts'])(
  '%s needs no package but commander',
  (file) => {
    const packages = new Set<string>();
    const seen = new Set<string>();
    const follow = (url: URL): void => {
      if (seen.has(url.href)) return;
      seen.add(url.href);
      for (const name of importsOf(readFileSync(url, 'utf8'))) {
        if (name.startsWith('.')) follow(new URL(name, url));
        else if (!name.startsWith('node:')) packages.add(name);
      }
    };
    follow(new URL(`../../src/cli/${file}`, import.meta.url));
    // The build makes string-width's segmenter late.
    expect([...packages].filter((name) => name !== 'string-width')).toEqual(['commander']);
  },
);

/** What a module loads before it runs. */
function importsOf(source: string): string[] {
  return ts.createSourceFile('', source, ts.ScriptTarget.Latest).statements.flatMap((statement) => {
    const { moduleSpecifier } = statement as TypeScript.ImportDeclaration;
    const typeOnly = ts.isImportDeclaration(statement)
      ? statement.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword
      : ts.isExportDeclaration(statement) && statement.isTypeOnly;
    return moduleSpecifier !== undefined && ts.isStringLiteral(moduleSpecifier) && !typeOnly
      ? [moduleSpecifier.text]
      : [];
  });
}

test.each([
  ['usage of an unknown account exits with 1', ['usage', 'nobody'], 1],
  ['an unknown command exits with 2', ['nonsense'], 2],
])('%s', async (_, argv, code) => {
  const result = await finish(start(argv));
  expect(result.code, result.stderr).toBe(code);
  expect(result.stderr).not.toContain('    at ');
});

test('a reader that leaves early is no failure', async () => {
  const child = start(['keys', 'create', '--help']);
  child.stdout?.destroy();
  const [stderr, ended] = await Promise.all([child.stderr ? text(child.stderr) : '', once(child, 'exit')]);
  expect({ stderr, ended }).toEqual({ stderr: '', ended: [0, null] });
});

test.runIf(existsSync('/dev/full'))('output that cannot be written is a failure', async () => {
  const child = start(['tiers', 'list'], { stdout: openSync('/dev/full', 'w') });
  const { code, stderr } = await finish(child);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^gateway: the output could not be written: .*\n$/);
});

test('many writers share one database', async () => {
  const directory = temporaryDirectory();
  const accounts = ['a', 'b', 'c', 'd'];
  const writers = accounts.map((account) =>
    finish(start(['keys', 'create', '--account', account], { directory })),
  );
  for (const { code, stderr } of await Promise.all(writers)) expect(code, stderr).toBe(0);
  const { stdout } = await finish(start(['accounts', 'list', '--json'], { directory }));
  expect(JSON.parse(stdout)).toHaveLength(accounts.length);
});

describe('a process without what every user has', () => {
  it('says that its folder was deleted', async () => {
    const folder = join(temporaryDirectory(), 'gone');
    mkdirSync(folder);
    const script = `cd ${folder} && rmdir ${folder} && exec "$@"`;
    const child = spawn('sh', ['-c', script, 'sh', process.execPath, BIN, 'keys', 'list'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { code, stderr } = await finish(child);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'gateway: the current folder does not exist any more; go to one that does\n',
    });
  });

  const STRANGER = { uid: 54_321, gid: 54_321, env: { PATH: process.env['PATH'] }, cwd: '/' };
  /** Only root can become another user, who must be able to read the program. */
  const canBecome =
    process.getuid?.() === 0 && spawnSync(process.execPath, [BIN, '--version'], STRANGER).status === 0;

  it.skipIf(!canBecome).each([
    [
      ['keys', 'list'],
      {},
      'this user has no home folder: HOME is not set, and the user has no passwd entry; set HOME',
    ],
    [
      ['keys', 'list', '--database', 'postgres://127.0.0.1:1/x'],
      { HOME: '/nonexistent' },
      "the database's postgres:// URL is wrong: it names no user, and this process runs as one without a name; write postgres://USER@HOST/DATABASE",
    ],
  ])('says what is missing of a user whom the system does not know: %j', (argv, env, line) => {
    const { status, stderr } = spawnSync(process.execPath, [BIN, ...argv], {
      ...STRANGER,
      env: { ...STRANGER.env, ...env },
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr.split('\n')).toContain(`gateway: ${line}`);
  });
});

describe('serve', () => {
  it('shows its first key once, with lines that work when pasted', async () => {
    const directory = temporaryDirectory();
    const child = start(['serve', '--port', '0', '--host', '127.0.0.1', '--log', 'off'], { directory });
    const stderr = child.stderr === null ? '' : text(child.stderr);
    const banner = await until(child.stdout, /^curl .*\n/m);
    expect(banner).toMatch(/^export GATEWAY_KEY=sk-gw-[0-9A-Za-z]{40,}$/m);
    expect(banner.match(/sk-gw-[0-9A-Za-z]{40,}/g)).toHaveLength(1);
    expect(banner).toMatch(/chat +http:\/\/127\.0\.0\.1:\d+\/v1\n/);
    expect(banner).toMatch(/messages +http:\/\/127\.0\.0\.1:\d+\n/);
    expect(banner).toContain(join(directory, 'gateway', 'gateway.db'));
    const [lines = ''] = /^export GATEWAY_KEY=[^]*^curl .*$/m.exec(banner) ?? [];
    const shell = spawn('sh', ['-c', lines.replace('curl ', 'curl -sS ')], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const answer = await finish(shell);
    expect(JSON.parse(answer.stdout), answer.stderr).toMatchObject({
      choices: [{ message: { role: 'assistant' } }],
    });
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    // Nothing crosses a network.
    expect(await stderr).not.toContain('there is no TLS');
  });

  it('warns that keys and prompts cross the network unencrypted on a host that others reach', async () => {
    const child = start(['serve', '--port', '0', '--host', '0.0.0.0', '--log', 'off']);
    const stderr = child.stderr === null ? '' : text(child.stderr);
    await until(child.stdout, /^curl .*\n/m);
    child.kill('SIGTERM');
    expect(await stderr).toContain('there is no TLS');
  });
});
