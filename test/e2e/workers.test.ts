// Several processes on one port: what a user of `gateway serve --workers 2` relies on. Real processes, real sockets.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { call } from '../../src/control/client.ts';
import { provider } from '../helpers/gateway.ts';
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
  withStreams,
  WORKERS,
} from './worker-processes.ts';

interface Logged {
  worker?: number;
  msg: string;
  account?: string;
  message?: string;
}

/** The records of the log; each is a line of its own. */
function records(server: Server): Logged[] {
  const lines = server.stderr().split('\n');
  return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Logged);
}

/** A worker that is replaced waits for connections that nobody uses. */
const closing = { connection: 'close' };

/** The status of one request on a connection of the agent. */
async function statusBy(agent: Agent, to: Target): Promise<number | undefined> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${to.key}` };
  const sent = request(`${to.url}/v1/chat/completions`, { agent, method: 'POST', headers });
  sent.end(JSON.stringify({ model: 'sim/echo', messages: [{ role: 'user', content: 'hello' }] }));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  for await (const _ of response);
  return response.statusCode;
}

const providers = (upstream: ScriptedProvider, limited: ScriptedProvider): object => ({
  p: provider(upstream.url, 'chat', ['m']),
  limited: provider(limited.url, 'chat', ['l']),
  sim: {},
});

// One gateway, whose start costs more than each test: they take it one after the other, in any order, and leave two workers that serve.
describe('two workers', () => {
  let shell: Home;
  let server: Server;
  let upstream: ScriptedProvider;
  let limited: ScriptedProvider;
  let config: object;
  let to: Target;

  beforeAll(async () => {
    [upstream, limited] = [await startScriptedProvider(), await startScriptedProvider()];
    const started = startHome();
    shell = started.shell;
    config = {
      providers: providers(upstream, limited),
      routes: { r: ['limited/l', 'sim/echo'] },
      tiers: { some: 40 },
      metrics: true,
      limits: { shutdown_grace: '20s' },
    };
    shell.configure(config);
    server = await shell.serve(...WORKERS);
    to = { url: server.url, key: await shell.newKey('unlimited') };
    return async () => {
      await started.remove();
      await Promise.all([upstream.close(), limited.close()]);
    };
  });

  it('are one gateway for commands: one start, and one state with the workers', async () => {
    await bothServe(shell);
    expect(server.stdout().match(/is listening/g)).toHaveLength(1);
    expect(await statusOf(shell)).toMatchObject({
      pid: server.child.pid,
      state: 'serving',
      urls: [server.url],
      workers: [
        { worker: 1, state: 'serving', requests_in_flight: 0 },
        { worker: 2, state: 'serving', requests_in_flight: 0 },
      ],
    });
    const shown = await shell.command('status');
    expect(shown.stdout).toMatch(/workers +1: pid \d+, 0 under way\n +2: pid \d+, 0 under way\n/);
  });

  it('admit exactly the hour of an account, and each record of the log names its worker', async () => {
    const { key } = await shell.json<{ key: string }>('keys', 'create', '--account', 'b', '--tier', 'some');
    const some = { url: server.url, key };
    const statuses = await Promise.all(Array.from({ length: 100 }, () => askOnce(some)));
    const count = (status: number): number => statuses.filter((other) => other === status).length;
    // The hour may end meanwhile.
    expect([40, 80]).toContain(count(200));
    expect(count(200) + count(429)).toBe(100);
    // Beside the notice that the limit is used up, which one worker writes.
    const ofB = ({ account, msg, message = '' }: Logged): boolean =>
      (account === 'b' && !msg.startsWith('a limit is ')) || message.startsWith('account "b" ');
    const requests = (): Logged[] => records(server).filter(ofB);
    await expect.poll(() => requests().length).toBe(100);
    expect(requests().every(({ worker }) => worker === 1 || worker === 2)).toBe(true);
  });

  it('answer for each other: metrics of both, and a browser session that any of them knows', async () => {
    const answered = async (): Promise<[number, string]> => {
      const page = await (await fetch(`${server.url}/metrics`, { headers: closing })).text();
      // A join with several has no answer.
      expect(page.match(/^target_info\{/gm)).toHaveLength(1);
      const series = [...page.matchAll(/^gateway_requests_total\{worker="[12]",.*\} (\d+)$/gm)];
      return [series.reduce((sum, [, requests]) => sum + Number(requests), 0), page];
    };
    const [before] = await answered();
    await Promise.all(Array.from({ length: 10 }, () => askOnce(to)));
    const [after, page] = await answered();
    expect(after - before).toBe(10);
    expect(page).toMatch(/^gateway_requests_in_flight\{worker="1"\} 0$/m);
    expect(page).toMatch(/^gateway_requests_in_flight\{worker="2"\} 0$/m);
    expect(page.match(/^# TYPE gateway_requests_in_flight /gm)).toHaveLength(1);

    const { url } = (await call(await found(shell), 'POST', '/admin/link')) as { url: string };
    const opened = await fetch(`${server.url}/admin/session`, {
      method: 'POST',
      headers: { ...closing, 'content-type': 'application/json' },
      body: JSON.stringify({ link: /#link=(.*)$/.exec(url)?.[1] }),
    });
    expect(opened.status).toBe(201);
    const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
    const path = '/admin/session';
    for (let round = 0; round < 6; round += 1) {
      const client = await rawClient(server.url);
      client.send(
        `GET ${path} HTTP/1.1\r\nhost: ${new URL(server.url).host}\r\ncookie: ${cookie}\r\nconnection: close\r\n\r\n`,
      );
      expect(await client.closed).toMatch(/^HTTP\/1\.1 200 /);
    }
  });

  it('avoid together what failed for one of them', async () => {
    limited.playAlways({
      status: 429,
      headers: { 'retry-after': '60' },
      body: { error: { message: 'slow' } },
    });
    expect(await askOnce(to, 'r')).toBe(200);
    await expect.poll(async () => (await statusOf(shell)).providers[1]?.avoided.length).toBe(1);
    for (let round = 0; round < 12; round += 1) expect(await askOnce(to, 'r')).toBe(200);
    expect(limited.requests).toHaveLength(1);
  });

  it('lose the streams of the one that is killed only, and are two again', async () => {
    const { open, end } = streamsOf(upstream, to);
    const streams = await open(12);
    const { workers: before = [] } = await statusOf(shell);
    const [victim] = [...before].sort((a, b) => (b.requests_in_flight ?? 0) - (a.requests_in_flight ?? 0));
    if (victim === undefined) throw new Error('there are no workers');
    process.kill(victim.pid, 'SIGKILL');
    await bothServe(shell, victim.pid);
    expect(records(server).map(({ msg }) => msg)).toContain('a worker ended: it is started again');
    end.open();
    const texts = await Promise.all(streams.map(({ text }) => text));
    expect(texts.filter((text) => !text.includes('[DONE]'))).toHaveLength(victim.requests_in_flight ?? 0);
    for (let round = 0; round < 5; round += 1) expect(await askOnce(to, 'sim/echo')).toBe(200);
  });

  it('lose no connection that the killed one had not accepted', async () => {
    await bothServe(shell);
    const { workers = [] } = await statusOf(shell);
    const [victim, other] = workers;
    if (victim === undefined || other === undefined) throw new Error('there are no workers');
    // Both are stopped, so that the connections wait in the listener; then one of the two is killed.
    for (const { pid } of workers) process.kill(pid, 'SIGSTOP');
    const answers = Array.from({ length: 20 }, () => askOnce(to));
    await sleep(100);
    process.kill(victim.pid, 'SIGKILL');
    process.kill(other.pid, 'SIGCONT');
    expect(await Promise.all(answers)).toEqual(answers.map(() => 200));
    await bothServe(shell, victim.pid);
  });

  it('are replaced by a reload under load without a failed request or a cut stream', async () => {
    const { open, end } = streamsOf(upstream, to);
    const before = await statusOf(shell);
    const streams = await open(6);
    let isLoaded = true;
    const failed: unknown[] = [];
    let answered = 0;
    // Holds its connections open and uses them again.
    const agent = new Agent({ keepAlive: true });
    const client = async (): Promise<void> => {
      while (isLoaded) {
        await statusBy(agent, to).then(
          (status) => {
            if (status === 200) answered += 1;
            else failed.push(status);
          },
          (error: unknown) => failed.push(error),
        );
        // The workers under test need the processor.
        await sleep(25);
      }
    };
    const clients = Array.from({ length: 6 }, client);
    const after = await reload(shell);
    const soon = answered + 20;
    while (answered < soon) await sleep(20);
    isLoaded = false;
    await Promise.all(clients);
    // The workers that were replaced wait for them.
    agent.destroy();
    expect(failed).toEqual([]);
    end.open();
    for (const { text } of streams) expect(await text).toContain('[DONE]');
    expect(after.reload_fault).toBeNull();
    const serving = after.workers?.filter(({ state }) => state === 'serving').map(({ pid }) => pid) ?? [];
    const old = before.workers?.map(({ pid }) => pid) ?? [];
    expect(serving).toHaveLength(2);
    expect(serving.filter((pid) => old.includes(pid))).toEqual([]);
    expect(records(server).map(({ msg }) => msg)).toContain('the workers were replaced');
  });

  it('do not change by SIGHUP with an invalid configuration, which says why; the mended file reaches each of them', async () => {
    await bothServe(shell);
    const before = await statusOf(shell);
    shell.configure({ ...config, tiers: { free: 'ten' } });
    server.child.kill('SIGHUP');
    await server.logged('the changed configuration is not used');
    const after = await statusOf(shell);
    expect(after.workers).toEqual(before.workers);
    expect(after.reload_fault).toMatch(/tiers\.free/);
    expect((await fetch(`${server.url}/health`, { headers: closing })).status).toBe(200);
    for (const [settings, status] of [
      [{ maintenance: true }, 503],
      [{}, 200],
    ] as const) {
      const reloads = (): number =>
        records(server).filter(({ msg }) => msg === 'the configuration was reloaded').length;
      const soon = reloads() + 1;
      shell.configure({ ...config, ...settings });
      await expect.poll(reloads).toBe(soon);
      for (let round = 0; round < 6; round += 1) await expect.poll(() => askOnce(to)).toBe(status);
    }
  });
});

describe('the end', () => {
  it('comes when all streams have ended, and says so', async () => {
    const { shell, server, open, end } = await withStreams();
    const streams = await open(4);
    const stopped = shell.command('stop');
    await server.logged('waiting up to 20s for 4 open requests; a second Ctrl-C ends at once');
    end.open();
    for (const { text } of streams) expect(await text).toContain('[DONE]');
    expect(await server.ended).toMatchObject({ code: 0, signal: null });
    expect((await stopped).stdout).toBe(`the gateway with pid ${server.child.pid} has stopped\n`);
  });

  it('is at once with a second signal, and no worker stays', async () => {
    const { shell, server, open } = await withStreams();
    const streams = await open(2);
    const { workers = [] } = await statusOf(shell);
    server.child.kill('SIGINT');
    await server.logged('waiting up to 20s');
    server.child.kill('SIGINT');
    expect(await server.ended).toMatchObject({ signal: 'SIGINT' });
    for (const { text } of streams) expect(await text).not.toContain('[DONE]');
    await expect.poll(() => workers.filter(({ pid }) => isAlive(pid))).toEqual([]);
  });

  it('of a killed supervisor ends its workers, also one in an endless loop: the port is free again', async () => {
    const shell = home({ NODE_OPTIONS: `--import ${import.meta.dirname}/endless-loop.mjs` });
    shell.configure({ providers: { sim: {} }, limits: { shutdown_grace: '10ms' } });
    const server = await shell.serve(...WORKERS);
    const { workers = [] } = await statusOf(shell);
    onTestFinished(() => {
      for (const { pid } of workers) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    });
    const [looping] = workers;
    process.kill(looping?.pid ?? 0, 'SIGUSR2');
    server.child.kill('SIGKILL');
    await server.ended;
    await expect.poll(() => workers.filter(({ pid }) => isAlive(pid))).toEqual([]);
    const { port } = new URL(server.url);
    await shell.serve('--port', port);
  });
});

describe('one process', () => {
  it('reads the configuration again for `reload`', async () => {
    const shell = home();
    shell.configure({ providers: { sim: {} } });
    const server = await shell.serve();
    shell.configure({ providers: { sim: {} }, maintenance: true });
    const { code, stdout } = await shell.command('reload');
    const file = `${shell.directory}/gateway.yaml`;
    expect([code, stdout]).toEqual([0, `the gateway with pid ${server.child.pid} has read ${file} again\n`]);
    expect((await statusOf(shell)).state).toBe('maintenance');
  });

  it('without a file says what to do for `reload`; its port is one error for two workers', async () => {
    const shell = home();
    const server = await shell.serve();
    const reloaded = await shell.command('reload');
    expect(reloaded.code).toBe(1);
    expect(reloaded.stderr).toContain('has no configuration file to read again');
    const { port } = new URL(server.url);
    const { code, stderr } = await shell.run('serve', ...WORKERS, '--host', '127.0.0.1', '--port', port);
    expect(code).toBe(1);
    expect(stderr).toContain(
      `port ${port} on 127.0.0.1 is in use by the gateway with pid ${server.child.pid}: end it`,
    );
  });
});

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
