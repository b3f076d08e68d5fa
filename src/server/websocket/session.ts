// A WebSocket from its handshake to its close: messages are answered one after the other, each as the request over HTTP that it stands
// for. Loaded when the first client opens one.
import type { Socket } from 'node:net';
import { WebSocketServer, type RawData, type WebSocket } from 'ws';
import { GatewayError } from '../../errors.ts';
import type { GatewayDeps } from '../../gateway/exchange.ts';
import { ownArrival, type Arrival } from '../../gateway/inbound/read-request.ts';
import { infer } from '../../gateway/inference.ts';
import { prepare } from '../../gateway/reply/prepare.ts';
import type { ClientProtocol } from '../../protocols/interface/protocol.ts';
import type { SocketDialect } from '../../protocols/interface/socket.ts';
import type { ClientRequest } from '../client-request.ts';
import type { Connections } from '../connections.ts';
import { refuse } from '../bad-request.ts';
import { AnswerMemories, BOUNDS, LastAnswer } from './last-answer.ts';
import { MessageExchange, type OfConnection } from './message-exchange.ts';
import type { OpenSessions, Session } from './open-sessions.ts';
import { Outbox } from './outbox.ts';

/** https://www.rfc-editor.org/rfc/rfc6455#section-7.4.1 */
const GOING_AWAY = 1001;
const NO_TEXT = 1003;
const POLICY = 1008;

const PING_MS = 30_000;
/** Without a message and without an answer. */
const IDLE_MS = 30 * 60_000;
/** Messages that wait for the answer before them. */
const MOST_WAITING = 16;

/** What it needs of the server. */
export interface SocketDeps {
  deps: GatewayDeps;
  connections: Connections;
  sessions: OpenSessions;
  newRequestId: () => string;
  /** Connections are not kept. */
  closing: () => boolean;
}

interface Opening {
  request: ClientRequest;
  head: Buffer;
  protocol: ClientProtocol;
  dialect: SocketDialect;
}

const memories = new AnswerMemories(BOUNDS);

export function startSession({ request, head, protocol, dialect }: Opening, shared: SocketDeps): void {
  const { socket, incoming, response, requestId } = request;
  const { deps, connections, sessions } = shared;
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // Compressed messages could grow a thousandfold.
    perMessageDeflate: false,
    maxPayload: deps.current.config.limits.maxBody,
  });
  server.on('headers', (headers) => headers.push(`x-request-id: ${requestId}`));
  response.detachSocket(socket);
  server.handleUpgrade(incoming, socket, head, (ws) => {
    const session = new SocketSession(ws, socket, { request, protocol, dialect }, shared);
    connections.handOver(socket);
    session.start();
    sessions.add(socket, session);
  });
  request.closed();
}

interface Message {
  bytes: Buffer;
  /** Before the server began to shut down. */
  arrivedInTime: boolean;
}

class SocketSession implements Session {
  readonly #ws: WebSocket;
  readonly #shared: SocketDeps;
  readonly #arrival: Arrival;
  readonly #dialect: SocketDialect;
  readonly #outbox: Outbox;
  readonly #memory = new LastAnswer(memories);
  readonly #connection: OfConnection;
  #waiting: Message[] = [];
  #waitingBytes = 0;
  #isWorking = false;
  #isLeaving = false;
  /** Something came from the client since the last check. */
  #isAlive = true;
  #usedAt: number;
  #cancelCheck: (() => void) | undefined;

  constructor(
    ws: WebSocket,
    socket: Socket,
    { request, protocol, dialect }: Omit<Opening, 'head'>,
    shared: SocketDeps,
  ) {
    const { path, headers, query } = request;
    this.#ws = ws;
    this.#shared = shared;
    this.#arrival = ownArrival(protocol);
    this.#dialect = dialect;
    this.#outbox = new Outbox(ws, socket);
    const { connections, deps } = shared;
    this.#connection = { socket, path, headers, query, memory: this.#memory, connections };
    this.#usedAt = deps.clock.monotonic();
  }

  start(): void {
    const ws = this.#ws;
    ws.on('message', (data, isBinary) => this.#take(data, isBinary));
    ws.on('ping', () => (this.#isAlive = true));
    ws.on('pong', () => (this.#isAlive = true));
    // ws itself closes after a broken frame or one that is too large.
    ws.on('error', () => undefined);
    ws.on('close', () => this.#closed());
    this.#check();
  }

  leave(): void {
    this.#isLeaving = true;
    if (!this.#isWorking) this.#close();
  }

  #take(data: RawData, isBinary: boolean): void {
    const { deps } = this.#shared;
    this.#isAlive = true;
    // No answer would reach a client to which the close was sent: it sends the message again over another connection.
    if (this.#ws.readyState !== this.#ws.OPEN) return;
    this.#usedAt = deps.clock.monotonic();
    if (isBinary) return this.#ws.close(NO_TEXT, 'messages are JSON text');
    const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as ArrayBuffer);
    this.#waitingBytes += bytes.length;
    this.#waiting.push({ bytes, arrivedInTime: !deps.inFlightLimit.closed });
    const { maxBody } = deps.current.config.limits;
    if (this.#waiting.length > MOST_WAITING || (this.#isWorking && this.#waitingBytes > maxBody)) {
      this.#waiting = [];
      return this.#ws.close(POLICY, 'too many messages wait for the answer before them');
    }
    if (!this.#isWorking) void this.#work();
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    for (let next = this.#next(); next !== undefined; next = this.#next()) await this.#answer(next);
    this.#isWorking = false;
    if (this.#isLeaving || this.#shared.closing()) this.#close();
  }

  #next(): Message | undefined {
    const message = this.#waiting.shift();
    if (message !== undefined) this.#waitingBytes -= message.bytes.length;
    return message;
  }

  /** Never rejects. */
  async #answer({ bytes, arrivedInTime }: Message): Promise<void> {
    const { deps, newRequestId } = this.#shared;
    const { protocol } = this.#arrival;
    const options = { outbox: this.#outbox, protocol, dialect: this.#dialect, clock: deps.clock };
    const exchange = new MessageExchange(this.#connection, arrivedInTime, {
      ...options,
      requestId: newRequestId(),
    });
    this.#memory.beginRequest();
    let isTurnedAway = false;
    try {
      const asked = this.#dialect.read(bytes);
      if (asked.does === 'nothing') exchange.sink.finish();
      else {
        exchange.body = asked.body;
        await (asked.does === 'prepare' ? prepare : infer)(this.#arrival, exchange, deps);
      }
    } catch (error) {
      refuse(exchange, error, deps);
      isTurnedAway = error instanceof GatewayError && error.kind === 'unauthenticated';
    }
    if (!exchange.answered) this.#memory.requestFailed();
    await exchange.over;
    this.#usedAt = deps.clock.monotonic();
    // Nothing that follows could be answered: the server's time is over, or the key is not valid any more.
    if (isTurnedAway || exchange.cancellation.reason instanceof GatewayError) this.#waiting = [];
    if (isTurnedAway) this.#ws.close(POLICY, 'the key is not valid');
  }

  #close(): void {
    this.#ws.close(GOING_AWAY, 'the gateway is shutting down');
  }

  #closed(): void {
    this.#cancelCheck?.();
    this.#waiting = [];
    this.#memory.end();
  }

  /** A client that vanished without a word would keep its place, and its provider, for ever. */
  #check(): void {
    const { clock } = this.#shared.deps;
    this.#cancelCheck = clock.after(PING_MS, () => {
      if (!this.#isAlive) return this.#ws.terminate();
      if (!this.#isWorking && clock.monotonic() - this.#usedAt >= IDLE_MS) {
        return this.#ws.close(GOING_AWAY, 'the connection was idle');
      }
      this.#isAlive = false;
      this.#ws.ping();
      this.#check();
    });
  }
}
