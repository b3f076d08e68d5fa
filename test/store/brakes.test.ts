// Brakes as every engine counts them: exact over processes, undone by the end of a hold, begun anew by a person; what is left of them in an
// export, after a removal, and of a process that is gone.
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Braked } from '../../src/store/holds/brakes.ts';
import type { HoldCount } from '../../src/store/holds/holds.ts';
import { openStore } from '../../src/store/open.ts';
import type { Key, Store, StoredRecord } from '../../src/store/store.ts';
import { manualClock, type ManualClock } from '../helpers/clock.ts';
import { temporaryDatabase } from '../helpers/postgres.ts';
import { newKey, openedSoon, temporaryFile, usageRow } from './support.ts';

const NOW = Date.parse('2026-11-26T14:20:00Z');
const TALK = 'conv_3kX9aB2qAAAAAAAA';

interface Place {
  /** A process more on the same database. */
  open: () => Promise<Store>;
  clock: ManualClock;
}

const ENGINES: Readonly<Record<string, () => Promise<Place>>> = {
  sqlite() {
    const clock = manualClock(NOW);
    const file = temporaryFile();
    return Promise.resolve({ clock, open: () => closed(openStore(file, { clock })) });
  },
  async postgres() {
    const clock = manualClock(NOW);
    const { url } = await temporaryDatabase();
    return { clock, open: () => closed(openedSoon(url, { clock })) };
  },
};

async function closed(opening: Promise<Store>): Promise<Store> {
  const store = await opening;
  onTestFinished(() => store.close());
  return store;
}

const sum = (most: number, more: Partial<Braked> = {}): Braked => ({
  ...{ conversation: TALK, most, begins: false, prompt: undefined },
  ...more,
});

const prompt = (most: number, id = 'p1', begins = false): Braked =>
  sum(0, { most: undefined, prompt: { id, most, begins } });

const hold = (store: Store, key: Key, braked: Braked, cost = 1): Promise<HoldCount> =>
  store.hold({ key, limits: [], tokens: 1, cost, braked }, NOW);

async function settle(store: Store, key: Key, count: HoldCount, cost: number): Promise<void> {
  if (count.outcome !== 'admitted') throw new Error(`not admitted: ${count.outcome}`);
  const { accountId } = key;
  const taken = { tokens: 1, fresh: 1, cost, estimated: false, unpriced: false };
  await store.settle({ hold: count.hold, accountId, conversation: TALK, limits: [], ...taken }, NOW);
}

const admitted = (counts: readonly HoldCount[]): number =>
  counts.filter(({ outcome }) => outcome === 'admitted').length;

describe.each(Object.entries(ENGINES))('%s', (_, prepare) => {
  it('admits while what a conversation spent and holds is below its sum, over processes and at once', async () => {
    const { open } = await prepare();
    const [one, two] = [await open(), await open()];
    const key = await one.createKey(newKey());
    const counts = await Promise.all(
      Array.from({ length: 40 }, (_each, at) => hold(at % 2 === 0 ? one : two, key, sum(10))),
    );
    expect(admitted(counts)).toBe(10);
    const stopped = counts.find(({ outcome }) => outcome === 'stopped');
    expect(stopped).toEqual({
      outcome: 'stopped',
      refusal: { brake: 'conversation', spent: 0, held: 10, most: 10 },
    });
    const other = sum(10, { conversation: 'conv_other' });
    expect((await hold(one, key, other)).outcome).toBe('admitted');
  });

  it('counts what each request took in the end, once', async () => {
    const { open } = await prepare();
    const store = await open();
    const key = await store.createKey(newKey());
    const first = await hold(store, key, sum(10), 9);
    expect((await hold(store, key, sum(10), 1)).outcome).toBe('admitted');
    expect((await hold(store, key, sum(10), 1)).outcome).toBe('stopped');
    await settle(store, key, first, 4);
    await settle(store, key, first, 4);
    const second = await hold(store, key, sum(10), 1);
    await settle(store, key, second, 5);
    expect(await hold(store, key, sum(10))).toEqual({
      outcome: 'stopped',
      refusal: { brake: 'conversation', spent: 9, held: 1, most: 10 },
    });
  });

  it('goes on for the sum once more from what was spent, or for as much as is said, at once in each process', async () => {
    const { open } = await prepare();
    const [one, two] = [await open(), await open()];
    const key = await one.createKey(newKey());
    const id = { id: TALK, accountId: key.accountId };
    await settle(one, key, await hold(one, key, sum(10)), 12);
    expect((await hold(two, key, sum(10))).outcome).toBe('stopped');
    await one.noteStop({ conversation: TALK, accountId: key.accountId, brake: 'conversation', at: NOW });
    expect(await two.listStops({ prefix: 'conv_3kX', limit: 5 })).toEqual([
      { conversation: TALK, accountId: key.accountId, account: 'alice', brake: 'conversation', at: NOW },
    ]);
    await one.letGoOn(id, undefined, NOW);
    expect(await two.listStops({ limit: 5 })).toEqual([]);
    await settle(two, key, await hold(two, key, sum(10)), 10);
    expect(await hold(two, key, sum(10))).toMatchObject({ refusal: { spent: 22, most: 22 } });
    await one.letGoOn(id, 15, NOW);
    await settle(two, key, await hold(two, key, sum(10)), 14);
    expect((await hold(two, key, sum(10), 1)).outcome).toBe('admitted');
    expect(await hold(two, key, sum(10))).toMatchObject({ refusal: { spent: 36, held: 1, most: 37 } });
  });

  it('takes what a conversation cost before, and begins anew where a history begins', async () => {
    const { open } = await prepare();
    const store = await open();
    const key = await store.createKey(newKey());
    const { accountId } = key;
    await store.recordUsage([usageRow({ accountId, conversation: TALK, costUsd: 3e-9 })]);
    expect(await hold(store, key, sum(3))).toMatchObject({ refusal: { spent: 3, most: 3 } });
    const begun = await hold(store, key, sum(3, { begins: true }), 1);
    await settle(store, key, begun, 2);
    await settle(store, key, await hold(store, key, sum(3)), 2);
    expect(await hold(store, key, sum(3))).toMatchObject({ refusal: { spent: 7, most: 6 } });
  });

  it('admits so many requests of a prompt, over processes and at once, and anew for the next', async () => {
    const { open } = await prepare();
    const [one, two] = [await open(), await open()];
    const key = await one.createKey(newKey());
    const counts = await Promise.all(
      Array.from({ length: 30 }, (_each, at) => hold(at % 2 === 0 ? one : two, key, prompt(7))),
    );
    expect(admitted(counts)).toBe(7);
    expect((await hold(two, key, prompt(7, 'p2'))).outcome).toBe('admitted');
    expect(await hold(one, key, prompt(7))).toMatchObject({
      refusal: { brake: 'requests_a_prompt', requests: 7 },
    });
    expect((await hold(one, key, prompt(7, 'p1', true))).outcome).toBe('admitted');
    expect(admitted(await Promise.all(Array.from({ length: 9 }, () => hold(two, key, prompt(7)))))).toBe(6);
    await one.letGoOn({ id: TALK, accountId: key.accountId }, undefined, NOW);
    expect((await hold(two, key, prompt(7))).outcome).toBe('admitted');
  });

  it('forgives the calls of one run, and no others', async () => {
    const { open } = await prepare();
    const store = await open();
    const { accountId } = await store.createKey(newKey());
    const stop = { conversation: TALK, accountId, brake: 'repeated_call', at: NOW } as const;
    await store.noteStop({ ...stop, run: { id: '3:a', calls: 5 } });
    expect(await store.forgivenCalls(TALK, '3:a')).toBe(0);
    await store.letGoOn({ id: TALK, accountId }, undefined, NOW);
    expect(await store.forgivenCalls(TALK, '3:a')).toBe(5);
    await store.noteStop({ ...stop, run: { id: '3:a', calls: 10 } });
    expect(await store.forgivenCalls(TALK, '3:a')).toBe(5);
    await store.noteStop({ ...stop, run: { id: '12:b', calls: 5 } });
    expect(await store.forgivenCalls(TALK, '12:b')).toBe(0);
    expect(await store.forgivenCalls(TALK, '3:a')).toBe(0);
  });

  it('is exported and imported, stays through a rename, and goes with its account', async () => {
    const { open } = await prepare();
    const store = await open();
    const key = await store.createKey(newKey());
    const { accountId } = key;
    await settle(
      store,
      key,
      await hold(store, key, sum(10, { prompt: { id: 'p1', most: 9, begins: false } })),
      12,
    );
    await store.noteStop({ conversation: TALK, accountId, brake: 'conversation', at: NOW });
    const records: StoredRecord[] = [];
    for await (const batch of store.exportRecords()) records.push(...batch);
    const brakes = records.filter(({ type }) => type.startsWith('brake'));
    expect(brakes).toMatchObject([
      { type: 'brake', id: TALK, accountId, spent: 12, base: 0, stopped: 'conversation', stoppedAt: NOW },
      { type: 'brake_prompt', conversation: TALK, prompt: 'p1', accountId, requests: 1 },
    ]);
    const copy = await (await prepare()).open();
    const audit = { at: NOW, actor: 'cli test', address: 'local', action: 'import', detail: '{}' };
    await copy.importRecords(
      (async function* () {
        yield await Promise.resolve(records);
      })(),
      () => Promise.resolve(audit),
    );
    expect(await hold(copy, key, sum(10))).toMatchObject({ refusal: { spent: 12 } });
    await store.renameAccount('alice', 'anna');
    expect(await store.listStops({ limit: 5 })).toMatchObject([{ account: 'anna' }]);
    expect((await hold(store, key, sum(10))).outcome).toBe('stopped');
    await store.removeAccount('anna');
    expect(await store.listStops({ limit: 5 })).toEqual([]);
    const left: string[] = [];
    for await (const batch of store.exportRecords()) left.push(...batch.map(({ type }) => type));
    expect(left.filter((type) => type.startsWith('brake'))).toEqual([]);
  });
});
