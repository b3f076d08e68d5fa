// Changes of keys and accounts that replace, rename, move or remove what exists.
import { describe, expect, it } from 'vitest';
import { createShell, NOW, type Shell } from './harness.ts';

interface Created {
  id: string;
  key: string;
}

const HOUR = 3_600_000;
const iso = (at: number): string => new Date(at).toISOString();

async function createKey(shell: Shell, words: string): Promise<Created> {
  return (await shell.json(`keys create ${words}`)) as Created;
}

describe('keys rotate', () => {
  it('creates a key with the same members; the old one is valid for a day', async () => {
    const shell = createShell();
    const spec = '--account alice --tier pro --name ci --permissions messages --models auto --expires 30d';
    const old = await createKey(shell, spec);
    shell.clock.now += HOUR;
    const rotated = (await shell.json(`keys rotate ${old.id}`)) as Created;
    expect(rotated).toEqual({
      id: expect.stringMatching(/^key_/) as string,
      key: expect.stringMatching(/^sk-gw-\w{43}$/) as string,
      account: 'alice',
      tier: 'pro',
      name: 'ci',
      permissions: ['messages'],
      models: ['auto'],
      created_at: iso(NOW + HOUR),
      expires_at: iso(NOW + HOUR + 30 * 24 * HOUR),
      replaces: { id: old.id, expires_at: iso(NOW + 25 * HOUR) },
    });
    expect(rotated.key).not.toBe(old.key);
    expect(await shell.json('keys list')).toMatchObject([
      { id: old.id, expires_at: iso(NOW + 25 * HOUR) },
      { id: rotated.id },
    ]);
  });

  it('prints the new key once, and until when the old one is valid', async () => {
    const shell = createShell();
    const { id } = await createKey(shell, '--account alice');
    const { stdout, stderr } = await shell.run(`keys rotate ${id} --grace 1h`);
    expect(stdout.match(/sk-gw-\w{43}/g)).toHaveLength(1);
    expect(stdout).toContain(`replaces   ${id}, which is valid until 2026-11-21 15:25 UTC\n`);
    expect(stderr).toMatch(/^written to /);
    expect((await shell.run('keys list --all')).stdout).toMatch(/1h left\n/);
  });

  it('ends the old key at once without a grace', async () => {
    const shell = createShell();
    const { id } = await createKey(shell, '--account alice');
    expect((await shell.run(`keys rotate ${id} --grace 0`)).stdout).toContain('which is no longer valid');
    expect((await shell.run('keys list --all')).stdout).toMatch(/expired\n/);
  });

  it('replaces no revoked key, and names the command that creates one', async () => {
    const shell = createShell();
    const { id } = await createKey(shell, '--account alice');
    await shell.run(`keys revoke ${id}`);
    expect(await shell.run(`keys rotate ${id}`)).toEqual({
      code: 1,
      stdout: '',
      stderr: `gateway: key ${id} is revoked and cannot be replaced; create a new one: gateway keys create --account alice\n`,
    });
    expect((await shell.run('keys rotate key_nope')).stderr).toContain('unknown key ID "key_nope"');
    expect(await shell.json('keys list')).toHaveLength(1);
  });

  it.each(['2y', '-1h', 'soon', '2026-12-01', '900d'])('--grace %s is wrong usage', async (grace) => {
    const shell = createShell();
    expect((await shell.run(['keys', 'rotate', 'key_x', `--grace=${grace}`])).code).toBe(2);
  });
});

describe('accounts rename', () => {
  it('keeps keys, tier and usage', async () => {
    const shell = createShell();
    const { id } = await createKey(shell, '--account alice --tier pro');
    expect(await shell.json(['accounts', 'rename', 'alice', 'Alice & Co'])).toEqual({
      account: 'Alice & Co',
      renamed_from: 'alice',
      tier: 'pro',
    });
    expect(await shell.json('keys list')).toMatchObject([{ id, account: 'Alice & Co', tier: 'pro' }]);
  });

  it('takes no name of another account, no unknown account, no invalid name', async () => {
    const shell = createShell();
    await createKey(shell, '--account alice');
    await createKey(shell, '--account bob');
    const taken = await shell.run('accounts rename alice bob');
    expect(taken).toMatchObject({ code: 1, stdout: '' });
    expect(taken.stderr).toContain('account "bob" exists already');
    expect((await shell.run('accounts rename alcie x')).stderr).toContain('did you mean alice?');
    expect((await shell.run(['accounts', 'rename', 'alice', ' x'])).code).toBe(2);
    expect((await shell.run('accounts rename alice B0b')).stderr).toContain('differs from bob');
  });
});

describe('accounts remove', () => {
  async function twoAccounts(): Promise<Shell> {
    const shell = createShell();
    await createKey(shell, '--account alice');
    const { id } = await createKey(shell, '--account alice');
    await createKey(shell, '--account bob');
    await shell.run(`keys revoke ${id}`);
    return shell;
  }

  it('deletes the account with its keys', async () => {
    const shell = await twoAccounts();
    expect(await shell.json('accounts remove alice --yes')).toEqual({
      account: 'alice',
      keys: 2,
      requests: 0,
    });
    expect(await shell.json('accounts list')).toMatchObject([{ account: 'bob', keys: 1 }]);
    expect(await shell.json('keys list')).toHaveLength(1);
    expect((await shell.run('accounts remove alice --yes')).stderr).toContain('unknown account "alice"');
  });

  it('asks on a terminal, and changes nothing unless the answer is yes', async () => {
    const shell = await twoAccounts();
    for (const answer of ['', 'n', 'yesterday']) {
      const { code, stderr } = await shell.run('accounts remove alice', { answer });
      expect(code).toBe(1);
      expect(stderr).toBe(
        'this deletes account alice with 2 keys (1 valid), its stored answers and the usage of 0 requests.\n' +
          'Continue? [y/N] gateway: nothing was changed\n',
      );
    }
    expect(await shell.json('accounts list')).toHaveLength(2);
    expect(await shell.run('accounts remove alice', { answer: 'Y' })).toMatchObject({
      code: 0,
      stdout: 'account alice is removed: 2 keys, usage of 0 requests\n',
    });
    expect(await shell.json('accounts list')).toHaveLength(1);
  });

  it('requires --yes without a terminal', async () => {
    const shell = await twoAccounts();
    const { code, stderr } = await shell.run('accounts remove alice');
    expect(code).toBe(2);
    expect(stderr).toMatch(/2 keys \(1 valid\).*; nothing was changed: .* --yes\n$/);
    expect(await shell.json('accounts list')).toHaveLength(2);
  });
});

describe('tiers assign', () => {
  it('changes several accounts, or none if one is unknown', async () => {
    const shell = createShell();
    for (const account of ['alice', 'bob', 'carol']) await createKey(shell, `--account ${account}`);
    expect(await shell.json('tiers assign alice bob alice pro')).toEqual([
      { account: 'alice', tier: 'pro' },
      { account: 'bob', tier: 'pro' },
    ]);
    expect((await shell.run('tiers assign carol alcie lite')).stderr).toContain('did you mean alice?');
    expect(await shell.json('accounts list')).toMatchObject([
      { tier: 'pro' },
      { tier: 'pro' },
      { tier: 'free' },
    ]);
    expect((await shell.run('tiers assign bob carol lite')).stdout).toBe(
      'account bob now has tier lite: 30 requests an hour\naccount carol now has tier lite: 30 requests an hour\n',
    );
  });

  it.each(['tiers assign', 'tiers assign alice'])('%s is wrong usage', async (line) => {
    const { code, stderr } = await createShell().run(line);
    expect(code).toBe(2);
    expect(stderr).toContain('missing required argument');
  });
});
