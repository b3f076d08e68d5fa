// The hour's limit as people meet it: the real program, its command line beside its servers, one database.
import { beforeAll, expect, test } from 'vitest';
import { startHome } from '../helpers/process.ts';
import type { Home, Server } from '../helpers/process.ts';

const HOUR_S = 3600;

interface Key {
  id: string;
  key: string;
}

function ask({ url }: Server, key: string): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: '{"model":"sim/echo","messages":[{"role":"user","content":"hello"}]}',
  });
}

async function statusOf(server: Server, key: string): Promise<number> {
  const response = await ask(server, key);
  await response.arrayBuffer();
  return response.status;
}

/** Counts belong to a clock hour: a run over its end is done again, with an account of its own. */
async function withinOneHour(
  accounts: readonly string[],
  run: (account: string) => Promise<void>,
): Promise<void> {
  for (const account of accounts) {
    const hour = Math.floor(Date.now() / 1000 / HOUR_S);
    const failure: unknown = await run(account).catch((error: unknown) => ({ error }));
    if (failure === undefined) return;
    if (Math.floor(Date.now() / 1000 / HOUR_S) === hour) throw (failure as { error: unknown }).error;
  }
}

let shell: Home;
let servers: [Server, Server];

beforeAll(async () => {
  const started = startHome();
  shell = started.shell;
  shell.configure({ providers: { sim: {} }, listen: { port: 0 } });
  servers = await Promise.all([shell.serve(), shell.serve()]);
  return started.remove;
});

test('the eleventh request of a free hour waits for the next; a better tier and a revoked key act at once', async () => {
  const [server] = servers;
  await withinOneHour(['a', 'b'], async (account) => {
    const { id, key } = await shell.json<Key>('keys', 'create', '--account', account, '--tier', 'free');
    for (let at = 0; at < 10; at += 1) expect(await statusOf(server, key)).toBe(200);

    const refused = await ask(server, key);
    expect(refused.status).toBe(429);
    const wait = Number(refused.headers.get('retry-after'));
    const left = HOUR_S - ((Date.now() / 1000) % HOUR_S);
    expect(Math.abs(wait - left)).toBeLessThanOrEqual(2);
    const { error } = (await refused.json()) as { error: { message: string } };
    expect(error.message).toMatch(/10/);

    expect(await shell.json('tiers', 'assign', account, 'lite')).toMatchObject({ account, tier: 'lite' });
    expect(await statusOf(server, key)).toBe(200);

    const [usage] = await shell.json<object[]>('usage', account);
    expect(usage).toMatchObject({ account, tier: 'lite', limit: 30, used: 11, remaining: 19 });

    await shell.json('keys', 'revoke', id);
    expect(await statusOf(server, key)).toBe(401);
  });
});

test('two servers on one database admit exactly the limit of an account, over all its keys', async () => {
  expect(new Set(servers.map(({ url }) => url)).size).toBe(2);
  await withinOneHour(['c', 'd'], async (account) => {
    const keys: string[] = [];
    for (let at = 0; at < 2; at += 1)
      keys.push((await shell.json<Key>('keys', 'create', '--account', account)).key);
    const pairs = servers.flatMap((server) => keys.map((key) => ({ server, key })));
    const asked = Array.from({ length: 50 }, () =>
      pairs.map(({ server, key }) => statusOf(server, key)),
    ).flat();
    const statuses = await Promise.all(asked);
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(190);
    const [usage] = await shell.json<object[]>('usage', account);
    expect(usage).toMatchObject({ limit: 10, used: 10, remaining: 0 });
  });
});
