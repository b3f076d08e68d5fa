// `gateway config check` and `gateway config show`.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createShell, temporaryDirectory, type Shell } from './harness.ts';

function withFile(text: string): Shell {
  const shell = createShell();
  writeFileSync(join(shell.directory, 'gateway.yaml'), text);
  return shell;
}

describe('config check', () => {
  it('names the file that is valid, with its warnings', async () => {
    const shell = withFile('providers: { sim: , openai: }\nlisten: { hosts: [0.0.0.0] }\n');
    const { code, stdout, stderr } = await shell.run('config check');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `${join(shell.directory, 'gateway.yaml')} is valid: 1 provider, 0 routes\n`,
    });
    expect(stderr).toMatch(/^warning: provider openai is left out: OPENAI_API_KEY is not set$/m);
    expect(stderr).toMatch(/^warning: others can reach 0\.0\.0\.0, and there is no TLS/m);
  });

  it('reports one line a fault, and exits with 1', async () => {
    const shell = withFile('providers: { sim: }\nlisten: { port: many }\nnonsense: true\n');
    const { code, stdout, stderr } = await shell.run('config check');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^gateway: gateway\.yaml:2 listen\.port: .*\ngateway: gateway\.yaml:3 nonsense: .*\n$/,
    );
    const json = await shell.run('config check --json');
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({
      valid: false,
      faults: [/./, /./].map(() => expect.any(String) as string),
    });
  });

  it('needs no file', async () => {
    expect(await createShell().run('config check')).toEqual({
      code: 0,
      stdout: 'no configuration file: 0 providers with a key in the environment\n',
      stderr: '',
    });
  });
});

describe('config show', () => {
  const FILE = `listen: { port: 9000 }
providers:
  openai:
  work:
    protocol: chat
    base_url: https://\${WORK_HOST}/v1
    api_key: \${WORK_KEY}
    headers: { x-team: very-private }
    timeout: { idle: 90s }
    models: [a, { id: b, upstream: c }]
  plain: { protocol: chat, base_url: 'http://h', api_key: short-key }
routes:
  fast: { strategy: fastest, targets: [work/a] }
limits: { max_body: 1MiB }
tiers: { free: 5 }
`;
  const env = {
    OPENAI_API_KEY: 'sk-proj-0123456789-0123456789',
    WORK_HOST: 'private.example',
    WORK_KEY: 'wk-0123456789-0123456789-abc',
    GATEWAY_LOG: 'json',
  };
  const rowsOf = async (shell: Shell, line = 'config show --json') => {
    const { stdout } = await shell.run(line, { env });
    const { values } = JSON.parse(stdout) as {
      values: { key: string; value: unknown; where: unknown; source: string }[];
    };
    return Object.fromEntries(values.map(({ key, value, source, where }) => [key, [value, where ?? source]]));
  };

  it('gives each value with its origin: flag, variable, line, preset or default', async () => {
    const rows = await rowsOf(withFile(FILE), 'config show --json --database other.db');
    expect(rows).toMatchObject({
      'listen.port': [9000, 'gateway.yaml:1'],
      'listen.hosts': [['127.0.0.1', '::1'], 'default'],
      database: [expect.stringMatching(/other\.db$/), '--database'],
      log: ['json', 'GATEWAY_LOG'],
      'limits.max_body': ['1MiB', 'gateway.yaml:14'],
      'limits.shutdown_grace': ['30s', 'default'],
      'usage.keep': ['90d', 'default'],
      'tiers.free': [5, 'gateway.yaml:15'],
      'tiers.pro': [60, 'default'],
      'providers.openai.base_url': ['https://api.openai.com/v1', 'preset'],
      'providers.work.models': [['a', 'b'], 'gateway.yaml:10'],
      'providers.work.timeout.idle': ['90s', 'gateway.yaml:9'],
      'routes.fast': [['work/a'], 'gateway.yaml:13'],
      'routes.fast.strategy': ['fastest', 'gateway.yaml:13'],
    });
  });

  it('hides secrets, and what variables hold', async () => {
    const shell = withFile(FILE);
    expect(await rowsOf(shell)).toMatchObject({
      'providers.openai.api_key': ['set (sk-pro…)', 'OPENAI_API_KEY'],
      'providers.work.api_key': ['${WORK_KEY}, set (wk-012…)', 'gateway.yaml:7'],
      'providers.work.base_url': ['https://${WORK_HOST}/v1', 'gateway.yaml:6'],
      'providers.work.headers.x-team': ['set', 'gateway.yaml:8'],
      'providers.plain.api_key': ['set', 'gateway.yaml:11'],
    });
    const { stdout } = await shell.run('config show', { env });
    for (const secret of ['0123456789', 'private', 'short-key']) expect(stdout).not.toContain(secret);
  });

  it('P44: hides the password of a database whose host comes from a variable', async () => {
    const shell = withFile('database: "postgres://me:pass-word@${DB_HOST}/gw"\nproviders: { sim: }\n');
    const { stdout } = await shell.run('config show', { env: { DB_HOST: 'db' } });
    expect(stdout).toContain('postgres://${DB_HOST}/gw');
    expect(stdout).not.toContain('pass-word');
  });

  it('names a file of another folder once on a terminal, and with each of its values in a pipe', async () => {
    const shell = createShell();
    const folder = temporaryDirectory();
    writeFileSync(join(folder, 'gateway.yaml'), 'providers: { sim: }\nstrict: true\ntiers: { team: 5 }\n');
    const timesNamed = async (options: { columns?: number }): Promise<number> => {
      const { stdout } = await shell.run(`config show --config ${join(folder, 'gateway.yaml')}`, options);
      expect(stdout).toContain('gateway.yaml:3');
      return stdout.split(folder).length - 1;
    };
    expect(await timesNamed({ columns: 160 })).toBe(1);
    expect(await timesNamed({})).toBe(3);
  });

  it.each([60, 100, 160])('fits a terminal of %i columns', async (columns) => {
    const shell = withFile(FILE);
    const { stdout } = await shell.run('config show', { env: { ...env, NO_COLOR: '1' }, columns });
    expect(stdout).toMatch(/^listen\.port +9000 +gateway\.yaml:1$|9000/m);
    // Paths of folders are as long as they are.
    for (const line of stdout.split('\n'))
      if (!line.includes(shell.directory)) expect(line.length, line).toBeLessThanOrEqual(columns);
  });
});
