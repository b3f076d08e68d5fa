// Holds, settlements and grants, which every engine counts alike: what is admitted, what is spent in which window, and what becomes of
// the holds of a process that is gone.
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../src/clock.ts';
import type { Period } from '../../src/calendar.ts';
import type { Limit, LimitKind } from '../../src/tier.ts';
import { openStore } from '../../src/store/open.ts';
import type { HoldCount, Standing } from '../../src/store/holds/holds.ts';
import { type Key, type Store, StoreError, type StoredRecord } from '../../src/store/store.ts';
import { manualClock, type ManualClock } from '../helpers/clock.ts';
import { createDatabase, settableClock, startServer, temporaryDatabase } from '../helpers/postgres.ts';
import { newKey, openedSoon, temporaryFile, usageRow } from './support.ts';

/** A Thursday. */
const NOW = Date.parse('2026-11-26T14:20:00Z');

interface Place {
  /** A process more on the same database; with a clock of its own, it is stopped. */
  open: (own?: ManualClock) => Promise<Store>;
  clock: ManualClock;
  /** Moves all clocks, the server's too. */
  setTime: (now: number) => Promise<void>;
}

const ENGINES: Readonly<Record<string, () => Promise<Place>>> = {
  async sqlite() {
    const clock = manualClock(NOW);
    const file = temporaryFile();
    return Promise.resolve({
      clock,
      open: (own = clock) => closed(openStore(file, { clock: own })),
      setTime: (now) => Promise.resolve(clock.advance(now - clock.now())),
    });
  },
  async postgres() {
    const clock = manualClock(NOW);
    const database = await temporaryDatabase();
    const set = await settableClock(database);
    await set(NOW);
    return {
      clock,
      open: (own = clock) => closed(openStore(database.url, { clock: own })),
      async setTime(now) {
        await set(now);
        clock.advance(now - clock.now());
      },
    };
  },
};

async function closed(opening: Promise<Store>): Promise<Store> {
  const store = await opening;
  onTestFinished(() => store.close());
  return store;
}

const limit = (kind: LimitKind, per: Period, most: number, more: Partial<Limit> = {}): Limit => ({
  ...{ kind, per, most },
  ...more,
});

const COST = [limit('cost', 'day', 1000)];

/** What a request takes: cost and tokens alike. */
function taken(hold: number, accountId: number, amount: number, change = {}) {
  const amounts = { tokens: amount, fresh: amount, cost: amount, estimated: false, unpriced: false };
  return { hold, accountId, limits: COST, ...amounts, ...change };
}

function numberOf(count: HoldCount): number {
  if (count.outcome !== 'admitted') throw new Error(`not admitted: ${count.outcome}`);
  return count.hold;
}

const short = (standings: readonly Standing[] | undefined): Record<string, number>[] =>
  (standings ?? []).map(({ spent, held, estimated, granted, unpriced }) => ({
    ...{ spent, held },
    ...(estimated > 0 && { estimated }),
    ...(granted > 0 && { granted }),
    ...(unpriced > 0 && { unpriced }),
  }));

describe.each(Object.entries(ENGINES))('%s', (name, start) => {
  async function place(): Promise<Place & { store: Store; key: Key; ask: Ask }> {
    const given = await start();
    const store = await given.open();
    const key = await store.createKey(newKey());
    return { ...given, store, key, ask: asker(store, key, given.clock) };
  }

  type Ask = (limits: readonly Limit[], amount: number) => Promise<HoldCount>;
  const asker =
    (store: Store, key: Key, clock: ManualClock): Ask =>
    (limits, amount) =>
      store.hold({ key, limits, tokens: amount, cost: amount }, clock.now());

  it('admits the first request whatever it is expected to cost, and further ones while spent and held are below', async () => {
    const { store, key, ask, clock } = await place();
    const first = await ask(COST, 5000);
    expect(first).toMatchObject({ outcome: 'admitted', used: 1 });
    const refused = await ask(COST, 1);
    expect(refused).toMatchObject({ outcome: 'full', used: 1, now: clock.now() });
    expect(short(refused.outcome === 'full' ? refused.standings : [])).toEqual([{ spent: 0, held: 5000 }]);
    const after = await store.settle(taken(numberOf(first), key.accountId, 999), clock.now());
    expect(short(after)).toEqual([{ spent: 999, held: 0 }]);
    const last = await ask(COST, 400);
    expect((await ask(COST, 0)).outcome).toBe('full');
    expect(short(await store.settle(taken(numberOf(last), key.accountId, 400), clock.now()))).toEqual([
      { spent: 1399, held: 0 },
    ]);
    expect(await ask(COST, 1)).toMatchObject({ outcome: 'full', used: 2 });
  });

  it('decides on requests that come together one after the other', async () => {
    const { ask } = await place();
    const counts = await Promise.all(Array.from({ length: 200 }, () => ask(COST, 300)));
    expect(counts.map(({ outcome }) => outcome).slice(0, 5)).toEqual([
      ...['admitted', 'admitted', 'admitted', 'admitted', 'full'],
    ]);
    expect(counts.filter(({ outcome }) => outcome === 'admitted')).toHaveLength(4);
  });

  it('settles once, and what was settled for another account is its own', async () => {
    const { store, key, ask, clock } = await place();
    const other = await store.createKey(newKey({ id: 'key_two', account: 'bob' }));
    const hold = numberOf(await ask(COST, 100));
    await store.settle(taken(hold, key.accountId, 70), clock.now());
    await store.settle(taken(hold, key.accountId, 70), clock.now());
    await store.settle(taken(hold + 5, key.accountId, 70), clock.now());
    expect(short(await store.standings(key.accountId, COST, clock.now()))).toEqual([{ spent: 70, held: 0 }]);
    expect(short(await store.standings(other.accountId, COST, clock.now()))).toEqual([{ spent: 0, held: 0 }]);
  });

  it('counts requests of every window with those of accounts that had another tier, and none that is refused', async () => {
    const { store, key, ask, setTime } = await place();
    await setTime(Date.parse('2026-11-30T23:30:00Z'));
    for (let n = 0; n < 3; n += 1) await store.admit(key, 100, Date.parse('2026-11-30T23:30:00Z'));
    const limits = [
      limit('requests', 'hour', 4),
      limit('requests', 'month', 5),
      limit('requests', 'week', 9),
    ];
    expect(short(((await ask(limits, 0)) as { standings: Standing[] }).standings)).toEqual([
      ...[
        { spent: 4, held: 0 },
        { spent: 4, held: 0 },
        { spent: 4, held: 0 },
      ],
    ]);
    expect(await ask(limits, 0)).toMatchObject({ outcome: 'full', used: 4 });
    // The month begins, the week goes on.
    await setTime(Date.parse('2026-12-01T00:00:00Z'));
    expect(short(((await ask(limits, 0)) as { standings: Standing[] }).standings)).toEqual([
      ...[
        { spent: 1, held: 0 },
        { spent: 1, held: 0 },
        { spent: 5, held: 0 },
      ],
    ]);
    expect(await store.used(key.accountId, Date.parse('2026-12-01T00:00:00Z'))).toBe(1);
  });

  it('counts tokens and money in the window of their settlement, and a hold in the one that it moves to', async () => {
    const { store, key, ask, setTime, clock } = await place();
    const limits = [
      ...COST,
      limit('cost', 'hour', 900),
      limit('cost', 'week', 5000),
      limit('cost', 'month', 5000),
    ];
    const early = numberOf(await ask(limits, 10));
    await store.settle(taken(early, key.accountId, 100), clock.now());
    await setTime(Date.parse('2026-11-26T23:59:59.999Z'));
    const late = numberOf(await ask(limits, 500));
    await setTime(Date.parse('2026-11-27T00:00:00Z'));
    expect(short(await store.standings(key.accountId, limits, clock.now()))).toEqual([
      ...[
        { spent: 0, held: 500 },
        { spent: 0, held: 500 },
      ],
      ...[
        { spent: 100, held: 500 },
        { spent: 100, held: 500 },
      ],
    ]);
    const settled = await store.settle({ ...taken(late, key.accountId, 300), limits }, clock.now());
    expect(short(settled)).toEqual([
      ...[
        { spent: 300, held: 0 },
        { spent: 300, held: 0 },
      ],
      ...[
        { spent: 400, held: 0 },
        { spent: 400, held: 0 },
      ],
    ]);
    expect(settled?.map(({ resetsAt }) => new Date(resetsAt).toISOString())).toEqual([
      ...['2026-11-28T00:00:00.000Z', '2026-11-27T01:00:00.000Z'],
      ...['2026-11-30T00:00:00.000Z', '2026-12-01T00:00:00.000Z'],
    ]);
    await setTime(Date.parse('2026-11-30T00:00:00Z'));
    expect(
      short(await store.standings(key.accountId, limits, clock.now())).map(({ spent }) => spent),
    ).toEqual([...[0, 0, 0, 400]]);
  });

  it('tells tokens with and without those of caches, what was estimated, and answers without a price', async () => {
    const { store, key, ask, clock } = await place();
    const limits = [limit('tokens', 'day', 1000), limit('tokens', 'week', 1000, { fresh: true }), ...COST];
    const first = numberOf(await ask(limits, 10));
    const second = numberOf(await ask(limits, 10));
    await store.settle(
      { ...taken(first, key.accountId, 100, { fresh: 30, unpriced: true, cost: 0 }), limits },
      clock.now(),
    );
    const after = await store.settle(
      { ...taken(second, key.accountId, 40, { estimated: true }), limits },
      clock.now(),
    );
    expect(short(after)).toEqual([
      { spent: 140, held: 0, estimated: 40 },
      { spent: 70, held: 0, estimated: 40 },
      { spent: 40, held: 0, estimated: 40, unpriced: 1 },
    ]);
  });

  it('counts what was spent without a limit, from the rows of usage, and no settled row twice', async () => {
    const { store, key, ask, clock } = await place();
    await store.recordUsage([
      usageRow({ at: clock.now(), input: 100, cacheRead: 20, cacheWrite: 5, output: 30, costUsd: 2.5e-7 }),
      usageRow({
        at: clock.now() - DAY_MS,
        input: 1,
        cacheRead: null,
        cacheWrite: null,
        output: 1,
        costUsd: null,
      }),
      usageRow({ at: clock.now(), settled: true }),
      usageRow({ at: clock.now(), input: null, output: null, costUsd: null }),
    ]);
    const limits = [...COST, limit('tokens', 'week', 200), limit('tokens', 'day', 1000, { fresh: true })];
    expect(short(((await ask(limits, 0)) as { standings: Standing[] }).standings)).toEqual([
      { spent: 250, held: 0 },
      { spent: 157, held: 0 },
      { spent: 135, held: 0 },
    ]);
    expect(key.accountId).toBe(1);
  });

  it('gives the notice of a window and threshold to one process, and none of a threshold below it or a window before', async () => {
    const { store, key } = await place();
    const cost = { accountId: key.accountId, kind: 'cost' as const, per: 'day' as const };
    const claim = (until: number, threshold: number, more: object = {}) =>
      store.claimNotice({ ...cost, until, threshold, ...more });
    const many = await Promise.all(Array.from({ length: 20 }, () => claim(2, 80)));
    expect(many.filter(Boolean)).toHaveLength(1);
    expect(await claim(2, 100)).toBe(true);
    expect([await claim(2, 80), await claim(2, 100), await claim(1, 100)]).toEqual([false, false, false]);
    expect([await claim(2, 80, { per: 'month' }), await claim(2, 80, { kind: 'tokens' })]).toEqual([
      true,
      true,
    ]);
    expect([await claim(3, 80), await claim(3, 80)]).toEqual([true, false]);
    await store.removeAccount(key.account);
    const { accountId } = await store.createKey(newKey({ account: key.account }));
    expect(await store.claimNotice({ ...cost, accountId, until: 3, threshold: 80 })).toBe(true);
  });

  it('adds grants to every window of their kind until their end, or until they are revoked', async () => {
    const { store, key, ask, setTime, clock } = await place();
    const grant = {
      accountId: key.accountId,
      kind: 'cost' as const,
      createdAt: clock.now(),
      revokedAt: null,
    };
    await store.addGrants([
      { ...grant, id: 'g_one', amount: 500, until: clock.now() + HOUR_MS },
      { ...grant, id: 'g_two', amount: 50, until: clock.now() + 2 * HOUR_MS },
      { ...grant, id: 'g_tok', kind: 'tokens', amount: 7, until: clock.now() + 3 * HOUR_MS },
    ]);
    expect((await store.findKey(newKey().hash))?.grantedUntil).toBe(clock.now() + 3 * HOUR_MS);
    expect((await store.listGrants(key.accountId, clock.now())).map(({ id }) => id)).toEqual([
      'g_one',
      'g_two',
      'g_tok',
    ]);
    const hold = numberOf(await ask(COST, 1));
    expect(short(await store.settle(taken(hold, key.accountId, 1200), clock.now()))).toEqual([
      { spent: 1200, held: 0, granted: 550 },
    ]);
    expect((await ask(COST, 400)).outcome).toBe('admitted');
    expect((await ask(COST, 0)).outcome).toBe('full');
    expect(await store.revokeGrant('g_two', clock.now())).toMatchObject({
      id: 'g_two',
      revokedAt: clock.now(),
    });
    expect((await store.revokeGrant('g_two', clock.now() + 5))?.revokedAt).toBe(clock.now());
    expect(await store.revokeGrant('none', clock.now())).toBeUndefined();
    expect((await store.listGrants(undefined, clock.now())).map(({ id }) => id)).toEqual(['g_one', 'g_tok']);
    await setTime(clock.now() + HOUR_MS);
    expect((await store.listGrants(undefined, clock.now())).map(({ id }) => id)).toEqual(['g_tok']);
    expect(short(await store.standings(key.accountId, COST, clock.now()))[0]).toEqual({
      spent: 1200,
      held: 400,
    });
  });

  it('settles what a stopped process holds after its lease, as estimated, and corrects that when it goes on', async () => {
    const { store, key, ask, open, setTime, clock } = await place();
    const stopped = manualClock(NOW);
    const other = await open(stopped);
    const alive = numberOf(await ask(COST, 5));
    const hold = numberOf(await other.hold({ key, limits: COST, tokens: 400, cost: 400 }, NOW));
    await setTime(NOW + 39_000);
    expect(await store.releaseDead()).toBe(0);
    await setTime(NOW + 41_000);
    expect(await store.releaseDead()).toBe(1);
    expect(await store.releaseDead()).toBe(0);
    expect(short(await store.standings(key.accountId, COST, clock.now()))).toEqual([
      { spent: 400, held: 5, estimated: 400 },
    ]);
    // Its own lease is over too, and what it holds stays.
    stopped.advance(41_000);
    expect(await other.releaseDead()).toBe(0);
    await other.settle(taken(hold, key.accountId, 150), clock.now());
    await other.settle(taken(hold, key.accountId, 150), clock.now());
    expect(short(await store.standings(key.accountId, COST, clock.now()))).toEqual([{ spent: 150, held: 5 }]);
    expect(short(await store.settle(taken(alive, key.accountId, 1), clock.now()))).toEqual([
      { spent: 151, held: 0 },
    ]);
  });

  it('settles what a process held at the same address at once when another starts there', async () => {
    const { store, key, ask, open, clock } = await place();
    store.serveAt('machine http://127.0.0.1:8787');
    await ask(COST, 400);
    const elsewhere = await open();
    elsewhere.serveAt('machine http://127.0.0.1:9999');
    expect(await elsewhere.releaseDead()).toBe(0);
    // The same id of a process: it is the one that has started anew.
    const again = await open();
    again.serveAt('machine http://127.0.0.1:8787');
    expect(await again.releaseDead()).toBe(1);
    expect(short(await store.standings(key.accountId, COST, clock.now()))).toEqual([
      { spent: 400, held: 0, estimated: 400 },
    ]);
  });

  it('forgets what belonged to a removed account', async () => {
    const { store, key, ask, clock } = await place();
    const hold = numberOf(await ask(COST, 5));
    await store.addGrants([
      {
        id: 'g',
        accountId: key.accountId,
        kind: 'cost',
        amount: 1,
        until: clock.now() + 1,
        createdAt: 0,
        revokedAt: null,
      },
    ]);
    await store.removeAccount('alice');
    await store.settle(taken(hold, key.accountId, 5), clock.now());
    expect(short(await store.standings(key.accountId, COST, clock.now()))).toEqual([{ spent: 0, held: 0 }]);
    expect(await store.listGrants(undefined, 0)).toEqual([]);
  });

  it('imports what was spent, and adds it up from the rows of an export that does not tell it', async () => {
    const { store, key, ask, clock } = await place();
    await store.recordUsage([usageRow({ at: clock.now(), costUsd: 3e-7 })]);
    await store.settle(taken(numberOf(await ask(COST, 5)), key.accountId, 40), clock.now());
    expect(short(await store.standings(key.accountId, COST, clock.now()))).toEqual([{ spent: 340, held: 0 }]);
    const records: StoredRecord[] = [];
    for await (const batch of store.exportRecords()) records.push(...batch);
    for (const [kept, spent] of [
      [records, 340],
      [records.filter(({ type }) => type !== 'spending'), 300],
    ] as const) {
      const copy = await (await start()).open();
      const audit = { at: 1, actor: 'a', address: 'b', action: 'c', detail: '{}' };
      async function* batches(): AsyncGenerator<StoredRecord[]> {
        yield await Promise.resolve([...kept]);
      }
      expect(await copy.importRecords(batches(), () => Promise.resolve(audit))).toBe(true);
      expect(short(await copy.standings(key.accountId, COST, clock.now()))).toEqual([{ spent, held: 0 }]);
    }
  });

  it('equals a ledger that is kept beside it, whatever comes in which order', async () => {
    const { store, clock, setTime, open } = await place();
    const stores = [store, await open()];
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            settles: fc.boolean(),
            at: fc.nat({ max: 1 }),
            amount: fc.nat({ max: 60 }),
            wait: fc.constantFrom(0, 0, 0, HOUR_MS, 7 * HOUR_MS),
          }),
          { maxLength: 25 },
        ),
        async (steps) => {
          run += 1;
          const key = await store.createKey(newKey({ id: `key_${run}`, account: `a${run}` }));
          const limits = [
            limit('cost', 'day', 100),
            limit('tokens', 'week', 300),
            limit('requests', 'day', 9),
          ];
          const open: { hold: number; amount: number; at: number }[] = [];
          const spent: { at: number; amount: number }[] = [];
          const admissions: number[] = [];
          const day = (): number => clock.now() - (clock.now() % DAY_MS);
          const week = (): number => day() - ((day() / DAY_MS + 3) % 7) * DAY_MS;
          const since = (start: number): number =>
            spent.reduce((sum, each) => sum + (each.at >= start ? each.amount : 0), 0);
          for (const { settles, at, amount, wait } of steps) {
            if (wait > 0) await setTime(clock.now() + wait);
            const held = open.reduce((sum, each) => sum + each.amount, 0);
            if (settles) {
              const ended = open.shift();
              if (ended === undefined) continue;
              await stores[ended.at]?.settle(taken(ended.hold, key.accountId, amount), clock.now());
              spent.push({ at: clock.now(), amount });
              continue;
            }
            const fits =
              since(day()) + held < 100 &&
              since(week()) + held < 300 &&
              admissions.filter((time) => time >= day()).length < 9;
            const count = await stores[at]?.hold({ key, limits, tokens: amount, cost: amount }, clock.now());
            expect(count?.outcome).toBe(fits ? 'admitted' : 'full');
            if (count?.outcome !== 'admitted') continue;
            admissions.push(clock.now());
            open.push({ hold: count.hold, amount, at });
          }
          expect(short(await store.standings(key.accountId, limits, clock.now())).slice(0, 2)).toEqual([
            { spent: since(day()), held: open.reduce((sum, each) => sum + each.amount, 0) },
            { spent: since(week()), held: open.reduce((sum, each) => sum + each.amount, 0) },
          ]);
        },
      ),
      { numRuns: name === 'sqlite' ? 60 : 15 },
    );
  }, 60_000);
});

describe('postgres', () => {
  it('P46: counts in the windows of the server where the clock of one of two processes is an hour ahead', async () => {
    const database = await temporaryDatabase();
    const setTime = await settableClock(database);
    const clocks = [manualClock(), manualClock()];
    const setAll = async (now: number): Promise<void> => {
      await setTime(now);
      for (const [node, clock] of clocks.entries()) clock.advance(now + node * HOUR_MS - clock.now());
    };
    // Of the last day of a month: the process that is ahead believes that all windows have ended.
    const last = Date.parse('2026-11-30T23:30:00Z');
    await setAll(last);
    const stores = await Promise.all(clocks.map((clock) => closed(openedSoon(database.url, { clock }))));
    const [store] = stores;
    const key = await store?.createKey(newKey());
    if (store === undefined || key === undefined) throw new Error('no store');
    const limits = (['hour', 'day', 'month'] as const).map((per) => limit('cost', per, 1000));
    const standings = () =>
      Promise.all(
        stores.map((each, node) => each.standings(key.accountId, limits, clocks[node]?.now() ?? 0)),
      );
    const askAll = (): Promise<HoldCount[]> =>
      Promise.all(
        Array.from({ length: 100 }, (_, at) => {
          const asked = { key, limits, tokens: 100, cost: 100 };
          const held = stores[at % 2]?.hold(asked, clocks[at % 2]?.now() ?? 0);
          return held ?? Promise.reject(new Error('no store'));
        }),
      );
    for (const [now, resets] of [
      [last, ['2026-12-01', '2026-12-01', '2026-12-01']],
      [last + HOUR_MS, ['2026-12-01T01:00:00Z', '2026-12-02', '2027-01-01']],
    ] as const) {
      await setAll(now);
      const counts = await askAll();
      const admitted = counts.flatMap((count, at) =>
        count.outcome === 'admitted' ? [{ node: at % 2, hold: count.hold }] : [],
      );
      expect(admitted).toHaveLength(10);
      for (const count of counts) expect(count).toMatchObject({ now, hour: now - (now % HOUR_MS) });
      for (const { node, hold } of admitted)
        await stores[node]?.settle({ ...taken(hold, key.accountId, 150), limits }, clocks[node]?.now() ?? 0);
      const [first, second] = await standings();
      expect(first).toEqual(second);
      expect(short(first)).toEqual(limits.map(() => ({ spent: 1500, held: 0 })));
      expect(first?.map(({ resetsAt }) => resetsAt)).toEqual(resets.map((end) => Date.parse(end)));
      for (const count of await askAll()) expect(count.outcome).toBe('full');
      // The leases of both are of the server's clock too: neither takes the other for dead.
      expect(await Promise.all(stores.map((each) => each.releaseDead()))).toEqual([0, 0]);
    }
  });

  it('refuses a key that ended and tells a tier that changed, as of the moment of the count', async () => {
    const given = await ENGINES['postgres']?.();
    if (given === undefined) throw new Error('no engine');
    const store = await given.open();
    const key = await store.createKey(newKey());
    const hold = (): Promise<HoldCount> => store.hold({ key, limits: COST, tokens: 1, cost: 1 }, 0);
    await store.assignTier('alice', 'pro');
    expect(await hold()).toEqual({ outcome: 'tier_changed', tier: 'pro' });
    await store.revokeKey(key.id, NOW);
    expect(await hold()).toEqual({ outcome: 'key_ended' });
    await store.removeAccount('alice');
    expect(await hold()).toEqual({ outcome: 'key_ended' });
  });

  it('P46: settles what ended while the server was away when it is back, once, and admits nothing meanwhile', async () => {
    const server = await startServer();
    onTestFinished(() => server.remove());
    const database = await createDatabase(server.url);
    const store = await openedSoon(database.url);
    onTestFinished(() => store.close());
    const key = await store.createKey(newKey());
    const limits = [limit('cost', 'month', 1_000_000)];
    const ask = () => store.hold({ key, limits, tokens: 10, cost: 10 }, 0);
    const holds = (await Promise.all(Array.from({ length: 40 }, ask))).map(numberOf);
    const early = holds.splice(0, 10).map((hold) => store.settle(taken(hold, key.accountId, 3), 0));
    server.stop('immediate');
    await Promise.all(early);
    await expect(ask()).rejects.toThrow(StoreError);
    const away = await Promise.all(holds.map((hold) => store.settle(taken(hold, key.accountId, 3), 0)));
    expect(away).toEqual(holds.map(() => undefined));
    server.start();
    const standing = async () =>
      short(await store.standings(key.accountId, limits, 0).catch(() => undefined));
    await expect.poll(standing, { timeout: 20_000 }).toEqual([{ spent: 120, held: 0 }]);
    expect((await ask()).outcome).toBe('admitted');
  }, 60_000);
});
