// What commands print, kept as text: in terminals of three widths without colours, and in a pipe. Colours change nothing but the
// colours. The screens of `requests`, `top` and a month of `usage` are kept beside their own tests.
import { UNNAMED } from '../store/support.ts';
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { startControl } from '../../src/control/server.ts';
import type { GatewayStatus } from '../../src/control/calls.ts';
import { silentLog } from '../../src/log.ts';
import { openStore } from '../../src/store/open.ts';
import type { UsageRow } from '../../src/store/usage-columns.ts';
import { createShell, NOW, temporaryDirectory, type Shell } from './harness.ts';

const HOUR = 3_600_000;

beforeEach(() => {
  vi.stubEnv('TZ', 'America/New_York');
  return () => vi.unstubAllEnvs();
});

const FILE = `listen: { hosts: [127.0.0.1], port: 1 }
providers:
  anthropic: { api_key: sk-secret, base_url: 'http://127.0.0.1:9', models: [claude-sonnet-5, claude-haiku-4-5] }
  workstation:
    protocol: chat
    base_url: http://127.0.0.1:9/v1
    models:
      - { id: qwen3, context_window: 32768, max_output: 8192, vision: false, tools: true }
      - { id: a-model-with-a-name-that-is-rather-long-for-a-table, upstream: m }
routes:
  fast: { strategy: fastest, targets: [workstation/qwen3, anthropic/claude-haiku-4-5] }
tiers: { team: 1000 }
`;

const row = (change: Partial<UsageRow>): UsageRow => ({
  at: NOW - 60_000,
  accountId: 1,
  keyId: 'key_AAAAAAAAAAAA',
  endpoint: 'chat',
  modelAsked: 'auto',
  provider: 'workstation',
  model: 'qwen3',
  status: 200,
  streamed: true,
  input: 1200,
  cacheRead: 800,
  cacheWrite: 100,
  output: 340,
  reasoning: null,
  costUsd: 0.0125,
  firstByteMs: 230,
  durationMs: 4200,
  error: null,
  requestId: null,
  attempts: null,
  detail: null,
  ...UNNAMED,
  settled: false,
  ...change,
});

/** The screens show paths, which are as long wherever temporary files are. */
const PREFIX = 'gateway-cli-'.slice(0, Math.max(1, '/tmp/gateway-cli-'.length - join(tmpdir(), '/').length));

/** Two accounts with keys, some requests, a configuration with three providers, a tool that is installed. */
async function used(): Promise<Shell> {
  const shell = createShell(temporaryDirectory(PREFIX));
  writeFileSync(join(shell.directory, 'gateway.yaml'), FILE);
  await shell.run('keys create --account alice --tier pro --name laptop --expires 30d');
  await shell.run('keys create --account alice --models fast --permissions chat');
  await shell.run(['keys', 'create', '--account', 'The Research Group of Building 7', '--tier', 'team']);
  const store = await openStore(join(shell.directory, 'gateway.db'));
  for (const at of [NOW, NOW, NOW, NOW - 3 * HOUR])
    await store.admit({ id: 'key_one', accountId: 1, tier: 'pro' }, 60, at - (at % HOUR));
  await store.recordUsage([
    row({}),
    row({ model: 'a-model-with-a-name-that-is-rather-long-for-a-table', costUsd: null, firstByteMs: 900 }),
    row({ at: NOW - 3 * HOUR, provider: 'anthropic', model: 'claude-sonnet-5', keyId: 'key_BBBBBBBBBBBB' }),
    row({
      status: 502,
      error: 'upstream',
      input: null,
      output: null,
      costUsd: null,
      provider: null,
      model: null,
    }),
  ]);
  await store.close();
  return shell;
}

async function running(shell: Shell): Promise<void> {
  const status: GatewayStatus = {
    pid: 4711,
    version: '0.1.0',
    since: new Date(NOW - 5 * HOUR).toISOString(),
    state: 'serving',
    urls: ['http://127.0.0.1:8787', 'http://[::1]:8787'],
    config: '/home/ada/.config/gateway/gateway.yaml',
    database: join(shell.directory, 'gateway.db'),
    log: '/home/ada/.local/state/gateway/gateway.log',
    requests_in_flight: 2,
    grace_ms: 30_000,
    providers: [
      { name: 'anthropic', avoided: [] },
      {
        name: 'workstation',
        avoided: [
          { target: 'workstation/qwen3', state: 'failing', until: new Date(NOW + 4000).toISOString() },
          {
            target: 'workstation/a-model-with-a-name-that-is-rather-long-for-a-table',
            state: 'cooling',
            until: new Date(NOW + 90_000).toISOString(),
          },
        ],
      },
    ],
  };
  const handlers = [{ method: 'GET', path: '/status', handle: () => status } as const];
  const { env } = shell.context;
  const control = await startControl({ dataFolder: shell.directory, env, handlers, log: silentLog });
  onTestFinished(() => control.close());
}

const SCREENS = [
  'status',
  'keys list',
  'accounts list',
  'tiers list',
  'usage',
  'usage --by account',
  'usage --by key',
  'usage --by model',
  'usage --by provider',
  'usage --by hour --since 4h',
  'models',
  'check',
  'explain auto',
  'explain fast',
  'config check',
  'config show',
  'connect',
  'connect claude',
  'connect codex',
  'connect cursor',
  'connect jetbrains',
  'admin tokens list',
  'requests req_unknown',
  'nonsense',
  'usage nobody',
];

/** Names and paths that differ from run to run, in their own width. */
function stable(text: string, shell: Shell): string {
  const ids = new Map<string, string>();
  const nameOf = (id: string): string => {
    if (!ids.has(id)) ids.set(id, `key_${String(ids.size + 1).padStart(id.length - 4, '0')}`);
    return ids.get(id) ?? id;
  };
  return text
    .replaceAll(/key_(?!A{12}|B{12})\w{12,}/g, nameOf)
    .replaceAll(/sk-gw-\w{6}/g, 'sk-gw-......')
    .replaceAll(shell.directory, '/work'.padEnd(shell.directory.length, '-'));
}

type Screens = Record<string, string>;

/** Everything that the commands print in one place; a pipe without `columns`. */
async function screens(
  shell: Shell,
  columns: number | undefined,
  env: Record<string, string>,
): Promise<Screens> {
  const options = {
    env: { HOME: join(shell.directory, 'home'), ...env },
    ...(columns !== undefined && { columns }),
  };
  const shown: Screens = {};
  for (const line of SCREENS) {
    const { code, stdout, stderr } = await shell.run(line, options);
    const text = `${stdout}${stderr === '' ? '' : `-- stderr --\n${stderr}`}-- exit code ${code}\n`;
    shown[line] = stable(text, shell);
  }
  return shown;
}

it(
  'commands fit terminals of 60, 100 and 160 columns, and a pipe; colours change nothing else',
  { timeout: 60_000 },
  async () => {
    const shell = await used();
    await running(shell);
    mkdirSync(join(shell.directory, 'home', '.claude'), { recursive: true });
    for (const columns of [60, 100, 160, undefined]) {
      const plain = await screens(shell, columns, { NO_COLOR: '1' });
      for (const [line, screen] of Object.entries(plain)) {
        expect(screen).toMatchSnapshot(
          `gateway ${line}, ${columns === undefined ? 'pipe' : `${columns} columns`}`,
        );
        expect(stripVTControlCharacters(screen)).toBe(screen);
      }
      if (columns === 60 || columns === undefined) {
        const colours = Object.entries(await screens(shell, columns, {}));
        const text = colours.map(([line, screen]) => [line, stripVTControlCharacters(screen)]);
        expect(Object.fromEntries(text)).toEqual(plain);
      }
    }
  },
);
