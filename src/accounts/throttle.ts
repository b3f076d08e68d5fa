// Slows down clients that send wrong credentials: a token bucket for each address, and one for all addresses together. Memory is bounded.
import { isIPv6 } from 'node:net';
import type { Clock } from '../clock.ts';

export interface Throttle {
  /** Milliseconds until another credential of this address is checked; 0: now. */
  waitMs(address: string): number;
  failed(address: string): void;
}

interface Bucket {
  /** Wrong credentials that were still allowed at the time `at`. */
  left: number;
  at: number;
}

interface Rate {
  /** Wrong credentials that are allowed at once. */
  most: number;
  /** Milliseconds until one more is allowed. */
  refillMs: number;
}

const EACH: Rate = { most: 10, refillMs: 6000 };
const ALL: Rate = { most: 100, refillMs: 600 };
const MOST_ADDRESSES = 1024;

export function createThrottle(clock: Clock): Throttle {
  const buckets = new Map<string, Bucket>();
  const all: Bucket = { left: ALL.most, at: clock.monotonic() };

  return {
    waitMs(address) {
      const now = clock.monotonic();
      const own = buckets.get(networkOf(address));
      return Math.max(waitOf(all, ALL, now), own === undefined ? 0 : waitOf(own, EACH, now));
    },
    failed(address) {
      const now = clock.monotonic();
      const network = networkOf(address);
      const bucket = buckets.get(network) ?? { left: EACH.most, at: now };
      // The newest entry is the last one of the map.
      buckets.delete(network);
      buckets.set(network, bucket);
      take(bucket, EACH, now);
      take(all, ALL, now);
      for (const oldest of buckets.keys()) {
        if (buckets.size <= MOST_ADDRESSES) break;
        buckets.delete(oldest);
      }
    },
  };
}

function take(bucket: Bucket, rate: Rate, now: number): void {
  bucket.left = Math.max(leftOf(bucket, rate, now) - 1, 0);
  bucket.at = now;
}

function leftOf({ left, at }: Bucket, { most, refillMs }: Rate, now: number): number {
  return Math.min(left + (now - at) / refillMs, most);
}

function waitOf(bucket: Bucket, rate: Rate, now: number): number {
  const left = leftOf(bucket, rate, now);
  return left >= 1 ? 0 : Math.ceil((1 - left) * rate.refillMs);
}

/** One customer of a provider has 2^64 IPv6 addresses at least. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = '', tail] = address.split('::');
  const groups = head.split(':').filter((group) => group !== '');
  if (tail !== undefined) {
    const after = tail.split(':').filter((group) => group !== '').length;
    while (groups.length + after < 8) groups.push('0');
  }
  return groups.slice(0, 4).join(':');
}
