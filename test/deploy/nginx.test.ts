// docs/deploy/nginx.conf in front of two real gateways on one database, PostgreSQL or a SQLite file: what the page about it promises.
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { ask, framesOf, isWhole, send, type Question } from '../helpers/ask.ts';
import { provider } from '../helpers/gateway.ts';
import { temporaryDatabase } from '../helpers/postgres.ts';
import { home, type Home, type Server } from '../helpers/process.ts';
import { rawClient } from '../helpers/raw-client.ts';
import { gate, scriptedProvider, type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { content, FINISH, START, TERMINAL, wholeOf } from '../gateway/wire.ts';
import { hasNginx, nginx, testConfig, type Nginx } from './nginx.ts';

interface Place {
  upstream: ScriptedProvider;
  shell: Home;
  gateways: [Server, Server];
  proxy: Nginx;
  to: { url: string; key: string };
}

async function start(engine: 'PostgreSQL' | 'SQLite'): Promise<Place> {
  const database = engine === 'PostgreSQL' ? (await temporaryDatabase()).url : undefined;
  const upstream = await scriptedProvider();
  const shell = home();
  shell.configure({
    listen: { names: ['gateway.example.com'] },
    providers: { p: provider(upstream.url, 'chat', ['m']) },
    tiers: { enterprise: 100_000 },
    limits: { max_body: '1MiB' },
    metrics: true,
    ...(database !== undefined && { database }),
  });
  // The second opens the database that the first has made.
  const gateways: [Server, Server] = [await shell.serve(), await shell.serve()];
  const proxy = await nginx([gateways[0].url, gateways[1].url]);
  return {
    upstream,
    shell,
    gateways,
    proxy,
    to: { url: proxy.url, key: await shell.newKey('enterprise', database) },
  };
}

const STREAMED: Question = { model: 'm', stream: true };

describe.runIf(hasNginx)('nginx in front of two gateways', () => {
  test('nginx -t accepts the shipped file', async () => {
    const { status, output } = await testConfig();
    expect(output).toContain('test is successful');
    expect(output).not.toContain('[warn]');
    expect(status).toBe(0);
  });

  test.each(['PostgreSQL', 'SQLite'] as const)(
    'a rolling restart of both gateways on %s under load fails no request and cuts no stream; then clients find what they expect',
    async (engine) => {
      const place = await start(engine);
      const { upstream, shell, gateways, proxy, to } = place;
      const end = gate();
      const steps = [START.chat, content('chat', 'a'), end.opened, FINISH.chat, TERMINAL.chat];
      const held: Response[] = [];
      for (let at = 0; at < 4; at += 1) {
        upstream.play({ steps });
        held.push(await send(to, STREAMED));
      }
      upstream.playAlways({ body: wholeOf('chat', 'b') });
      const load = startLoad(to, 4);
      await load.atLeast(20);
      for (const [at, gateway] of gateways.entries()) {
        gateway.child.kill('SIGTERM');
        await gateway.logged('stopping');
        end.open();
        expect(await gateway.ended).toMatchObject({ code: 0 });
        // For a while, one of the two is away.
        await load.atLeast(20);
        gateways[at] = await shell.serve('--port', new URL(gateway.url).port);
        await load.atLeast(20);
      }
      const { failures, answered } = await load.stop();
      expect(failures, proxy.errorLog()).toEqual([]);
      expect(answered).toBeGreaterThanOrEqual(100);
      for (const stream of held) expect(isWhole({ frames: framesOf(await stream.text()) })).toBe(true);

      // Both serve again. Which of the two gets a request is nginx's choice, by its open connections.
      const restarted = proxy.accessLog().length;
      await expect
        .poll(async () => {
          await Promise.all(Array.from({ length: 4 }, () => ask(to, { model: 'm' })));
          const served = proxy.accessLog().slice(restarted);
          return gateways.filter(({ url }) => served.includes(`gateway=${new URL(url).host}`)).length;
        })
        .toBe(gateways.length);
      await expectTransparent(place);
    },
    60_000,
  );
});

/** Streams, aborts, names, ids, and errors that clients can read. */
async function expectTransparent({ upstream, proxy, to }: Place): Promise<void> {
  // Each piece arrives before the next is sent.
  const more = gate();
  upstream.play({ steps: [START.chat, content('chat', 'first'), more.opened, FINISH.chat, TERMINAL.chat] });
  const stream = await send(to, STREAMED);
  const reader = (stream.body ?? new ReadableStream<Uint8Array>()).getReader();
  let text = '';
  while (!text.includes('first')) text += Buffer.from((await reader.read()).value ?? []).toString();
  more.open();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read())
    text += Buffer.from(piece.value).toString();
  expect(isWhole({ frames: framesOf(text) })).toBe(true);

  // A client that leaves ends the request of the provider.
  for (const steps of [[START.chat, content('chat', 'a'), gate().opened], [gate().opened]]) {
    upstream.play({ steps });
    const asked = upstream.requests.length;
    const leaving = new AbortController();
    const left = send(to, { ...STREAMED, signal: leaving.signal }).catch(() => undefined);
    await expect.poll(() => upstream.requests.length).toBe(asked + 1);
    leaving.abort();
    expect(await upstream.requests[asked]?.left).toBe(true);
    await left;
  }

  // The name of the proxy is one of the gateway's, and the id of the answer is in nginx's log.
  const named = await rawClient(proxy.url);
  named.send('GET /v1/nothing HTTP/1.1\r\nhost: gateway.example.com\r\nconnection: close\r\n\r\n');
  const answer = await named.closed;
  expect(answer).toMatch(/^HTTP\/1\.1 404 /);
  const id = /x-request-id: (\S+)/i.exec(answer)?.[1] ?? 'none';
  await expect.poll(() => proxy.accessLog()).toContain(`id=${id} `);

  // An error of a provider is one request, and is not sent to the other gateway.
  const before = upstream.requests.length;
  upstream.playAlways({ status: 429, body: { error: { message: 'too many' } } });
  const refused = await ask(to, { model: 'm' });
  expect(refused).toMatchObject({ status: 503, error: { type: 'overloaded_error' } });
  expect(upstream.requests).toHaveLength(before + 1);

  // Of the gateway, and of nginx.
  const large = { model: 'm', body: { user: 'x'.repeat(2 ** 20) } };
  expect(await ask(to, large)).toMatchObject({ status: 413, error: { code: 'request_too_large' } });
  const declared = await rawClient(proxy.url);
  declared.send(`POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${2 ** 26}\r\n\r\n`);
  expect(await declared.until('request_too_large')).toMatch(/^HTTP\/1\.1 413 [^]*"type":"error"/);
  for (const path of ['/metrics', '/admin', '/admin/api/v1/overview'])
    expect((await fetch(proxy.url + path)).status).toBe(404);
}

interface Load {
  /** Resolves when so many more requests were answered. */
  atLeast(count: number): Promise<void>;
  stop(): Promise<{ answered: number; failures: string[] }>;
}

/** Milliseconds from an answer to the next request: those under test need the processor. */
const BREATH = 25;

/** `clients` that each send the next request soon after the one before is answered. */
function startLoad(to: { url: string; key: string }, clients: number): Load {
  const failures: string[] = [];
  let answered = 0;
  let stopped = false;
  let onAnswer = (): void => undefined;

  async function oneAfterTheOther(): Promise<void> {
    while (!stopped) {
      const seen = await ask(to, { model: 'm' }).catch((error: unknown) => String(error));
      if (typeof seen === 'string') failures.push(seen);
      else if (seen.status !== 200 || seen.content !== 'b') failures.push(`${seen.status} ${seen.text}`);
      answered += 1;
      onAnswer();
      await sleep(BREATH);
    }
  }

  const running = Array.from({ length: clients }, oneAfterTheOther);
  return {
    atLeast(count) {
      const enough = answered + count;
      return new Promise((resolve) => {
        onAnswer = () => {
          if (answered >= enough) resolve();
        };
      });
    },
    async stop() {
      stopped = true;
      await Promise.all(running);
      return { answered, failures };
    },
  };
}
