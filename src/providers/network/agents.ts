// undici's agents for each way to a provider: directly, through a proxy of the environment, through a proxy of its own, with certificates
// of its own.
import { readFileSync } from 'node:fs';
import type * as tls from 'node:tls';
import { Agent, buildConnector, EnvHttpProxyAgent, Pool, ProxyAgent } from 'undici';
import type { Dispatcher } from 'undici';
import type { Clock } from '../../clock.ts';
import type { NetworkConfig } from '../../config/config.ts';
import type { Environment } from '../../environment.ts';
import { preparing } from '../connection.ts';
import { racing } from './address-race.ts';
import { ENVIRONMENT, nameProxyFailures, OWN_PROXY, usesProxy, type Proxies } from './proxy.ts';
import { throughSocks5 } from './socks5.ts';

/** `timeout`: milliseconds for a connection. */
export type CreateAgent = (url: URL, timeout: number) => Dispatcher;

const SETTINGS = { connections: null, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 };

/** The usual way, as the environment says it. */
export function usualAgents(proxies: Proxies, clock: Clock): CreateAgent {
  return (url, timeout) =>
    usesProxy(url, proxies) ? environmentAgent(timeout, proxies, clock) : directAgent({ timeout }, clock);
}

/** The connections of one provider. `proxies`: those of the environment, for a provider without its own. */
export function ownAgents(
  { proxy, ca }: NetworkConfig,
  proxies: Proxies,
  { clock, env }: { clock: Clock; env: Environment },
): CreateAgent {
  let context: tls.SecureContext | undefined;
  return (url, timeout) => {
    if (ca !== undefined) context ??= trusting(ca, env);
    const tls: Tls = { timeout, ...(context !== undefined && { secureContext: context }) };
    if (proxy === undefined && usesProxy(url, proxies)) return environmentAgent(timeout, proxies, clock, tls);
    if (proxy === undefined || proxy === 'off') return directAgent(tls, clock);
    const address = new URL(proxy);
    return address.protocol.startsWith('socks')
      ? socks5Agent(address, tls, clock)
      : httpProxyAgent(address, tls);
  };
}

interface Tls {
  timeout: number;
  secureContext?: tls.SecureContext;
}

function directAgent(tls: Tls, clock: Clock): Dispatcher {
  const connect = preparing(racing(buildConnector(tls), { clock }));
  return new Agent({ ...SETTINGS, connect });
}

const factory = (origin: string | URL, options: Pool.Options): Pool =>
  new Pool(origin, { ...options, connect: preparing(options.connect as buildConnector.connector) });

function environmentAgent(
  timeout: number,
  { httpProxy, httpsProxy, noProxy }: Proxies,
  clock: Clock,
  requestTls: Tls = { timeout },
): Dispatcher {
  return new EnvHttpProxyAgent({
    ...SETTINGS,
    httpProxy,
    httpsProxy,
    noProxy,
    connect: racing(buildConnector(requestTls), { clock }),
    proxyTls: { timeout },
    requestTls,
    clientFactory: (origin, options) => new Pool(origin, options).compose(nameProxyFailures(ENVIRONMENT)),
    factory,
  });
}

/** A proxy by TLS may have the company's certificate, too. */
function httpProxyAgent({ href }: URL, tls: Tls): Dispatcher {
  return new ProxyAgent({
    ...SETTINGS,
    uri: href,
    proxyTls: tls,
    requestTls: tls,
    clientFactory: (origin, options) => new Pool(origin, options).compose(nameProxyFailures(OWN_PROXY)),
    factory,
  });
}

function socks5Agent(proxy: URL, tls: Tls, clock: Clock): Dispatcher {
  const { timeout } = tls;
  const connect = racing(buildConnector({ timeout }), { clock });
  const secure = buildConnector(tls);
  return new Agent({
    ...SETTINGS,
    connect: preparing(throughSocks5({ proxy, connect, secure, timeout, clock })),
  });
}

/** What Node trusts, and these. Made once: reading all public certificates takes some milliseconds. */
function trusting(ca: string, env: Environment): tls.SecureContext {
  const { createSecureContext, getCACertificates, rootCertificates } = process.getBuiltinModule(
    'node:tls',
  ) as LaterTls;
  const usual = getCACertificates?.('default') ?? [...rootCertificates, ...extraCertificates(env)];
  return createSecureContext({ ca: [...usual, ca] });
}

type LaterTls = typeof tls & {
  /** Since Node 22.15. */
  getCACertificates?: (type: 'default') => string[];
};

/** Older versions of Node do not say which certificates NODE_EXTRA_CA_CERTS added. */
function extraCertificates({ NODE_EXTRA_CA_CERTS: file = '' }: Environment): string[] {
  try {
    return file === '' ? [] : [readFileSync(file, 'utf8')];
  } catch {
    // Node itself has warned of it.
    return [];
  }
}
