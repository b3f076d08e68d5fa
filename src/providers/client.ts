// HTTP towards providers: connections, proxies, time-outs and aborts. Knows bytes, not protocols. Follows no redirect,
// asks for no compression, sends only the headers that it is given.
import { EnvHttpProxyAgent, Agent, buildConnector } from 'undici';
import type { Dispatcher } from 'undici';
import type { Cancellation } from '../cancellation.ts';
import type { Clock } from '../clock.ts';
import { FailureError } from '../canonical/failure.ts';
import type { ProviderFailure } from '../errors.ts';
import { connectionFailure } from './connection-failure.ts';

/** Milliseconds. `firstByte` and `idle` hold for streams, `whole` for a reply that is not streamed. */
export interface Timeouts {
  connect: number;
  firstByte: number;
  idle: number;
  whole: number;
}

export interface Call {
  url: string;
  method: 'POST' | 'GET';
  /** Flat: name, value, name, value. */
  headers: string[];
  body?: Buffer;
  stream: boolean;
  timeout: Timeouts;
}

export interface BodyReader {
  chunk(bytes: Buffer): void;
  /** The body is over. `clean`: as HTTP says (its last chunk, or its length met); else it just stopped. */
  end(clean: boolean): void;
  fail(failure: ProviderFailure): void;
}

export interface ReplyBody {
  /** Called once, before anything is waited for after `open`: what came with the head is kept for it. */
  start(reader: BodyReader): void;
  pause(): void;
  resume(): void;
  /** Ends the exchange; the reader hears no more. */
  abort(): void;
  /** The reader heard enough: what still comes is thrown away, and the connection kept if the end comes soon. */
  release(): void;
}

export interface ProviderReply {
  readonly status: number;
  readonly body: ReplyBody;
  /** `name` in lower case. */
  header(name: string): string | undefined;
  headers(): ReadonlyMap<string, string>;
}

export interface ProviderClient {
  /**
   * Sends one request. Rejects with FailureError where no reply began: refused, reset, DNS, TLS, time-out; with the
   * cancellation's reason where it was cancelled. Once more on a fresh connection where a reused one closed before any byte.
   */
  open(call: Call, cancellation: Cancellation): Promise<ProviderReply>;
  close(): Promise<void>;
}

const ABORTED: ProviderFailure = { kind: 'failed', message: 'the request was aborted', reason: 'aborted' };

/** What may still come of a reply that nobody reads any more, before its connection is given up. */
const RELEASE_BYTES = 64 * 1024;
const RELEASE_MS = 1000;

export function createProviderClient(options: {
  clock: Clock;
  env: Record<string, string | undefined>;
}): ProviderClient {
  const { clock, env } = options;
  const agents = new Map<string, Dispatcher>();

  /** Parsing a URL costs 2 µs; a configuration has few of them. By time-out, then by URL: a joined key costs 1 µs more. */
  const places = new Map<number, Map<string, Place>>();

  function placeOf({ url, timeout: { connect } }: Call): Place {
    let known = places.get(connect);
    if (known === undefined) places.set(connect, (known = new Map<string, Place>()));
    let place = known.get(url);
    if (place === undefined) {
      const parsed = new URL(url);
      place = {
        agent: agentFor(parsed, connect),
        origin: parsed.origin,
        path: parsed.pathname + parsed.search,
      };
      if (known.size >= MOST_PLACES) known.clear();
      known.set(url, place);
    }
    return place;
  }

  function agentFor(url: URL, connect: number): Dispatcher {
    const proxied = usesProxy(url, env);
    const key = `${connect} ${String(proxied)}`;
    let agent = agents.get(key);
    if (agent === undefined) {
      const settings = {
        connections: null,
        pipelining: 1,
        connect: connectorFor(connect),
        headersTimeout: 0,
        bodyTimeout: 0,
      };
      agent = proxied ? new EnvHttpProxyAgent({ ...settings, ...proxySettings(env) }) : new Agent(settings);
      agents.set(key, agent);
    }
    return agent;
  }

  return {
    open(call, cancellation) {
      const place = placeOf(call);
      return new Promise((resolve, reject) => {
        send(place, call, cancellation, clock, resolve, (error) => {
          if (!closedBeforeReply(error) || cancellation.reason !== undefined) reject(error);
          else send(place, call, cancellation, clock, resolve, reject);
        });
      });
    },
    async close() {
      await Promise.all([...agents.values()].map((agent) => agent.destroy()));
    },
  };
}

interface Place {
  agent: Dispatcher;
  origin: string;
  path: string;
}

const MOST_PLACES = 1000;

function send(
  { agent, origin, path }: Place,
  call: Call,
  cancellation: Cancellation,
  clock: Clock,
  resolve: (reply: ProviderReply) => void,
  reject: (error: Error) => void,
): void {
  if (cancellation.reason !== undefined) {
    reject(cancellation.reason);
    return;
  }
  const { method, headers, body = null } = call;
  const exchange = new Exchange(call, clock, cancellation, resolve, reject);
  agent.dispatch({ origin, path, method, headers, body }, exchange);
}

/** One request and its reply: undici's handler, and the body that the gateway reads. */
class Exchange implements Dispatcher.DispatchHandler, ProviderReply, ReplyBody {
  status = 0;

  readonly #timeout: Timeouts;
  readonly #stream: boolean;
  readonly #clock: Clock;
  readonly #cancellation: Cancellation;
  readonly #resolve: (reply: ProviderReply) => void;
  readonly #reject: (error: Error) => void;
  readonly #onCancel = (): void => this.#break(this.#cancellation.reason ?? new Error('cancelled'), ABORTED);
  readonly #startedAt: number;
  #controller: Dispatcher.DispatchController | undefined;
  #headers: RawHeaders = {};
  #cancelTimer: () => void = () => undefined;
  #reader: BodyReader | undefined;
  /** What came before the reader did: of the read that brought the head, no more. The provider is not held back for it,
   *  because undici puts what it has read back into the socket then (10 µs a request, and as much again to collect). */
  #early: Buffer[] = [];
  #heldBack: (() => void) | undefined;
  #lastByteAt = 0;
  #paused = false;
  #framed = false;
  #replied = false;
  #over = false;
  #released = -1;

  constructor(
    call: Call,
    clock: Clock,
    cancellation: Cancellation,
    resolve: (reply: ProviderReply) => void,
    reject: (error: Error) => void,
  ) {
    this.#timeout = call.timeout;
    this.#stream = call.stream;
    this.#clock = clock;
    this.#cancellation = cancellation;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#startedAt = clock.monotonic();
    cancellation.subscribe(this.#onCancel);
    this.#arm(call.stream ? call.timeout.firstByte : call.timeout.whole);
  }

  // -- undici's side --

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#over) controller.abort(new Error('ended before it began'));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: RawHeaders): void {
    if (status < 200) return;
    this.#replied = true;
    this.status = status;
    this.#headers = headers;
    this.#framed = headers['transfer-encoding'] !== undefined || headers['content-length'] !== undefined;
    this.#resolve(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return;
    const first = this.#lastByteAt === 0;
    this.#lastByteAt = this.#clock.monotonic();
    // The one timer still runs for the first byte, which may be allowed much longer than a silence after it.
    if (first && this.#stream && this.#timeout.idle < this.#timeout.firstByte) {
      this.#cancelTimer();
      this.#arm(this.#timeout.idle);
    }
    if (this.#released >= 0) {
      this.#released += chunk.length;
      if (this.#released > RELEASE_BYTES) controller.abort(new Error('more than is worth reading'));
      return;
    }
    if (this.#reader === undefined) this.#early.push(chunk);
    else this.#reader.chunk(chunk);
  }

  onResponseEnd(): void {
    if (this.#over) return;
    const tell = (): void => {
      const quiet = this.#released >= 0;
      this.#finish();
      if (!quiet) this.#reader?.end(this.#framed);
    };
    if (this.#reader === undefined && this.#released < 0) this.#heldBack = tell;
    else tell();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#over) return;
    const failure = connectionFailure(error, this.#replied);
    if (!this.#replied) {
      this.#finish();
      this.#reject(new ConnectionError(failure, error, this.#replied));
      return;
    }
    const tell = (): void => {
      const quiet = this.#released >= 0;
      this.#finish();
      if (!quiet) this.#reader?.fail(failure);
    };
    if (this.#reader === undefined && this.#released < 0) this.#heldBack = tell;
    else tell();
  }

  // -- the gateway's side --

  get body(): ReplyBody {
    return this;
  }

  header(name: string): string | undefined {
    return joined(this.#headers[name]);
  }

  headers(): ReadonlyMap<string, string> {
    const map = new Map<string, string>();
    for (const [name, value] of Object.entries(this.#headers)) map.set(name, joined(value) ?? '');
    return map;
  }

  start(reader: BodyReader): void {
    this.#reader = reader;
    if (!this.#over) {
      const early = this.#early;
      this.#early = [];
      for (const chunk of early) {
        reader.chunk(chunk);
        // The reader may end the exchange: then it hears no more.
        if (this.#over) return;
      }
    }
    this.#heldBack?.();
  }

  pause(): void {
    this.#paused = true;
    this.#controller?.pause();
  }

  resume(): void {
    this.#paused = false;
    // A client that read slowly is not a provider that was silent.
    this.#lastByteAt = this.#clock.monotonic();
    this.#controller?.resume();
  }

  abort(): void {
    this.#stop(new Error('the gateway needs no more of it'));
  }

  release(): void {
    if (this.#over) return;
    this.#released = 0;
    this.#early = [];
    this.#cancelTimer();
    this.#cancelTimer = this.#clock.after(RELEASE_MS, () => this.abort());
    this.#controller?.resume();
  }

  // -- time --

  #arm(ms: number): void {
    this.#cancelTimer = this.#clock.after(Math.max(ms, 1), () => this.#expire());
  }

  /** One timer a request: it looks at the time of the last byte instead of being set anew for each. */
  #expire(): void {
    const silent = this.#lastByteAt > 0;
    if (this.#stream && silent) {
      const since = this.#clock.monotonic() - this.#lastByteAt;
      const left = this.#paused ? this.#timeout.idle : this.#timeout.idle - since;
      if (left > 0) {
        this.#arm(left);
        return;
      }
    }
    const phase = !this.#stream ? 'whole' : silent ? 'idle' : 'first_byte';
    const seconds = Math.round((this.#clock.monotonic() - this.#startedAt) / 100) / 10;
    const failure: ProviderFailure = {
      kind: 'timeout',
      message: `the provider did not ${silent ? 'go on' : 'answer'} in time (${seconds} s)`,
      reason: `${phase}_timeout`,
    };
    this.#break(new ConnectionError(failure, undefined, this.#replied), failure);
  }

  /** Ends the exchange and tells whoever waits for it: the caller of `open`, or the reader of the body. */
  #break(reason: Error, failure: ProviderFailure): void {
    if (this.#over) return;
    const quiet = this.#released >= 0;
    this.#stop(reason);
    if (!this.#replied) this.#reject(reason);
    else if (this.#reader === undefined) this.#heldBack = () => this.#reader?.fail(failure);
    else if (!quiet) this.#reader.fail(failure);
  }

  #stop(reason: Error): void {
    if (this.#over) return;
    this.#finish();
    this.#controller?.abort(reason);
  }

  #finish(): void {
    this.#over = true;
    this.#cancelTimer();
    this.#cancellation.unsubscribe(this.#onCancel);
  }
}

/** A connection that failed before or while it answered. `retry`: a reused connection closed before any byte of a reply. */
class ConnectionError extends FailureError {
  readonly retry: boolean;
  constructor(failure: ProviderFailure, cause: Error | undefined, replied: boolean) {
    super(failure);
    this.cause = cause;
    this.retry = !replied && reusedConnectionClosed(cause);
  }
}

function closedBeforeReply(error: unknown): boolean {
  return error instanceof ConnectionError && error.retry;
}

/** undici tells how many bytes a failed socket had read before: more than none means that it had served a reply. */
function reusedConnectionClosed(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, socket } = error as { code?: string; socket?: { bytesRead?: number } };
  if (code === 'UND_ERR_SOCKET') return (socket?.bytesRead ?? 0) > 0;
  return brokeAfterUse.has(error);
}

/** Errors of sockets that had read something before: undici hands on the system's own error, which does not tell. */
const brokeAfterUse = new WeakSet<Error>();

function connectorFor(timeout: number): buildConnector.connector {
  const connect = buildConnector({ timeout });
  return (options, callback) => {
    connect(options, (...connected) => {
      const [, socket] = connected;
      socket?.prependListener('error', (error: Error) => {
        if (socket.bytesRead > 0) brokeAfterUse.add(error);
      });
      callback(...connected);
    });
  };
}

type RawHeaders = Record<string, string | string[] | undefined>;

function joined(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}

function usesProxy(url: URL, env: Record<string, string | undefined>): boolean {
  if (isLoopback(url.hostname)) return false;
  const { httpProxy, httpsProxy } = proxySettings(env);
  return (url.protocol === 'https:' ? httpsProxy : httpProxy) !== undefined;
}

function proxySettings(env: Record<string, string | undefined>): {
  httpProxy?: string;
  httpsProxy?: string;
  noProxy?: string;
} {
  const httpProxy = env.http_proxy || env.HTTP_PROXY || undefined;
  const httpsProxy = env.https_proxy || env.HTTPS_PROXY || undefined;
  const noProxy = env.no_proxy || env.NO_PROXY || undefined;
  return { httpProxy, httpsProxy, noProxy };
}

export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  return (
    host === 'localhost' || host.endsWith('.localhost') || host === '::1' || /^127(\.\d+){3}$/.test(host)
  );
}
