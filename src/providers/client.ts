// The way to providers: connections kept by address and time-out, proxies as the environment names them. Follows no redirect,
// asks for no compression, sends only the headers that it is given.
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { EnvHttpProxyAgent, Agent } from 'undici';
import type { Dispatcher } from 'undici';
import type { Cancellation } from '../cancellation.ts';
import type { Clock } from '../clock.ts';
import { joinWriteBatch } from '../write-batch.ts';
import { connectorFor } from './connector.ts';
import { closedBeforeReply, ProviderExchange, type Call, type ProviderReply } from './provider-exchange.ts';

// undici publishes the socket right before it writes a request to it.
subscribe('undici:client:sendHeaders', (message) => joinWriteBatch((message as { socket: Socket }).socket));

export interface ProviderClient {
  /**
   * Sends one request. Rejects with FailureError where no reply began: refused, reset, DNS, TLS, time-out; with the
   * cancellation's reason where it was cancelled. Once more on a fresh connection where a reused one closed before any byte.
   */
  open(call: Call, cancellation: Cancellation): Promise<ProviderReply>;
  close(): Promise<void>;
}

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
      return new Promise((resolve, reject) => {
        const place = placeOf(call);
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
  const exchange = new ProviderExchange(call, clock, cancellation, resolve, reject);
  agent.dispatch({ origin, path, method, headers, body }, exchange);
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
