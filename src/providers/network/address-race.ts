// Connects to a name with several addresses as browsers and curl do (Happy Eyeballs, RFC 8305): the next address is tried when one fails
// or is silent for a quarter of a second, and the attempts before it go on. Node's own way gives each address that quarter alone, so that
// a slow network, or one without IPv6, is none at all.
import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import type { buildConnector } from 'undici';
import type { Clock } from '../../clock.ts';

const NEXT_MS = 250;

type Lookup = (
  hostname: string,
  options: { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

interface RaceOptions {
  clock: Pick<Clock, 'after'>;
  lookup?: Lookup;
}

/** `connect` has the time-out, which holds for all attempts together. */
export function racing(
  connect: buildConnector.connector,
  { clock, lookup = systemLookup }: RaceOptions,
): buildConnector.connector {
  return (options, callback) => {
    const { hostname, httpSocket } = options;
    if (httpSocket !== undefined || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) {
      connect(options, callback);
      return;
    }
    lookup(hostname, { all: true }, (error, addresses) => {
      if (error !== null) callback(error, null);
      else new Race(connect, options, inTurns(addresses), callback, clock).next();
    });
  };
}

/** The families by turns, each in its order, beginning with the first address's. */
export function inTurns(addresses: readonly LookupAddress[]): string[] {
  const first = addresses[0]?.family;
  const one = addresses.filter(({ family }) => family === first);
  const other = addresses.filter(({ family }) => family !== first);
  const turns = Array.from({ length: Math.max(one.length, other.length) }, (_, at) => [one[at], other[at]]);
  return turns.flat().flatMap((each) => (each === undefined ? [] : [each.address]));
}

class Race {
  readonly #connect: buildConnector.connector;
  readonly #options: buildConnector.Options;
  readonly #addresses: string[];
  readonly #callback: buildConnector.Callback;
  readonly #clock: Pick<Clock, 'after'>;
  #underWay = 0;
  #isOver = false;
  #cancelTimer: (() => void) | undefined;

  constructor(
    connect: buildConnector.connector,
    options: buildConnector.Options,
    addresses: string[],
    callback: buildConnector.Callback,
    clock: Pick<Clock, 'after'>,
  ) {
    this.#connect = connect;
    this.#options = options;
    this.#addresses = addresses;
    this.#callback = callback;
    this.#clock = clock;
  }

  next(): void {
    this.#cancelTimer?.();
    const address = this.#addresses.shift();
    if (address === undefined) return;
    this.#underWay++;
    if (this.#addresses.length > 0) this.#cancelTimer = this.#clock.after(NEXT_MS, () => this.next());
    this.#connect({ ...this.#options, hostname: address }, (...connected) => {
      const [error, socket] = connected;
      this.#underWay--;
      if (error !== null) this.#failed(error);
      else if (this.#isOver) socket.destroy();
      else this.#end(() => this.#callback(null, socket));
    });
  }

  #failed(error: Error): void {
    if (this.#isOver) return;
    // The first attempt's time is that of all of them.
    const isLate = (error as NodeJS.ErrnoException).code === 'UND_ERR_CONNECT_TIMEOUT';
    if (!isLate && this.#addresses.length > 0) this.next();
    else if (isLate || this.#underWay === 0) this.#end(() => this.#callback(error, null));
  }

  #end(tell: () => void): void {
    this.#isOver = true;
    this.#addresses.length = 0;
    this.#cancelTimer?.();
    tell();
  }
}
