import { UNNAMED } from '../store/support.ts';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { displayWidth } from '../../src/display-width.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import type { UsageRow } from '../../src/store/usage-columns.ts';
import { createShell, NOW, type Shell } from './harness.ts';

const HOUR = 3_600_000;

afterEach(() => void vi.unstubAllEnvs());
const THIS_HOUR = Date.parse('2026-11-21T14:00:00Z');

async function withStore(shell: Shell, use: (store: Store) => Promise<void>): Promise<void> {
  const store = await openStore(join(shell.directory, 'gateway.db'));
  try {
    await use(store);
  } finally {
    await store.close();
  }
}

const row = (change: Partial<UsageRow>): UsageRow => ({
  at: NOW,
  accountId: 1,
  keyId: 'key_x',
  endpoint: 'chat',
  modelAsked: 'auto',
  provider: 'sim',
  model: 'echo',
  status: 200,
  streamed: false,
  input: 100,
  cacheRead: 10,
  cacheWrite: 5,
  output: 20,
  reasoning: null,
  costUsd: 0.5,
  firstByteMs: 1,
  durationMs: 2,
  error: null,
  requestId: null,
  attempts: null,
  detail: null,
  ...UNNAMED,
  settled: false,
  ...change,
});

/** alice, who made three requests this hour and two the day before; one failed, one is of unknown usage. */
async function usedShell(): Promise<Shell> {
  const shell = createShell();
  await shell.run('keys create --account alice --tier pro');
  await withStore(shell, async (store) => {
    const { id } = (await store.listAccounts())[0] ?? { id: 0 };
    for (const hour of [THIS_HOUR, THIS_HOUR, THIS_HOUR, THIS_HOUR - 20 * HOUR, THIS_HOUR - 20 * HOUR]) {
      await store.admit({ id: 'key_one', accountId: id, tier: 'pro' }, 60, hour);
    }
    await store.recordUsage([
      row({ accountId: id }),
      row({
        accountId: id,
        error: 'upstream',
        status: 502,
        input: null,
        output: null,
        costUsd: null,
        provider: null,
        model: null,
        cacheRead: null,
        cacheWrite: null,
      }),
      row({ accountId: id, input: null, output: null, costUsd: null, cacheRead: null, cacheWrite: null }),
      row({ accountId: id, at: THIS_HOUR - 20 * HOUR + 5, model: 'slow' }),
      row({ accountId: id, at: THIS_HOUR - 20 * HOUR + 6 }),
    ]);
  });
  return shell;
}

it('sums the cache misses that were explained', async () => {
  const shell = await usedShell();
  await withStore(shell, async (store) => {
    const { id } = (await store.listAccounts())[0] ?? { id: 0 };
    const missed = { cacheMiss: 'tools', cacheMissDetail: 'tool 5 added' };
    await store.recordUsage([
      row({ accountId: id, ...missed, cacheMissTokens: 41_000, cacheMissCostUsd: 0.15 }),
      row({ accountId: id, ...missed, cacheMissTokens: 9000, cacheMissCostUsd: null }),
    ]);
  });
  expect((await shell.run('usage alice', { columns: 160 })).stdout).toContain(
    '2 cache misses (50K tokens, $0.1500)',
  );
  const [usage] = (await shell.json('usage')) as { totals: object }[];
  expect(usage?.totals).toMatchObject({
    cache_misses: 2,
    cache_miss_tokens: 50_000,
    cache_miss_cost_usd: 0.15,
  });
});

it.each(['alice', '--by hour', '--by day --local', '--by model'])(
  'lists the hours of five years from the first request on: %s',
  async (options) => {
    vi.stubEnv('TZ', 'Asia/Kolkata');
    const shell = await usedShell();
    const old = THIS_HOUR - 100 * 24 * HOUR;
    await withStore(shell, async (store) => {
      const { id } = (await store.listAccounts())[0] ?? { id: 0 };
      await store.admit({ id: 'key_one', accountId: id, tier: 'pro' }, 60, old);
      await store.recordUsage([row({ accountId: id, at: old + 7 })]);
    });
    const [usage] = (await shell.json(`usage --since 1800d ${options}`)) as {
      hours: { hour: string; requests: number }[];
      totals: { requests: number };
    }[];
    expect(usage?.totals.requests).toBe(6);
    expect(usage?.hours).toHaveLength(100 * 24 + 1);
    expect(usage?.hours[0]).toEqual({ hour: new Date(old).toISOString(), requests: 1 });
  },
);

describe('usage --json', () => {
  it('is indented on a terminal, and a line for each account in a pipe', async () => {
    const shell = await usedShell();
    await shell.run('keys create --account bob');
    const terminal = await shell.run('usage --json', { columns: 80 });
    const pipe = await shell.run('usage --json');
    expect(terminal.stdout).toMatch(/^\[\n {2}\{\n {4}"account": "alice",\n/);
    expect(pipe.stdout).toMatch(/^\[\n\{"account":"alice",.*\},\n\{"account":"bob",.*\}\n\]\n$/);
    expect(JSON.parse(pipe.stdout)).toEqual(JSON.parse(terminal.stdout));
  });

  it('has the exact shape, with every hour of the window', async () => {
    const shell = await usedShell();
    const usage = (await shell.json('usage')) as { hours: { hour: string; requests: number }[] }[];
    expect(usage).toEqual([
      {
        account: 'alice',
        tier: 'pro',
        limit: 60,
        used: 3,
        remaining: 57,
        resets_at: '2026-11-21T15:00:00.000Z',
        totals: {
          requests: 5,
          errors: 1,
          unknown: 1,
          unpriced: 0,
          input_tokens: 345,
          cache_read_tokens: 30,
          cache_write_tokens: 15,
          output_tokens: 60,
          cost_usd: 1.5,
          ...{ cache_misses: 0, cache_miss_tokens: 0, cache_miss_cost_usd: 0 },
          first_byte_ms: { p50: 3, p95: 5 },
        },
        hours: expect.any(Array) as unknown[],
        limits: [
          {
            ...{
              kind: 'requests',
              per: 'hour',
              limit: 60,
              spent: 3,
              estimated: 0,
              held: 0,
              left: 57,
              granted: 0,
            },
            ...{ unpriced: 0, resets_at: '2026-11-21T15:00:00.000Z' },
          },
        ],
      },
    ]);
    const hours = usage[0]?.hours ?? [];
    expect(hours).toHaveLength(25);
    expect(hours[0]?.hour).toBe('2026-11-20T14:00:00.000Z');
    expect(hours.at(-1)).toEqual({ hour: '2026-11-21T14:00:00.000Z', requests: 3 });
    expect(hours.filter(({ requests }) => requests > 0)).toHaveLength(2);
    expect(hours.reduce((sum, { requests }) => sum + requests, 0)).toBe(5);
  });

  it('--since narrows hours and totals alike', async () => {
    const shell = await usedShell();
    expect(await shell.json('usage --since 1h')).toMatchObject([
      { totals: { requests: 3 }, hours: [{ requests: 0 }, { requests: 3 }] },
    ]);
    expect(await shell.json('usage --since 2026-11-21')).toMatchObject([{ totals: { requests: 3 } }]);
  });

  it.each([
    ['account', [{ account: 'alice', totals: { requests: 5 } }]],
    ['key', [{ key: 'key_x', totals: { requests: 5 } }]],
    [
      'hour',
      [
        { hour: '2026-11-20T18:00:00.000Z', totals: { requests: 2 } },
        { hour: '2026-11-21T14:00:00.000Z', totals: { requests: 3 } },
      ],
    ],
  ])('--by %s', async (by, rows) => {
    const shell = await usedShell();
    expect(await shell.json(`usage --by ${by}`)).toMatchObject([{ by: rows }]);
  });

  it('--by shows no empty table on a terminal', async () => {
    const shell = createShell();
    await shell.run('keys create --account alice');
    const { stdout } = await shell.run('usage --by model', { columns: 160 });
    expect(stdout).toContain('no requests in this window');
    expect(stdout).not.toContain('MODEL');
  });

  it('--by model names the provider, and null where none was reached', async () => {
    const shell = await usedShell();
    const [usage] = (await shell.json('usage --by model')) as { by: Record<string, unknown>[] }[];
    const models = usage?.by.map(({ model, provider }) => ({ model, provider })) ?? [];
    expect(models).toHaveLength(3);
    for (const expected of [
      { model: 'echo', provider: 'sim' },
      { model: 'slow', provider: 'sim' },
      { model: null, provider: null },
    ]) {
      expect(models).toContainEqual(expected);
    }
  });

  it('of one account, or the nearest to an unknown one', async () => {
    const shell = await usedShell();
    await shell.run('keys create --account bob');
    expect(await shell.json('usage bob')).toMatchObject([
      { account: 'bob', used: 0, totals: { cost_usd: null } },
    ]);
    expect(await shell.json('usage')).toHaveLength(2);
    expect(await shell.run('usage bo')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'gateway: unknown account "bo"; did you mean bob?\n',
    });
  });

  it('of an empty database is an empty list', async () => {
    expect(await createShell().json('usage')).toEqual([]);
  });
});

describe('usage --by', () => {
  it.each([60, 100, 160])('day is a month on one screen with a total, in %i columns', async (columns) => {
    const shell = await usedShell();
    await withStore(shell, async (store) => {
      const days = Array.from({ length: 31 }, (_, n) =>
        row({ at: THIS_HOUR - n * 24 * HOUR, costUsd: n === 3 ? null : 1 }),
      );
      await store.recordUsage(days);
    });
    const { stdout } = await shell.run('usage --since 31d --by day', { columns, env: { NO_COLOR: '1' } });
    const lines = stdout.split('\n');
    const head = lines.findIndex((line) => line.trim().startsWith('DAY'));
    expect(lines[head]?.trim().split(/ +/)).toEqual(
      {
        60: ['DAY', 'REQUESTS', 'FRESH', 'CACHED', 'OUTPUT', 'COST'],
        100: [
          'DAY',
          'REQUESTS',
          'ERRORS',
          'UNKNOWN',
          'FRESH',
          'CACHED',
          'WRITTEN',
          'OUTPUT',
          'P50',
          'P95',
          'COST',
        ],
        160: [
          'DAY',
          'REQUESTS',
          'ERRORS',
          'UNKNOWN',
          'FRESH',
          'CACHED',
          'WRITTEN',
          'OUTPUT',
          'P50',
          'P95',
          'COST',
        ],
      }[columns],
    );
    const shown = lines.slice(head + 1).filter((line) => line.trim() !== '');
    expect(shown).toHaveLength(32);
    expect(shown[0]).toMatch(/^ {2}2026-10-22 .* \$1\.00$/);
    expect(shown.at(-1)).toMatch(/^ {2}total +5 .* ≥\$31\.50$/);
    for (const line of lines) expect(displayWidth(line), line).toBeLessThanOrEqual(columns);
  });

  it('provider sums up the models of each', async () => {
    const shell = await usedShell();
    expect(await shell.json('usage --by provider')).toMatchObject([
      {
        by: [
          { provider: 'sim', totals: { requests: 4 } },
          { provider: null, totals: { requests: 1, errors: 1 } },
        ],
      },
    ]);
  });

  it('day takes the days of this machine with --local', async () => {
    const shell = await usedShell();
    const zone = process.env['TZ'];
    process.env['TZ'] = 'Asia/Tokyo';
    try {
      const [usage] = (await shell.json('usage --by day --local')) as { by: { day: string }[] }[];
      expect(usage?.by.map(({ day }) => day)).toEqual(['2026-11-20T15:00:00.000Z']);
      const { stdout } = await shell.run('usage --by day --local', { columns: 100, env: { NO_COLOR: '1' } });
      expect(stdout).toContain('since 2026-11-20 23:00, times in local time');
      expect(stdout).toMatch(/^ {2}2026-11-21 +5 /m);
      expect(stdout).toContain('resets in 34m at 00:00');
    } finally {
      if (zone === undefined) delete process.env['TZ'];
      else process.env['TZ'] = zone;
    }
  });

  it.each([
    ['Asia/Kolkata', '2026-11-20T18:30:00.000Z'],
    ['Asia/Kathmandu', '2026-11-20T18:15:00.000Z'],
    ['Australia/Adelaide', '2026-11-20T13:30:00.000Z'],
  ])(
    'day with --local in %s begins within an hour of UTC, and has what was recorded from there on',
    async (zone, midnight) => {
      const shell = createShell();
      await shell.run('keys create --account alice --tier pro');
      await shell.run('keys create --account bob --tier pro');
      const at = Date.parse(midnight);
      await withStore(shell, async (store) => {
        const ids = (await store.listAccounts()).map(({ id }) => id);
        for (const accountId of [...ids, ...ids, ...ids])
          await store.admit({ id: 'key_one', accountId, tier: 'pro' }, 60, at);
        await store.recordUsage(
          ids.flatMap((accountId) => [
            row({ accountId, at: at - 1, input: 1000, firstByteMs: 2000 }),
            row({ accountId, at, input: 10 }),
            row({ accountId, at: at + 60_000, input: 20, error: 'upstream' }),
          ]),
        );
      });
      const before = process.env['TZ'];
      process.env['TZ'] = zone;
      try {
        const report = (await shell.json('usage --by day --local --since 2d')) as { by: object[] }[];
        expect(report).toHaveLength(2);
        for (const { by } of report) {
          const [first, second] = by as { day: string; totals: object }[];
          expect(by).toHaveLength(2);
          expect(Date.parse(first?.day ?? '')).toBe(at - 24 * HOUR);
          expect(first?.totals).toMatchObject({ requests: 1, errors: 0, input_tokens: 1015, cost_usd: 0.5 });
          expect(second?.day).toBe(midnight);
          expect(second?.totals).toMatchObject({ requests: 2, errors: 1, input_tokens: 60, cost_usd: 1 });
        }
      } finally {
        if (before === undefined) delete process.env['TZ'];
        else process.env['TZ'] = before;
      }
    },
  );

  it('--csv prints a line for each group, with the names of --json', async () => {
    const shell = await usedShell();
    await shell.run(['accounts', 'rename', 'alice', 'alice, "ops"']);
    const { stdout } = await shell.run('usage --by provider --csv');
    expect(stdout.trimEnd().split('\n')).toEqual([
      'account,provider,requests,errors,unknown,unpriced,input_tokens,cache_read_tokens,cache_write_tokens,output_tokens,cost_usd,first_byte_p50_ms,first_byte_p95_ms,cache_misses,cache_miss_tokens,cache_miss_cost_usd',
      '"alice, ""ops""",sim,4,0,1,0,345,30,15,60,1.5,3,5,0,0,0',
      '"alice, ""ops""",,1,1,0,0,0,0,0,0,,3,5,0,0,0',
    ]);
    expect((await shell.run('usage --csv --json')).code).toBe(2);
  });

  it('P44: --csv gives a spreadsheet nothing to compute: what begins like a formula gets an apostrophe', async () => {
    const shell = createShell();
    await shell.run(['keys', 'create', '--account', '=1+1']);
    const cells = new Map([
      ['=cmd|x', `'=cmd|x`],
      ['+1', `'+1`],
      ['-1', `'-1`],
      ['@SUM(A1)', `'@SUM(A1)`],
      ['\t=1', `'\\u0009=1`],
      ['\r=1', `'\\u000d=1`],
      ['＝1', `'＝1`],
      ['a;=1', `"a;'=1"`],
      ['a=1', 'a=1'],
      ["'=1", "'=1"],
      ['"=1', '"""=1"'],
    ]);
    await withStore(shell, async (store) => {
      const { id } = (await store.listAccounts())[0] ?? { id: 0 };
      const rows = Array.from(cells.keys(), (model, n) => row({ accountId: id, model, at: NOW - n }));
      await store.recordUsage(rows);
    });
    const { stdout } = await shell.run('usage --by model --csv');
    const lines = stdout.trimEnd().split('\n').slice(1);
    const starts = lines.map((line) => line.slice(0, line.indexOf(',sim'))).sort();
    expect(starts).toEqual(Array.from(cells.values(), (cell) => `'=1+1,${cell}`).sort());
  });
});

describe('usage --watch', () => {
  it('draws on the second screen, and gives the first one back on Ctrl-C', async () => {
    const shell = await usedShell();
    const running = shell.run('usage --watch', { columns: 80, env: { NO_COLOR: '1' } });
    let ended = false;
    void running.finally(() => (ended = true));
    // Nobody listens before the screen is drawn.
    for (; !ended; await nextTurn()) shell.signal('SIGINT');
    const { code, stdout } = await running;
    expect(code).toBe(0);
    expect(stdout.startsWith('\u001b[?1049h\u001b[?25l')).toBe(true);
    expect(stdout.endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
  });

  it('is wrong usage in a pipe', async () => {
    expect(await (await usedShell()).run('usage --watch')).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('usage for people', () => {
  it('is a plain table in a pipe', async () => {
    const { stdout } = await (await usedShell()).run('usage');
    const [head, line] = stdout.split('\n');
    expect(head?.split(/ {2,}/)).toEqual(
      'ACCOUNT,TIER,USED,LIMIT,LEFT,RESETS (UTC),REQUESTS,ERRORS,UNKNOWN,FRESH,CACHED,WRITTEN,OUTPUT,P50,P95,COST'.split(
        ',',
      ),
    );
    expect(line?.split(/ {2,}/)).toEqual([
      'alice',
      'pro',
      '3',
      '60',
      '57',
      '2026-11-21 15:00',
      '5',
      '1',
      '1',
      '300',
      '30',
      '15',
      '60',
      '3ms',
      '5ms',
      '$1.50',
    ]);
  });

  it('draws a bar an hour on a terminal, uncoloured under NO_COLOR', async () => {
    const { stdout } = await (await usedShell()).run('usage', { columns: 80, env: { NO_COLOR: '1' } });
    expect(stdout).toContain('3 of 60 this hour, 57 left, resets in 34m at 15:00');
    expect(stdout).toContain('█');
    expect(stdout).toContain('5 requests · 1 error ·');
    expect(stdout).not.toContain('\u001b');
  });

  it('is coloured on a terminal, and not in CI', async () => {
    const shell = await usedShell();
    const { stdout } = await shell.run('usage', { columns: 80 });
    expect(stdout).toContain('\u001b[');
    expect(stripVTControlCharacters(stdout)).toBe(
      (await shell.run('usage', { columns: 80, env: { NO_COLOR: '1' } })).stdout,
    );
    expect((await shell.run('usage', { columns: 80, env: { CI: 'true' } })).stdout).not.toContain('\u001b[');
  });

  it.each([200, 80, 60, 40, 24])('fits %i columns', async (columns) => {
    const shell = await usedShell();
    await shell.run(['keys', 'create', '--account', 'x'.repeat(128)]);
    for (const line of ['usage', 'usage --since 30d', 'usage alice']) {
      const { stdout } = await shell.run(line, { columns, env: { NO_COLOR: '1' } });
      for (const text of stdout.split('\n')) expect(displayWidth(text), text).toBeLessThanOrEqual(columns);
    }
  });

  it('shows several accounts with a total, and those that did nothing in one line', async () => {
    const shell = await usedShell();
    for (const name of ['bob', 'carol', 'dave']) await shell.run(`keys create --account ${name}`);
    await withStore(shell, async (store) => {
      const { id } = (await store.findAccount('bob')) ?? { id: 0 };
      await store.admit({ id: 'key_one', accountId: id, tier: 'pro' }, 60, THIS_HOUR);
      await store.recordUsage([row({ accountId: id, costUsd: null })]);
    });
    for (const columns of [60, 100, 160]) {
      const { stdout } = await shell.run('usage', { columns, env: { NO_COLOR: '1' } });
      expect(stdout).toContain('idle: carol, dave');
      expect(stdout).toMatch(/all accounts\n +6 requests · 1 error/);
      // A part of it has no known price.
      expect(stdout).toMatch(/≥ ?\$1\.50/);
      for (const line of stdout.split('\n')) expect(displayWidth(line), line).toBeLessThanOrEqual(columns);
    }
    expect((await shell.run('usage')).stdout).toMatch(/^total .* ≥\$1\.50$/m);
  });

  it('by key names each key with its label, on a terminal, in a pipe and in JSON', async () => {
    const shell = createShell();
    const keys: Record<string, string> = {};
    for (const label of ['laptop', null, 'its own phone']) {
      const name = label === null ? [] : ['--name', label];
      const created = (await shell.json(['keys', 'create', '--account', 'alice', ...name])) as { id: string };
      keys[String(label)] = created.id;
    }
    await withStore(shell, async (store) => {
      const accountId = (await store.findAccount('alice'))?.id ?? 0;
      await store.recordUsage(Object.values(keys).map((keyId) => row({ accountId, keyId })));
    });
    const pipe = (await shell.run('usage --by key')).stdout;
    expect(pipe).toMatch(/^ACCOUNT +KEY +NAME +REQUESTS /m);
    const wide = (await shell.run('usage --by key', { columns: 120, env: { NO_COLOR: '1' } })).stdout;
    const narrow = (await shell.run('usage --by key', { columns: 60, env: { NO_COLOR: '1' } })).stdout;
    for (const shown of [pipe, wide, narrow]) {
      expect(shown).toMatch(new RegExp(`\\b${keys['laptop']} +laptop +1 `));
      expect(shown).toMatch(new RegExp(`\\b${keys['its own phone']} +its own phone +1 `));
      expect(shown).toMatch(new RegExp(`\\b${keys['null']} +- +1 `));
    }
    const [usage] = (await shell.json('usage --by key')) as { by: { key: string; name: string | null }[] }[];
    const named = usage?.by.map(({ key, name }) => [key, name]);
    expect(named?.sort()).toEqual(
      [
        [keys['laptop'], 'laptop'],
        [keys['null'], null],
        [keys['its own phone'], 'its own phone'],
      ].sort(),
    );
  });

  it('of an account without a limit has no meter, and null in JSON', async () => {
    const shell = await usedShell();
    await shell.run('tiers assign alice unlimited');
    expect(await shell.json('usage')).toMatchObject([{ used: 3, limit: null, remaining: null }]);
    const { stdout } = await shell.run('usage', { columns: 80, env: { NO_COLOR: '1' } });
    expect(stdout).toContain('3 this hour, no limit');
    expect(stdout).not.toContain('░');
    expect((await shell.run('usage')).stdout).toMatch(/^alice +unlimited +3 +- +- /m);
  });

  it('says how to begin where nobody has an account', async () => {
    expect((await createShell().run('usage', { columns: 80 })).stdout).toContain('gateway keys create');
  });

  it('holds an account whose tier is gone from the file to free, and says so', async () => {
    const shell = createShell();
    await shell.run('keys create --account alice');
    await withStore(shell, async (store) => void (await store.assignTier('alice', 'gone')));
    const { stdout, stderr } = await shell.run('usage --json');
    expect(JSON.parse(stdout)).toMatchObject([{ tier: 'gone', limit: 10 }]);
    expect(stderr).toBe(
      'warning: tier gone of account alice is not in the configuration: the limit of tier free applies\n',
    );
  });
});
