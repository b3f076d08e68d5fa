// `gateway status` and `gateway stop` with real servers: one, several, none, killed, stopped, busy.
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { socketFolders } from '../../../src/control/place.ts';
import { openStore } from '../../../src/store/open.ts';
import type { GatewayStatus } from '../../../src/control/calls.ts';
import { home, type Home } from '../../helpers/process.ts';

interface StatusJson {
  gateways: GatewayStatus[];
  avoided: { target: string; state: string }[];
  accounts: { account: string; tier: string; limit: number | null; used: number; resets_at: string }[];
}

const socketsOf = ({ database }: Home): string[] =>
  readdirSync(dirname(database)).filter((name) => name.endsWith('.sock'));

async function chat(url: string, key: string, model: string, stream = false): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'hello' }] }),
  });
}

const WAITING = /^waiting up to 30s for 1 open request; at once: kill \d+\n$/;

interface Provider {
  url: string;
  asked: Promise<void>;
  answer: () => void;
}

/** Answers when it is asked to. Of its model `limited`, all requests are refused for an hour. */
async function startProvider(): Promise<Provider> {
  let answer = (): void => undefined;
  let onAsked = (): void => undefined;
  const asked = new Promise<void>((resolve) => (onAsked = resolve));
  const message = { role: 'assistant', content: 'late' };
  const reply = JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] });
  const server = createServer((incoming, response) => {
    answer = () => response.writeHead(200, { 'content-type': 'application/json' }).end(reply);
    let body = '';
    incoming.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    incoming.once('end', () => {
      if (body.includes('limited')) response.writeHead(429, { 'retry-after': '3600' }).end();
      else onAsked();
    });
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, asked, answer: () => answer() };
}

const configOf = ({ url }: Provider): object => ({
  providers: { own: { protocol: 'chat', base_url: url, models: ['m', 'limited'] }, sim: {} },
  database: './gateway/gateway.db',
});

/** A server publishes its targets' health every second. */
async function published(database: string): Promise<void> {
  const store = await openStore(database, { clock: systemClock });
  try {
    await vi.waitFor(async () => {
      expect(await store.listHealth(Date.now())).toHaveLength(1);
    }, 30_000);
  } finally {
    await store.close();
  }
}

describe('status', () => {
  it('describes the gateway that runs, its providers and the hour of each account', async () => {
    const at = home();
    at.configure(configOf(await startProvider()));
    const server = await at.serve();
    const key = await at.newKey('enterprise');
    await (await chat(server.url, key, 'sim/echo')).text();
    await (await chat(server.url, key, 'limited')).text();
    const { gateways, accounts } = await at.json<StatusJson>('status');
    expect(gateways).toMatchObject([
      {
        pid: server.child.pid,
        state: 'serving',
        urls: [server.url],
        config: join(at.directory, 'gateway.yaml'),
        database: at.database,
        log: null,
        requests_in_flight: 0,
        providers: [
          { name: 'own', avoided: [{ target: 'own/limited', state: 'cooling' }] },
          { name: 'sim', avoided: [] },
        ],
      },
    ]);
    expect(accounts).toMatchObject([{ account: 'a', tier: 'enterprise', limit: 300, used: 2 }]);
    const { code, stdout } = await at.command('status');
    expect(code).toBe(0);
    expect(stdout).toContain(`pid        ${server.child.pid}`);
    expect(stdout).toContain(server.url);
    expect(stdout).toMatch(/own +cooling for 59m: limited/);
    expect(stdout).toMatch(/a +2 +300/);
    await published(at.database);
    process.kill(server.child.pid ?? 0, 'SIGKILL');
    await server.ended;
    const afterwards = await at.command('status');
    expect(afterwards.code).toBe(1);
    expect(afterwards.stdout).toContain('Servers on this database avoid:\n  cooling for 59m: own/limited');
  });

  it('of none is 1 with the next step, and creates nothing', async () => {
    const at = home();
    const { code, stdout, stderr } = await at.command('status');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^gateway: no gateway runs on .*gateway\.db; start one: gateway serve[^\n]*\n$/);
    expect(existsSync(at.database)).toBe(false);
  });

  it('of a gateway that does not answer names it; of a killed one is 1, and the next start removes its socket', async () => {
    const at = home();
    const killed = await at.serve();
    killed.child.kill('SIGSTOP');
    const silent = await at.command('status');
    expect(silent.code).toBe(1);
    expect(silent.stderr).toContain(`pid ${killed.child.pid} `);
    expect(silent.stderr).toContain('does not answer');
    killed.child.kill('SIGKILL');
    await killed.ended;
    expect(socketsOf(at)).toHaveLength(1);
    const { code, stdout } = await at.command('status', '--json');
    expect(code).toBe(1);
    expect((JSON.parse(stdout) as StatusJson).gateways).toEqual([]);
    const next = await at.serve();
    await expect.poll(() => socketsOf(at)).toEqual([`gateway-${next.child.pid}.sock`]);
  });
});

it('a configuration that became invalid does not hide the gateway from status and stop, which waits for the end of its process', async () => {
  const at = home();
  at.configure({ providers: { sim: null } });
  const server = await at.serve();
  writeFileSync(join(dirname(at.database), '..', 'gateway.yaml'), 'providers:\n  sim: [\n');
  const report = new RegExp(
    `^.*gateway\\.yaml:3 is not valid YAML: [^\\n]*\\nthe file is left out: the database is ${at.database}\\n`,
  );
  const shown = await at.command('status');
  expect(shown).toMatchObject({ code: 0, stderr: expect.stringMatching(report) as string });
  expect(shown.stdout).toContain(`${server.child.pid}`);
  expect(await at.command('stop')).toMatchObject({
    code: 0,
    stdout: `the gateway with pid ${server.child.pid} has stopped\n`,
    stderr: expect.stringMatching(report) as string,
  });
  expect(server.child.exitCode ?? (await server.ended).code).toBe(0);
  expect(socketsOf(at)).toEqual([]);
  expect((await at.command('stop')).code).toBe(1);
});

describe('stop', () => {
  it('waits for open requests and says so; without enough time it says how to end them', async () => {
    const at = home();
    const provider = await startProvider();
    at.configure(configOf(provider));
    const server = await at.serve();
    const answer = chat(server.url, await at.newKey('enterprise'), 'm');
    await provider.asked;
    const patient = at.command('stop');
    const stateOf = async () => (await at.json<StatusJson>('status')).gateways;
    const stopping = [{ state: 'stopping', requests_in_flight: 1 }];
    await expect.poll(stateOf, { timeout: 15_000 }).toMatchObject(stopping);
    const impatient = await at.command('stop', '--timeout', '100ms');
    expect(impatient.code).toBe(1);
    expect(impatient.stderr).toContain(`kill ${server.child.pid}`);
    provider.answer();
    expect((await answer).status).toBe(200);
    const { code, stderr } = await patient;
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(WAITING) as string });
    expect((await server.ended).code).toBe(0);
  });

  it('of several ends the one that is named; status lists them, oldest first, and none of another database', async () => {
    const at = home();
    const [first, second] = [await at.serve(), await at.serve()];
    await at.serve('--database', join(dirname(at.database), 'other.db'));
    expect(socketsOf(at)).toHaveLength(3);
    const { gateways } = await at.json<StatusJson>('status');
    expect(gateways.map(({ pid }) => pid)).toEqual([first.child.pid, second.child.pid]);
    const unnamed = await at.command('stop');
    expect(unnamed.code).toBe(1);
    expect(unnamed.stderr).toContain(`2 gateways run: pid ${first.child.pid} on port`);
    expect((await at.command('stop', '--port', '1')).stderr).toContain('no gateway has this pid or port');
    const byPort = await at.command('stop', '--port', new URL(second.url).port);
    expect(byPort.stdout).toContain(String(second.child.pid));
    expect((await at.json<{ pid: number }>('stop', String(first.child.pid))).pid).toBe(first.child.pid);
    expect((await at.command('status')).code).toBe(1);
  });
});

it('a gateway whose data folder is open to others is found in a folder of the user', async () => {
  const at = home();
  mkdirSync(dirname(at.database));
  chmodSync(dirname(at.database), 0o777);
  const server = await at.serve();
  const { gateways } = await at.json<StatusJson>('status');
  expect(gateways.map(({ pid }) => pid)).toEqual([server.child.pid]);
  expect(socketsOf(at)).toEqual([]);
  const { code, stdout, stderr } = await at.command('stop');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toBe(`the gateway with pid ${server.child.pid} has stopped\n`);
});

it('a gateway without a place for its socket serves, and says so once', async () => {
  const at = home();
  const folder = dirname(at.database);
  mkdirSync(folder);
  chmodSync(folder, 0o777);
  for (const { path } of socketFolders(folder, {}).slice(1)) {
    writeFileSync(path, '');
    onTestFinished(() => rmSync(path, { force: true }));
  }
  const server = await at.serve();
  const response = await chat(server.url, await at.newKey('enterprise'), 'sim/echo');
  expect(response.status).toBe(200);
  await response.text();
  expect((await at.command('status')).code).toBe(1);
  server.child.kill('SIGTERM');
  const { code, stderr } = await server.ended;
  expect(code).toBe(0);
  expect(stderr.match(/no control socket/g)).toHaveLength(1);
  expect(stderr).toContain(`other users can change ${folder}`);
});

it('a second signal ends a gateway at once: it leaves no socket, and its stream is not shown as complete', async () => {
  const at = home();
  const server = await at.serve();
  const key = await at.newKey('enterprise');
  const response = await chat(server.url, key, 'sim/slow', true);
  expect(statSync(join(dirname(at.database), socketsOf(at)[0] ?? '')).mode & 0o777).toBe(0o600);
  server.child.kill('SIGTERM');
  await server.logged('"stopping"');
  const exit = once(server.child, 'exit');
  server.child.kill('SIGTERM');
  expect(await exit).toEqual([null, 'SIGTERM']);
  expect(socketsOf(at)).toEqual([]);
  expect(await response.text().catch(() => '')).not.toContain('[DONE]');
});
