// The gateway of this checkout in the forms that are compared: on SQLite, on PostgreSQL, with somebody who looks at its page and with
// metrics, and with workers. Each has a configuration and a database of its own.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { TestDatabase } from '../helpers/postgres.ts';
import type { Program } from './processes.ts';
import { KINDS, WIRES, type Wire } from './replies.ts';
import type { Target, TargetName } from './targets.ts';

const LIMIT = 1_000_000_000;
const BIN = join(process.cwd(), 'bin', 'gateway.js');

export interface OwnGateways {
  /** Rejects, if this machine or this build has no such thing. */
  make(name: TargetName): Promise<Target>;
  commit(): Promise<number>;
  dispose(): Promise<void>;
}

export function ownGateways(folder: string, origin: string): OwnGateways {
  let database: TestDatabase | undefined;

  function gateway(name: TargetName, settings: object, ...options: string[]): Target {
    const config = join(folder, `${name.replace(' ', '-')}.yaml`);
    const provider = (protocol: Wire): object => ({
      protocol,
      base_url: `${origin}/v1`,
      api_key: 'stub-key',
      models: KINDS,
    });
    writeFileSync(
      config,
      JSON.stringify({
        database: join(folder, `${name.replace(' ', '-')}.db`),
        providers: Object.fromEntries(WIRES.map((wire) => [wire, provider(wire)])),
        tiers: { bench: LIMIT },
        ...settings,
      }),
    );
    const create = ['keys', 'create', '--account', 'bench', '--tier', 'bench', '--config', config, '--json'];
    const { key } = JSON.parse(command(create)) as { key: string };
    const program = (port: number): Program => ({
      file: process.execPath,
      args: [
        ...profiling(),
        BIN,
        'serve',
        '--config',
        config,
        '--port',
        String(port),
        '--log',
        'off',
        ...options,
      ],
    });
    return { name, key, model: (protocol, kind) => `${protocol}/${kind}`, program };
  }

  const makers: Partial<Record<TargetName, () => Target | Promise<Target>>> = {
    gateway: () => gateway('gateway', {}),
    async postgres() {
      const { createDatabase, startServer } = await import('../helpers/postgres.ts');
      // Commits reach the disk, as they do where it counts.
      database = await createDatabase(
        process.env['GATEWAY_TEST_POSTGRES'] ?? (await startServer(['fsync=on'])).url,
      );
      await database.query('CREATE SCHEMA bench; CREATE TABLE bench.commits (id int PRIMARY KEY, n int)');
      return gateway('postgres', { database: database.url });
    },
    observed() {
      const target = gateway('observed', { metrics: true, admin: true });
      const config = target.program(0).args.find((argument) => argument.endsWith('.yaml')) ?? '';
      const { token } = JSON.parse(command(['admin', 'tokens', 'create', '--config', config, '--json'])) as {
        token: string;
      };
      return { ...target, accompany: (port) => look(port, token) };
    },
    'one worker': () => ({ ...gateway('one worker', {}), core: 'both' }),
    'two workers'() {
      if (!command(['serve', '--help']).includes('--workers')) throw new Error('serve has no --workers');
      return { ...gateway('two workers', {}, '--workers', '2'), core: 'both' };
    },
  };

  return {
    async make(name) {
      const maker = makers[name];
      if (maker === undefined) throw new Error('there is no such gateway');
      return maker();
    },
    async commit() {
      const at = performance.now();
      await database?.query(
        'INSERT INTO bench.commits AS c VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET n = c.n + 1',
      );
      return performance.now() - at;
    },
    dispose: async () => database?.drop(),
  };
}

function command(args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, ...args], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`gateway ${args.slice(0, 2).join(' ')} failed: ${stderr}`);
  return stdout;
}

/** Options for the measured node process, such as `--cpu-prof`. */
function profiling(): string[] {
  return (process.env.BENCH_NODE_OPTIONS ?? '').split(' ').filter((option) => option !== '');
}

/** Prometheus asks every 15 s or later; each round of a second shall have one. */
const SCRAPE_MS = 1000;
/** How often the page asks for what it does not get as events. */
const REFRESH_MS = 10_000;

/** Reads as the page does that shows what runs now, and as Prometheus does. */
async function look(port: number, token: string): Promise<() => void> {
  const headers = { authorization: `Bearer ${token}` };
  const url = (path: string): string => `http://127.0.0.1:${port}${path}`;
  const events = get(url('/admin/api/v1/events'), { headers });
  const stream = await new Promise<IncomingMessage>((resolve, reject) => {
    events.once('response', resolve).once('error', reject);
  });
  if (stream.statusCode !== 200) throw new Error(`the event stream is answered with ${stream.statusCode}`);
  events.on('error', () => undefined);
  stream.resume();
  const read = (path: string): void =>
    void get(url(path), { headers }, (answer) => answer.resume()).on('error', () => undefined);
  const scraping = setInterval(() => read('/metrics'), SCRAPE_MS);
  const refreshing = setInterval(() => {
    for (const path of ['targets?limit=1000', 'usage?since=1h']) read(`/admin/api/v1/${path}`);
  }, REFRESH_MS);
  return () => {
    clearInterval(scraping);
    clearInterval(refreshing);
    events.destroy();
  };
}
