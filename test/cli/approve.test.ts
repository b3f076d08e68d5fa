// `gateway approve`: what a person and a script see of it.
import { expect, it } from 'vitest';
import { createIds } from '../../src/ids.ts';
import { createSignIn } from '../../src/sign-in/sign-in.ts';
import { openStore } from '../../src/store/open.ts';
import { createShell, type Shell } from './harness.ts';

/** A client asks for a code, at a gateway on the database of the shell. */
async function asked(shell: Shell): Promise<{
  code: string;
  deviceCode: string;
  finish: () => Promise<string>;
}> {
  const clock = { ...shell.context.clock, now: () => shell.clock.now };
  const use = async <Value>(
    act: (signIn: ReturnType<typeof createSignIn>) => Promise<Value>,
  ): Promise<Value> => {
    const store = await openStore(`${shell.directory}/gateway.db`);
    try {
      return await act(createSignIn({ store, clock, ids: createIds() }));
    } finally {
      await store.close();
    }
  };
  const begun = await use((signIn) =>
    signIn.begin({ userAgent: 'claude-code/2.1.332', address: '127.0.0.1' }),
  );
  if (begun === undefined) throw new Error('no code');
  return {
    ...begun,
    finish: () => use(async (signIn) => (await signIn.poll(begun.deviceCode)).outcome),
  };
}

it('lists the codes that wait, with who asks', async () => {
  const shell = createShell();
  expect((await shell.run('approve --list')).stdout).toBe(
    'No sign-in waits (sign_in is off in the configuration).\n',
  );
  const { code } = await asked(shell);
  shell.clock.now += 61_000;
  const { stdout } = await shell.run('approve --list');
  expect(stdout.split('\n').map((line) => line.trimEnd())).toEqual([
    'CODE       CLIENT               FROM       ASKED   LEFT',
    `${code}  claude-code/2.1.332  127.0.0.1  1m ago  8m`,
    '',
  ]);
  expect(await shell.json('approve --list --json')).toEqual([
    {
      ...{ code, user_agent: 'claude-code/2.1.332', address: '127.0.0.1' },
      ...{
        created_at: '2026-11-21T14:25:30.000Z',
        expires_at: '2026-11-21T14:35:30.000Z',
      },
    },
  ]);
});

it('approves a code for an account, which is made if it is new', async () => {
  const shell = createShell();
  const { code, finish } = await asked(shell);
  const done = await shell.run(`approve ${code.toLowerCase()} --account laptop --tier pro --expires 90d`);
  expect(done.code).toBe(0);
  expect(done.stdout).toBe(
    `${code} is approved: claude-code/2.1.332 from 127.0.0.1 uses account laptop (tier pro), until 2027-02-19 14:25 UTC\n`,
  );
  expect(await finish()).toBe('approved');
  const [key] = (await shell.json('keys list')) as Record<string, unknown>[];
  expect(key).toMatchObject({
    ...{
      account: 'laptop',
      tier: 'pro',
      origin: 'claude-code/2.1.332 from 127.0.0.1',
    },
    expires_at: '2027-02-19T14:25:30.000Z',
  });
  const listed = await shell.run('keys list');
  expect(listed.stdout).toContain('claude-code/2.1.332 from 127.0.0.1');
  const again = await shell.run(`approve ${code}`);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('no sign-in waits with this code')]);
});

it('gives a script what it approved, and the account local where none is named', async () => {
  const shell = createShell();
  const { code } = await asked(shell);
  expect(await shell.json(`approve ${code} --json`)).toEqual({
    account: 'local',
    tier: 'unlimited',
    expires_at: null,
  });
});

it('denies a code, also one that was approved but not used', async () => {
  const shell = createShell();
  const { code, finish } = await asked(shell);
  await shell.run(`approve ${code}`);
  expect((await shell.run(`approve --deny ${code}`)).stdout).toBe(
    `${code} is denied: claude-code/2.1.332 from 127.0.0.1\n`,
  );
  expect(await finish()).toBe('denied');
  expect((await shell.run(`approve --deny ${code}`)).code).toBe(1);
  const other = await asked(shell);
  expect(await shell.json(`approve --deny ${other.code} --json`)).toEqual({
    code: other.code,
    denied_at: '2026-11-21T14:25:30.000Z',
  });
});

it.each([
  ['approve', 2, 'name one code to approve'],
  ['approve BCDF-GHJK --list', 2, 'name one code to approve'],
  ['approve nonsense', 2, 'this is not a code'],
  ['approve --deny AEIO-UAEI', 2, 'this is not a code'],
  ['approve BCDF-GHJK', 1, 'no sign-in waits with this code'],
  ['approve BCDF-GHJK --tier prp', 1, 'did you mean pro?'],
])('says what is wrong: %s', async (line, code, text) => {
  const result = await createShell().run(line);
  expect([result.code, result.stdout]).toEqual([code, '']);
  expect(result.stderr).toContain(text);
});

it('does not change the tier of an account that exists', async () => {
  const shell = createShell();
  await shell.run('keys create --account alice --tier lite');
  const { code } = await asked(shell);
  const refused = await shell.run(`approve ${code} --account alice --tier pro`);
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining('gateway tiers assign alice pro'),
  ]);
  expect(await shell.json(`approve ${code} --account alice --json`)).toMatchObject({ tier: 'lite' });
});

it('has its row in the audit', async () => {
  const shell = createShell();
  const { code } = await asked(shell);
  await shell.run(`approve ${code} --account laptop`);
  await shell.run('approve BCDF-GHJK');
  const store = await openStore(`${shell.directory}/gateway.db`);
  const rows = await store.listAudit(Number.MAX_SAFE_INTEGER, 9);
  await store.close();
  expect(rows.map(({ action, status }) => [action, status])).toEqual([
    ['approveSignIn', 404],
    ['approveSignIn', 200],
  ]);
});

it('refuses to rotate a sign-in, which its client refreshes', async () => {
  const shell = createShell();
  const { code, finish } = await asked(shell);
  await shell.run(`approve ${code}`);
  await finish();
  const [key] = (await shell.json('keys list')) as { id: string }[];
  const refused = await shell.run(`keys rotate ${key?.id ?? ''}`);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('is a sign-in')]);
});
