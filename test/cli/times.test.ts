// Times that commands print: those of this machine on a terminal, UTC in a pipe, in JSON and in CSV; --utc on a terminal, too.
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import { admit, usageRow } from '../store/support.ts';
import { createShell, NOW, type Shell } from './harness.ts';

const HOUR = 3_600_000;

beforeEach(() => {
  // Half an hour beside the hours of UTC: 14:25 there is 19:55 here.
  vi.stubEnv('TZ', 'Asia/Kolkata');
  return () => vi.unstubAllEnvs();
});

async function prepared(): Promise<Shell> {
  const shell = createShell();
  await shell.run('keys create --account alice --expires 1h');
  const store = await openStore(join(shell.directory, 'gateway.db'));
  const account = await store.findAccount('alice');
  const accountId = account?.id ?? 0;
  // The evening of the day before in UTC is the next day here.
  for (const at of [NOW - HOUR, Date.parse('2026-11-20T22:00:00Z')]) {
    await admit(store, accountId, at, 10);
    await store.recordUsage([usageRow({ at, accountId })]);
  }
  await store.close();
  return shell;
}

describe.each([
  ['accounts list', /2026-11-21 19:55/, /CREATED \(UTC\)[^]*2026-11-21 14:25/],
  [
    'keys create --account alice --expires 2h',
    /expires +2026-11-21 21:55$/m,
    /expires +2026-11-21 16:25 UTC$/m,
  ],
  [
    'admin tokens create --scope read --expires 2h',
    /expires +2026-11-21 21:55$/m,
    /expires +2026-11-21 16:25 UTC$/m,
  ],
  ['requests', /^TIME [^]*18:55:30/, /^TIME \(UTC\)[^]*13:25:30/],
  [
    'usage',
    /times in local time[^]*resets in 34m at 20:30/,
    /RESETS \(UTC\)[^]*2026-11-21 15:00|times in UTC[^]*at 15:00/,
  ],
  ['usage --by day', /2026-11-21 +2 /, /2026-11-20 +1 [^]*2026-11-21 +1 /],
  ['usage --by hour', /2026-11-21 03:30 +1 /, /2026-11-20 22:00 +1 /],
])('gateway %s', (line, local, utc) => {
  it('has times of this machine on a terminal', async () => {
    const { stdout, stderr } = await (await prepared()).run(line, { columns: 160, env: { NO_COLOR: '1' } });
    expect(stdout, stderr).toMatch(local);
    expect(stdout).not.toContain('UTC');
  });

  it.each([
    ['in a pipe', '', undefined],
    ['with --utc', ' --utc', 160],
  ])('has times in UTC %s', async (_where, option, columns) => {
    const { stdout, stderr } = await (
      await prepared()
    ).run(line + option, { columns, env: { NO_COLOR: '1' } });
    expect(stdout, stderr).toMatch(utc);
    expect(stdout).not.toMatch(local);
  });
});

it('JSON and CSV have UTC on a terminal', async () => {
  const shell = await prepared();
  const terminal = async (line: string): Promise<string> => (await shell.run(line, { columns: 160 })).stdout;
  expect(await terminal('accounts list --json')).toContain('2026-11-21T14:25:30.000Z');
  expect(await terminal('usage --by day --json')).toMatch(
    /2026-11-20T00:00:00.000Z[^]*2026-11-21T00:00:00.000Z/,
  );
  expect(await terminal('usage --by hour --csv')).toContain('2026-11-20T22:00:00.000Z');
});

it('the bars of a chart are labelled with the hours of this machine', async () => {
  const shell = await prepared();
  const hours = async (line: string): Promise<string[]> => {
    const { stdout } = await shell.run(line, { columns: 160, env: { NO_COLOR: '1' } });
    return /┼─+\n +([\d ]+)$/m.exec(stdout)?.[1]?.trim().split(/ +/) ?? [];
  };
  const [local, utc] = [await hours('usage --since 12h'), await hours('usage --since 12h --utc')];
  expect(utc.at(-1)).toBe('14');
  // The hour from 14:00 in UTC is that from 19:30 here.
  expect(local.at(-1)).toBe('19');
});
