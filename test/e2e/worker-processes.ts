// What tests of `gateway serve --workers` have in common: the gateway's state, requests that any worker may get, streams that stay open.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { call, findGateways, type RunningGateway } from '../../src/control/client.ts';
import { isStatus, type GatewayStatus } from '../../src/control/calls.ts';
import { content, FINISH, START, TERMINAL } from '../gateway/wire.ts';
import { provider } from '../helpers/gateway.ts';
import { home, type Home, type Server } from '../helpers/process.ts';
import { rawClient, rawRequest } from '../helpers/raw-client.ts';
import { gate, scriptedProvider, type ScriptedProvider } from '../helpers/scripted-provider.ts';

export const WORKERS = ['--workers', '2'];

/** What `gateway status` reads, without the cost of a process. */
export async function statusOf(shell: Home): Promise<GatewayStatus> {
  return (await found(shell)).status;
}

/** A busy machine answers late. */
export async function found({ directory }: Home): Promise<RunningGateway> {
  for (;;) {
    const { running, silent } = await findGateways(`${directory}/gateway`, {});
    const [gateway] = running;
    if (gateway !== undefined) return gateway;
    if (silent.length === 0) throw new Error('no gateway is found');
  }
}

export async function reload(shell: Home): Promise<GatewayStatus> {
  await call(await found(shell), 'POST', '/reload');
  let status = await statusOf(shell);
  while (status.reloading === true) {
    await sleep(50);
    status = await statusOf(shell);
  }
  expect(isStatus(status)).toBe(true);
  return status;
}

/** Waits until two workers serve and no other is left. `killed`: a process that is none of them. */
export async function bothServe(shell: Home, killed?: number): Promise<void> {
  const states = async (): Promise<string[] | undefined> =>
    (await statusOf(shell)).workers?.map(({ pid, state }) => (pid === killed ? 'killed' : state));
  await expect.poll(states).toEqual(['serving', 'serving']);
}

/** One request on a connection of its own, so that any worker may get it. Resolves to the status, 0 if there is no answer. */
export async function askOnce(to: Target, model = 'sim/echo'): Promise<number> {
  const client = await rawClient(to.url);
  const body = { model, messages: [{ role: 'user', content: 'hello' }] };
  client.send(rawRequest({ key: to.key }, body, ['content-type: application/json', 'connection: close']));
  return Number(/^HTTP\/1\.1 (\d+)/.exec(await client.closed)?.[1] ?? 0);
}

export interface Target {
  url: string;
  key: string;
}

export interface Streams {
  /** Opens streams that end when the gate is open. */
  open: (count: number) => Promise<{ text: Promise<string> }[]>;
  end: ReturnType<typeof gate>;
}

/** Streams of the model `m` of a provider. */
export function streamsOf(upstream: ScriptedProvider, to: Target): Streams {
  const end = gate();
  upstream.playAlways({
    steps: [START.chat, content('chat', 'a'), end.opened, FINISH.chat, TERMINAL.chat],
  });
  async function open(count: number): Promise<{ text: Promise<string> }[]> {
    const clients = await Promise.all(Array.from({ length: count }, () => rawClient(to.url)));
    const body = { model: 'm', stream: true, messages: [{ role: 'user', content: 'hello' }] };
    for (const client of clients) {
      client.send(rawRequest({ key: to.key }, body, ['content-type: application/json', 'connection: close']));
    }
    await Promise.all(clients.map((client) => client.until('"a"')));
    return clients.map(({ closed }) => ({ text: closed }));
  }
  return { open, end };
}

export async function withStreams(): Promise<Streams & { shell: Home; server: Server }> {
  const upstream = await scriptedProvider();
  const shell = home();
  shell.configure({
    providers: { p: provider(upstream.url, 'chat', ['m']) },
    limits: { shutdown_grace: '20s' },
  });
  const server = await shell.serve(...WORKERS);
  const to = { url: server.url, key: await shell.newKey('unlimited') };
  return { shell, server, ...streamsOf(upstream, to) };
}
