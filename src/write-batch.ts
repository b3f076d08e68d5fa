// Writes to several sockets leave together, at most one or two turns of the event loop later: the first write wakes a sleeping peer, which is
// still awake for the next. A single write leaves at once.
import type { Socket } from 'node:net';

/** Milliseconds without a write, after which the next one counts as alone if the last one was. */
const ALONE_MS = 0.25;
/** Writes wait no longer than this while the process works. A turn of the event loop that lasted longer was busy: its writes don't
 *  wait for another turn. */
const BUSY_TURN_MS = 1;

/** The end of the answer, if the answer ends with this batch. */
type Ending = ((socket: Socket) => void) | undefined;

let corked = new Map<Socket, Ending>();
let scheduled = false;
let lastAt = 0;
/** Sockets of the last batch. */
let batchSize = 0;
/** A write since the last batch that left at once. */
let alone = 0;

/**
 * To be called before each write to `socket`: corks it until the batch leaves. Figures: docs/decisions/0007-write-batches.md.
 */
export function joinWriteBatch(socket: Socket): void {
  if (corked.has(socket) || leavesAlone()) return;
  socket.cork();
  corked.set(socket, undefined);
}

/** Calls `end`, which ends an answer on `socket`, when the batch leaves: node:http uncorks the socket of an answer that ends. */
export function endInWriteBatch(socket: Socket, end: (socket: Socket) => void): void {
  if (corked.has(socket) || !leavesAlone()) corked.set(socket, end);
  else end(socket);
}

function leavesAlone(): boolean {
  const now = performance.now();
  if (scheduled) {
    if (now - lastAt > BUSY_TURN_MS) {
      lastAt = now;
      leave();
    }
    return false;
  }
  const isAlone = batchSize <= 1 && now - lastAt > ALONE_MS;
  lastAt = now;
  if (isAlone) {
    alone = 1;
    return true;
  }
  scheduled = true;
  setImmediate(waitOneMoreTurn);
  return false;
}

/** No timer: an idle event loop comes to its next turn at once. */
function waitOneMoreTurn(): void {
  if (performance.now() - lastAt > BUSY_TURN_MS) flush();
  else setImmediate(flush);
}

function flush(): void {
  scheduled = false;
  leave();
}

function leave(): void {
  const sockets = corked;
  corked = new Map();
  batchSize = sockets.size + alone;
  alone = 0;
  for (const [socket, end] of sockets) {
    end?.(socket);
    socket.uncork();
  }
}
