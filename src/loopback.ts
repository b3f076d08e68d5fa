// Whether a host is this machine itself: it needs no TLS and no proxy, and what runs there sends no bills.
import { isIP } from 'node:net';

/** `host`: a name or an address, without a port; an IPv6 address with or without brackets. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase();
  if (name === 'localhost' || name.endsWith('.localhost') || name === '::1') return true;
  return name.startsWith('127.') && isIP(name) === 4;
}

/** `host`: as the header of a request has it, with or without a port. */
export function isLoopbackHost(host: string): boolean {
  return isLoopback(host.replace(/:\d*$/, ''));
}
