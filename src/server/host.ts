// Which Host names belong to this gateway: a web page whose own name resolves to this machine must get nothing (DNS rebinding).
import { isIP } from 'node:net';
import { isLoopback } from '../loopback.ts';

const WILDCARDS = new Set(['0.0.0.0', '::']);

/** The Host header among flat names and values; undefined if there is none, or several: readers differ in which one counts. */
export function hostOf(rawHeaders: readonly string[]): string | undefined {
  let host: string | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length !== 4 || name.toLowerCase() !== 'host') continue;
    if (host !== undefined) return undefined;
    host = rawHeaders[at + 1];
  }
  return host;
}

interface Listen {
  hosts: readonly string[];
  names: readonly string[];
}

/** Whether the Host of a request is one of this gateway. */
export type HostCheck = (rawHeaders: readonly string[], listen: Listen) => boolean;

/** Remembers the last Host that passed, since a client sends the same one in each request. */
export function createHostCheck(): HostCheck {
  let known: string | undefined;
  let knownFor: Listen | undefined;
  return (rawHeaders, listen) => {
    const host = hostOf(rawHeaders);
    if (host !== undefined && host === known && listen === knownFor) return true;
    if (!isOwnHost(host, listen)) return false;
    known = host;
    knownFor = listen;
    return true;
  };
}

/** `host`: the header's value, with or without a port. */
function isOwnHost(host: string | undefined, listen: Listen): boolean {
  const name = hostName(host ?? '');
  if (name === undefined) return false;
  if (isLoopback(name)) return true;
  if (isIP(name) !== 0 && listen.hosts.some((own) => WILDCARDS.has(own))) return true;
  return [...listen.hosts, ...listen.names].some((own) => own.toLowerCase() === name);
}

function hostName(host: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]/@\s]+))(?::\d{1,5})?$/i.exec(host.trim());
  return (match?.[1] ?? match?.[2])?.toLowerCase();
}
