// Proxies from the environment: which provider is reached through one, and errors that name the proxy as their cause.
import type { Dispatcher } from 'undici';
import { ConfigError } from '../config/config.ts';
import { isLoopback } from '../loopback.ts';

type Env = Record<string, string | undefined>;

/** In the form of undici's options. */
export interface Proxies {
  httpProxy?: string;
  httpsProxy?: string;
  noProxy?: string;
}

const SCHEMES = ['http:', 'https:'];
const MEND = 'write http://HOST:PORT of an HTTP proxy, or unset it';

/** Throws a ConfigError if a proxy's address is invalid. */
export function readProxies(env: Env): Proxies {
  const faults: string[] = [];
  const read = (...names: string[]): string | undefined => {
    const name = names.find((each) => (env[each] ?? '').trim() !== '');
    const value = name === undefined ? undefined : env[name]?.trim();
    if (name === undefined || value === undefined) return undefined;
    // curl takes `proxy.corp:3128`, too.
    const url = /^[a-z][a-z\d+.-]*:\/\//i.test(value) ? value : `http://${value}`;
    const fault = faultOf(url);
    if (fault === undefined) return url;
    faults.push(`${name} ${fault}; ${MEND}`);
    return undefined;
  };
  const proxies: Proxies = {
    httpProxy: read('http_proxy', 'HTTP_PROXY'),
    httpsProxy: read('https_proxy', 'HTTPS_PROXY'),
    noProxy: env.no_proxy || env.NO_PROXY || undefined,
  };
  if (faults.length > 0) throw new ConfigError(faults);
  return proxies;
}

function faultOf(text: string): string | undefined {
  // The text itself is not shown: it may hold a password.
  if (!URL.canParse(text)) return 'is not the address of a proxy';
  const { protocol, hostname, host } = new URL(text);
  if (hostname !== '' && SCHEMES.includes(protocol)) return undefined;
  if (hostname === '' || !/^socks/.test(protocol)) return 'is not the address of a proxy';
  return `names a SOCKS proxy (${protocol}//${host}), which the gateway cannot use`;
}

export function usesProxy({ hostname, protocol }: URL, { httpProxy, httpsProxy }: Proxies): boolean {
  if (isLoopback(hostname)) return false;
  return (protocol === 'https:' ? (httpsProxy ?? httpProxy) : httpProxy) !== undefined;
}

/** The proxy failed, not the provider behind it. `status`: its answer to CONNECT; undefined if it was not reached. */
export class ProxyFailed extends Error {
  readonly status: number | undefined;
  constructor(status?: number, cause?: Error) {
    super('the proxy failed', { cause });
    this.status = status;
  }
}

/** Turns failures of the connections to a proxy into ProxyFailed. */
export const nameProxyFailures: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) =>
  dispatch(options, {
    onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
    onRequestUpgrade(controller, status, headers, socket) {
      if (status === 200) {
        handler.onRequestUpgrade?.(controller, status, headers, socket);
        return;
      }
      socket.on('error', () => undefined).destroy();
      handler.onResponseError?.(controller, new ProxyFailed(status));
    },
    onResponseError: (controller, error) =>
      handler.onResponseError?.(controller, new ProxyFailed(undefined, error)),
  });
