// Writes of one turn of the event loop, on real sockets: all of them arrive, in order, and only one that is alone before the
// turn's end.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { writeTogether } from '../src/turn-writes.ts';

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
  writeTogether(socket);
  return { socket, received };
}

/** Time stands still where a test does not move it on. */
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

function writeCorked(socket: Socket, ...pieces: string[]): void {
  socket.cork();
  for (const piece of pieces) socket.write(piece);
  socket.uncork();
}

it('holds what is written corked until the turn ends, then writes all of it in order', async () => {
  const { socket, received } = await pair();
  const other = await pair();
  writeCorked(other.socket, '0');
  writeCorked(socket, 'a', 'b');
  writeCorked(other.socket, '1');
  writeCorked(socket, 'c');
  socket.write('d');
  expect([socket.bytesWritten - socket.writableLength, socket.writableLength]).toEqual([0, 4]);
  await turn();
  await turn();
  expect([socket.writableLength, other.socket.writableLength]).toEqual([0, 0]);
  writeCorked(socket, 'e');
  socket.end();
  other.socket.end('2');
  expect(await received).toBe('abcde');
  expect(await other.received).toBe('012');
});

it('writes at once what is alone, and again when nothing else was written with the last', async () => {
  const { socket, received } = await pair();
  const heldBack = async (text: string): Promise<boolean> => {
    vi.advanceTimersByTime(1);
    writeCorked(socket, text);
    const held = socket.writableLength > 0;
    await turn();
    await turn();
    return held;
  };
  await heldBack('a');
  expect([await heldBack('b'), await heldBack('c')]).toEqual([false, false]);
  const other = await pair();
  writeCorked(other.socket, '1');
  writeCorked(socket, 'd');
  await turn();
  await turn();
  expect([await heldBack('e'), await heldBack('f'), await heldBack('g')]).toEqual([true, false, false]);
  socket.end();
  expect(await received).toBe('abcdefg');
});

it('leaves a socket corked that its owner corked twice, until he uncorked it twice', async () => {
  const { socket, received } = await pair();
  socket.cork();
  writeCorked(socket, 'a');
  await turn();
  await turn();
  expect(socket.writableLength).toBe(1);
  socket.uncork();
  await turn();
  await turn();
  expect(socket.writableLength).toBe(0);
  socket.end();
  expect(await received).toBe('a');
});

it('writes what was corked before the end that follows in the same turn', async () => {
  const { socket, received } = await pair();
  writeCorked(socket, 'x'.repeat(200_000));
  socket.end('y');
  expect(await received).toBe(`${'x'.repeat(200_000)}y`);
});

it('tells a drain after a write that was more than the socket wants to hold', async () => {
  const { socket, received } = await pair();
  socket.cork();
  expect(socket.write('x'.repeat(200_000))).toBe(false);
  socket.uncork();
  await once(socket, 'drain');
  socket.end();
  expect(await received).toHaveLength(200_000);
});

it.each([
  ['texts and bytes', ['a', Buffer.from([0, 0xff, 0x80]), '', 'b'] as const],
  ['text of several bytes a character among them', ['a', 'ä€😀', Buffer.from('b')] as const],
  ['more than is copied', ['x'.repeat(20_000), Buffer.alloc(20_000, 'y'), ''] as const],
])('writes %s as they would be one by one', async (_, pieces) => {
  const { socket, received } = await pair();
  const done: number[] = [];
  socket.cork();
  for (const [index, piece] of pieces.entries()) {
    const tell = (): unknown => done.push(index);
    if (typeof piece !== 'string') socket.write(piece, tell);
    else socket.write(piece, Buffer.byteLength(piece) === piece.length ? 'latin1' : 'utf8', tell);
  }
  socket.uncork();
  socket.end();
  expect(await received).toBe(Buffer.concat(pieces.map((piece) => Buffer.from(piece))).toString('latin1'));
  expect(done).toEqual([...pieces.keys()]);
});

it('drops what a destroyed socket had still to write', async () => {
  const { socket, received } = await pair();
  writeCorked(socket, 'a');
  socket.destroy();
  await turn();
  expect(await received).toBe('');
});

it('writes without being corked as ever: at once', async () => {
  const { socket, received } = await pair();
  socket.write('a');
  expect(socket.writableLength).toBe(0);
  socket.end();
  expect(await received).toBe('a');
});
