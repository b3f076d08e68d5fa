// The way to providers: connections kept by address and time-out, proxies as the environment names them. Follows no redirect,
// asks for no compression, sends only the headers that it is given.
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { Agent, buildConnector, EnvHttpProxyAgent, Pool } from 'undici';
import type { Dispatcher } from 'undici';
import { FailureError } from '../errors.ts';
import type { Cancellation } from '../cancellation.ts';
import type { Clock } from '../clock.ts';
import { joinWriteBatch } from '../write-batch.ts';
import { watched } from './connector.ts';
import { closedBeforeReply, ProviderExchange, type Call, type ProviderReply } from './exchange.ts';
import { nameProxyFailures, readProxies, usesProxy, type Proxies } from './proxy.ts';

// undici publishes the socket right before it writes a request to it.
subscribe('undici:client:sendHeaders', (message) => joinWriteBatch((message as { socket: Socket }).socket));

export interface ProviderClient {
  /**
   * Sends one request. Rejects with FailureError where no reply began: refused, reset, DNS, TLS, time-out; with the
   * cancellation's reason where it was cancelled. Once more on a fresh connection where a reused one closed before any byte.
   */
  open(call: Call, cancellation: Cancellation): Promise<ProviderReply>;
  /** Closes the connections that no request uses. */
  closeIdle(): void;
  close(): Promise<void>;
}

export function createProviderClient(options: {
  clock: Clock;
  env: Record<string, string | undefined>;
  /** Called where a connection could not be made for want of descriptors, before it is tried once more. */
  makeRoom?: () => void;
}): ProviderClient {
  const { clock, makeRoom } = options;
  const proxies = readProxies(options.env);
  const lanes = new Map<string, Lane>();
  /** Those that were replaced too, until their last request is over. */
  const agents = new Set<Dispatcher>();

  /** Parsing a URL costs 2 µs; a configuration has few of them. By time-out, then by URL: a joined key costs 1 µs more. */
  const places = new Map<number, Map<string, Place>>();

  function placeOf({ url, timeout: { connect } }: Call): Place {
    let known = places.get(connect);
    if (known === undefined) places.set(connect, (known = new Map<string, Place>()));
    let place = known.get(url);
    if (place === undefined) {
      const parsed = new URL(url);
      place = {
        lane: laneTo(parsed, connect),
        origin: parsed.origin,
        path: parsed.pathname + parsed.search,
      };
      if (known.size >= MOST_PLACES) known.clear();
      known.set(url, place);
    }
    return place;
  }

  function laneTo(url: URL, connect: number): Lane {
    const proxied = usesProxy(url, proxies);
    const key = `${connect} ${url.origin}`;
    let lane = lanes.get(key);
    if (lane === undefined) {
      const create = (): Dispatcher => {
        const agent = proxied ? proxyAgent(connect, proxies) : directAgent(connect);
        agents.add(agent);
        return agent;
      };
      lane = { agent: create(), create };
      lanes.set(key, lane);
    }
    return lane;
  }

  /** From now on the connections to the origin are new; idle ones are closed, used ones after their request. */
  function renew(lane: Lane): void {
    const { agent } = lane;
    const forget = (): void => void agents.delete(agent);
    lane.agent = lane.create();
    agent.close().then(forget, forget);
  }

  return {
    open(call, cancellation) {
      return new Promise((resolve, reject) => {
        const place = placeOf(call);
        send(place, call, cancellation, clock, resolve, (error) => {
          const again = (): void => send(place, call, cancellation, clock, resolve, reject);
          if (makeRoom !== undefined && isExhausted(error)) {
            makeRoom();
            // Connections close within the turn.
            setImmediate(again);
            return;
          }
          if (!closedBeforeReply(error) || cancellation.reason !== undefined) {
            reject(error);
            return;
          }
          // One connection that was idle for too long means that the others were, too.
          renew(place.lane);
          again();
        });
      });
    },
    closeIdle() {
      for (const lane of lanes.values()) renew(lane);
    },
    async close() {
      await Promise.all([...agents].map((agent) => agent.destroy()));
    },
  };
}

/** The way to one origin. */
interface Lane {
  /** The one that is used now. */
  agent: Dispatcher;
  create: () => Dispatcher;
}

function isExhausted(error: Error): boolean {
  return error instanceof FailureError && error.failure.kind === 'exhausted';
}

interface Place {
  lane: Lane;
  origin: string;
  path: string;
}

const MOST_PLACES = 1000;

function send(
  { lane, origin, path }: Place,
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
  const exchange = new ProviderExchange(call, clock, cancellation, resolve, reject);
  lane.agent.dispatch({ origin, path, method, headers, body }, exchange);
}

const SETTINGS = { connections: null, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 };

function directAgent(timeout: number): Dispatcher {
  return new Agent({ ...SETTINGS, connect: watched(buildConnector({ timeout })) });
}

function proxyAgent(timeout: number, proxies: Proxies): Dispatcher {
  const tls: buildConnector.BuildOptions = { timeout };
  return new EnvHttpProxyAgent({
    ...SETTINGS,
    ...proxies,
    connect: buildConnector({ timeout }),
    proxyTls: tls,
    requestTls: tls,
    clientFactory: (origin, options) => new Pool(origin, options).compose(nameProxyFailures),
    factory: (origin, options: Pool.Options) =>
      new Pool(origin, { ...options, connect: watched(options.connect as buildConnector.connector) }),
  });
}
