// A provider with addresses of both families is reached over the one that works, however slow it is.
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { buildConnector } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { inTurns, racing } from '../../src/providers/network/address-race.ts';
import { manualClock } from '../helpers/clock.ts';

const V6: LookupAddress = { address: '100::1', family: 6 };
const V4: LookupAddress = { address: '192.0.2.1', family: 4 };

type Connected = (error: Error | null, socket: object | null) => void;

/** Attempts that end when the test says so. */
function race(addresses: LookupAddress[] | NodeJS.ErrnoException) {
  const clock = manualClock();
  const attempts = new Map<string, Connected>();
  const seen: [string | undefined, unknown][] = [];
  const connect = (options: { hostname: string }, callback: Connected): void => {
    attempts.set(options.hostname, callback);
  };
  const lookup = (
    _: string,
    __: object,
    callback: (error: Error | null, found: LookupAddress[]) => void,
  ): void => (addresses instanceof Error ? callback(addresses, []) : callback(null, addresses));
  const options = { hostname: 'models.example', protocol: 'https:', port: '443' };
  racing(connect as never, { clock, lookup: lookup })(options, (...[error, socket]) => {
    seen.push([error?.message, socket]);
  });
  return { clock, attempts, seen };
}

const socketOf = () => {
  const socket = { destroyed: false, destroy: () => void (socket.destroyed = true) };
  return socket;
};

describe('several addresses', () => {
  it('are tried one after the other, and the earlier attempts go on', () => {
    const { clock, attempts, seen } = race([V6, V4]);
    expect([...attempts.keys()]).toEqual(['100::1']);
    clock.advance(249);
    expect(attempts.size).toBe(1);
    clock.advance(1);
    expect([...attempts.keys()]).toEqual(['100::1', '192.0.2.1']);
    clock.advance(5000);
    expect(seen).toEqual([]);
    const socket = socketOf();
    attempts.get('192.0.2.1')?.(null, socket);
    expect(seen).toEqual([[undefined, socket]]);
  });

  it('are tried at once where one fails', () => {
    const { attempts, seen } = race([V6, V4]);
    attempts.get('100::1')?.(new Error('unreachable'), null);
    expect(attempts.has('192.0.2.1')).toBe(true);
    attempts.get('192.0.2.1')?.(new Error('refused'), null);
    expect(seen).toEqual([['refused', null]]);
  });

  it('give one connection: a later one is closed', () => {
    const { clock, attempts, seen } = race([V6, V4]);
    clock.advance(250);
    attempts.get('192.0.2.1')?.(null, socketOf());
    const late = socketOf();
    attempts.get('100::1')?.(null, late);
    expect(late.destroyed).toBe(true);
    expect(seen).toHaveLength(1);
  });

  it('have the time of the first one', () => {
    const { clock, attempts, seen } = race([V6, V4]);
    clock.advance(250);
    const late = Object.assign(new Error('late'), { code: 'UND_ERR_CONNECT_TIMEOUT' });
    attempts.get('100::1')?.(late, null);
    expect(seen).toEqual([['late', null]]);
  });

  it('take turns by family', () => {
    const more = [V6, { address: '100::2', family: 6 }, V4, { address: '192.0.2.2', family: 4 }];
    expect(inTurns(more)).toEqual(['100::1', '192.0.2.1', '100::2', '192.0.2.2']);
    expect(inTurns([])).toEqual([]);
  });
});

it('reports a name that does not resolve', () => {
  const { attempts, seen } = race(Object.assign(new Error('ENOTFOUND'), { code: 'ENOTFOUND' }));
  expect(seen).toEqual([['ENOTFOUND', null]]);
  expect(attempts.size).toBe(0);
});

it('reaches a real server behind an address that does not answer', async () => {
  const server = createServer((socket) => socket.end());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const lookup = (_: string, __: object, callback: (error: null, found: LookupAddress[]) => void): void =>
    callback(null, [
      { address: '::1', family: 6 },
      { address: '127.0.0.1', family: 4 },
    ]);
  const connect = racing(buildConnector({ timeout: 5000 }), {
    clock: manualClock(),
    lookup: lookup,
  });
  const socket = await new Promise<Socket>((resolve, reject) => {
    connect({ hostname: 'here.example', protocol: 'http:', port: String(port) }, (...[error, made]) =>
      error === null ? resolve(made) : reject(error),
    );
  });
  expect(socket.remoteAddress).toBe('127.0.0.1');
  socket.destroy();
});
