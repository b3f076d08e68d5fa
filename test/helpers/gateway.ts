// The whole gateway inside the test's process: the real app on a free port, with a database and a file of its own.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { PERMISSIONS } from '../../src/canonical/request.ts';
import { createKey } from '../../src/accounts/access.ts';
import { startApp } from '../../src/app/app.ts';
import type { Peers } from '../../src/app/parts.ts';
import { systemClock } from '../../src/clock.ts';
import type { Clock } from '../../src/clock.ts';
import { connectFacts } from '../../src/tools/facts.ts';
import { effectiveValues } from '../../src/config/effective.ts';
import { loadConfig } from '../../src/config/load-file.ts';
import { createIds } from '../../src/ids.ts';
import { createLog } from '../../src/log.ts';
import { openStore } from '../../src/store/open.ts';
import type { Permission, Store } from '../../src/store/store.ts';
import type { ManualClock } from './clock.ts';
import { startScriptedProvider, type ScriptedProvider } from './scripted-provider.ts';

export interface GatewayOptions {
  /** Members of the configuration file; the built-in provider alone unless told. */
  config?: Record<string, unknown>;
  /** Of the account `test`, whose key is given. */
  tier?: string;
  clock?: Clock;
  /** Of the database too, whose leases it decides; else that one has the system's. */
  storeClock?: Clock;
  /** The environment of the running gateway: its proxies. */
  env?: Record<string, string | undefined>;
  /** Variables that the file may read. */
  variables?: Record<string, string>;
  /** Other workers of the same gateway. */
  peers?: Peers;
}

export interface KeyOptions {
  account?: string;
  tier?: string;
  permissions?: Permission[];
  models?: string[] | null;
  expiresAt?: number | null;
  native?: boolean;
}

export interface TestGateway {
  /** Without a version: as the messages SDK takes it. */
  url: string;
  key: string;
  store: Store;
  /** Another key; its plaintext. */
  newKey(options?: KeyOptions): Promise<string>;
  /** What was logged so far, as JSON lines. */
  log(): string;
  /** The configuration file. */
  file: string;
  /** The text of a file with these members beside the usual ones. */
  text(members: Record<string, unknown>): string;
  /** The one-time link to the page of the admin API, as its owner gets it through the control socket; or the address for a browser. */
  adminLink(which?: 'open_url'): Promise<string>;
  stop(how?: 'retire'): Promise<void>;
}

/** Ends by itself when the test is over. */
export async function gateway(options: GatewayOptions = {}): Promise<TestGateway> {
  const started = await startGateway(options);
  onTestFinished(() => started.stop());
  return started;
}

/** Writes the file of a gateway whose clock is moved by hand, which then reads it. */
export function rewrite(gateway: TestGateway, clock: ManualClock, members: object): void {
  writeFileSync(gateway.file, gateway.text({ ...members }));
  clock.advance(1000);
}

export async function startGateway({
  config: members,
  tier = 'enterprise',
  clock = systemClock,
  storeClock = systemClock,
  env = {},
  variables = {},
  peers,
}: GatewayOptions): Promise<TestGateway> {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-test-'));
  const file = join(directory, 'gateway.yaml');
  // JSON is YAML.
  const text = (more: Record<string, unknown> = {}): string =>
    JSON.stringify({
      providers: { sim: {} },
      database: './gateway.db',
      listen: { hosts: ['127.0.0.1'], port: 0 },
      ...more,
    });
  writeFileSync(file, text(members));
  const load = () => loadConfig({ flags: { config: file }, env: variables, cwd: directory });
  const config = load();
  const ids = createIds();
  let logged = '';
  const log = createLog({ format: 'json', stream: { write: (lines: string) => (logged += lines) } });
  if (config.database === join(directory, 'gateway.db')) {
    writeFileSync(config.database, await (emptyDatabase ??= makeEmptyDatabase()), { mode: 0o600 });
  }
  const store = await openStore(config.database, { clock: storeClock });
  const app = await startApp({
    config,
    reload: async () => load(),
    store,
    dataFolder: directory,
    log,
    clock,
    ids,
    env,
    version: '1.2.3',
    peers,
    connect: (to) => connectFacts(to, {}),
    async effective() {
      const { config, values } = effectiveValues({ flags: { config: file }, env: variables, cwd: directory });
      return { file: config.file, values };
    },
  });

  async function newKey(options: KeyOptions = {}): Promise<string> {
    const { plaintext } = await createKey(
      { store, clock, ids },
      {
        account: 'test',
        tier: 'enterprise',
        label: null,
        models: null,
        expiresAt: null,
        permissions: [...PERMISSIONS],
        ...options,
      },
    );
    return plaintext;
  }

  let stopped: Promise<void> | undefined;
  async function stop(how?: 'retire'): Promise<void> {
    await app.stop(how);
    await store.close();
    rmSync(directory, { recursive: true, force: true });
  }

  return {
    url: app.urls[0] ?? '',
    key: await newKey({ tier }),
    store,
    newKey,
    file,
    text,
    log() {
      log.flush();
      return logged;
    },
    async adminLink(which) {
      const handler = app.controlHandlers.find(({ path }) => path === '/admin/link');
      if (handler === undefined || !('handle' in handler)) throw new Error('there is no such handler');
      const link = (await handler.handle({ query: new URLSearchParams(), body: undefined })) as {
        url: string;
        open_url: string;
      };
      return link[which ?? 'url'];
    },
    stop: (how) => (stopped ??= stop(how)),
  };
}

let emptyDatabase: Promise<Buffer> | undefined;

/** A new database, made once: the steps of its schema take longer than the rest of a gateway's start. */
async function makeEmptyDatabase(): Promise<Buffer> {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-test-'));
  const file = join(directory, 'gateway.db');
  try {
    await (await openStore(file)).close();
    return readFileSync(file);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** A provider of the file, with the models that it serves. */
export function provider(url: string, protocol: Permission, models: unknown[], more: object = {}): object {
  return { base_url: url, protocol, api_key: PROVIDER_KEY, models, ...more };
}

export const PROVIDER_KEY = 'sk-provider-secret-0123456789';

/** A scripted provider, and a gateway that asks it in each protocol: `chat/m` and `messages/m`. For all tests of a file. */
export async function startBothProtocols(): Promise<{
  upstream: ScriptedProvider;
  gateway: TestGateway;
  stop: () => Promise<void>;
}> {
  const upstream = await startScriptedProvider();
  const providers = {
    chat: provider(`${upstream.url}/v1`, 'chat', ['m']),
    messages: provider(`${upstream.url}/v1`, 'messages', ['m']),
  };
  const gateway = await startGateway({ config: { providers, tiers: { enterprise: 100_000 } } });
  return {
    upstream,
    gateway,
    async stop() {
      await gateway.stop();
      await upstream.close();
    },
  };
}
