// Proxies from the environment: which provider is reached through one, and errors that name the proxy as their cause.
import { BlockList, isIP } from 'node:net';
import type { Dispatcher } from 'undici';
import { ConfigError } from '../../config/config.ts';
import { isLoopback } from '../../loopback.ts';
import type { Environment } from '../../environment.ts';

/** In the form of undici's options. */
export interface Proxies {
  httpProxy?: string;
  httpsProxy?: string;
  noProxy?: string;
  /** Of `noProxy`: addresses in these networks are reached without a proxy. */
  networks: BlockList;
}

const SCHEMES = ['http:', 'https:'];
const MEND = 'write http://HOST:PORT of an HTTP proxy, or unset it';

/** Throws a ConfigError if a proxy's address is invalid. */
export function readProxies(env: Environment): Proxies {
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
  const http = read('http_proxy', 'HTTP_PROXY');
  const https = read('https_proxy', 'HTTPS_PROXY');
  // Read only when it would be used: beside the other variables it often names a SOCKS proxy.
  const all = http === undefined ? read('all_proxy', 'ALL_PROXY') : undefined;
  const noProxy = env.no_proxy || env.NO_PROXY || undefined;
  const proxies: Proxies = {
    httpProxy: http ?? all,
    httpsProxy: https ?? http ?? all,
    noProxy,
    networks: networksIn(noProxy),
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

/** `10.0.0.0/8` and `fd00::/8`; what is no network stays for undici, which knows names and their endings. */
function networksIn(list = ''): BlockList {
  const networks = new BlockList();
  for (const item of list.split(/[\s,]+/)) {
    const [, address = '', bits = ''] = /^\[?([\da-f.:]+)\]?\/(\d{1,3})$/i.exec(item) ?? [];
    const version = isIP(address);
    if (version === 0 || Number(bits) > (version === 4 ? 32 : 128)) continue;
    networks.addSubnet(address, Number(bits), version === 4 ? 'ipv4' : 'ipv6');
  }
  return networks;
}

export function usesProxy(
  { hostname, protocol }: URL,
  { httpProxy, httpsProxy, networks }: Proxies,
): boolean {
  if (isLoopback(hostname)) return false;
  const address = hostname.replace(/^\[|\]$/g, '');
  const version = isIP(address);
  if (version !== 0 && networks.check(address, version === 4 ? 'ipv4' : 'ipv6')) return false;
  return (protocol === 'https:' ? httpsProxy : httpProxy) !== undefined;
}

/** Where the address of a proxy stands, for the words of its failures. */
interface ProxyPlace {
  name: string;
  mend: string;
}

export const ENVIRONMENT: ProxyPlace = {
  name: 'HTTPS_PROXY or HTTP_PROXY',
  mend: 'start it, or correct or unset the variable',
};
export const OWN_PROXY: ProxyPlace = {
  name: 'proxy of the provider',
  mend: 'start it, or correct its address',
};

interface ProxyFailure {
  /** The proxy's answer to CONNECT. */
  status?: number;
  /** What the proxy did, in other words than a status. */
  refusal?: string;
  /** The proxy was not reached. */
  cause?: Error;
}

/** The proxy failed, not the provider behind it. */
export class ProxyFailed extends Error {
  readonly place: ProxyPlace;
  readonly status: number | undefined;
  readonly refusal: string | undefined;
  constructor(place: ProxyPlace, { status, refusal, cause }: ProxyFailure) {
    super('the proxy failed', { cause });
    this.place = place;
    this.status = status;
    this.refusal = refusal;
  }
}

/** Turns failures of the connections to a proxy into ProxyFailed. */
export function nameProxyFailures(place: ProxyPlace): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) =>
    dispatch(options, {
      onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
      onRequestUpgrade(controller, status, headers, socket) {
        if (status === 200) {
          handler.onRequestUpgrade?.(controller, status, headers, socket);
          return;
        }
        socket.on('error', () => undefined).destroy();
        handler.onResponseError?.(controller, new ProxyFailed(place, { status }));
      },
      onResponseError: (controller, error) =>
        handler.onResponseError?.(controller, new ProxyFailed(place, { cause: error })),
    });
}
