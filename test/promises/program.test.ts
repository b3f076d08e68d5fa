// P13, P23, P25, P26, P27, P30, P33 and P34, of the real program: its ends, its files, its ports and its words.
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ask, readAll, send } from '../helpers/ask.ts';
import { provider } from '../helpers/gateway.ts';
import { home, startHome, type Home, type Server } from '../helpers/process.ts';
import { askOften } from '../helpers/raw-client.ts';
import {
  gate,
  scriptedProvider,
  startScriptedProvider,
  type ScriptedProvider,
} from '../helpers/scripted-provider.ts';
import { content, FINISH, START, TERMINAL, wholeOf } from '../gateway/wire.ts';

const PACKAGE = fileURLToPath(new URL('../../', import.meta.url));
/** Milliseconds from one request to the next: those under test need the processor. */
const BREATH = 5;
const onLinux = process.platform === 'linux';

async function place(limits: object = {}) {
  const upstream = await scriptedProvider();
  const shell = home();
  shell.configure({
    providers: { p: provider(upstream.url, 'chat', ['m']) },
    tiers: { enterprise: 100_000 },
    limits,
  });
  const server = await shell.serve();
  return { upstream, shell, server, to: { url: server.url, key: await shell.newKey('enterprise') } };
}

test('P13: killed in the midst of streams and failed targets, it has counted all that a provider saw', async () => {
  const { upstream, shell, server, to } = await place();
  const never = gate().opened;
  for (let at = 0; at < 10; at += 1) {
    upstream.play({ status: 500, body: '' }, { steps: [START.chat, content('chat', 'a'), never] });
  }
  const asked = Array.from({ length: 20 }, () =>
    ask(to, { model: 'm', stream: true }).catch(() => undefined),
  );
  for (let seen = 0; seen < 20; seen += 1) await upstream.next();
  server.child.kill('SIGKILL');
  await Promise.all([server.ended, ...asked]);
  const [{ used } = { used: 0 }] = await shell.json<{ used: number }[]>('usage', 'a');
  expect(used).toBeGreaterThanOrEqual(20);
});

test('P23: after SIGTERM a stream finishes; one beyond the grace is cut, and not shown as complete', async () => {
  const { upstream, server, to } = await place({ shutdown_grace: '1s' });
  const end = gate();
  upstream.play(
    { steps: [START.chat, content('chat', 'a'), end.opened, FINISH.chat, TERMINAL.chat] },
    { steps: [START.chat, content('chat', 'b'), gate().opened] },
  );
  const [whole, cut] = [
    await send(to, { model: 'm', stream: true }),
    await send(to, { model: 'm', stream: true }),
  ];
  server.child.kill('SIGTERM');
  await server.logged('stopping');
  await refused(server.url);
  end.open();
  expect(await whole.text()).toContain('data: [DONE]');
  const { text, broken } = await readAll(cut);
  expect(broken).toBe(true);
  expect(text).toContain('"error"');
  expect(text).not.toContain('[DONE]');
  expect(await server.ended).toMatchObject({ code: 0, signal: null });
});

test('P25: a damaged database is named, and not a byte of it is changed', async () => {
  const shell = home();
  await shell.newKey('free');
  const bytes = readFileSync(shell.database);
  bytes.fill(0x5a, 4096, bytes.length);
  writeFileSync(shell.database, bytes);
  const serve = await shell.run('serve', '--port', '0');
  const others = [await shell.command('keys', 'create', '--account', 'a'), await shell.command('usage')];
  for (const { code, stderr } of [serve, ...others]) {
    expect(code, stderr).toBe(1);
    expect(stderr).toContain(shell.database);
    expect(stderr).not.toContain('    at ');
  }
  expect(readFileSync(shell.database).equals(bytes)).toBe(true);
});

test('P26: a wrong file, a variable that is not set and a port in use are one clear line each', async () => {
  const shell = home();
  const file = join(shell.directory, 'gateway.yaml');
  const taken = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void taken.close());
  await once(taken, 'listening');
  const port = String((taken.address() as AddressInfo).port);
  const said = async (text: string): Promise<string> => {
    writeFileSync(file, text);
    const { code, stdout, stderr } = await shell.command('serve', '--host', '127.0.0.1', '--log', 'off');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).not.toContain('    at ');
    return stderr;
  };
  expect(await said('providers: { p: { base_ur: x } }')).toMatch(/gateway\.yaml.*base_ur/s);
  expect(await said('providers: { p: "unclosed')).toContain('gateway.yaml');
  expect(await said('providers: { sim: {} }\nlisten: { names: ["${NOT_SET}"] }')).toMatch(
    /gateway\.yaml.*NOT_SET/s,
  );
  shell.configure({ providers: { sim: {} } });
  const words = ['serve', '--host', '127.0.0.1', '--port', port, '--log', 'off'];
  expect(await shell.run(...words)).toEqual({
    code: 1,
    signal: null,
    stdout: '',
    stderr: expect.stringMatching(
      new RegExp(`^gateway: port ${port} on 127\\.0\\.0\\.1 is in use[^\\n]*--port\\n$`),
    ) as string,
  });
});

test('P30: a log that nobody reads is bounded, and holds neither requests nor the end back', async () => {
  const { upstream, server, to } = await place();
  server.child.stderr?.pause();
  // 2 MiB of records, with names as long as they may be: twice what may wait.
  const path = `/${'x'.repeat(8000)}`;
  for (let round = 0; round < 27; round += 1) await askOften(to.url, path, 100);
  upstream.play({ body: wholeOf('chat', 'a') });
  expect((await ask(to, { model: 'm' })).status).toBe(200);
  server.child.stderr?.resume();
  // A later record makes room for the count.
  await expect
    .poll(async () => (await askOften(to.url, path, 1), server.stderr()), { timeout: 15_000 })
    .toMatch(/dropped/);
  server.child.stderr?.pause();
  // More than the pipe takes.
  await askOften(to.url, path, 100);
  server.child.kill('SIGTERM');
  expect(await once(server.child, 'exit')).toEqual([0, null]);
  server.child.stderr?.resume();
});

describe('a gateway that runs', () => {
  let upstream: ScriptedProvider;
  let shell: Home;
  let server: Server;
  let to: { url: string; key: string };

  beforeAll(async () => {
    upstream = await startScriptedProvider();
    const started = startHome();
    shell = started.shell;
    shell.configure({
      providers: { p: provider(upstream.url, 'chat', ['m']), sim: {} },
      tiers: { enterprise: 100_000 },
    });
    server = await shell.serve();
    to = { url: server.url, key: await shell.newKey('enterprise') };
    return async () => {
      await started.remove();
      await upstream.close();
    };
  });

  test('P27: command lines that write beside a server disturb neither it nor one another', async () => {
    upstream.playAlways({ body: wholeOf('chat', 'a') });
    let writing = true;
    const requests = (async () => {
      const statuses = new Set<number>();
      while (writing) {
        statuses.add((await ask(to, { model: 'm' })).status);
        await sleep(BREATH);
      }
      return [...statuses];
    })();
    const writers = ['b', 'c'].flatMap((account) => [
      shell.run('keys', 'create', '--account', account),
      shell.run('tiers', 'assign', 'a', 'enterprise'),
    ]);
    const ended = await Promise.all(writers);
    writing = false;
    expect(ended.map(({ code, stderr }) => [code, /busy|locked/i.test(stderr)])).toEqual(
      ended.map(() => [0, false]),
    );
    expect(await requests).toEqual([200]);
  });

  test.skipIf(!onLinux)(
    'P33: the built-in provider has no port until it is asked, and answers nobody else',
    async () => {
      const own = Number(new URL(server.url).port);
      const others = (): number[] => listening(server.child.pid).filter((port) => port !== own);
      expect(others()).toEqual([]);
      expect((await ask(to, { model: 'sim/echo' })).content).toBe('hello');
      const [port] = others();
      expect(port).toBeDefined();
      for (const key of ['', to.key]) {
        const answer = await ask({ url: `http://127.0.0.1:${port}`, key }, { model: 'echo' });
        expect(answer.status).toBeGreaterThanOrEqual(400);
        expect(answer.content).toBe('');
      }
    },
  );
});

test.skipIf(process.platform === 'win32')(
  'P34: what is run does not change, and what is kept is the user’s alone',
  async () => {
    const before = files(join(PACKAGE, 'bin')).concat(files(join(PACKAGE, 'dist')));
    const { upstream, shell, server, to } = await place();
    upstream.play({ body: wholeOf('chat', 'a') });
    expect((await ask(to, { model: 'm' })).content).toBe('a');
    server.child.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ code: 0 });
    expect(files(join(PACKAGE, 'bin')).concat(files(join(PACKAGE, 'dist')))).toEqual(before);
    const cache = join(shell.directory, '.cache', 'gateway', 'compile-cache');
    if (existsSync(cache)) expect(statSync(cache).mode & 0o777).toBe(0o700);
    // A folder that others can write is not used.
    const shared = home();
    const unsafe = join(shared.directory, '.cache', 'gateway', 'compile-cache');
    mkdirSync(unsafe, { recursive: true });
    chmodSync(unsafe, 0o777);
    expect((await shared.run('tiers', 'list')).code).toBe(0);
    expect(readdirSync(unsafe)).toEqual([]);
  },
);

/** The listeners close right after the log says so: until then a connection may still be taken. */
async function refused(url: string): Promise<void> {
  for (;;) {
    try {
      const response = await fetch(`${url}/health`, { headers: { connection: 'close' } });
      await response.arrayBuffer();
    } catch (error) {
      expect((error as { cause?: { code?: string } }).cause?.code).toMatch(
        /ECONNREFUSED|ECONNRESET|UND_ERR_SOCKET/,
      );
      return;
    }
  }
}

/** Ports on which the process listens. */
function listening(pid: number | undefined): number[] {
  const folder = `/proc/${pid}/fd`;
  const inodes = new Set(
    readdirSync(folder).map((name) => /^socket:\[(\d+)\]$/.exec(link(join(folder, name)))?.[1]),
  );
  const LISTEN = '0A';
  return readFileSync(`/proc/${pid}/net/tcp`, 'latin1')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[3] === LISTEN && inodes.has(fields[9]))
    .map((fields) => Number.parseInt(fields[1]?.split(':')[1] ?? '', 16));
}

/** '' of a descriptor that was closed meanwhile. */
function link(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

/** Names, times and sizes of all files below a folder. */
function files(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => ({ name, status: statSync(join(folder, name)) }))
    .map(({ name, status }) => `${name} ${status.mtimeMs} ${status.size}`)
    .sort();
}
