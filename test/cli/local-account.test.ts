// The account `local` has one limit, whichever command creates it: none.
import { expect, it, test } from 'vitest';
import { ask } from '../helpers/ask.ts';
import { home } from '../helpers/process.ts';
import { createShell } from './harness.ts';

interface Account {
  account: string;
  tier: string;
}

it.each([
  'keys create --account local',
  'connect --env',
  'init --yes --provider sim',
  'connect claude --write',
])('%s creates it without a limit', async (line) => {
  const shell = createShell();
  const { code, stderr } = await shell.run(line, { env: { HOME: shell.directory } });
  expect(code, stderr).toBe(0);
  expect(await shell.json('accounts list')).toMatchObject([{ account: 'local', tier: 'unlimited' }]);
});

it('init gives another account the tier that keys create would', async () => {
  const shell = createShell();
  expect((await shell.run('init --yes --provider sim --account alice')).code).toBe(0);
  expect(await shell.json('accounts list')).toMatchObject([{ account: 'alice', tier: 'free' }]);
});

test('a first start creates it without a limit, and says so', async () => {
  const at = home();
  const server = await at.serve();
  await expect.poll(() => server.stdout()).toContain('Account local has tier unlimited: no limit.');
  expect(await at.json<Account[]>('accounts', 'list')).toMatchObject([
    { account: 'local', tier: 'unlimited' },
  ]);
});

test('gateway run says tier and what is left of the hour, where there is a limit', async () => {
  const at = home();
  at.configure({ providers: { sim: {} }, tiers: { tiny: 3 } });
  const program = ['run', '--', '/bin/sh', '-c', 'exit 0'];
  const without = await at.run(...program);
  expect(without.stderr).not.toContain('has tier');
  expect(await at.json<Account[]>('accounts', 'list')).toMatchObject([
    { account: 'local', tier: 'unlimited' },
  ]);
  await at.command('tiers', 'assign', 'local', 'tiny');
  const { key } = await at.json<{ key: string }>('keys', 'create', '--account', 'local');
  const server = await at.serve();
  expect((await ask({ url: server.url, key }, { model: 'sim/echo' })).status).toBe(200);
  const limited = await at.run(...program);
  expect(limited.stderr).toMatch(
    /^gateway run: account local has tier tiny: [23] of 3 requests are left for \S[^;]*; to change it: gateway tiers assign local TIER$/m,
  );
});
