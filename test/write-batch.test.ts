// Batched writes on real sockets: all bytes arrive, in order; a write that is alone leaves at once, others at the turn's end.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { endInWriteBatch, joinWriteBatch } from '../src/write-batch.ts';

async function pair(): Promise<{ socket: Socket; received: Promise<string> }> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const received = new Promise<string>((resolve) => {
    server.once('connection', (peer) => {
      let text = '';
      peer.setEncoding('latin1').on('data', (data: string) => (text += data));
      peer.on('error', () => undefined);
      peer.on('close', () => {
        resolve(text);
        server.close();
      });
    });
  });
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return { socket, received };
}

function write(socket: Socket, text: string): boolean {
  joinWriteBatch(socket);
  return socket.write(text, 'latin1');
}

async function batchLeft(): Promise<void> {
  await turn();
  await turn();
}

/** Time stands still unless a test moves it on. The batch of the test before has left and was of one socket. */
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const { socket } = await pair();
  for (const text of ['a', 'b']) {
    vi.advanceTimersByTime(1);
    write(socket, text);
    await batchLeft();
  }
  vi.advanceTimersByTime(1);
});
afterEach(() => void vi.useRealTimers());

it('holds writes until the turn has ended, then writes all of them in order', async () => {
  const [first, second] = [await pair(), await pair()];
  write(second.socket, '0');
  write(first.socket, 'ab');
  write(second.socket, '1');
  write(first.socket, 'c');
  first.socket.write('d');
  expect([first.socket.writableLength, second.socket.writableLength]).toEqual([4, 1]);
  await batchLeft();
  expect([first.socket.writableLength, second.socket.writableLength]).toEqual([0, 0]);
  first.socket.end('e');
  second.socket.end('2');
  expect(await first.received).toBe('abcde');
  expect(await second.received).toBe('012');
});

it('ends an answer when the batch leaves, behind what was written to it', async () => {
  const [first, second] = [await pair(), await pair()];
  write(second.socket, '0');
  write(first.socket, 'ab');
  for (const { socket } of [first, second]) endInWriteBatch(socket, () => void socket.end('z'));
  expect([first.socket.writableEnded, second.socket.writableEnded]).toEqual([false, false]);
  await batchLeft();
  expect([first.socket.writableEnded, second.socket.writableEnded]).toEqual([true, true]);
  expect([await first.received, await second.received]).toEqual(['abz', '0z']);
});

it('ends an answer at once that is alone', async () => {
  const { socket, received } = await pair();
  endInWriteBatch(socket, () => void socket.end('a'));
  expect(socket.writableEnded).toBe(true);
  expect(await received).toBe('a');
});

it('writes at once what is alone, and again after one write that turned out to be alone', async () => {
  const [{ socket, received }, other] = [await pair(), await pair()];
  const isHeld = async (text: string): Promise<boolean> => {
    vi.advanceTimersByTime(1);
    write(socket, text);
    const held = socket.writableLength > 0;
    await batchLeft();
    return held;
  };
  expect([await isHeld('a'), await isHeld('b')]).toEqual([false, false]);
  vi.advanceTimersByTime(1);
  write(other.socket, '1');
  write(socket, 'c');
  await batchLeft();
  write(other.socket, '2');
  write(socket, 'd');
  await batchLeft();
  expect([await isHeld('e'), await isHeld('f')]).toEqual([true, false]);
  socket.end();
  expect(await received).toBe('abcdef');
});

it('writes what a socket holds before the end that follows in the same turn', async () => {
  const { socket, received } = await pair();
  write((await pair()).socket, '0');
  write(socket, 'x'.repeat(200_000));
  socket.end('y');
  expect(await received).toBe(`${'x'.repeat(200_000)}y`);
});

it('tells the writer to wait for a drain, which comes once the batch has left', async () => {
  const { socket, received } = await pair();
  write((await pair()).socket, '0');
  expect(write(socket, 'x'.repeat(200_000))).toBe(false);
  await once(socket, 'drain');
  socket.end();
  expect(await received).toHaveLength(200_000);
});

it('passes over a socket that was destroyed meanwhile', async () => {
  const { socket, received } = await pair();
  const other = await pair();
  write(other.socket, '0');
  write(socket, 'a');
  socket.destroy();
  await batchLeft();
  expect(other.socket.writableLength).toBe(0);
  expect(await received).toBe('');
});
