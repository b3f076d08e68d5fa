// One process that holds for its requests: it numbers its holds, says again and again that it lives, settles later what it could not
// settle at once, and settles what processes that are gone have left.
import { randomInt } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import { processAt } from '../../processes.ts';
import type { HoldCount, HoldRequest, Settlement, Standing } from './holds.ts';

/** A lapse is noticed within a minute. Renewals go over a connection of their own, so that no load delays them. */
const LEASE_MS = 40_000;
const RENEW_MS = 10_000;
const RETRY_MS = 1000;
/** Settlements that wait for the database; further ones are left to whoever releases the holds. */
const MOST_OWED = 10_000;
const IDS = 2 ** 47;

/** A process that holds. `until`: when its lease ends. */
export interface Holder {
  id: number;
  /** Where it serves; '' before it does. */
  address: string;
  pid: number;
}

/** What each engine does for it. Every method rejects with StoreError. */
export interface HoldEngine {
  hold(request: HoldRequest, number: number, now: number): Promise<HoldCount>;
  settle(settlement: Settlement, now: number): Promise<Standing[]>;
  /** Over a connection of its own. Settles those of its own holds as nothing that have a number up to `upTo` and are not in `live`:
   *  a reply of the database was lost, and the request was refused. */
  renew(holder: Holder, leaseMs: number, own: { upTo: number; live: ReadonlySet<number> }): Promise<void>;
  /** Settles the holds of processes without a lease, and of those that are gone, as they were estimated. Resolves to their number. */
  releaseDead(isGone: IsGone): Promise<number>;
  /** Ends the lease. */
  leave(id: number): Promise<void>;
}

/** `over`: its lease has ended. */
export type IsGone = (other: Holder, over: boolean) => boolean;

export function newHolderId(): number {
  return randomInt(1, IDS);
}

export class Holding {
  readonly #engine: HoldEngine;
  readonly #clock: Clock;
  readonly #self: Holder;
  /** Numbers of holds that are asked for, held, or owed. */
  readonly #live = new Set<number>();
  #number = 0;
  /** The last number at the renewal before: a hold that was asked for since may not be written yet. */
  #upTo = 0;
  #begun: Promise<void> | undefined;
  #ready = false;
  #owed: Settlement[] = [];
  #paying = false;
  #closed = false;

  constructor(id: number, engine: HoldEngine, clock: Clock) {
    this.#engine = engine;
    this.#clock = clock;
    this.#self = { id, address: '', pid: process.pid };
  }

  async hold(request: HoldRequest, now: number): Promise<HoldCount> {
    const number = (this.#number += 1);
    this.#live.add(number);
    try {
      if (!this.#ready) await this.#begin();
      const count = await this.#engine.hold(request, number, now);
      if (count.outcome !== 'admitted') this.#live.delete(number);
      return count;
    } catch (error) {
      this.#live.delete(number);
      throw error;
    }
  }

  /** Resolves to undefined if the database is not usable now: it is settled later. */
  async settle(settlement: Settlement, now: number): Promise<Standing[] | undefined> {
    try {
      const standings = await this.#engine.settle(settlement, now);
      this.#live.delete(settlement.hold);
      return standings;
    } catch {
      if (this.#owed.length < MOST_OWED) this.#owed.push({ ...settlement, limits: [] });
      this.#payLater();
      return undefined;
    }
  }

  serveAt(address: string): void {
    this.#self.address = address;
    if (this.#ready) void this.#renew().catch(() => undefined);
  }

  /** At the same address, what this process replaces: its lease need not end first. */
  async releaseDead(): Promise<number> {
    const { id, address, pid } = this.#self;
    // Another process may have taken this one for dead while it was stopped.
    if (this.#ready) await this.#renew();
    return this.#engine.releaseDead((other, over) => {
      if (other.id === id) return false;
      if (over) return true;
      if (address === '' || other.address !== address) return false;
      return other.pid === pid || processAt(other.pid) === undefined;
    });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (!this.#ready) return;
    await this.#pay().catch(() => undefined);
    await this.#engine.leave(this.#self.id).catch(() => undefined);
  }

  /** No hold is written before the lease of its process is. */
  #begin(): Promise<void> {
    return (this.#begun ??= this.#renew().then(
      () => {
        this.#ready = true;
        this.#renewLater();
      },
      (error: unknown) => {
        this.#begun = undefined;
        throw error;
      },
    ));
  }

  async #renew(): Promise<void> {
    const upTo = this.#upTo;
    this.#upTo = this.#number;
    await this.#engine.renew(this.#self, LEASE_MS, { upTo, live: this.#live });
  }

  #renewLater(): void {
    this.#clock.after(RENEW_MS, () => {
      if (this.#closed) return;
      // After a failure the lease has three more tries.
      void this.#renew()
        .catch(() => undefined)
        .then(() => this.#renewLater());
    });
  }

  #payLater(): void {
    if (this.#paying || this.#closed) return;
    this.#paying = true;
    this.#clock.after(RETRY_MS, () => {
      void this.#pay().then(
        () => (this.#paying = false),
        () => {
          this.#paying = false;
          this.#payLater();
        },
      );
    });
  }

  async #pay(): Promise<void> {
    for (let first = this.#owed[0]; first !== undefined; first = this.#owed[0]) {
      await this.#engine.settle(first, this.#clock.now());
      this.#owed.shift();
      this.#live.delete(first.hold);
    }
  }
}
