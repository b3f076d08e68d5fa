// `gateway init`: what it finds, asks and writes, and that a failure or an ended input writes nothing.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { fileText } from '../../src/cli/init/file-text.ts';
import { candidate, findSurroundings } from '../../src/cli/init/surroundings.ts';
import { simProvider } from '../../src/config/providers.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { createShell, temporaryDirectory, type Shell } from './harness.ts';

const env = { ANTHROPIC_API_KEY: 'sk-ant-0123456789', GOOGLE_API_KEY: 'g-0123456789' };

/** The file at the usual place: the shell's folder is also the configuration folder. */
const fileOf = (shell: Shell): string => join(shell.directory, 'gateway.yaml');
const read = (shell: Shell): string => readFileSync(fileOf(shell), 'utf8');

test('writes a file that `config check` accepts, with variables and without keys, and shows the first key once', async () => {
  const shell = createShell();
  const { code, stdout } = await shell.run('init', { env });
  expect(code).toBe(0);
  expect(stdout.match(/^sk-gw-\w{43}$/gm)).toHaveLength(1);
  expect(stdout.match(/sk-gw-/g)).toHaveLength(1);
  expect(stdout).toMatch(/\nNext:\n {2}gateway serve\n/);
  const text = read(shell);
  expect(text).toContain('  anthropic:\n    api_key: ${ANTHROPIC_API_KEY}\n');
  expect(text).toContain('  gemini:\n    api_key: ${GOOGLE_API_KEY}\n');
  expect(text).toContain('\nroutes:\n  auto: [anthropic/claude-sonnet-5, gemini/gemini-flash-latest]\n');
  expect(text).not.toContain('0123456789');
  expect(statSync(fileOf(shell)).mode & 0o777).toBe(0o600);
  expect(await shell.run('config check', { env })).toMatchObject({ code: 0, stderr: '' });
  const keys = await shell.run('keys list --json', { env });
  expect(JSON.parse(keys.stdout)).toMatchObject([
    { account: 'local', tier: 'unlimited', models: null, expires_at: null },
  ]);
});

test('--json prints the file, what was found, the key and the next command lines', async () => {
  const shell = createShell();
  const bin = join(shell.directory, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'claude'), '');
  chmodSync(join(bin, 'claude'), 0o755);
  const file = join(shell.directory, 'sub', 'a.yaml');
  const line = ['init', '--json', '--file', file, '--account', 'me', '--tier', 'pro', '--port', '9000'];
  const { code, stdout } = await shell.run(line, { env: { ...env, PATH: bin } });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    file,
    port: 9000,
    tools: ['claude'],
    key: { key: expect.stringMatching(/^sk-gw-/) as string, account: 'me', tier: 'pro' },
    next: expect.arrayContaining([
      `gateway serve --config ${file}`,
      `gateway run --config ${file} claude`,
    ]) as string[],
  });
  expect(readFileSync(file, 'utf8')).toContain('\nlisten: { port: 9000 }\n');
});

test.each(['--file', '--database'])('P44: a line break in the path of %s is refused', async (option) => {
  const shell = createShell();
  const { code, stdout, stderr } = await shell.run(['init', '--yes', option, 'a\nstrict: true']);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('has a line break or another control character; rename it, or use another');
  expect(readdirSync(shell.directory)).toEqual([]);
});

test('--dry-run prints the file alone and writes nothing', async () => {
  const shell = createShell();
  const { code, stdout } = await shell.run('init --dry-run', { env, answer: 'n' });
  expect(code).toBe(0);
  await shell.run('init', { env });
  expect(stdout).toBe(read(shell));
  const json = await createShell().run('init --dry-run --json', { env });
  expect(JSON.parse(json.stdout)).toMatchObject({ text: stdout, key: null, next: [] });
});

test('with nothing found, the simulated provider answers and the file shows how to add others', async () => {
  const shell = createShell();
  const { code, stderr } = await shell.run('init --provider openai');
  expect(code).toBe(0);
  expect(stderr).toContain('warning: provider openai is left out: OPENAI_API_KEY is not set\n');
  expect(read(shell)).toMatch(/^ {2}openai: # left out until OPENAI_API_KEY is set\n {2}sim: #/m);
  expect(read(shell)).toContain('  #   api_key: ${ANTHROPIC_API_KEY}\n');
  expect((await shell.run('config check')).code).toBe(0);
});

test("a gateway's own key in a provider's variable is not written as the provider's", async () => {
  const shell = createShell();
  const { stderr } = await shell.run('init', { env: { OPENAI_API_KEY: 'sk-gw-x' } });
  expect(stderr).toContain('warning: OPENAI_API_KEY contains a key of a gateway');
  expect(read(shell)).not.toContain('OPENAI_API_KEY');
});

test('a database that is named by a flag stands in the file, so that the key works there', async () => {
  const shell = createShell();
  await shell.run('init --database data/own.db');
  expect(read(shell)).toContain(`\ndatabase: ${join(shell.directory, 'data/own.db')}\n`);
  expect(await shell.json('keys list')).toHaveLength(1);
});

describe('an existing file', () => {
  it('is unchanged and named, also if it was made in between', async () => {
    const shell = createShell();
    writeFileSync(fileOf(shell), 'mine');
    const { code, stdout, stderr } = await shell.run('init --yes');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      `gateway: ${fileOf(shell)} exists already and stays as it is; change it, or name another file with --file PATH\n`,
    );
    expect(read(shell)).toBe('mine');
    expect(readdirSync(shell.directory)).toEqual(['gateway.yaml']);
  });

  it('that $GATEWAY_CONFIG names is not written over either', async () => {
    const shell = createShell();
    const file = join(temporaryDirectory(), 'other.yaml');
    writeFileSync(file, 'mine');
    const { code, stderr } = await shell.run('init', { env: { GATEWAY_CONFIG: file } });
    expect(code).toBe(1);
    expect(stderr).toContain(file);
    expect(existsSync(fileOf(shell))).toBe(false);
  });
});

describe('a failure leaves neither a file nor a key, and says how to mend it', () => {
  it.each([
    ['init --file blocked/gateway.yaml', /a part of its path is not a folder; name another file with --file/],
    ['init --database blocked/below.db', /below\.db .*correct the path/],
    ['init --provider antropic', /unknown provider "antropic"; did you mean anthropic\?/],
    ['init --provider nonsense', /known providers: anthropic, openai/],
    ['init --tier prp', /unknown tier "prp"; did you mean pro\?/],
  ])('%s', async (line, message) => {
    const shell = createShell();
    writeFileSync(join(shell.directory, 'blocked'), '');
    const { code, stdout, stderr } = await shell.run(line, { env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
    expect(readdirSync(shell.directory)).toEqual(['blocked']);
  });

  it('an account with another tier', async () => {
    const shell = createShell();
    await shell.run('keys create --account me --tier lite');
    const { code, stderr } = await shell.run('init --account me --tier pro');
    expect(code).toBe(1);
    expect(stderr).toContain('already has tier lite; change it first: gateway tiers assign me pro');
    expect(existsSync(fileOf(shell))).toBe(false);
    expect(await shell.json('keys list')).toHaveLength(1);
    await shell.run('init --account me');
    expect(await shell.json('keys list')).toMatchObject([{ tier: 'lite' }, { tier: 'lite' }]);
  });
});

describe('questions', () => {
  it('are asked again until the answer is right; Enter takes what is proposed', async () => {
    const shell = createShell();
    const answer = ['gemni', 'gemini, ollama', 'many', '9001', 'what', ''];
    const { code, stderr } = await shell.run('init', { env, answer });
    expect(code).toBe(0);
    expect(stderr).toContain('Providers, the preferred one first (Enter: anthropic, gemini)\n> ');
    expect(stderr).toContain('  unknown provider "gemni"; did you mean gemini?\n');
    expect(stderr).toContain('  A port is a whole number from 0 to 65535.\n');
    expect(stderr).toContain('  Answer y or n.\n');
    expect(read(shell)).toMatch(/\nlisten: \{ port: 9001 \}\n[^]*\n {2}gemini:\n.*\n {2}ollama:\n/);
    expect(read(shell)).not.toContain('  anthropic:\n');
  });

  it('are not asked where a flag answers, nor with --yes', async () => {
    const line = 'init --provider gemini --port 8787';
    expect((await createShell().run(line, { env, answer: [''] })).code).toBe(0);
    expect((await createShell().run('init --yes', { env, answer: [] })).code).toBe(0);
  });

  it.each([[[]], [['']], [['', '']], [['', '', 'n']]])('an end after %j writes nothing', async (answer) => {
    const shell = createShell();
    const { code, stdout, stderr } = await shell.run('init', { env, answer });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/gateway: .*nothing was written\n$/);
    expect(readdirSync(shell.directory)).toEqual([]);
  });

  it.each([60, 100])('fit a terminal of %i columns', async (columns) => {
    const shell = createShell();
    const answer = ['', '', ''];
    const all = { ...env, MISTRAL_API_KEY: 'm', GROQ_API_KEY: 'g', OPENROUTER_API_KEY: 'o', NO_COLOR: '1' };
    const { stdout, stderr } = await shell.run('init', { env: all, answer, columns });
    for (const line of `${stdout}${stderr}`.split('\n'))
      if (!line.includes(shell.directory)) expect(line.length, line).toBeLessThanOrEqual(columns);
  });
});

test('a server on this machine is found with its models, and named in the route', async () => {
  const models = { object: 'list', data: ['embed-it', 'qwen3:8b', 'odd ${NAME}'].map((id) => ({ id })) };
  const server = await scriptedProvider();
  server.playAlways({ body: models });
  const { context } = createShell();
  const probed = { ...simProvider(), name: 'ollama', baseUrls: { chat: `${server.url}/v1` } };
  const { providers } = await findSurroundings({ ...context, env }, [probed]);
  expect(providers.map(({ name, model }) => [name, model])).toEqual([
    ['anthropic', 'claude-sonnet-5'],
    ['gemini', 'gemini-flash-latest'],
    ['ollama', 'qwen3:8b'],
  ]);
  const text = fileText({ providers, port: undefined, database: undefined });
  expect(text).toContain(`\n  ollama: # ${server.url}/v1: embed-it, qwen3:8b\n`);
  expect(text).toContain('gemini/gemini-flash-latest, ollama/qwen3:8b]');
});

test('a provider that lacks a URL stays a comment, and the file is valid', () => {
  const text = fileText({ providers: [candidate('azure')], port: undefined, database: undefined });
  expect(text).toContain('  # azure:');
  expect(text).toContain('\n  sim:');
});
