// What `serve` prints once it listens, on terminals of several widths and in a pipe.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import type { App } from '../../src/app/app.ts';
import { printBanner } from '../../src/cli/ui/banner.ts';
import { loadConfig } from '../../src/config/load-file.ts';
import { allProtocols } from '../../src/protocols/registry.ts';
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
    endpoints: allProtocols.map(({ name, client }) => ({ name, base: client.setup.base })),
    notes: [],
    providers: config.providers,
    underWay: { requests: 0, graceMs: 0 },
    ready: Promise.resolve(),
    described: Promise.resolve(),
    moment: () => ({ samples: [], in_flight: [] }),
    find: () => undefined,
    status: () => {
      throw new Error('not asked');
    },
    controlHandlers: [],
    reload: () => Promise.resolve([]),
    stop: () => Promise.resolve(0),
    kill: () => undefined,
  };
  const env = { ...context.env, ...(!colors && { NO_COLOR: '1' }) };
  await printBanner({ app, config, store, firstKey }, { ...context, stdout, env });
  await store.close();
  return stdout.text;
}

const FIRST_KEY = `sk-gw-${'x'.repeat(43)}`;

it.each([60, 100, 160])('wraps at words at %i columns', async (columns) => {
  const shell = createShell();
  const first = await bannerOf(shell, { columns, firstKey: FIRST_KEY });
  const name = 'an account with a rather long name of many words';
  await shell.run(['keys', 'create', '--account', name]);
  const later = await bannerOf(shell, { columns });
  writeFileSync(
    join(shell.directory, 'gateway.yaml'),
    `providers:
  ${'w'.repeat(40)}: { protocol: [chat, messages], base_url: 'http://127.0.0.1:9' }
  many: { protocol: chat, base_url: 'http://127.0.0.1:9', models: [${Array.from({ length: 40 }, (_, at) => `m${at}`).join()}] }
`,
  );
  const configured = await bannerOf(shell, { columns });
  for (const line of `${first}\n${later}\n${configured}`.split('\n')) {
    // A path or a quoted name is one word, which is not broken.
    const whole = /^ +\/[^ ]+$/.test(line) || /^ *'an account [^']*'( \\)?$/.test(line);
    if (!whole) expect(line.length, line).toBeLessThanOrEqual(columns);
  }
});

it.each([60, 100, 160, undefined])(
  'shows the first key once, in lines that a shell takes (%s columns)',
  async (columns) => {
    const text = await bannerOf(createShell(), { columns, firstKey: FIRST_KEY });
    expect(text.split(FIRST_KEY)).toHaveLength(2);
    const isNarrow = columns !== undefined && columns < 70;
    expect(text.split('\n')).toContain(isNarrow ? FIRST_KEY : `export GATEWAY_KEY=${FIRST_KEY}`);
    const [lines = ''] = /^export GATEWAY_KEY=[^]*?\n\n/m.exec(text) ?? [];
    const script = `curl() { for word in "$@"; do printf '%s\\0' "$word"; done; }\n${lines}`;
    const { stdout, stderr } = spawnSync('sh', ['-eu', '-c', script], { encoding: 'utf8' });
    const words = stdout.split('\0');
    expect(words.slice(0, 6), stderr).toEqual([
      'http://127.0.0.1:8787/v1/chat/completions',
      '-H',
      `Authorization: Bearer ${FIRST_KEY}`,
      '-H',
      'Content-Type: application/json',
      '-d',
    ]);
    expect(words).toHaveLength(8);
    expect(JSON.parse(words[6] ?? '')).toEqual({
      model: 'auto',
      messages: [{ role: 'user', content: 'Hello!' }],
    });
    expect(stderr).toBe('');
  },
);

it('has one line for the addresses of a protocol, and says what comes next', async () => {
  const text = await bannerOf(createShell(), { columns: 100 });
  expect(text).toContain('chat       http://127.0.0.1:8787/v1 (also [::1])\n');
  expect(text).toMatch(
    /Next:\n {2}gateway run claude .*\n {2}gateway connect .*\n {2}gateway dashboard .*\n/,
  );
});

it.each([40, 60, 100])(
  'a command that is broken over lines is still one for a shell (%i columns)',
  async (columns) => {
    const shell = createShell();
    const name = "o'brien of the long names and more words";
    await shell.run(['keys', 'create', '--account', name]);
    const text = await bannerOf(shell, { columns });
    const joined = text.replaceAll(/ \\\n +/g, ' ');
    const quoted = `'o'\\''brien of the long names and more words'`;
    expect(joined).toContain(`gateway keys create --account ${quoted}\n`);
    expect(joined).toContain(`gateway tiers assign ${quoted} TIER\n`);
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

it('names the existing account for a new key, and how to change its limit', async () => {
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
  const shell = createShell();
  // Another command was quicker: what counts is what the database says.
  await shell.run('keys create --account local --tier lite');
  const text = await bannerOf(shell, { firstKey: `sk-gw-${'x'.repeat(43)}` });
  expect(text).toContain('tier lite: 30 requests an hour');
  expect(text).toContain('gateway tiers assign local TIER');
});

it('without an account says how to make one, and which tier it would have', async () => {
  const shell = createShell();
  writeFileSync(join(shell.directory, 'gateway.yaml'), 'providers: { sim: }\ndefault_tier: pro\n');
  expect(await bannerOf(shell)).toMatch(
    /gateway keys create --account NAME\n[^]*tier pro: 60 requests an hour/,
  );
});
