// The hour of an account: how much of it is left, what a refusal says, and that nothing uncounted is served.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limitOf } from '../../src/accounts/terms.ts';
import { admit as admitWith, type Admitted } from '../../src/accounts/admission.ts';
import { HOUR_MS } from '../../src/clock.ts';
import type { Clock } from '../../src/clock.ts';
import { type Logger, silentLog } from '../../src/log.ts';
import { hourlyTier, type Tier } from '../../src/tier.ts';
import type { AdmissionCount, Key, Store } from '../../src/store/store.ts';
import { manualClock } from '../helpers/clock.ts';
import { makeKey, NOW, refusalOf, temporaryStore } from './support.ts';

const hourly = (tiers: Record<string, number>): Map<string, Tier> =>
  new Map(Object.entries(tiers).map(([name, requests]) => [name, hourlyTier(requests)]));
const TIERS = hourly({ free: 2, pro: 5 });
const NEXT_HOUR = Date.parse('2026-11-21T15:00:00Z');

async function known(tier = 'free'): Promise<{ store: Store; key: Key }> {
  const store = await temporaryStore();
  const { key } = await makeKey(store, { tier });
  return { store, key };
}

const noHold = (): never => {
  throw new Error('requests an hour alone are not held');
};

/** Of an account with a limit of requests an hour alone. */
function admit(
  store: Pick<Store, 'admit'>,
  key: Key,
  tiers: ReadonlyMap<string, Tier>,
  clock: Clock,
  log: Pick<Logger, 'warn'>,
): Promise<Admitted> {
  const counting = { admit: store.admit.bind(store), hold: noHold, noteStop: noHold };
  return admitWith(counting, key, tiers, { clock, log }, noHold);
}

describe('admit', () => {
  it('counts up to the limit, then refuses with limit, use and time', async () => {
    const { store, key } = await known();
    const clock = manualClock(NOW);
    expect(await admit(store, key, TIERS, clock, silentLog)).toEqual({
      limit: 2,
      used: 1,
      resetsAt: NEXT_HOUR,
      native: false,
    });
    expect(await admit(store, key, TIERS, clock, silentLog)).toEqual({
      limit: 2,
      used: 2,
      resetsAt: NEXT_HOUR,
      native: false,
    });
    const refusal = await refusalOf(admit(store, key, TIERS, clock, silentLog));
    expect(refusal).toMatchObject({ kind: 'rate_limited', status: 429 });
    expect(refusal.message).toContain('2 of 2 requests');
    expect(refusal.message).toContain('2026-11-21T15:00:00.000Z');
    expect(refusal.message).toContain('gateway tiers assign "alice" TIER');
    expect(refusal.options).toEqual({
      retryAfter: 34 * 60 + 30,
      shouldRetry: false,
      resetsAt: NEXT_HOUR,
      admission: { limit: 2, used: 2, resetsAt: NEXT_HOUR },
      per: 'hour',
      limits: [{ kind: 'requests', per: 'hour', most: 2, spent: 2, resetsAt: NEXT_HOUR }],
    });
  });

  it('writes a limit of one in the singular', async () => {
    const { store, key } = await known();
    const tiers = hourly({ free: 1 });
    await admit(store, key, tiers, manualClock(NOW), silentLog);
    const { message } = await refusalOf(admit(store, key, tiers, manualClock(NOW), silentLog));
    expect(message).toContain('has used 1 of 1 request of this hour');
  });

  it('counts without an end where the tier has no limit', async () => {
    const { store, key } = await known('unlimited');
    const tiers = hourly({ unlimited: Infinity });
    for (let n = 1; n <= 20; n += 1)
      expect((await admit(store, key, tiers, manualClock(NOW), silentLog)).used).toBe(n);
  });

  it('begins anew with the next hour', async () => {
    const { store, key } = await known();
    const clock = manualClock(NEXT_HOUR - 1);
    for (let n = 0; n < 2; n += 1) await admit(store, key, TIERS, clock, silentLog);
    await refusalOf(admit(store, key, TIERS, clock, silentLog));
    clock.advance(1);
    expect(await admit(store, key, TIERS, clock, silentLog)).toEqual({
      limit: 2,
      used: 1,
      resetsAt: NEXT_HOUR + HOUR_MS,
      native: false,
    });
  });

  it('follows a tier that changed after the key was found, and refuses a key that ended since', async () => {
    const { key } = await known();
    const asked: [tier: string, limit: number][] = [];
    const counts: AdmissionCount[] = [
      { outcome: 'tier_changed', tier: 'pro' },
      { outcome: 'admitted', used: 3, hour: NEXT_HOUR - HOUR_MS, now: NOW },
      { outcome: 'key_ended' },
    ];
    const store: Pick<Store, 'admit'> = {
      admit({ tier }, limit) {
        asked.push([tier, limit]);
        return Promise.resolve(counts.shift() ?? { outcome: 'tier_changed', tier: 'free' });
      },
    };
    const clock = manualClock(NOW);
    expect(await admit(store, key, TIERS, clock, silentLog)).toEqual({
      limit: 5,
      used: 3,
      resetsAt: NEXT_HOUR,
      native: false,
    });
    expect(asked).toEqual([
      ['free', 2],
      ['pro', 5],
    ]);
    expect((await refusalOf(admit(store, key, TIERS, clock, silentLog))).status).toBe(401);
    expect((await refusalOf(admit(store, key, TIERS, clock, silentLog))).status).toBe(503);
  });

  it("takes hour and wait from the database's clock, not from its own", async () => {
    const { key } = await known();
    const now = NEXT_HOUR + 60_000;
    const store: Pick<Store, 'admit'> = {
      admit: () => Promise.resolve({ outcome: 'full', used: 2, hour: NEXT_HOUR, now }),
    };
    const { options } = await refusalOf(admit(store, key, TIERS, manualClock(NOW), silentLog));
    expect(options).toMatchObject({ retryAfter: 59 * 60, admission: { resetsAt: NEXT_HOUR + HOUR_MS } });
  });

  it('counts all keys of an account together, and another account apart', async () => {
    const { store, key } = await known();
    const { key: second } = await makeKey(store);
    const { key: other } = await makeKey(store, { account: 'bob' });
    const clock = manualClock(NOW);
    await admit(store, key, TIERS, clock, silentLog);
    await admit(store, second, TIERS, clock, silentLog);
    await refusalOf(admit(store, key, TIERS, clock, silentLog));
    expect((await admit(store, other, TIERS, clock, silentLog)).used).toBe(1);
  });

  it.each([
    [NEXT_HOUR - 1, 1, undefined],
    [NEXT_HOUR - 1001, 2, undefined],
    [NEXT_HOUR - 60_000, 60, undefined],
    [NEXT_HOUR - 60_001, 61, false],
    [NEXT_HOUR - HOUR_MS, 3600, false],
  ])('at %i asks to wait %i s; the SDKs may retry: %s', async (now, retryAfter, shouldRetry) => {
    const { store, key } = await known();
    const clock = manualClock(now);
    const full = hourly({ free: 1 });
    await admit(store, key, full, clock, silentLog);
    const { options } = await refusalOf(admit(store, key, full, clock, silentLog));
    expect(options.retryAfter).toBe(retryAfter);
    expect(options.shouldRetry).toBe(shouldRetry);
  });

  it('never asks to wait for less than a second, nor past the hour', async () => {
    const { store, key } = await known();
    const none = hourly({ free: 0 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 4e12 }), async (now) => {
        const { options } = await refusalOf(admit(store, key, none, manualClock(now), silentLog));
        const wait = options.retryAfter ?? 0;
        expect(wait).toBeGreaterThanOrEqual(1);
        expect(Number.isInteger(wait)).toBe(true);
        const reset = options.admission?.resetsAt ?? 0;
        expect(now + wait * 1000).toBeGreaterThanOrEqual(reset);
        expect(now + (wait - 1) * 1000).toBeLessThan(reset);
      }),
      { numRuns: 50 },
    );
  });

  it('tells what was used where the tier fell below it', async () => {
    const { store, key } = await known('pro');
    const clock = manualClock(NOW);
    for (let n = 0; n < 4; n += 1) await admit(store, key, TIERS, clock, silentLog);
    const { options } = await refusalOf(admit(store, { ...key, tier: 'free' }, TIERS, clock, silentLog));
    expect(options.admission).toMatchObject({ limit: 2, used: 4 });
  });

  it('holds an account whose tier is gone to free, and warns once for each configuration', async () => {
    const { store, key } = await known('gold');
    const said: unknown[] = [];
    const log = { warn: (message: string, fields?: object) => void said.push([message, fields]) };
    const clock = manualClock(NOW);
    const tiers = new Map(TIERS);
    expect((await admit(store, key, tiers, clock, log)).limit).toBe(2);
    await admit(store, key, tiers, clock, log);
    expect(said).toEqual([[expect.stringContaining('free'), { account: 'alice', tier: 'gold' }]]);
    await refusalOf(admit(store, key, new Map(TIERS), clock, log));
    expect(said).toHaveLength(2);
  });

  it('serves nothing that cannot be counted', async () => {
    const { store, key } = await known();
    await store.close();
    const refusal = await refusalOf(admit(store, key, TIERS, manualClock(NOW), silentLog));
    expect(refusal).toMatchObject({ kind: 'unavailable', status: 503, options: { retryAfter: 1 } });
  });
});

describe('limitOf', () => {
  it.each([
    ['pro', TIERS, 5],
    ['gone', TIERS, 2],
    ['gone', new Map(), 10],
    ['__proto__', TIERS, 2],
  ])('%s', (tier, tiers, limit) => {
    expect(limitOf(tier, tiers)).toBe(limit);
  });
});
