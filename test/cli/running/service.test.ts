// `gateway service`: the files for systemd and launchd, and that only an unchanged file of ours is removed.
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  isUnchanged,
  serviceFor,
  type Service,
  type ServiceParts,
} from '../../../src/cli/commands/running/service.ts';
import { home, type Home } from '../../helpers/process.ts';
import { temporaryDirectory } from '../harness.ts';

const PARTS: ServiceParts = {
  node: '/opt/node 20/bin/node',
  script: '/opt/100%/gateway.js',
  words: ['--config', `/home/o'brien & "co"/gateway.yaml`],
  environmentFile: '/home/u/my config/environment',
  logFile: '/home/u/Library/Logs/gateway/gateway.log',
  home: '/home/u',
  env: {},
  stopMs: 45_000,
};

const made = (platform: NodeJS.Platform, parts: Partial<ServiceParts> = {}): Service => {
  const service = serviceFor(platform, { ...PARTS, ...parts });
  if (service === undefined) throw new Error('no service');
  return service;
};

describe('the file of a service', () => {
  it('for systemd has absolute paths, quoted as systemd reads them', () => {
    const { file, text } = made('linux');
    expect(file).toBe('/home/u/.config/systemd/user/gateway.service');
    expect(text).toContain(
      `ExecStart="/opt/node 20/bin/node" "/opt/100%%/gateway.js" serve --config "/home/o'brien & \\"co\\"/gateway.yaml" --in-background\n`,
    );
    for (const line of [
      'NoNewPrivileges=yes',
      'Restart=on-failure',
      'TimeoutStopSec=45',
      'EnvironmentFile=-/home/u/my config/environment',
    ])
      expect(text.split('\n')).toContain(line);
    expect(made('linux', { env: { XDG_CONFIG_HOME: '/x' } }).file).toBe('/x/systemd/user/gateway.service');
  });

  it.runIf(spawnSync('systemd-analyze', ['--version']).status === 0)('for systemd is accepted by it', () => {
    const { text } = made('linux', { node: process.execPath, script: '/bin/true' });
    const file = join(temporaryDirectory(), 'gateway.service');
    writeFileSync(file, text);
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
      encoding: 'utf8',
    });
    const ours = stderr.split('\n').filter((line) => line.includes('gateway.service'));
    expect({ status, ours }).toEqual({ status: 0, ours: [] });
  });

  it('for launchd runs a shell that reads the variables, with its words escaped for XML', () => {
    const { file, text } = made('darwin');
    expect(file).toBe('/home/u/Library/LaunchAgents/local-llm-gateway.plist');
    expect(text).toContain(`. '/home/u/my config/environment'; fi; exec '/opt/node 20/bin/node'`);
    expect(text).toContain(`'/home/o'\\''brien &amp; "co"/gateway.yaml'`);
    expect(text).toContain('--in-background=/home/u/Library/Logs/gateway/gateway.log</string>');
  });

  it('is recognised as long as nobody changed it', () => {
    for (const platform of ['linux', 'darwin'] as const) {
      const { text } = made(platform);
      expect(isUnchanged(text)).toBe(true);
      expect(isUnchanged(text.replace('45', '46'))).toBe(false);
    }
    expect(isUnchanged('[Unit]\n')).toBe(false);
  });

  it('does not exist on Windows', () => {
    expect(serviceFor('win32', PARTS)).toBeUndefined();
  });
});

const SECRET = 'sk-provider-0123456789';

describe.runIf(process.platform === 'linux')('on Linux', () => {
  const prepared = (): { at: Home; unit: string } => {
    const at = home({ OWN_KEY: SECRET });
    at.configure({
      providers: { own: { protocol: 'chat', base_url: 'http://h', api_key: '${OWN_KEY}', models: ['m'] } },
    });
    return { at, unit: join(dirname(at.directory), 'systemd', 'user', 'gateway.service') };
  };

  it('install shows the file and the next commands, and writes only with --write', async () => {
    const { at, unit } = prepared();
    const shown = await at.run('service', 'install');
    expect(shown.code, shown.stderr).toBe(0);
    expect(shown.stdout).toContain(`# ${unit}\n`);
    expect(shown.stdout).toContain('systemctl --user enable --now gateway');
    expect(shown.stdout).toContain(`chmod 600 ${join(at.directory, 'environment')}`);
    expect(existsSync(unit)).toBe(false);
    expect((await at.command('service', 'status')).code).toBe(1);
    expect((await at.command('service', 'install', '--write')).stderr).toContain(`written to ${unit}`);
    const text = readFileSync(unit, 'utf8');
    expect(text).toContain(`serve --config ${join(at.directory, 'gateway.yaml')}`);
    expect(text + shown.stdout).not.toContain(SECRET);
    expect(await at.json('service', 'status')).toEqual({
      file: unit,
      installed: true,
      changed: false,
      enabled: false,
      running: [],
    });
  });

  it('install with --workers starts as many processes at each login', async () => {
    const { at } = prepared();
    const { code, stdout } = await at.command('service', 'install', '--workers', '3');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ExecStart=.* serve .*--workers 3 --in-background$/m);
  });

  it('uninstall removes an unchanged file, and neither a changed nor an enabled one', async () => {
    const { at, unit } = prepared();
    expect((await at.command('service', 'uninstall')).stderr).toContain('is not installed');
    await at.command('service', 'install', '--write');
    const link = join(dirname(unit), 'default.target.wants', 'gateway.service');
    mkdirSync(dirname(link));
    symlinkSync(unit, link);
    expect((await at.command('service', 'uninstall')).stderr).toContain(
      'systemctl --user disable --now gateway',
    );
    appendFileSync(unit, '# mine\n');
    const changed = await at.command('service', 'uninstall');
    expect({ code: changed.code, there: existsSync(unit) }).toEqual({ code: 1, there: true });
    expect((await at.command('service', 'install', '--write')).stderr).toContain('--yes');
    expect(readFileSync(unit, 'utf8')).toContain('# mine');
    expect((await at.command('service', 'uninstall', '--yes')).code).toBe(0);
    expect(existsSync(unit)).toBe(false);
  });

  it.each([
    ['--config', 'x.yaml\nExecStartPre=touch y'],
    ['--database', 'x.db\rY'],
    ['--database', 'x\u2028.db'],
  ])('P44: %s %j is refused, since its second line would be one of the unit', async (option, name) => {
    const { at, unit } = prepared();
    const file = join(at.directory, name);
    if (option === '--config') writeFileSync(file, 'providers: { sim: }\n');
    const { code, stdout, stderr } = await at.command(option, file, 'service', 'install', '--write');
    expect(code).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toContain('has a line break or another control character');
    expect(existsSync(unit)).toBe(false);
  });

  it('a password of the database is not written', async () => {
    const { at, unit } = prepared();
    const { code, stderr } = await at.command(
      '--database',
      'postgres://u:secret@h/d',
      'service',
      'install',
      '--write',
    );
    expect(code).toBe(1);
    expect(stderr).toContain('a password does not belong in the service');
    expect(stderr).not.toContain('secret');
    expect(existsSync(unit)).toBe(false);
  });
});

it('a gateway of a service creates no key, because nobody would see it', async () => {
  const at = home();
  const started = at.run('serve', '--host', '127.0.0.1', '--port', '0', '--in-background');
  await expect.poll(async () => (await at.command('status')).code, { timeout: 15_000 }).toBe(0);
  expect(await at.json('keys', 'list')).toEqual([]);
  await at.command('stop');
  const { code, stdout, stderr } = await started;
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  expect(stderr).toContain('"listening"');
});
