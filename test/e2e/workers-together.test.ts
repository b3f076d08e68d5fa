// What several workers do once, or know together: models of a local server, what runs now, sessions, addresses, limits on PostgreSQL.
import { describe, expect, it, test } from 'vitest';
import { call, stream } from '../../src/control/client.ts';
import type { LiveFrame } from '../../src/observe/live.ts';
import { temporaryDatabase } from '../helpers/postgres.ts';
import { home } from '../helpers/process.ts';
import { rawClient } from '../helpers/raw-client.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { askOnce, found, reload, statusOf, withStreams, WORKERS } from './worker-processes.ts';

const LONG = { timeout: 20_000 };

test('one of the workers asks a provider for its models, and all have them', async () => {
  const upstream = await scriptedProvider();
  upstream.playAlways({ body: { object: 'list', data: [{ id: 'found-model', object: 'model' }] } });
  const shell = home();
  shell.configure({ providers: { p: { protocol: 'chat', base_url: `${upstream.url}/v1`, api_key: 'k' } } });
  const server = await shell.serve('--workers', '3');
  const key = await shell.newKey('enterprise');
  const models = async (): Promise<string> => {
    const client = await rawClient(server.url);
    client.send(
      `GET /v1/models HTTP/1.1\r\nhost: ${new URL(server.url).host}\r\nauthorization: Bearer ${key}\r\nconnection: close\r\n\r\n`,
    );
    return client.closed;
  };
  for (let round = 0; round < 12; round += 1) await expect.poll(models, LONG).toContain('found-model');
  expect(upstream.requests.map(({ path }) => path)).toEqual([expect.stringMatching(/^\/v1\/models/)]);
});

describe('what runs now', () => {
  it('is that of all workers, for commands and for the page', async () => {
    const { shell, server, open, end } = await withStreams({ admin: true });
    const streams = await open(6);
    const isWhole = (frame: unknown): boolean => (frame as LiveFrame).in_flight === 6;
    for await (const frame of stream(await found(shell), '/live')) {
      if (!isWhole(frame)) continue;
      expect((frame as LiveFrame).requests).toHaveLength(6);
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
    end.open();
    for (const { text: whole } of streams) expect(await whole).toContain('[DONE]');
  });
});

test('two hosts share a free port, and every worker listens on both', async () => {
  const shell = home();
  shell.configure({ providers: { sim: {} } });
  const server = await shell.serve(...WORKERS, '--host', '127.0.0.2');
  const { urls } = await statusOf(shell);
  expect(urls.map((url) => new URL(url).hostname).sort()).toEqual(['127.0.0.1', '127.0.0.2']);
  expect(urls).toContain(server.url);
  const key = await shell.newKey('enterprise');
  for (const url of urls) {
    for (let round = 0; round < 6; round += 1) expect(await askOnce({ url, key })).toBe(200);
  }
  const before = urls;
  await reload(shell);
  expect((await statusOf(shell)).urls).toEqual(before);
  for (const url of urls) expect(await askOnce({ url, key })).toBe(200);
});

test('a session of the page ends where the admin API is turned off, and is not back when it is on again', async () => {
  const shell = home();
  const turn = (admin: boolean): void => shell.configure({ providers: { sim: {} }, admin });
  turn(true);
  const server = await shell.serve(...WORKERS);
  const { url } = (await call(await found(shell), 'POST', '/admin/link')) as { url: string };
  const opened = await fetch(`${server.url}/admin/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ link: /#link=(.*)$/.exec(url)?.[1] }),
  });
  const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
  /** Of a worker, whichever accepts. */
  const session = async (): Promise<number> => {
    const client = await rawClient(server.url);
    client.send(
      `GET /admin/session HTTP/1.1\r\nhost: ${new URL(server.url).host}\r\ncookie: ${cookie}\r\nconnection: close\r\n\r\n`,
    );
    return Number(/^HTTP\/1\.1 (\d+)/.exec(await client.closed)?.[1]);
  };
  expect(await session()).toBe(200);
  turn(false);
  await reload(shell);
  await expect.poll(session, LONG).toBe(404);
  turn(true);
  await reload(shell);
  await expect.poll(session, LONG).not.toBe(404);
  for (let round = 0; round < 6; round += 1) expect(await session()).toBe(401);
}, 60_000);

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

describe('the metrics of a worker that ended', () => {
  it('stay in its counters after a reload, and each series stands once while the old one still answers', async () => {
    const { shell, server, to, open, end } = await withStreams({ metrics: true });
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
    for (let round = 0; round < 10; round += 1) expect(await askOnce(to, 'sim/echo')).toBe(200);
    const streams = await open(4);
    const before = await read();
    expect(requests(before)).toBe(10);
    await reload(shell);
    const during = await read();
    for (const [name, value] of before) {
      if (/_(?:total|count|sum|bucket)\{/.test(name))
        expect(during.get(name), name).toBeGreaterThanOrEqual(value);
    }
    end.open();
    for (const { text } of streams) await text;
    await expect.poll(async () => requests(await read()), LONG).toBe(14);
    const [victim] = (await statusOf(shell)).workers ?? [];
    if (victim !== undefined) process.kill(victim.pid, 'SIGKILL');
    await server.logged('a worker ended: it is started again');
    await expect.poll(async () => requests(await read()), LONG).toBe(14);
  }, 60_000);
});
