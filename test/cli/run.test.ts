// `gateway run` as a process, with a program of the test's own under a tool's name.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import type { Key } from '../../src/store/store.ts';
import { home, type Ended } from '../helpers/process.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { createShell } from './harness.ts';

const BIN = fileURLToPath(new URL('../../bin/gateway.js', import.meta.url));

/** Prints what it was given, asks the gateway once, ends as its arguments say. */
const TOOL = `#!${process.execPath}
// Its own arguments stand behind those of the gateway.
const [mode, code] = process.argv.slice(process.argv[2] === '--settings' ? 4 : 2);
const { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: key, ANTHROPIC_MODEL: model } = process.env;
async function main() {
  if (mode === 'wait') {
    process.on('SIGTERM', () => process.exit(7));
    console.log('waits');
    setInterval(() => {}, 1000);
    return;
  }
  if (mode === 'until-end') {
    process.stdin.on('end', () => process.exit(0)).resume();
    console.log(process.env.ANTHROPIC_BASE_URL);
    return;
  }
  if (mode === 'die') process.kill(process.pid, 'SIGKILL');
  let stdin = '';
  for await (const chunk of process.stdin) stdin += chunk;
  // Without the cost of \`fetch\`.
  const request = require('node:http').request(url + '/v1/messages', {
    method: 'POST',
    headers: { authorization: 'Bearer ' + key, 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
  });
  request.end(JSON.stringify({ model, max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] }));
  const [reply] = await require('node:events').once(request, 'response');
  let text = '';
  for await (const chunk of reply) text += chunk;
  const answer = JSON.parse(text);
  const own = (name) => /^(ANTHROPIC|CLAUDE|OPENAI|NO_PROXY)/.test(name);
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => own(name)));
  console.log(JSON.stringify({ args: process.argv.slice(2), env, stdin, answer }));
  process.exitCode = Number(code ?? 0);
}
void main();
`;

interface Report {
  args: string[];
  env: Record<string, string>;
  stdin: string;
  answer: { content: { text: string }[] };
}

interface Place {
  directory: string;
  command: (...words: string[]) => Promise<Ended>;
  /** The folder of private files. */
  temporary: string;
  start: (words: string[], env?: Record<string, string>) => ChildProcess;
  keys: () => Promise<Key[]>;
}

/** A folder with a tool `claude` in PATH and a provider with one model. */
async function place(
  name = 'up',
  limits: object = { context_window: 100_000, max_output: 8000 },
): Promise<Place> {
  const shell = home();
  const { directory } = shell;
  const [bin, temporary] = [join(directory, 'bin'), join(directory, 'tmp')];
  mkdirSync(bin);
  mkdirSync(temporary);
  writeFileSync(join(bin, 'claude'), TOOL);
  chmodSync(join(bin, 'claude'), 0o755);
  const provider = await scriptedProvider();
  provider.playAlways({
    body: {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      // As an answer to the question which models there are.
      data: [{ id: 'm', max_model_len: 32_768 }],
    },
  });
  const models = [{ id: 'm', ...limits }];
  const up = { base_url: `${provider.url}/v1`, protocol: 'chat', api_key: 'k', models };
  const database = join(directory, 'gateway.db');
  const config = { providers: { [name]: up }, database, listen: { hosts: ['127.0.0.1'], port: 1 } };
  const file = join(directory, 'gateway.yaml');
  writeFileSync(file, JSON.stringify(config));
  return {
    directory,
    command: (...words) => shell.command(...words),
    temporary,
    start(words, env = {}) {
      const child = spawn(process.execPath, [BIN, 'run', ...words], {
        cwd: directory,
        env: { PATH: bin, HOME: directory, TMPDIR: temporary, GATEWAY_CONFIG: file, ...env },
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      return child;
    },
    async keys() {
      const store = await openStore(database);
      const keys = await store.listKeys();
      await store.close();
      return keys;
    },
  };
}

async function finish(child: ChildProcess, stdin = '') {
  child.stdin?.end(stdin);
  const [stdout, stderr, [code, signal]] = await Promise.all([
    child.stdout ? text(child.stdout) : '',
    child.stderr ? text(child.stderr) : '',
    once(child, 'close') as Promise<[number | null, string | null]>,
  ]);
  return { stdout, stderr, code, signal };
}

describe('a tool', () => {
  it('gets the gateway, its arguments and standard input, and ends with its own exit code', async () => {
    const { start, keys, temporary } = await place();
    const { code, stdout, stderr } = await finish(
      start(['claude', 'ask', '3', '--help', '--model', 'x']),
      'input',
    );
    const { args, env, stdin, answer } = JSON.parse(stdout) as Report;
    expect(code, stderr).toBe(3);
    expect(args.slice(2)).toEqual(['ask', '3', '--help', '--model', 'x']);
    expect(args.slice(0, 2)).toEqual(['--settings', expect.stringContaining(temporary)]);
    expect(stdin).toBe('input');
    expect(answer.content[0]?.text).toBe('Hi');
    expect(env).toMatchObject({ ANTHROPIC_MODEL: 'auto', ANTHROPIC_API_KEY: '' });
    const url = env['ANTHROPIC_BASE_URL'] ?? '';
    expect(stderr).toBe(`gateway run: claude → ${url}, model auto (up/m, window 100,000)\n`);
    await expect(fetch(url)).rejects.toThrow();
    const [key, ...others] = await keys();
    expect(others).toEqual([]);
    expect(key).toMatchObject({
      account: 'local',
      label: 'run claude',
      revokedAt: expect.any(Number) as number,
    });
    expect((key?.expiresAt ?? Infinity) - Date.now()).toBeLessThanOrEqual(3_600_000);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it('uses the gateway that runs on the configured address', async () => {
    const own = home();
    own.configure({ providers: { sim: {} }, database: own.database });
    const server = await own.serve();
    const { start, directory } = await place();
    const port = new URL(server.url).port;
    const words = ['--config', join(own.directory, 'gateway.yaml'), 'claude', 'ask'];
    const { stdout, stderr } = await finish(start(words, { GATEWAY_PORT: port, GATEWAY_HOST: '127.0.0.1' }));
    expect((JSON.parse(stdout) as Report).env['ANTHROPIC_BASE_URL'], stderr).toBe(server.url);
    // The same address, another database.
    const other = await finish(start(['claude', 'ask'], { GATEWAY_PORT: port, GATEWAY_HOST: '127.0.0.1' }));
    expect((JSON.parse(other.stdout) as Report).env['ANTHROPIC_BASE_URL'], directory).not.toBe(server.url);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
  });

  it('is seen by status and top while it runs; it gets signals, not from stop, and its key ends with it', async () => {
    const { start, command, directory, keys } = await place();
    const child = start(['claude', 'wait']);
    await once(child.stdout ?? child, 'data');
    expect((await keys())[0]?.revokedAt).toBeNull();
    const status = await command('status');
    expect(status).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/tool +claude; the gateway ends with it\n/) as string,
    });
    expect((await command('top', '--json')).code).toBe(0);
    for (const other of ['stop', 'reload'])
      expect(await command(other)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          /no gateway of its own runs on .*, only that of gateway run claude \(pid \d+\): it ends with its tool\n/,
        ) as string,
      });
    child.kill('SIGTERM');
    expect(await finish(child)).toMatchObject({ code: 7 });
    expect((await keys())[0]?.revokedAt).not.toBeNull();
    expect((await command('status')).code).toBe(1);
    expect(readdirSync(directory).filter((name) => name.endsWith('.sock'))).toEqual([]);
  });

  it('P8: of a run that was killed leaves a folder with its key, which the next run removes', async () => {
    const { start, temporary } = await place();
    const killed = start(['claude', 'until-end']);
    await once(killed.stdout ?? killed, 'data');
    const [left = ''] = readdirSync(temporary);
    expect(readdirSync(join(temporary, left))).toEqual(['claude-settings.json']);
    const running = start(['claude', 'until-end']);
    await once(running.stdout ?? running, 'data');
    expect(readdirSync(temporary)).toHaveLength(2);
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    mkdirSync(join(temporary, 'gateway-run-of-another'));
    symlinkSync(temporary, join(temporary, left.replace(/\w{6}$/, 'linked')));

    await finish(start(['claude', 'ask']));
    const after = readdirSync(temporary);
    expect(after).not.toContain(left);
    expect(after).toContain('gateway-run-of-another');
    expect(after).toContain(left.replace(/\w{6}$/, 'linked'));
    // That of the run that lives.
    expect(after).toHaveLength(3);
    killed.stdin?.end();
    await finish(running);
    expect(readdirSync(temporary)).toHaveLength(2);
  });

  it('learns the window that a server on this machine has', async () => {
    const { start } = await place('vllm', {});
    const { stdout, stderr } = await finish(start(['claude', 'ask']));
    expect(stderr).toMatch(/ → \S+, model auto \(vllm\/m, window 32,768\)\n$/);
    expect((JSON.parse(stdout) as Report).env).toMatchObject({ CLAUDE_CODE_MAX_CONTEXT_TOKENS: '23592' });
  });

  it('takes the model right after its name; a later one is its own', async () => {
    const { start } = await place();
    const ran = await finish(start(['claude', '--model', 'up/m', 'ask', '0', '--model', 'x']));
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stderr).toContain(', model up/m (window 100,000)');
    const { args, env } = JSON.parse(ran.stdout) as Report;
    expect(args.slice(2)).toEqual(['ask', '0', '--model', 'x']);
    expect(env).toMatchObject({ ANTHROPIC_MODEL: 'up/m' });
  });

  it('has its requests under the label of its key, cut to 64 characters', async () => {
    const { command, start } = await place();
    const ran = await finish(start(['--label', `pr-123${'x'.repeat(70)}`, 'claude', 'ask']));
    expect(ran.code, ran.stderr).toBe(0);
    const { stdout } = await command('usage', '--by', 'label', '--json');
    expect(JSON.parse(stdout)).toMatchObject([
      { by: [{ label: `pr-123${'x'.repeat(58)}`, totals: { requests: 1 } }] },
    ]);
  });

  it('shows limits where it is told to, or where the account of this machine has one', async () => {
    const { start, keys, command } = await place();
    const run = async (...words: string[]) => {
      const { stdout, stderr, code } = await finish(start(words));
      if (code !== 0) return { code, stderr };
      const { env, args } = JSON.parse(stdout) as Report;
      const isMarked = (await keys()).at(-1)?.native;
      return { shows: [env['CLAUDE_CODE_USE_GATEWAY'] === '1', isMarked], args: args.slice(2), stderr };
    };
    expect(await run('claude', 'ask')).toMatchObject({ shows: [false, false] });
    expect(await run('--native', 'claude', 'ask')).toMatchObject({ shows: [true, true] });
    expect(await run('claude', '--native', '--model', 'up/m', 'ask')).toMatchObject({
      ...{ shows: [true, true], args: ['ask'] },
    });
    const other = await run('--native', '--', 'claude', 'ask');
    expect(other).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--native is for claude') as string,
    });
    expect((await command('tiers', 'assign', 'local', 'pro')).code).toBe(0);
    const limited = await run('claude', 'ask');
    expect(limited).toMatchObject({ shows: [true, true] });
    expect(limited.stderr).toContain('shows the limits of account local (--no-native: it does not)');
    expect(await run('claude', '--no-native', 'ask')).toMatchObject({ shows: [false, false], args: ['ask'] });
  });

  it('that a signal ends, ends the command with the same signal', async () => {
    const { start, keys } = await place();
    expect(await finish(start(['claude', 'die']))).toMatchObject({ code: null, signal: 'SIGKILL' });
    expect((await keys())[0]?.revokedAt).not.toBeNull();
  });

  it('is not started for an unknown model, also in one word right after its name', async () => {
    const { start, keys } = await place();
    const { code, stdout, stderr } = await finish(start(['claude', '--model=up/n', 'ask', '--model', 'x']));
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe('gateway: There is no model `up/n` here. Did you mean `up/m`?\n');
    expect((await keys())[0]?.revokedAt).not.toBeNull();
  });
});

it('a first `serve` shows a first key, also after a tool was run', async () => {
  const own = home();
  const ran = await own.command('run', '--', 'true');
  expect(ran.stderr).toContain('model auto (sim/echo, window ');
  expect(ran.stderr).toContain('no provider is configured: a simulated one answers');
  const first = await own.serve();
  expect(first.stdout()).toMatch(/sk-gw-\w{43}/);
  first.child.kill('SIGTERM');
  await first.ended;
  expect((await own.serve()).stdout()).not.toMatch(/sk-gw-\w{43}/);
});

it("gives any program the SDKs' variables", async () => {
  const { start } = await place();
  const script = 'console.log(JSON.stringify({ ...process.env, args: process.argv.slice(1) }))';
  const words = ['--model', 'up/m', '--', process.execPath, '-e', script, '--', '--model'];
  const { code, stdout, stderr } = await finish(
    start(words, { OPENAI_API_KEY: 'mine', ANTHROPIC_AUTH_TOKEN: 'mine', HTTP_PROXY: 'http://p:1' }),
  );
  expect(code, stderr).toBe(0);
  const env = JSON.parse(stdout) as Record<string, string> & { args: string[] };
  const url = env['ANTHROPIC_BASE_URL'] ?? '';
  expect(env).toMatchObject({
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_KEY: env['ANTHROPIC_API_KEY'],
    // Else the agents SDK sends all inputs and outputs to its vendor.
    OPENAI_AGENTS_DISABLE_TRACING: '1',
    OPENAI_MODEL: 'up/m',
    HTTP_PROXY: 'http://p:1',
    NO_PROXY: '127.0.0.1,localhost',
    args: ['--model'],
  });
  expect(env['OPENAI_API_KEY']).toMatch(/^sk-gw-/);
  // The SDK would send both.
  expect(env).not.toHaveProperty('ANTHROPIC_AUTH_TOKEN');
});

it.each([
  ['run', 2, 'name a tool (claude, '],
  ['run --', 2, 'name a tool (claude, '],
  [
    'run cluade',
    2,
    'unknown tool "cluade"; did you mean claude? Or for any other program: gateway run -- PROGRAM',
  ],
  ['run xyzzy', 2, 'kimi, pi, crush; for any other program: gateway run -- PROGRAM'],
  [
    'run cline',
    2,
    'Cline CLI is not started by gateway run; its settings point it at the gateway: gateway connect cline',
  ],
  [
    'run claude',
    127,
    'Claude Code is not installed: no claude in PATH; install it: npm install -g @anthropic-ai/claude-code',
  ],
  ['run -- nonsense', 127, 'no program "nonsense" in PATH; check the name, or write its path'],
  ['run --modle x claude', 2, "unknown option '--modle'"],
])('%s exits with %i', async (line, code, message) => {
  const shell = createShell();
  const result = await shell.run(line, { env: { PATH: shell.directory } });
  expect(result).toMatchObject({ code, stdout: '' });
  expect(result.stderr).toContain(message);
  // Nothing was started for it.
  expect(readdirSync(shell.directory)).toEqual([]);
});
