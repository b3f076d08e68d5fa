// `gateway limits`: what it shows, in exactly which JSON, and what a grant does and says.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { displayWidth } from '../../src/display-width.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { hourlyTier, nanosOf, type Limit } from '../../src/tier.ts';
import { createShell, NOW, type Shell } from './harness.ts';

const CONFIG = `providers:
  p: { protocol: chat, base_url: "http://127.0.0.1:9", models: [m] }
tiers:
  team: { requests: 600/hour, tokens: { limit: 2M/day, count: fresh }, cost: [5/day, 60/month] }
`;
const COST: readonly Limit[] = [{ kind: 'cost', per: 'day', most: nanosOf(5) }];

/** alice of a tier with all kinds of limits, bob of one with requests an hour, carol without a limit. */
async function limitedShell(): Promise<Shell> {
  const shell = createShell();
  writeFileSync(join(shell.directory, 'gateway.yaml'), CONFIG);
  for (const [name, tier] of [
    ['alice', 'team'],
    ['bob', 'pro'],
    ['carol', 'unlimited'],
  ])
    expect(await shell.run(`keys create --account ${name} --tier ${tier}`)).toMatchObject({ code: 0 });
  return shell;
}

async function inStore<Result>(
  { directory }: Shell,
  use: (store: Store) => Promise<Result>,
): Promise<Result> {
  const store = await openStore(join(directory, 'gateway.db'));
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** alice's answers: one of a known sum, one that is estimated, one without a price, and one under way. */
async function spend(shell: Shell): Promise<void> {
  await inStore(shell, async (store) => {
    const [key] = await store.listKeys('alice');
    if (key === undefined) throw new Error('alice has no key');
    const account = { id: key.id, accountId: key.accountId, tier: key.tier };
    const hold = async () => {
      const given = await store.hold({ key: account, limits: COST, tokens: 100, cost: nanosOf(0.25) }, NOW);
      if (given.outcome !== 'admitted') throw new Error(given.outcome);
      return given.hold;
    };
    const settled = { accountId: key.accountId, limits: [], tokens: 1000, fresh: 900 };
    for (const answer of [
      { cost: nanosOf(1.23), estimated: false, unpriced: false },
      { cost: nanosOf(0.05), estimated: true, unpriced: false },
      { cost: 0, estimated: false, unpriced: true },
    ])
      await store.settle({ hold: await hold(), ...settled, ...answer }, NOW);
    await hold();
  });
  // The store was closed, which ends the lease but leaves the hold: a running gateway would settle it.
}

it('shows every limit in the order of the file, in the exact shape', async () => {
  const shell = await limitedShell();
  await spend(shell);
  const [alice, ...others] = (await shell.json('limits')) as unknown[];
  const of = { granted: 0, unpriced: 0, estimated: 0, held: 0 };
  const day = { per: 'day', resets_at: '2026-11-22T00:00:00.000Z' };
  const cost = { ...of, kind: 'cost', spent: 1.28, estimated: 0.05, held: 0.25, unpriced: 1 };
  expect(alice).toEqual({
    account: 'alice',
    tier: 'team',
    limits: [
      {
        ...of,
        kind: 'requests',
        per: 'hour',
        limit: 600,
        spent: 4,
        left: 596,
        resets_at: '2026-11-21T15:00:00.000Z',
      },
      {
        ...of,
        ...day,
        kind: 'tokens',
        limit: 2_000_000,
        count: 'fresh',
        spent: 2700,
        estimated: 900,
        held: 100,
        left: 1_997_200,
      },
      { ...cost, ...day, limit: 5, left: 3.47 },
      { ...cost, per: 'month', resets_at: '2026-12-01T00:00:00.000Z', limit: 60, left: 58.47 },
    ],
    grants: [],
  });
  expect(others).toEqual([
    {
      account: 'bob',
      tier: 'pro',
      limits: [
        {
          ...of,
          kind: 'requests',
          per: 'hour',
          limit: 60,
          spent: 0,
          left: 60,
          resets_at: '2026-11-21T15:00:00.000Z',
        },
      ],
      grants: [],
    },
    { account: 'carol', tier: 'unlimited', limits: [], grants: [] },
  ]);
  expect(await shell.json('limits alice')).toEqual([alice]);
  const [usage] = (await shell.json('usage alice')) as { limits: unknown }[];
  expect(usage?.limits).toEqual((alice as { limits: unknown }).limits);
});

it.each([48, 80, 160])('has a bar for each limit on a terminal of %i columns', async (columns) => {
  const shell = await limitedShell();
  await spend(shell);
  await shell.run('limits raise alice --cost 2.5 --for 2h');
  const { stdout } = await shell.run('limits', { columns, env: { NO_COLOR: '1' } });
  expect(stdout).toContain('5 USD a day + 2.5 USD');
  if (columns > 48) expect(stdout).toMatch(/alice .*2,000,000 tokens.*2,700 .*100 +1,997,200 +in 9h/);
  expect(stdout).toContain('≥1.28');
  expect(stdout).toContain('no limit: carol');
  expect(stdout).toMatch(/grant_\w{12}.*alice|GRANT\s+grant_/);
  expect(stdout).toMatch(/[█▏]+.*░+/);
  for (const line of stdout.split('\n'))
    expect(displayWidth(line)).toBeLessThanOrEqual(Math.max(columns, 70));
  const usage = await shell.run('usage alice', { columns: 160, env: { NO_COLOR: '1' } });
  expect(usage.stdout).toMatch(
    /█.*░ {2}≥1\.28 of 7\.5 USD this day, 0\.05 of it estimated, 0\.25 held, 5\.97 left, resets in 9h/,
  );
  expect((await shell.run('usage alice')).stdout).toMatch(
    /5 USD a day \+ 2\.5 USD +≥1\.28 +0\.05 +0\.25 +5\.97/,
  );
});

it('a raise prints the new grants, which add to every window of their kind until their end', async () => {
  const shell = await limitedShell();
  const grants = (await shell.json(
    'limits raise alice --cost 0.000000001 --tokens 500k --requests 3 --for 2h',
  )) as {
    id: string;
  }[];
  const until = '2026-11-21T16:25:30.000Z';
  expect(grants).toEqual([
    { id: expect.stringMatching(/^grant_\w{12}$/) as string, kind: 'requests', amount: 3, until },
    { id: expect.stringMatching(/^grant_\w{12}$/) as string, kind: 'tokens', amount: 500_000, until },
    { id: expect.stringMatching(/^grant_\w{12}$/) as string, kind: 'cost', amount: 1e-9, until },
  ]);
  expect(await shell.json('limits alice')).toMatchObject([
    {
      limits: [
        { limit: 600, granted: 3, left: 603 },
        { limit: 2_000_000, granted: 500_000, left: 2_500_000 },
        { per: 'day', limit: 5, granted: 1e-9, left: 5.000000001 },
        { per: 'month', limit: 60, granted: 1e-9, left: 60.000000001 },
      ],
      grants,
    },
  ]);
  expect(await shell.json('usage alice')).toMatchObject([{ limit: 600, remaining: 603 }]);
  shell.clock.now += 2 * 3_600_000;
  expect(await shell.json('limits alice')).toMatchObject([
    { limits: [{ granted: 0 }, {}, {}, {}], grants: [] },
  ]);
});

it('a revoked grant ends at once; again is no error, and an unknown one names the command that lists them', async () => {
  const shell = await limitedShell();
  const [grant] = (await shell.json('limits raise bob --requests 3 --for 1d')) as { id: string }[];
  const id = grant?.id ?? '';
  expect(await shell.json('limits bob')).toMatchObject([{ limits: [{ granted: 3 }], grants: [{ id }] }]);
  const revoked = await shell.json(`limits revoke ${id}`);
  expect(revoked).toEqual({ id, revoked_at: '2026-11-21T14:25:30.000Z' });
  shell.clock.now += 60_000;
  expect(await shell.json(`limits revoke ${id}`)).toEqual(revoked);
  expect(await shell.json('limits bob')).toMatchObject([{ limits: [{ granted: 0 }], grants: [] }]);
  expect(await shell.run('limits revoke grant_nothing')).toMatchObject({
    code: 1,
    stderr: 'gateway: unknown grant "grant_nothing"; see: gateway limits\n',
  });
});

it('what is raised and revoked is in the audit, also what failed', async () => {
  const shell = await limitedShell();
  const [grant] = (await shell.json('limits raise alice --cost 5 --for 2h')) as { id: string }[];
  await shell.run(`limits revoke ${grant?.id ?? ''}`);
  await shell.run('limits revoke grant_nothing');
  const rows = await inStore(shell, (store) => store.listAudit(Number.MAX_SAFE_INTEGER, 3));
  expect(rows.map(({ action, status, detail }) => [action, status, JSON.parse(detail) as unknown])).toEqual(
    [
      [
        'raiseLimits',
        201,
        { account: 'alice', cost: 5, until: '2026-11-21T16:25:30.000Z', grants: [grant?.id] },
      ],
      ['revokeGrant', 200, { id: grant?.id, account: 'alice' }],
      ['revokeGrant', 404, { id: 'grant_nothing' }],
    ].reverse(),
  );
});

it.each([
  [
    'limits raise bob --cost 5 --for 2h',
    1,
    'tier pro of account "bob" has no limit of cost: it allows 60 requests an hour',
  ],
  ['limits raise alice --requests 5 --cost 5 --for 2h --database /dev/null/x', 1, '/dev/null/x'],
  [
    'limits raise carol --requests 5 --for 2h',
    1,
    'tier unlimited of account "carol" has no limit of requests: it allows no limit',
  ],
  ['limits raise alcie --cost 5 --for 2h', 1, 'unknown account "alcie"; did you mean alice?'],
  ['limits alcie', 1, 'unknown account "alcie"; did you mean alice?'],
  ['limits raise alice --for 2h', 2, 'give how much: --requests, --tokens or --cost'],
  ['limits raise alice --cost 5', 2, "required option '--for <duration>' not specified"],
  ['limits raise alice --cost 5 --for 2030-01-01', 2, 'Give a duration such as 2h'],
  ['limits raise alice --cost 5 --for 0h', 2, 'Give a duration such as 2h'],
  ['limits raise alice --cost 5 --for 500d', 2, 'more than a year'],
  ['limits raise alice --cost 0 --for 2h', 2, 'Give USD, more than 0'],
  ['limits raise alice --cost=-5 --for 2h', 2, 'Give USD, more than 0'],
  ['limits raise alice --cost 0.0000000001 --for 2h', 2, 'nine decimals at most'],
  ['limits raise alice --requests 1.5 --for 2h', 2, 'Give a whole number'],
  ['limits raise alice --tokens 99999999999999999 --for 2h', 2, 'Give a whole number'],
])('%s ends with %i and changes nothing', async (line, code, text) => {
  const shell = await limitedShell();
  const { code: given, stderr, stdout } = await shell.run(line);
  expect([given, stdout, stderr]).toEqual([code, '', expect.stringContaining(text)]);
  expect(await shell.json('limits')).toMatchObject([{ grants: [] }, { grants: [] }, { grants: [] }]);
});

it('completes subcommands and accounts, and the grants to be revoked', async () => {
  const shell = await limitedShell();
  const [grant] = (await shell.json('limits raise alice --cost 5 --for 2h')) as { id: string }[];
  const offered = async (...words: string[]) =>
    (await shell.run(['__complete', ...words])).stdout.split('\n');
  expect(await offered('limits', '')).toEqual(
    expect.arrayContaining([expect.stringMatching(/^raise\t/), expect.stringMatching(/^alice\t/)]),
  );
  expect(await offered('limits', 'raise', '')).toContain('alice\ttier team');
  expect(await offered('limits', 'revoke', '')).toEqual([`${grant?.id}\talice, 5 USD`, '']);
});

it('an account whose tier is gone has the limits of free, with a warning', async () => {
  const shell = await limitedShell();
  writeFileSync(join(shell.directory, 'gateway.yaml'), CONFIG.replace('team:', 'crew:'));
  const { stderr, stdout } = await shell.run('limits alice --json');
  expect(stderr).toContain('warning: tier team of account alice is not in the configuration');
  expect(JSON.parse(stdout)).toMatchObject([{ tier: 'team', limits: [{ limit: hourlyTier(10).perHour }] }]);
});
