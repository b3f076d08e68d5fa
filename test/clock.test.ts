// The real clock, in a process that is held for longer than its timers: stopped, suspended, or busy.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../src/clock.ts';
import { hold } from './helpers/hold.ts';

async function pair(): Promise<[Socket, Socket]> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const here = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [there] = await accepted;
  onTestFinished(() => {
    for (const socket of [here, there]) socket.destroy();
    server.close();
  });
  return [here, there];
}

test('a task that is due runs after the bytes that wait were read', async () => {
  const [here, there] = await pair();
  let read = '';
  here.setEncoding('latin1').on('data', (text: string) => (read += text));
  const seen = new Promise<string>((resolve) => systemClock.after(20, () => resolve(read)));
  there.write('bytes');
  hold(60);
  expect(await seen).toBe('bytes');
});

test('a task that is due is cancelled by what was read', async () => {
  const [here, there] = await pair();
  let ran = false;
  const cancel = systemClock.after(20, () => (ran = true));
  const cancelled = once(here, 'data').then(cancel);
  there.write('bytes');
  hold(60);
  await cancelled;
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(ran).toBe(false);
});
