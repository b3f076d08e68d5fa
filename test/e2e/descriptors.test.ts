// A process that has few descriptors: connections that nobody uses give way, and no provider is blamed for what we lack.
import { existsSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { provider } from '../helpers/gateway.ts';
import { home } from '../helpers/process.ts';
import { hello, rawClient, rawRequest } from '../helpers/raw-client.ts';
import { gate, scriptedProvider } from '../helpers/scripted-provider.ts';
import { content, FINISH, START, TERMINAL, wholeOf } from '../gateway/wire.ts';

/** A little more than the process itself needs. */
const DESCRIPTORS = 64;

async function place() {
  const [upstream, other] = [await scriptedProvider(), await scriptedProvider()];
  const shell = home();
  shell.configure({
    providers: { p: provider(upstream.url, 'chat', ['m']), q: provider(other.url, 'chat', ['m']) },
    routes: { both: ['p/m', 'q/m'] },
  });
  const server = await shell.serveWith(DESCRIPTORS);
  return { upstream, pid: server.child.pid, to: { url: server.url, key: await shell.newKey('enterprise') } };
}

test.runIf(existsSync('/proc/self/fd'))('idle connections are closed for new ones', async () => {
  const { upstream, to } = await place();
  upstream.playAlways({ body: wholeOf('chat', 'a') });
  const health = rawRequest({ ...to, path: '/health', method: 'GET' });
  for (let at = 0; at < DESCRIPTORS * 2; at += 1) {
    const client = await rawClient(to.url);
    client.send(health);
    expect(await client.until('"status"')).toContain(' 200 ');
  }
  const client = await rawClient(to.url);
  client.send(rawRequest(to, hello('both')));
  expect(await client.until('x-gateway-provider: p')).toContain(' 200 ');
});

test.runIf(existsSync('/proc/self/fd'))(
  'a provider that could not be asked for want of descriptors is asked again at once',
  async () => {
    const { upstream, pid, to } = await place();
    const end = gate();
    upstream.playAlways({
      steps: [START.chat, content('chat', 'a'), end.opened, FINISH.chat, TERMINAL.chat],
    });
    const used = readdirSync(`/proc/${pid}/fd`).length;
    // Room for all of them, and for the providers of some.
    const clients = await Promise.all(
      Array.from({ length: Math.floor(((DESCRIPTORS - used) * 2) / 3) }, () => rawClient(to.url)),
    );
    const request = rawRequest(to, hello('p/m', { stream: true }));
    // In the middle of a head: not idle.
    for (const client of clients) client.send(request.slice(0, 40));
    await new Promise((resolve) => setTimeout(resolve, 50));
    const heads: string[] = [];
    for (const client of clients) {
      client.send(request.slice(40));
      heads.push(await client.until('\r\n\r\n'));
    }
    const statuses = heads.map((head) => head.slice(9, 12));
    expect(new Set(statuses)).toEqual(new Set(['200', '503']));
    expect(heads.find((head) => head.includes(' 503 '))).toContain('retry-after: 1\r');
    expect(statuses.filter((status) => status === '503').length).toBeGreaterThan(3);
    end.open();
    await Promise.all(
      clients.filter((_, at) => statuses[at] === '200').map((client) => client.until('[DONE]')),
    );
    const client = await rawClient(to.url);
    client.send(rawRequest(to, hello('both', { stream: true })));
    expect(await client.until(/x-gateway-provider: \w/)).toContain('x-gateway-provider: p');
  },
);
