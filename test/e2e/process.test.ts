// What only a real process can show: its violent end, and what it leaves behind on disk and in its log.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PROVIDER_KEY, provider } from '../helpers/gateway.ts';
import { home } from '../helpers/process.ts';
import type { Home, Server } from '../helpers/process.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import type { ScriptedProvider } from '../helpers/scripted-provider.ts';
import { goodAnswer } from './replies.ts';

interface Place {
  shell: Home;
  server: Server;
  upstream: ScriptedProvider;
  key: string;
}

async function place(): Promise<Place> {
  const upstream = await scriptedProvider();
  const shell = home();
  shell.configure({
    providers: { maker: provider(upstream.url, 'chat', ['some-model']) },
    tiers: { enterprise: 100_000 },
  });
  const server = await shell.serve();
  const key = await shell.newKey('enterprise');
  return { shell, server, upstream, key };
}

function ask({ url }: Server, key: string, more: object = {}): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'some-model', messages: [{ role: 'user', content: 'hello' }], ...more }),
  });
}

test('kill -9 under load forgets no admission: at least as many are counted as the provider saw', async () => {
  const { shell, server, upstream, key } = await place();
  upstream.playAlways(goodAnswer('chat', false));
  const SENT = 300;
  const load = Array.from({ length: 10 }, async () => {
    for (let at = 0; at < SENT / 10; at += 1) {
      await ask(server, key)
        .then((response) => response.arrayBuffer())
        .catch(() => undefined);
    }
  });
  for (let seen = 0; seen < 40; seen += 1) await upstream.next();
  server.child.kill('SIGKILL');
  expect(await server.ended).toMatchObject({ signal: 'SIGKILL' });
  await Promise.all(load);
  const [{ hours } = { hours: [] }] = await shell.json<{ hours: { requests: number }[] }[]>('usage', 'a');
  const admitted = hours.reduce((sum, { requests }) => sum + requests, 0);
  expect(upstream.requests.length).toBeGreaterThanOrEqual(40);
  expect(admitted).toBeGreaterThanOrEqual(upstream.requests.length);
  expect(admitted).toBeLessThan(SENT);
  // What was killed goes on where it was.
  expect((await ask(await shell.serve(), key)).status).toBe(200);
});

test('no secret is left on disk, in the log, in an error or at the provider', async () => {
  const { shell, server, upstream, key } = await place();
  upstream.play(goodAnswer('chat', false), goodAnswer('chat', true));
  const echo = { error: { message: `bad key ${PROVIDER_KEY} at https://user:${PROVIDER_KEY}@10.1.2.3/x` } };
  upstream.play({ status: 400, body: echo }, { status: 401, body: echo }, { status: 500, body: echo });
  const bodies: string[] = [];
  for (const stream of [false, true, false, false, true]) {
    bodies.push(await (await ask(server, key, { stream })).text());
  }
  const nearMiss = `${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`;
  bodies.push(await (await ask(server, nearMiss)).text());
  const list = await shell.command('keys', 'list');
  server.child.kill('SIGTERM');
  const { code, stdout, stderr } = await server.ended;
  expect(code).toBe(0);
  const folder = join(shell.directory, 'gateway');
  const files = existsSync(folder)
    ? readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'))
    : [];
  expect(files.length).toBeGreaterThan(0);
  const asked = upstream.requests.map(({ headers, bytes }) => JSON.stringify(headers) + bytes.toString());
  expect(asked).toHaveLength(5);
  const everywhere = [...bodies, ...files, stdout, stderr, list.stdout, list.stderr];
  for (const text of [...everywhere, ...asked]) {
    expect(text).not.toContain(key);
    expect(text).not.toContain(nearMiss);
  }
  for (const text of everywhere) expect(text).not.toContain(PROVIDER_KEY);
});
