// `gateway dashboard` with real processes: what it prints where, the gateway that it starts, and `--open` without a browser.
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { call } from '../../admin/support.ts';
import { freePort } from '../../helpers/postgres.ts';
import { home, type Home } from '../../helpers/process.ts';
import { temporaryDirectory } from '../harness.ts';

const LINK = /^http:\/\/127\.0\.0\.1:\d+\/admin\/#link=sk-gwl-\w{43}\n$/;

/** Where a link is opened, as on a machine without a browser, or with this one. */
async function configured(program = 'exit 3'): Promise<Home> {
  const programs = temporaryDirectory();
  const opener = join(programs, 'xdg-open');
  writeFileSync(opener, `#!/bin/sh\n${program}\n`);
  chmodSync(opener, 0o755);
  const at = home({ PATH: `${programs}:${process.env['PATH'] ?? ''}` });
  at.configure({
    listen: { hosts: ['127.0.0.1'], port: await freePort() },
    providers: { sim: {} },
  });
  onTestFinished(async () => {
    await at.command('stop');
  });
  return at;
}

async function sign(link: string): Promise<number> {
  const { origin, hash } = new URL(link.trim());
  const body = { link: hash.replace('#link=', '') };
  return (await call({ url: origin }, '/admin/session', { method: 'POST', body })).status;
}

it('starts a gateway if none runs, and prints the link alone on stdout; the next one finds it, and the link stays where no browser can be opened', async () => {
  const at = await configured();
  const first = await at.run('dashboard');
  expect(first.code).toBe(0);
  expect(first.stdout).toMatch(LINK);
  expect(first.stderr).toContain('is listening in the background');
  expect(first.stderr).toContain('the link works once, for 60 seconds');
  const second = await at.command('dashboard');
  expect(second.stdout).toMatch(LINK);
  expect(second.stderr).not.toContain('listening');
  expect([await sign(first.stdout), await sign(second.stdout), await sign(second.stdout)]).toEqual([
    201, 201, 401,
  ]);
  const { gateways } = await at.json<{ gateways: unknown[] }>('status');
  expect(gateways).toHaveLength(1);
  if (process.platform === 'linux') {
    const { code, stdout, stderr } = await at.command('dashboard', '--open');
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('no browser could be opened; open the link yourself'),
    ]);
    expect(await sign(stdout)).toBe(201);
  }
  expect((await at.command('stop')).code).toBe(0);
});

it.skipIf(process.platform !== 'linux')(
  'gives the browser an address of the gateway that works once, in place of the link or of a file',
  async () => {
    const seen = join(temporaryDirectory(), 'arguments');
    const at = await configured(`echo "$@" > ${seen}`);
    const { code, stdout, stderr } = await at.run('dashboard', '--open');
    expect([code, stdout, stderr]).toEqual([
      0,
      expect.stringMatching(LINK),
      expect.not.stringContaining('no browser'),
    ]);
    const address = readFileSync(seen, 'utf8').trim();
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/admin\/open\/\w{22}$/);
    const [first, second] = [await opened(address), await opened(address)];
    expect(second).toBe(`${new URL(address).origin}/admin/#link=used`);
    expect([await sign(first), await sign(first), await sign(stdout)]).toEqual([201, 401, 201]);
  },
);

/** Where a browser goes on to. */
async function opened(address: string): Promise<string> {
  const { headers } = await fetch(address, { redirect: 'manual' });
  return new URL(headers.get('location') ?? '', address).href;
}

it('starts one with --json, too, and prints the link as JSON alone', async () => {
  const at = await configured();
  const { code, stdout, stderr } = await at.run('dashboard', '--json');
  expect(code, stderr).toBe(0);
  expect(stderr).toContain('is listening in the background');
  const link = JSON.parse(stdout) as { url: string; expires_in_seconds: number };
  expect(link.expires_in_seconds).toBe(60);
  expect(await sign(link.url)).toBe(201);
  expect((await at.command('stop')).code).toBe(0);
});

it.each(['stop', 'reload'])('%s without a gateway does not advise to start one', async (command) => {
  const { code, stderr } = await (await configured()).command(command);
  expect(code).toBe(1);
  expect(stderr).toMatch(/no gateway runs on .*gateway\.db; --config and --database name another\n$/);
});
