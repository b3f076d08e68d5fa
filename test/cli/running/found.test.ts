// P40: a gateway is recognised by its control socket, which only its owner can open, never by the port that it should have.
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startControl } from '../../../src/control/server.ts';
import { silentLog } from '../../../src/log.ts';
import { home, type Home } from '../../helpers/process.ts';

interface Facts {
  url: string;
  running: boolean;
}

const PRINTS = ['--', '/bin/sh', '-c', 'echo "$OPENAI_BASE_URL"'];

/** A program that answers as a gateway does. `got`: the requests, with their credentials. */
async function impostor(): Promise<{ port: number; got: string[] }> {
  const got: string[] = [];
  const server = createServer(({ url = '', headers }, response) => {
    got.push(`${url} ${headers.authorization ?? ''}`);
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({ status: 'ok', database: 'ok', id: 'auto', targets: ['sim/echo'], data: [] }),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, got };
}

async function pointed(at: Home, ...options: string[]): Promise<string> {
  const { code, stdout, stderr } = await at.run('run', ...options, ...PRINTS);
  expect(code, stderr).toBe(0);
  return stdout.trim();
}

const settings = (port: number) => ({ providers: { sim: {} }, listen: { hosts: ['127.0.0.1'], port } });

test('P40: who listens on the configured port gets no key and no prompt, and connect names it', async () => {
  const { port, got } = await impostor();
  const at = home();
  at.configure(settings(port));
  expect(await pointed(at)).not.toContain(`:${port}/`);
  const shown = await at.command('connect', 'claude', '--json');
  expect(JSON.parse(shown.stdout) as Facts).toMatchObject({
    url: `http://127.0.0.1:${port}`,
    running: false,
  });
  const written = await at.command('connect', 'claude', '--write');
  expect(written.stderr).toMatch(
    /^warning: the program that listens at http:\/\/127\.0\.0\.1:\d+ is no gateway of yours on this database, and would get the key and all prompts;/m,
  );
  expect(got).toEqual([]);
});

test('P40: run, connect, connect --env and keys create find the gateway on another port', async () => {
  const { port, got } = await impostor();
  const at = home();
  at.configure(settings(port));
  const server = await at.serve();
  expect(new URL(server.url).port).not.toBe(String(port));
  expect(await pointed(at)).toBe(`${server.url}/v1`);
  expect(await at.json<Facts>('connect', 'claude')).toMatchObject({ url: server.url, running: true });
  const env = await at.command('connect', '--env', '--shell', 'sh');
  expect(env.stdout).toContain(`${server.url}/v1`);
  expect(env.stderr).not.toContain('no gateway answers');
  expect((await at.command('keys', 'create', '--account', 'a')).stdout).toContain(`${server.url}/v1`);
  expect(got).toEqual([]);
});

test('P40: of several gateways the one with this configuration comes first', async () => {
  const at = home();
  at.configure(settings(1));
  const server = await at.serve();
  const without = home({ XDG_DATA_HOME: at.directory });
  const newer = await without.serve();
  expect(await pointed(at)).toBe(`${server.url}/v1`);
  expect(await pointed(without)).toBe(`${newer.url}/v1`);
});

test.runIf(process.platform === 'linux')(
  'P40: a gateway in another network, in maintenance or at its end is not used',
  async () => {
    const { port, got } = await impostor();
    const at = home();
    at.configure(settings(0));
    const folder = dirname(at.database);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const status = { state: 'serving', network: 'net:[1]' };
    const whole = {
      pid: 1,
      version: '0',
      urls: [`http://127.0.0.1:${port}`],
      database: at.database,
      since: '2026-01-01T00:00:00.000Z',
      config: null,
      providers: [],
    };
    const handlers = [{ method: 'GET' as const, path: '/status', handle: () => ({ ...whole, ...status }) }];
    const control = await startControl({ dataFolder: folder, env: {}, handlers, log: silentLog });
    onTestFinished(() => control.close());
    expect(await pointed(at)).not.toContain(`:${port}/`);
    Object.assign(status, { network: null, state: 'maintenance' });
    expect(await pointed(at)).not.toContain(`:${port}/`);
    Object.assign(status, { state: 'stopping' });
    expect(await pointed(at)).not.toContain(`:${port}/`);
    expect(got).toEqual([]);
    // Its address alone is the difference.
    Object.assign(status, { state: 'serving' });
    expect(await pointed(at)).toBe(`http://127.0.0.1:${port}/v1`);
  },
);
