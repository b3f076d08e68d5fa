// What is written to several sockets in a turn of the event loop or two leaves together. A peer that sleeps is woken by the
// first write, which costs the writer 5 µs, and is still awake for the next; and what comes in meanwhile joins.
import { Socket } from 'node:net';
import { createGathering } from './gathering.ts';

/** What is larger is not copied into a text. */
const ONE_TEXT_BYTES = 16 * 1024;

let waiting = new Set<Socket>();
const gather = createGathering(uncorkAll);

/** From now on what is written to `socket` while it is corked, as node:http and undici do, leaves with what
 *  is written to others meanwhile. */
export function writeTogether(socket: Socket): void {
  socket.uncork = uncorkLater;
  socket.end = endNow as Socket['end'];
  socket._writev = writePieces;
}

function uncorkLater(this: Socket): void {
  if (this.writableCorked !== 1 || this.writableLength === 0) {
    uncork(this);
    return;
  }
  waiting.add(this);
  gather();
}

function uncorkAll(): number {
  const sockets = waiting;
  waiting = new Set();
  for (const socket of sockets) uncorkNow(socket);
  return sockets.size;
}

/** What waits goes first: Node 20 never finishes a socket whose last corked bytes leave after its end was asked for. */
function endNow(this: Socket, ...given: Parameters<Socket['end']>): Socket {
  uncorkNow(this);
  return Socket.prototype.end.apply(this, given);
}

interface Piece {
  chunk: Buffer | string;
  encoding: BufferEncoding;
}

/** Small pieces leave as one text: node:net's own way, a writev, takes each of them apart by name (2 % of a small request). */
function writePieces(this: Socket, pieces: Piece[], callback: (error?: Error | null) => void): void {
  const text = this.writableLength > ONE_TEXT_BYTES ? undefined : joined(pieces);
  if (text === undefined) Socket.prototype._writev?.call(this, pieces, callback);
  else this._write(text, 'latin1', callback);
}

/** The pieces as a text of a character a byte; undefined where one of them is text that is not. */
function joined(pieces: readonly Piece[]): string | undefined {
  let text = '';
  for (const { chunk, encoding } of pieces) {
    if (typeof chunk !== 'string') text += chunk.toString('latin1');
    else if (encoding === 'latin1' || chunk === '') text += chunk;
    else return undefined;
  }
  return text;
}

function uncorkNow(socket: Socket): void {
  while (socket.writableCorked > 0) uncork(socket);
}

function uncork(socket: Socket): void {
  Socket.prototype.uncork.call(socket);
}
