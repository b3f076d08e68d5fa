// The HTTP client for providers: a pool of connections per origin, connect time-out and way to it (its proxy, its certificates). It follows
// no redirect, asks for no compression, and sends only the headers of the call.
import type { Dispatcher } from 'undici';
import { FailureError } from '../errors.ts';
import type { Cancellation } from '../cancellation.ts';
import type { Clock } from '../clock.ts';
import type { NetworkConfig } from '../config/config.ts';
import type { Authorizer } from './authorizer.ts';
import { closedBeforeReply, ProviderExchange, type ProviderCall, type ProviderReply } from './exchange.ts';
import { type CreateAgent, ownAgents, usualAgents } from './network/agents.ts';
import { readProxies } from './network/proxy.ts';
import type { Environment } from '../environment.ts';

export interface ProviderClient {
  /**
   * Sends one request; once more on a new connection if a reused one closed before any byte of a reply. Rejects with FailureError if
   * no reply began (refused, reset, DNS, TLS, time-out), with the cancellation's reason if it was cancelled.
   */
  open(call: ProviderCall, cancellation: Cancellation): Promise<ProviderReply>;
  /** Closes the connections that no request uses. */
  closeIdle(): void;
  close(): Promise<void>;
}

export function createProviderClient(options: {
  clock: Clock;
  env: Environment;
  /** Called if a connection could not be made for want of descriptors, before it is tried once more. */
  makeRoom?: () => void;
  authorizer?: Authorizer;
  /** Answers calls by itself whose URL begins with `baseUrl`, which begins as the authorizer's. */
  tapes?: Pick<ProviderClient, 'open'> & { readonly baseUrl: string };
}): ProviderClient {
  const { clock, makeRoom, authorizer, tapes } = options;
  const ways = createWays(options.env, clock);

  function openAuthorized(call: ProviderCall, cancellation: Cancellation): Promise<ProviderReply> {
    return new Promise((resolve, reject) => {
      const pools = ways.poolsOf(call.network);
      const destination = pools.destinationOf(call);
      send(destination, call, cancellation, clock, resolve, (error) => {
        const again = (): void => send(destination, call, cancellation, clock, resolve, reject);
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
        // If one connection was idle for too long, the others of its pool were, too.
        pools.renew(destination.pool);
        again();
      });
    });
  }

  return {
    open(call, cancellation) {
      if (authorizer === undefined || !call.url.startsWith(authorizer.baseUrl))
        return openAuthorized(call, cancellation);
      if (tapes !== undefined && call.url.startsWith(tapes.baseUrl)) return tapes.open(call, cancellation);
      const ready = authorizer.authorize(call);
      return ready instanceof Promise
        ? ready.then((authorized) => openAuthorized(authorized, cancellation))
        : openAuthorized(ready, cancellation);
    },
    closeIdle() {
      for (const pools of ways.all()) pools.renewAll();
    },
    async close() {
      await Promise.all([...ways.all().map((pools) => pools.close()), authorizer?.close()]);
    },
  };
}

function isExhausted(error: Error): boolean {
  return error instanceof FailureError && error.failure.kind === 'exhausted';
}

/** The connections to one origin. */
interface OriginPool {
  /** The agent that is used now. */
  agent: Dispatcher;
  create: () => Dispatcher;
}

/** What a URL means to undici. */
interface Destination {
  pool: OriginPool;
  origin: string;
  path: string;
}

interface Pools {
  destinationOf(call: ProviderCall): Destination;
  /** Replaces the agent of `pool`: its idle connections are closed, used ones after their request. */
  renew(pool: OriginPool): void;
  renewAll(): void;
  close(): Promise<void>;
}

interface Ways {
  poolsOf(network: NetworkConfig | undefined): Pools;
  all(): Pools[];
}

/** Providers with the same proxy and certificates share connections, also those of a configuration that was read again. */
function createWays(env: Environment, clock: Clock): Ways {
  const proxies = readProxies(env);
  const usual = createPools(usualAgents(proxies, clock));
  const own = new Map<string, Pools>();
  const known = new WeakMap<NetworkConfig, Pools>();

  function find(network: NetworkConfig): Pools {
    const key = JSON.stringify([network.proxy, network.ca]);
    let pools = own.get(key);
    if (pools === undefined) own.set(key, (pools = createPools(ownAgents(network, proxies, { clock, env }))));
    known.set(network, pools);
    return pools;
  }

  return {
    poolsOf: (network) => (network === undefined ? usual : (known.get(network) ?? find(network))),
    all: () => [usual, ...own.values()],
  };
}

const MOST_DESTINATIONS = 1000;

function createPools(createAgent: CreateAgent): Pools {
  const pools = new Map<string, OriginPool>();
  /** Also those that were replaced, until their last request is over. */
  const agents = new Set<Dispatcher>();
  /** By connect time-out, then by URL, so that a URL is parsed once. */
  const destinations = new Map<number, Map<string, Destination>>();

  function poolFor(url: URL, connect: number): OriginPool {
    const key = `${connect} ${url.origin}`;
    let pool = pools.get(key);
    if (pool === undefined) {
      const create = (): Dispatcher => {
        const agent = createAgent(url, connect);
        agents.add(agent);
        return agent;
      };
      pool = { agent: create(), create };
      pools.set(key, pool);
    }
    return pool;
  }

  function renew(pool: OriginPool): void {
    const { agent } = pool;
    const forget = (): void => void agents.delete(agent);
    pool.agent = pool.create();
    agent.close().then(forget, forget);
  }

  return {
    destinationOf({ url, timeout: { connect } }) {
      let known = destinations.get(connect);
      if (known === undefined) destinations.set(connect, (known = new Map<string, Destination>()));
      let destination = known.get(url);
      if (destination === undefined) {
        const parsed = new URL(url);
        const path = parsed.pathname + parsed.search;
        destination = { pool: poolFor(parsed, connect), origin: parsed.origin, path };
        if (known.size >= MOST_DESTINATIONS) known.clear();
        known.set(url, destination);
      }
      return destination;
    },
    renew,
    renewAll() {
      for (const pool of pools.values()) renew(pool);
    },
    async close() {
      await Promise.all([...agents].map((agent) => agent.destroy()));
    },
  };
}

function send(
  { pool, origin, path }: Destination,
  call: ProviderCall,
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
  pool.agent.dispatch({ origin, path, method, headers, body }, exchange);
}
