// What `serve` prints once it listens, on terminals of several widths and in a pipe.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import type { App } from '../../src/app.ts';
import { printBanner } from '../../src/cli/ui/banner.ts';
import { loadConfig } from '../../src/config/load.ts';
import { openStore } from '../../src/store/open.ts';
import { capture, createShell, type Shell } from './harness.ts';

interface Shown {
  columns?: number;
  firstKey?: string;
  colors?: boolean;
}

/** The banner of a server on this shell's database, with the configuration file that the shell has. */
async function bannerOf(shell: Shell, { columns, firstKey, colors = false }: Shown = {}): Promise<string> {
  const { context, directory } = shell;
  const config = loadConfig({ flags: {}, env: context.env, cwd: directory });
  const store = await openStore(config.database);
  const stdout = capture(columns);
  const app: App = {
    urls: ['http://127.0.0.1:8787', 'http://[::1]:8787'],
    port: 8787,
    notes: [],
    providers: config.providers,
    underWay: { requests: 0, graceMs: 0 },
    ready: Promise.resolve(),
    stop: () => Promise.resolve(0),
    kill: () => undefined,
  };
  const env = { ...context.env, ...(!colors && { NO_COLOR: '1' }) };
  await printBanner({ app, config, store, firstKey }, { ...context, stdout, env });
  await store.close();
  return stdout.text;
}

it.each([60, 100, 160])(
  'wraps at words at %i columns; the first key stands alone on its line',
  async (columns) => {
    const key = `sk-gw-${'x'.repeat(43)}`;
    const shell = createShell();
    const first = await bannerOf(shell, { columns, firstKey: key });
    expect(first.split('\n')).toContain(key);
    await shell.run(['keys', 'create', '--account', 'an account with a rather long name of many words']);
    const later = await bannerOf(shell, { columns });
    for (const line of `${first}\n${later}`.split('\n')) {
      // Paths, the body, and the header that bears the key are words that cannot be broken.
      const whole = /^\s*(database|config|-H 'Auth|-d ')/.test(line) || !line.trim().includes(' ');
      if (!whole) expect(line.length, line).toBeLessThanOrEqual(columns);
    }
  },
);

it('says what the simulated provider takes', async () => {
  const shell = createShell();
  writeFileSync(join(shell.directory, 'gateway.yaml'), 'providers: { sim: }\n');
  const text = await bannerOf(shell);
  expect(text).toContain('sim/echo, sim/slow, ');
  expect(text).not.toContain('any model');
});

it('is the same text in colour', async () => {
  const shell = createShell();
  for (const firstKey of [undefined, `sk-gw-${'x'.repeat(43)}`]) {
    const [plain, colored] = [
      await bannerOf(shell, { columns: 60, firstKey }),
      await bannerOf(shell, { columns: 60, firstKey, colors: true }),
    ];
    expect(colored).not.toBe(plain);
    expect(stripVTControlCharacters(colored)).toBe(plain);
  }
});

it('names the account whose first key was lost, and how its limit is changed', async () => {
  const shell = createShell();
  await shell.run('keys create --account local --tier enterprise');
  const text = await bannerOf(shell);
  expect(text).toContain('gateway keys create --account local\n');
  expect(text).toContain('gateway tiers assign local TIER');
  expect(text).toContain('300 requests an hour');
});

it('names a few of many accounts, quoted for a shell', async () => {
  const shell = createShell();
  for (const name of ["o'brien; x", 'b', 'c', 'd', 'e', 'f', 'g'])
    await shell.run(['keys', 'create', '--account', name]);
  const text = await bannerOf(shell);
  expect(text).toContain(`gateway keys create --account 'o'\\''brien; x'\n`);
  expect(text).toContain("accounts: o'brien; x, b, c, d, e and 2 more");
});

it('says how the limit of the first account is changed', async () => {
  const text = await bannerOf(createShell(), { firstKey: `sk-gw-${'x'.repeat(43)}` });
  expect(text).toContain('tier enterprise: 300 requests an hour');
  expect(text).toContain('gateway tiers assign local TIER');
});

it('without an account says how to make one, and which tier it would have', async () => {
  const shell = createShell();
  writeFileSync(join(shell.directory, 'gateway.yaml'), 'providers: { sim: }\ndefault_tier: pro\n');
  expect(await bannerOf(shell)).toMatch(
    /gateway keys create --account NAME\n[^]*tier pro: 60 requests an hour/,
  );
});
