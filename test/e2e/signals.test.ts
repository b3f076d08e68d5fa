// The real process and what a user's shell, terminal and service manager do to it: signals, and logs that nobody reads.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { provider } from '../helpers/gateway.ts';
import { home } from '../helpers/process.ts';
import { rawClient, rawRequest } from '../helpers/raw-client.ts';
import { gate, scriptedProvider } from '../helpers/scripted-provider.ts';
import { send } from '../helpers/ask.ts';
import { content, FINISH, START, TERMINAL } from '../gateway/wire.ts';

const BIN = fileURLToPath(new URL('../../bin/gateway.js', import.meta.url));

test('SIGUSR1 opens no debugger, SIGUSR2 does nothing, and SIGHUP ends it with 0', async () => {
  const server = await home().serve();
  server.child.kill('SIGUSR1');
  server.child.kill('SIGUSR2');
  for (let round = 0; round < 3; round += 1) expect((await fetch(`${server.url}/health`)).status).toBe(200);
  server.child.kill('SIGHUP');
  const { code, signal, stderr } = await server.ended;
  expect([code, signal]).toEqual([0, null]);
  expect(stderr).not.toMatch(/debugger/i);
});

test.each(['json', 'off'])(
  'Ctrl-C with streams open says how many it waits for, how long, and what ends it (--log %s)',
  async (format) => {
    const upstream = await scriptedProvider();
    const shell = home();
    shell.configure({
      providers: { p: provider(upstream.url, 'chat', ['m']) },
      limits: { shutdown_grace: '20s' },
    });
    const server = await shell.serve('--log', format);
    const to = { url: server.url, key: await shell.newKey('enterprise') };
    const end = gate();
    const steps = [START.chat, content('chat', 'a'), end.opened, FINISH.chat, TERMINAL.chat];
    upstream.play({ steps }, { steps });
    const streams = [
      await send(to, { model: 'm', stream: true }),
      await send(to, { model: 'm', stream: true }),
    ];
    server.child.kill('SIGINT');
    await server.logged('waiting up to 20s for 2 open requests; a second Ctrl-C ends at once');
    end.open();
    for (const stream of streams) expect(await stream.text()).toContain('[DONE]');
    expect(await server.ended).toMatchObject({ code: 0, signal: null });
  },
);

test('stopped for longer than a provider may be silent, it reads what the provider sent meanwhile', async () => {
  const upstream = await scriptedProvider();
  const shell = home();
  const timeout = { idle: '1s' };
  shell.configure({ providers: { p: provider(upstream.url, 'chat', ['m'], { timeout }) } });
  const server = await shell.serve();
  const to = { url: server.url, key: await shell.newKey('enterprise') };
  const more = gate();
  const steps = [content('chat', 'a'), more.opened, content('chat', 'b'), FINISH.chat, TERMINAL.chat];
  upstream.play({ steps });
  const stream = await send(to, { model: 'm', stream: true });
  server.child.kill('SIGSTOP');
  more.open();
  await new Promise((resolve) => setTimeout(resolve, 1200));
  server.child.kill('SIGCONT');
  expect(await stream.text()).toContain('[DONE]');
});

/** Requests that are logged, answered all. More than a pipe or a terminal holds of log. */
async function fillLog(url: string): Promise<void> {
  const COUNT = 600;
  const client = await rawClient(url);
  const path = `/${'x'.repeat(400)}`;
  client.send(rawRequest({ key: 'sk-gw-none', path, method: 'GET' }).repeat(COUNT));
  const last = rawRequest({ key: '', path: '/health', method: 'GET' }, '', ['connection: close']);
  client.send(last);
  const text = await client.closed;
  expect(text.match(/HTTP\/1\.1 404 /g)).toHaveLength(COUNT);
  expect(text).toContain('HTTP/1.1 200 ');
}

test('a log that is read late is read whole; Ctrl-C without open requests says nothing of waiting', async () => {
  const server = await home().serve();
  server.child.stderr?.pause();
  await fillLog(server.url);
  server.child.stderr?.resume();
  await fillLog(server.url);
  server.child.kill('SIGINT');
  const { code, stderr } = await server.ended;
  expect(code).toBe(0);
  expect(stderr).not.toContain('waiting');
  expect(stderr.match(/"refused"/g)).toHaveLength(1200);
  expect(stderr).toContain('"stopping"');
});

test.runIf(existsSync('/usr/bin/script'))(
  'a terminal that nobody reads holds neither requests nor the end back',
  async () => {
    const shell = home();
    const id = join(shell.directory, 'pid');
    const serve = `exec '${process.execPath}' '${BIN}' serve --host 127.0.0.1 --port 0`;
    const terminal = spawn('/usr/bin/script', ['-qfec', `echo $$ > '${id}'; ${serve}`, '/dev/null'], {
      cwd: shell.directory,
      env: {
        PATH: process.env.PATH,
        HOME: shell.directory,
        XDG_CONFIG_HOME: shell.directory,
        XDG_DATA_HOME: shell.directory,
        SHELL: '/bin/sh',
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    onTestFinished(() => void terminal.kill('SIGKILL'));
    let shown = '';
    for await (const bytes of terminal.stdout.iterator({ destroyOnReturn: false })) {
      shown += String(bytes);
      if (/^curl /m.test(shown)) break;
    }
    const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(shown) ?? [];
    const pid = Number(readFileSync(id, 'utf8'));
    onTestFinished(() => {
      if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    });
    await fillLog(url);
    process.kill(pid, 'SIGTERM');
    await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
  },
);

/** Not so where it only waits for its parent to learn of its end. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
