// What several workers do once, or know together: models of a local server, what runs now, sessions, addresses, limits on PostgreSQL.
import { beforeAll, describe, expect, it, test } from 'vitest';
import { call, stream } from '../../src/control/client.ts';
import type { LiveFrame } from '../../src/observe/live.ts';
import { provider } from '../helpers/gateway.ts';
import { temporaryDatabase } from '../helpers/postgres.ts';
import { home, startHome, type Home, type Server } from '../helpers/process.ts';
import { rawClient } from '../helpers/raw-client.ts';
import { startScriptedProvider, type ScriptedProvider } from '../helpers/scripted-provider.ts';
import {
  askOnce,
  bothServe,
  found,
  reload,
  statusOf,
  streamsOf,
  type Target,
  WORKERS,
} from './worker-processes.ts';

// One gateway, whose start costs more than each test: they take it one after the other.
describe('two workers', () => {
  let upstream: ScriptedProvider;
  let lister: ScriptedProvider;
  let shell: Home;
  let server: Server;
  let to: Target;
  const turn = (admin: boolean): void =>
    shell.configure({
      providers: {
        p: provider(upstream.url, 'chat', ['m']),
        lister: { protocol: 'chat', base_url: `${lister.url}/v1`, api_key: 'k' },
        sim: {},
      },
      metrics: true,
      admin,
    });

  beforeAll(async () => {
    [upstream, lister] = [await startScriptedProvider(), await startScriptedProvider()];
    lister.playAlways({ body: { object: 'list', data: [{ id: 'found-model', object: 'model' }] } });
    const started = startHome();
    shell = started.shell;
    turn(true);
    server = await shell.serve(...WORKERS, '--host', '127.0.0.2');
    to = { url: server.url, key: await shell.newKey('unlimited') };
    return async () => {
      await started.remove();
      await Promise.all([upstream.close(), lister.close()]);
    };
  });

  /** The answer of a worker, whichever accepts. */
  async function get(path: string, header: string): Promise<string> {
    const client = await rawClient(server.url);
    const { host } = new URL(server.url);
    client.send(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\n${header}\r\nconnection: close\r\n\r\n`);
    return client.closed;
  }

  it('have the models of a provider that one of them asked', async () => {
    const earlier = lister.requests.length;
    await reload(shell);
    const models = (): Promise<string> => get('/v1/models', `authorization: Bearer ${to.key}`);
    for (let round = 0; round < 12; round += 1) await expect.poll(models).toContain('found-model');
    const asked = lister.requests.slice(earlier);
    expect(asked.map(({ path }) => path)).toEqual([expect.stringMatching(/^\/v1\/models/)]);
  });

  it('share a free port of two hosts, and listen on both', async () => {
    const { urls } = await statusOf(shell);
    expect(urls.map((url) => new URL(url).hostname).sort()).toEqual(['127.0.0.1', '127.0.0.2']);
    expect(urls).toContain(server.url);
    for (const url of urls) {
      for (let round = 0; round < 6; round += 1) expect(await askOnce({ ...to, url }, 'sim/echo')).toBe(200);
    }
  });

  it('show together what runs now, for commands and for the page', async () => {
    const { open, end } = streamsOf(upstream, to);
    const streams = await open(6);
    const isWhole = (frame: unknown): boolean => (frame as LiveFrame).in_flight === 6;
    let ids: string[] = [];
    for await (const frame of stream(await found(shell), '/live')) {
      if (!isWhole(frame)) continue;
      ids = (frame as LiveFrame).requests.map(({ id }) => id);
      expect(ids).toHaveLength(6);
      break;
    }
    const { token } = await shell.json<{ token: string }>('admin', 'tokens', 'create');
    const events = await fetch(`${server.url}/admin/api/v1/events`, {
      headers: { authorization: `Bearer ${token}` },
    });
    let text = '';
    for await (const chunk of events.body ?? []) {
      text += Buffer.from(chunk as Uint8Array).toString();
      if (text.includes('"in_flight":6')) break;
    }
    expect(text).toContain('"in_flight":6');
    const rows = async (path: string): Promise<{ in_flight: number }[]> => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${server.url}/admin/api/v1${path}`, { headers });
      return ((await response.json()) as { data: { in_flight: number }[] }).data;
    };
    // Whichever worker answers.
    for (let round = 0; round < 4; round += 1)
      expect((await rows('/targets')).map((target) => target.in_flight)).toContain(6);
    await expect
      .poll(async () => (await rows('/samples')).map((sample) => sample.in_flight), { timeout: 10_000 })
      .toContain(6);
    // By its id, whichever worker has it, and whichever is asked; from then on until it is stored.
    const states = (): Promise<unknown[]> =>
      Promise.all(
        ids.map(async (id) => {
          const path = `/admin/api/v1/requests/${id}`;
          const answer = await get(path, `authorization: Bearer ${token}`);
          return /"(?:state|status)":("answering"|200)/.exec(answer)?.[1];
        }),
      );
    for (let round = 0; round < 3; round += 1)
      expect(await states()).toEqual(Array<string>(6).fill('"answering"'));
    end.open();
    for (;;) {
      const now = await states();
      expect(now).not.toContain(undefined);
      if (now.every((state) => state === '200')) break;
    }
    for (const { text: whole } of streams) expect(await whole).toContain('[DONE]');
  });

  it('give one tag to an account, and take it whichever of them answers', async () => {
    const { token } = await shell.json<{ token: string }>('admin', 'tokens', 'create', '--scope', 'write');
    await shell.json('keys', 'create', '--account', 'tagged', '--tier', 'free');
    const path = `${server.url}/admin/api/v1/accounts/tagged`;
    // Each on a connection of its own.
    const headers = {
      authorization: `Bearer ${token}`,
      connection: 'close',
      'content-type': 'application/json',
    };
    const tags = await Promise.all(
      Array.from({ length: 12 }, async () => (await fetch(path, { headers })).headers.get('etag')),
    );
    const [tag] = tags;
    expect(new Set(tags)).toEqual(new Set([expect.stringMatching(/^"/)]));
    const change = async (tier: string) => {
      const init = {
        method: 'PATCH',
        headers: { ...headers, 'if-match': tag ?? '' },
        body: JSON.stringify({ tier }),
      };
      return (await fetch(path, init)).status;
    };
    expect(await change('pro')).toBe(200);
    for (let round = 0; round < 6; round += 1) expect(await change('free')).toBe(412);
  });

  it('end a session of the page where the admin API is turned off; it is not back when it is on again', async () => {
    const { url } = (await call(await found(shell), 'POST', '/admin/link')) as { url: string };
    const opened = await fetch(`${server.url}/admin/session`, {
      method: 'POST',
      // A worker that retires would wait for it.
      headers: { 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ link: /#link=(.*)$/.exec(url)?.[1] }),
    });
    const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
    const session = async (): Promise<number> =>
      Number(/^HTTP\/1\.1 (\d+)/.exec(await get('/admin/session', `cookie: ${cookie}`))?.[1]);
    expect(await session()).toBe(200);
    turn(false);
    await reload(shell);
    await expect.poll(session).toBe(404);
    turn(true);
    await reload(shell);
    await expect.poll(session).not.toBe(404);
    for (let round = 0; round < 6; round += 1) expect(await session()).toBe(401);
  });

  it('keep their addresses and their metrics after a reload and a kill; each series stands once while the old ones still answer', async () => {
    const { open, end } = streamsOf(upstream, to);
    const read = async (): Promise<Map<string, number>> => {
      const text = await (await fetch(`${server.url}/metrics`)).text();
      const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
      const series = samples.map((line): [string, number] => {
        const at = line.lastIndexOf(' ');
        return [line.slice(0, at), Number(line.slice(at + 1))];
      });
      expect(new Set(series.map(([name]) => name)).size).toBe(series.length);
      return new Map(series);
    };
    const requests = (page: ReadonlyMap<string, number>): number =>
      [...page].reduce((sum, [name, n]) => (name.startsWith('gateway_requests_total{') ? sum + n : sum), 0);
    await bothServe(shell);
    const earlier = requests(await read());
    for (let round = 0; round < 10; round += 1) expect(await askOnce(to, 'sim/echo')).toBe(200);
    const streams = await open(4);
    const before = await read();
    const { urls } = await statusOf(shell);
    expect(requests(before)).toBe(earlier + 10);
    await reload(shell);
    expect((await statusOf(shell)).urls).toEqual(urls);
    const during = await read();
    for (const [name, value] of before) {
      if (/_(?:total|count|sum|bucket)\{/.test(name))
        expect(during.get(name), name).toBeGreaterThanOrEqual(value);
    }
    for (const url of urls) expect(await askOnce({ ...to, url }, 'sim/echo')).toBe(200);
    end.open();
    for (const { text } of streams) await text;
    await expect.poll(async () => requests(await read())).toBe(earlier + 16);
    await bothServe(shell);
    const [victim] = (await statusOf(shell)).workers ?? [];
    if (victim === undefined) throw new Error('there are no workers');
    process.kill(victim.pid, 'SIGKILL');
    await bothServe(shell, victim.pid);
    expect(server.stderr()).toContain('a worker ended: it is started again');
    await expect.poll(async () => requests(await read())).toBe(earlier + 16);
  });
});

test('two gateways of two workers on one PostgreSQL admit exactly the hour of an account', async () => {
  const database = await temporaryDatabase();
  const shells = [home(), home()];
  for (const shell of shells) {
    shell.configure({ database: database.url, providers: { sim: {} }, tiers: { some: 40 } });
  }
  const servers = await Promise.all(shells.map((shell) => shell.serve(...WORKERS)));
  const key = (await shells[0]?.newKey('some', database.url)) ?? '';
  const asked = servers.flatMap(({ url }) => Array.from({ length: 50 }, () => askOnce({ url, key })));
  const statuses = await Promise.all(asked);
  const count = (status: number): number => statuses.filter((other) => other === status).length;
  expect(count(200) + count(429)).toBe(100);
  // The hour may end meanwhile.
  expect([40, 80]).toContain(count(200));
  const hours = await database.query<{ requests: string }>('SELECT requests FROM hours');
  expect(hours.reduce((sum, { requests }) => sum + Number(requests), 0)).toBe(count(200));
}, 60_000);
