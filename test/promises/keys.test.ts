// P7, P8, P11, P12, P14 and P15: what a key opens, for how many requests, and what is shut without one.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { ask } from '../helpers/ask.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { home } from '../helpers/process.ts';
import { hello, rawClient, rawRequest } from '../helpers/raw-client.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { wholeOf } from '../gateway/wire.ts';

async function place(tier = 'enterprise') {
  const upstream = await scriptedProvider();
  upstream.playAlways({ body: wholeOf('chat', 'a') });
  const config = { providers: { p: provider(upstream.url, 'chat', ['m']) } };
  return { upstream, server: await gateway({ config, tier }) };
}

test('P7: unknown, near-miss and revoked keys get one 401, before their body is read', async () => {
  const { upstream, server } = await place();
  const revoked = await server.newKey({ account: 'gone' });
  const { id } = (await server.store.listKeys()).find(({ account }) => account === 'gone') ?? { id: '' };
  await server.store.revokeKey(id, Date.now());
  const nearMiss = `${server.key.slice(0, -1)}${server.key.endsWith('a') ? 'b' : 'a'}`;
  const answers: string[] = [];
  for (const key of ['sk-gw-unknown', nearMiss, revoked]) {
    const client = await rawClient(server.url);
    const path = '/v1/chat/completions';
    const lines = [`POST ${path} HTTP/1.1`, 'host: localhost', `authorization: Bearer ${key}`];
    // Of the body, nothing ever comes.
    client.send([...lines, 'content-length: 1000000', '', ''].join('\r\n'));
    const text = await client.until(/\}\}?$/);
    answers.push(text.replace(/req_\w+/g, 'req').replace(/^date:.*$/im, ''));
  }
  expect(answers[0]).toMatch(/^HTTP\/1\.1 401 /);
  expect(new Set(answers).size).toBe(1);
  const scoped = { ...server, key: await server.newKey({ account: 's', permissions: ['messages'] }) };
  expect((await ask(scoped, { model: 'm' })).status).toBe(403);
  const other = { ...server, key: await server.newKey({ account: 'o', models: ['p/other'] }) };
  expect((await ask(other, { model: 'm' })).status).toBe(403);
  expect(upstream.requests).toHaveLength(0);
});

test('P8: a key is printed once, and stands nowhere afterwards', async () => {
  const shell = home();
  const { key } = await shell.json<{ key: string }>('keys', 'create', '--account', 'a');
  const server = await shell.serve();
  expect((await ask({ url: server.url, key }, {})).status).toBe(200);
  expect((await ask({ url: server.url, key }, { model: key })).status).toBe(400);
  const listed = await shell.command('keys', 'list', '--json');
  server.child.kill('SIGTERM');
  const { stdout, stderr } = await server.ended;
  const folder = dirname(shell.database);
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
  for (const text of [listed.stdout, stdout, stderr, ...files]) expect(text).not.toContain(key);
});

test('P11: only this machine’s names are served, no page of another origin, and the database is the owner’s', async () => {
  const { server } = await place();
  const client = await rawClient(server.url);
  const asOther = rawRequest(server, hello('m'), ['connection: close']).replace(
    'host: localhost',
    'host: evil',
  );
  client.send(asOther);
  expect(await client.closed).toMatch(/^HTTP\/1\.1 403 /);
  const page = { origin: 'http://evil.example', 'access-control-request-method': 'POST' };
  for (const method of ['OPTIONS', 'GET']) {
    const response = await fetch(`${server.url}/v1/models`, { method, headers: page });
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  }
  if (process.platform === 'win32') return;
  for (const name of ['', '-wal', '-shm'])
    expect(statSync(join(dirname(server.file), `gateway.db${name}`)).mode & 0o077).toBe(0);
});

test('P12, P14: ten an hour over all keys and streams at once; Retry-After is right, others feel nothing', async () => {
  const { upstream, server } = await place('free');
  const keys = [server.key, await server.newKey({ account: 'test', tier: 'free' })];
  const asked = Array.from({ length: 40 }, (_, at) =>
    ask({ ...server, key: keys[at % 2] ?? '' }, { model: 'm', stream: at % 3 === 0 }),
  );
  const before = Date.now();
  const answers = await Promise.all(asked);
  const statuses = answers.map(({ status }) => status);
  // A run over the end of an hour has twenty.
  const hour = 3_600_000;
  if (Math.floor(before / hour) !== Math.floor(Date.now() / hour)) return;
  expect(statuses.filter((status) => status === 200)).toHaveLength(10);
  expect(statuses.filter((status) => status === 429)).toHaveLength(30);
  expect(upstream.requests).toHaveLength(10);
  const refused = answers.find(({ status }) => status === 429);
  const wait = refused?.headers.get('retry-after') ?? '';
  expect(wait).toMatch(/^\d+$/);
  expect(Math.abs(Number(wait) - (hour - (before % hour)) / 1000)).toBeLessThan(30);
  const other = { ...server, key: await server.newKey({ account: 'other', tier: 'free' }) };
  expect((await ask(other, { model: 'm' })).status).toBe(200);
});

test('P15: a tier, a key and a revocation of another process act on a server that runs', async () => {
  const shell = home();
  const server = await shell.serve();
  const { id, key } = await shell.json<{ id: string; key: string }>('keys', 'create', '--account', 'b');
  const limit = async (): Promise<[number, string | null]> => {
    const { status, headers } = await ask({ url: server.url, key }, {});
    return [status, headers.get('x-ratelimit-limit-requests')];
  };
  expect(await limit()).toEqual([200, '10']);
  await shell.json('tiers', 'assign', 'b', 'lite');
  expect(await limit()).toEqual([200, '30']);
  await shell.json('keys', 'revoke', id);
  expect((await limit())[0]).toBe(401);
});
