// What only a real process shows: exit codes, signals, pipes, and what is loaded.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync, existsSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
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
const HASHING = ['connect', 'dashboard'];

describe('loads nothing heavy for', () => {
  it.each([
    ['--help'],
    ['--version'],
    ['serve', '--help'],
    ['run', '--help'],
    ['connect', '--help'],
    ['keys', 'create', '--help'],
    ['keys', 'list'],
    ['connect'],
    ['models'],
    ['dashboard', '--json'],
    ['sevre'],
  ])('%s %s %s', async (...argv) => {
    const directory = temporaryDirectory();
    const record = join(directory, 'imports');
    const words = argv.filter((word) => word !== undefined);
    await finish(start(words, { directory, node: ['--import', RECORDER], env: { RECORD_IMPORTS: record } }));
    const imports = readFileSync(record, 'utf8').split('\n');
    expect(imports).toContain('NativeModule events');
    const heavy = HASHING.includes(words[0] ?? '') ? HEAVY : [...HEAVY, 'crypto'];
    for (const name of heavy) expect(imports).not.toContain(`NativeModule ${name}`);
  });
});

/** Arguments of commands that need some; `dashboard` alone would start a gateway. None runs, and no provider is configured. */
const ARGUMENTS: Readonly<Record<string, string[]>> = {
  'accounts remove': ['a', '--yes'],
  'accounts rename': ['a', 'b'],
  'admin tokens create': ['--name', 'a'],
  'admin tokens revoke': ['tok_1'],
  backup: ['copy.db'],
  completion: ['bash'],
  dashboard: ['--json'],
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
  ['without', undefined, 515_000],
  ['with', FILE, 1_000_000],
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
    const record = join(directory, 'record');
    const env = { HOME: directory, LINES: JSON.stringify(lines), RECORD: record };
    const { code } = await finish(start([], { directory, env, script: LOADED_SCRIPTS }));
    expect(code).toBe(0);
    const loaded = JSON.parse(readFileSync(record, 'utf8')) as Record<string, Record<string, number>>;
    expect(Object.keys(loaded)).toEqual(lines.map((line) => line.join(' ')));
    for (const scripts of Object.values(loaded)) expect(scripts).toHaveProperty(['program.cjs']);
    const serving = Object.keys(loaded).filter((line) => 'serving.cjs' in (loaded[line] ?? {}));
    expect(serving.map((line) => line.split(' ')[0]).sort()).toEqual(
      file === undefined ? ASKING_SIMULATED : SERVING,
    );
    for (const [line, scripts] of Object.entries(loaded)) {
      const isReading = file === undefined && READING.some((path) => line.startsWith(path));
      if (serving.includes(line) || isReading) continue;
      const bytes = Object.values(scripts).reduce((sum, size) => sum + size, 0);
      expect(bytes, `${line}: ${JSON.stringify(scripts)}`).toBeLessThan(most);
    }
    // One process runs all commands, one after the other.
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
    expect([...packages]).toEqual(['commander']);
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
  ['--version exits with 0', ['--version'], 0],
  ['keys list exits with 0', ['keys', 'list'], 0],
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

describe('serve', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('ends with 0 on %s', async (signal) => {
    const child = start(['serve', '--port', '0', '--log', 'off']);
    await until(child.stdout, /curl /);
    child.kill(signal);
    expect(await once(child, 'close')).toEqual([0, null]);
  });

  it('shows its first key once, with lines that work when pasted', async () => {
    const directory = temporaryDirectory();
    const child = start(['serve', '--port', '0', '--host', '127.0.0.1', '--log', 'off'], { directory });
    const banner = await until(child.stdout, /^curl .*\n/m);
    expect(banner).toMatch(/^sk-gw-[0-9A-Za-z]{40,}$/m);
    expect(banner.match(/sk-gw-[0-9A-Za-z]{40,}/g)).toHaveLength(1);
    expect(banner).toMatch(/chat +http:\/\/127\.0\.0\.1:\d+\/v1\n/);
    expect(banner).toMatch(/messages +http:\/\/127\.0\.0\.1:\d+\n/);
    expect(banner).toContain(join(directory, 'gateway', 'gateway.db'));
    const [lines = ''] = /^GATEWAY_KEY=[^]*^curl .*$/m.exec(banner) ?? [];
    const shell = spawn('sh', ['-c', lines.replace('curl ', 'curl -sS ')], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const answer = await finish(shell);
    expect(JSON.parse(answer.stdout), answer.stderr).toMatchObject({
      choices: [{ message: { role: 'assistant' } }],
    });
  });

  it('finishes a stream after one signal, and ends at once after a second', async () => {
    for (const signals of [1, 2]) {
      const child = start(['serve', '--port', '0', '--host', '127.0.0.1', '--log', 'json']);
      const banner = await until(child.stdout, /^curl .*\n/m);
      const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(banner) ?? [];
      const [key = ''] = /sk-gw-\w+/.exec(banner) ?? [];
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'sim/slow', stream: true, messages: [{ role: 'user', content: 'x' }] }),
      });
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await until(child.stderr, /"stopping"/);
      if (signals === 2) child.kill('SIGTERM');
      const streamed = await response.text().catch(() => 'broken');
      expect(await ended).toEqual(signals === 1 ? [0, null] : [null, 'SIGTERM']);
      expect(streamed.includes('[DONE]')).toBe(signals === 1);
    }
  });

  it('warns that keys and prompts cross the network unencrypted on a host that others reach', async () => {
    for (const [host, warned] of [
      ['0.0.0.0', true],
      ['127.0.0.1', false],
    ] as const) {
      const child = start(['serve', '--port', '0', '--host', host, '--log', 'off']);
      const stderr = child.stderr === null ? Promise.resolve('') : text(child.stderr);
      await until(child.stdout, /^curl .*\n/m);
      child.kill('SIGTERM');
      expect((await stderr).includes('there is no TLS')).toBe(warned);
    }
  });

  it('names a busy port in one line', async () => {
    const squatter = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void squatter.close());
    await once(squatter, 'listening');
    const { port } = squatter.address() as AddressInfo;
    const child = start(['serve', '--host', '127.0.0.1', '--port', String(port), '--log', 'off']);
    const { code, stdout, stderr } = await finish(child);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      new RegExp(`^gateway: port ${port} on 127\\.0\\.0\\.1 is in use[^\\n]*--port\\n$`),
    );
  });

  it('outlives the readers of its output and its log', async () => {
    const child = start(['serve', '--port', '0', '--host', '127.0.0.1', '--log', 'json']);
    const banner = await until(child.stdout, /^curl .*\n/m);
    child.stdout?.destroy();
    child.stderr?.destroy();
    const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(banner) ?? [];
    for (let at = 0; at < 3; at++) {
      const response = await fetch(`${url}/v1/nonsense`);
      expect(response.status).toBe(404);
      await response.arrayBuffer();
    }
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});
