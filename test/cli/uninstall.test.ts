// Leaving: no agent stays pointed at a gateway that is gone, no service starts a program that is gone, and data goes only when asked.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { serviceFor } from '../../src/cli/commands/running/service.ts';
import { createShell, temporaryDirectory } from './harness.ts';

function user() {
  const home = temporaryDirectory();
  const shell = createShell();
  const [data, config, bin] = ['data', 'config', 'bin'].map((name) => path.join(home, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(bin);
  const env = {
    HOME: home,
    PATH: bin,
    XDG_DATA_HOME: data,
    XDG_CONFIG_HOME: config,
    XDG_STATE_HOME: path.join(home, 'state'),
  };
  const service = serviceFor(process.platform, {
    ...{ node: '/node', script: '/gateway.js', words: [], environmentFile: '/e', logFile: '/l' },
    ...{ home, env, stopMs: 1000 },
  });
  return {
    settings: path.join(home, '.claude', 'settings.json'),
    database: path.join(data, 'gateway', 'gateway.db'),
    run: (line: string) => shell.run(line, { env }),
    service,
    calls: path.join(home, 'calls'),
    /** A program of the system that notes how it is called, and ends with this code. */
    system: (name: string, code: number) => {
      const file = path.join(bin, name);
      writeFileSync(
        file,
        `#!/bin/sh\necho "${name} $*" >> ${path.join(home, 'calls')}\necho broken >&2\nexit ${code}\n`,
      );
      chmodSync(file, 0o755);
    },
    install: () => {
      if (service === undefined) return;
      mkdirSync(path.dirname(service.enabledLink ?? service.file), { recursive: true });
      mkdirSync(path.dirname(service.file), { recursive: true });
      writeFileSync(service.file, service.text);
      if (service.enabledLink !== undefined) writeFileSync(service.enabledLink, '');
    },
  };
}

describe('uninstall', () => {
  it('says that nothing is left, and how the package goes', async () => {
    const { code, stdout } = await user().run('uninstall');
    expect(code).toBe(0);
    expect(stdout).toContain('Nothing is left to do');
    expect(stdout).toContain('npm rm -g local-llm-gateway');
  });

  it('changes nothing without --write, gives the tools back with it, and keeps the data', async () => {
    const { run, settings, database } = user();
    await run('connect claude --write');
    const { stdout } = await run('uninstall');
    expect(stdout).toMatch(/^tools +connected are claude: gateway connect --undo$/m);
    expect(existsSync(settings)).toBe(true);
    const done = await run('uninstall --write');
    expect(done.stdout).toContain('claude is as before');
    expect(done.stdout).toContain('gateway uninstall --write --data');
    expect(existsSync(settings)).toBe(false);
    expect(existsSync(database)).toBe(true);
    expect(JSON.parse((await run('uninstall --json')).stdout)).toMatchObject({
      tools: [],
      service: null,
      gateways: [],
    });
  });

  it('deletes the data with --data, which alone is wrong usage', async () => {
    const { run, database } = user();
    await run('keys create --account a');
    expect(await run('uninstall --data')).toMatchObject({ code: 2 });
    expect(existsSync(database)).toBe(true);
    expect((await run('uninstall --write --data')).stdout).toContain(`deleted ${path.dirname(database)}`);
    expect(existsSync(path.dirname(database))).toBe(false);
  });

  it('keeps the data where a tool cannot be given back', async () => {
    const { run, settings, database } = user();
    await run('connect claude --write');
    writeFileSync(settings, '{ broken');
    const { code, stderr } = await run('uninstall --write --data');
    expect(code).toBe(1);
    expect(stderr).toContain('claude: ');
    expect(existsSync(database)).toBe(true);
  });

  it.runIf(process.platform === 'linux')(
    'ends the service, and keeps its file where that fails',
    async () => {
      const { run, service, system, install, calls } = user();
      install();
      expect((await run('uninstall')).stdout).toContain(
        'systemctl --user disable --now gateway && gateway service uninstall',
      );
      system('systemctl', 1);
      const failed = await run('uninstall --write');
      expect(failed.code).toBe(1);
      expect(failed.stderr).toContain('systemctl --user disable --now gateway: broken; run it yourself');
      expect(existsSync(service?.file ?? '')).toBe(true);
      system('systemctl', 0);
      expect((await run('uninstall --write')).stdout).toContain(`removed ${service?.file ?? ''}`);
      expect(existsSync(service?.file ?? '')).toBe(false);
      expect(readFileSync(calls, 'utf8')).toContain('systemctl --user disable --now gateway\n');
    },
  );
});
