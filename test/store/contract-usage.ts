// What every engine must do with usage: rows, their sums in reports, and single requests.
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ConversationPart } from '../../src/store/conversation-parts.ts';
import { HOUR_MS } from '../../src/clock.ts';
import { NO_FIRST_BYTES } from '../../src/store/usage-sums.ts';
import {
  GROUPINGS,
  type RequestIdQuery,
  type RequestQuery,
  type RequestWindow,
  type Store,
} from '../../src/store/store.ts';
import type { UsageRow } from '../../src/store/usage-columns.ts';
import { byName, groupedTotals, hourOf, NO_TOTALS, plainSums, usageRows } from './plain-sums.ts';
import { type Contract, NOTHING_KNOWN, HOUR, newKey, usageRow } from './support.ts';

const NO_MISSES = { cacheMisses: 0, cacheMissTokens: 0, cacheMissCostUsd: 0 };

export function usageContract(name: string, contract: Contract): void {
  const { open, accountId, admit, share } = contract;
  let store: Store;
  beforeEach(() => {
    store = contract.store();
  });

  describe(`${name}: usage`, () => {
    it('sums up nothing as nothing, not as a cost of 0', async () => {
      expect(await store.totals(undefined, HOUR)).toEqual(NO_TOTALS);
      expect(await groupedTotals(store, 'model', 1, HOUR)).toEqual([]);
    });

    it('counts requests from admissions, even those of which no row is left', async () => {
      await store.createKey(newKey());
      await store.createKey(newKey({ id: 'key_two', account: 'bob' }));
      for (let n = 0; n < 4; n += 1) await admit(1, HOUR, 10);
      await admit(2, HOUR, 10);
      await store.recordUsage([usageRow()]);
      expect(await store.totals(1, HOUR)).toMatchObject({ requests: 4, inputTokens: 115 });
      expect(await store.totals(undefined, HOUR)).toMatchObject({ requests: 5, inputTokens: 115 });
    });

    it('keeps errors, unknown usage and known usage apart', async () => {
      await store.recordUsage([
        usageRow(),
        usageRow({ cacheRead: null, cacheWrite: null, costUsd: null }),
        usageRow({ ...NOTHING_KNOWN }),
        usageRow({ ...NOTHING_KNOWN, error: 'upstream', status: 502, provider: null, model: null }),
        usageRow({
          error: 'client_closed',
          status: 499,
          input: 1,
          cacheRead: 0,
          cacheWrite: 0,
          output: 2,
          costUsd: 0.25,
        }),
      ]);
      expect(await store.totals(1, HOUR)).toEqual({
        requests: 0,
        errors: 2,
        unknown: 1,
        unpriced: 1,
        inputTokens: 115 + 100 + 1,
        cacheReadTokens: 10,
        cacheWriteTokens: 5,
        outputTokens: 20 + 20 + 2,
        costUsd: 0.75,
        ...NO_MISSES,
        firstByte: [5, ...NO_FIRST_BYTES.slice(1)],
      });
    });

    it('takes the window from the whole hour that holds its beginning', async () => {
      await store.createKey(newKey());
      for (const hour of [HOUR - HOUR_MS, HOUR, HOUR + HOUR_MS]) await admit(1, hour, 10);
      await store.recordUsage([
        usageRow({ at: HOUR - 1 }),
        usageRow({ at: HOUR }),
        usageRow({ at: HOUR + HOUR_MS }),
      ]);
      for (const since of [HOUR, HOUR + 1, HOUR + HOUR_MS - 1]) {
        expect(await store.admissionsByHour(1, since)).toEqual([
          { accountId: 1, hour: HOUR, requests: 1 },
          { accountId: 1, hour: HOUR + HOUR_MS, requests: 1 },
        ]);
        expect(await store.totals(1, since)).toMatchObject({ requests: 2, outputTokens: 40 });
      }
    });

    it('groups by account, key, model and hour, each with its own order', async () => {
      await store.createKey(newKey({ account: 'zoe' }));
      await store.createKey(newKey({ id: 'key_two', account: 'alice' }));
      const zoe = await accountId('zoe');
      const alice = await accountId('alice');
      await admit(zoe, HOUR, 10);
      await admit(alice, HOUR + HOUR_MS, 10);
      await store.recordUsage([
        usageRow({ accountId: zoe }),
        usageRow({ accountId: alice, keyId: 'key_two', model: 'slow', at: HOUR + HOUR_MS }),
        usageRow({
          accountId: alice,
          keyId: 'key_two',
          at: HOUR + HOUR_MS + 1,
          error: 'upstream',
          ...NOTHING_KNOWN,
        }),
      ]);
      const one = { requests: 1, errors: 0, unknown: 0, unpriced: 0 };
      const firstByte = (requests: number): number[] => [requests, ...NO_FIRST_BYTES.slice(1)];
      const cache = { cacheReadTokens: 10, cacheWriteTokens: 5 };
      Object.assign(one, {
        inputTokens: 115,
        ...cache,
        outputTokens: 20,
        costUsd: 0.5,
        ...NO_MISSES,
        firstByte: firstByte(1),
      });
      expect(await groupedTotals(store, 'account', undefined, HOUR)).toEqual([
        { accountId: zoe, group: { account: 'zoe' }, totals: one },
        {
          accountId: alice,
          group: { account: 'alice' },
          totals: { ...one, errors: 1, firstByte: firstByte(2) },
        },
      ]);
      expect(await groupedTotals(store, 'key', undefined, HOUR)).toEqual([
        { accountId: zoe, group: { key: 'key_one' }, totals: one },
        {
          accountId: alice,
          group: { key: 'key_two' },
          totals: { ...one, requests: 2, errors: 1, firstByte: firstByte(2) },
        },
      ]);
      const nothing = {
        unpriced: 0,
        inputTokens: 0,
        cacheReadTokens: 0,
        cacheWriteTokens: 0,
        outputTokens: 0,
        costUsd: null,
        ...NO_MISSES,
      };
      expect(await groupedTotals(store, 'model', undefined, HOUR)).toEqual([
        { accountId: zoe, group: { model: 'echo', provider: 'sim' }, totals: one },
        {
          accountId: alice,
          group: { model: 'echo', provider: 'sim' },
          totals: { ...one, ...nothing, errors: 1 },
        },
        { accountId: alice, group: { model: 'slow', provider: 'sim' }, totals: one },
      ]);
      expect(await groupedTotals(store, 'hour', undefined, HOUR)).toEqual([
        { accountId: zoe, group: { hour: '2026-11-21T14:00:00.000Z' }, totals: one },
        {
          accountId: alice,
          group: { hour: '2026-11-21T15:00:00.000Z' },
          totals: { ...one, errors: 1, firstByte: firstByte(2) },
        },
      ]);
      const day = { day: '2026-11-21T00:00:00.000Z' };
      expect(await groupedTotals(store, 'day', undefined, HOUR)).toEqual([
        { accountId: zoe, group: day, totals: one },
        { accountId: alice, group: day, totals: { ...one, errors: 1, firstByte: firstByte(2) } },
      ]);
      expect(await groupedTotals(store, 'provider', alice, HOUR)).toEqual([
        {
          accountId: alice,
          group: { provider: 'sim' },
          totals: { ...one, requests: 2, errors: 1, firstByte: firstByte(2) },
        },
      ]);
      expect(await groupedTotals(store, 'account', zoe, HOUR)).toEqual([
        { accountId: zoe, group: { account: 'zoe' }, totals: one },
      ]);
    });

    it('groups requests that reached no target under null', async () => {
      await store.recordUsage([usageRow({ provider: null, model: null, error: 'upstream' })]);
      expect((await groupedTotals(store, 'model', 1, HOUR)).map(({ group }) => group)).toEqual([
        { model: null, provider: null },
      ]);
    });

    /** One admission and `rows` usage rows in each of these hours. */
    async function fill(hours: readonly number[], rows: number): Promise<number> {
      await store.createKey(newKey());
      const id = await accountId();
      for (const hour of hours) {
        await admit(id, hour, 10);
        const at = (n: number): number => hour + (n % HOUR_MS);
        await store.recordUsage(
          Array.from({ length: rows }, (_, n) => usageRow({ accountId: id, at: at(n) })),
        );
      }
      return id;
    }

    it('prunes whole hours that are older, and keeps what is not', async () => {
      const id = await fill([HOUR - 2 * HOUR_MS, HOUR - HOUR_MS, HOUR], 1203);
      await store.prune(HOUR + 10, HOUR_MS);
      expect(await store.totals(id, 0)).toMatchObject({ requests: 2, outputTokens: 2 * 1203 * 20 });
      expect(await store.admissionsByHour(id, 0)).toEqual([
        { accountId: id, hour: HOUR - HOUR_MS, requests: 1 },
        { accountId: id, hour: HOUR, requests: 1 },
      ]);
    });

    it('prunes nothing for a clock that is ahead of all that was recorded', async () => {
      const id = await fill([HOUR - HOUR_MS, HOUR], 1);
      await store.prune(HOUR + 10_000 * HOUR_MS, 2 * HOUR_MS);
      expect(await store.totals(id, 0)).toMatchObject({ requests: 2, outputTokens: 40 });
    });

    it('never prunes the newest hour, however little is to be kept', async () => {
      const id = await fill([HOUR - HOUR_MS, HOUR], 3);
      await store.prune(HOUR + 1000, 0);
      expect(await store.totals(id, 0)).toMatchObject({ requests: 1, outputTokens: 60 });
      expect(await admit(id, HOUR, 10)).toBe(2);
    });

    it('equals a plain sum over the rows that are left, whatever the report and its window', async () => {
      const steps = fc.array(
        fc.record({
          batch: usageRows(HOUR, usageRow()),
          keepHours: fc.option(fc.integer({ min: 0, max: 40 })),
        }),
        { minLength: 1, maxLength: 5 },
      );
      await fc.assert(
        fc.asyncProperty(steps, async (todo) => {
          const fresh = await open();
          await fresh.createKey(newKey());
          await fresh.createKey(newKey({ id: 'key_two', account: 'bob' }));
          let rows: UsageRow[] = [];
          for (const { batch, keepHours } of todo) {
            await fresh.recordUsage(batch);
            rows = rows.concat(batch);
            if (keepHours !== null && rows.length > 0) {
              const newest = Math.max(...rows.map(({ at }) => at));
              await fresh.prune(newest, keepHours * HOUR_MS);
              rows = rows.filter(({ at }) => at >= hourOf(newest - keepHours * HOUR_MS));
            }
            for (const grouping of GROUPINGS) {
              for (const since of [0, HOUR - 20 * HOUR_MS, HOUR + 1]) {
                for (const until of [undefined, HOUR - 30 * HOUR_MS, HOUR - 3 * HOUR_MS, HOUR + HOUR_MS]) {
                  const found = await groupedTotals(fresh, grouping, undefined, since, until);
                  const before = rows.filter(({ at }) => at < (until ?? Infinity));
                  expect(byName(found)).toEqual(byName(plainSums(before, grouping, since)));
                }
              }
            }
            const alice = plainSums(rows, 'account', 0).find(({ accountId }) => accountId === 1);
            expect(await fresh.totals(1, 0)).toEqual(alice?.totals ?? NO_TOTALS);
          }
          await fresh.close();
        }),
        { numRuns: Math.ceil(5 * share) },
      );
    }, 60_000);

    it('writes each batch of a writer once, and the same number of another writer too', async () => {
      const batch = { writer: 'one', number: 3 };
      await store.recordUsage([usageRow(), usageRow()], batch);
      await store.recordUsage([usageRow(), usageRow()], batch);
      await store.recordUsage([usageRow()], { writer: 'one', number: 2 });
      expect(await store.totals(1, HOUR)).toMatchObject({ outputTokens: 40 });
      await store.recordUsage([usageRow()], { writer: 'one', number: 4 });
      await store.recordUsage([usageRow()], { writer: 'two', number: 3 });
      expect(await store.totals(1, HOUR)).toMatchObject({ outputTokens: 80 });
    });

    it('takes a name with a zero character or half a character, also in a search', async () => {
      const odd = 'a\0b\ud800';
      await store.recordUsage([usageRow({ modelAsked: odd, model: odd, detail: JSON.stringify({ odd }) })]);
      expect(await store.totals(1, HOUR)).toMatchObject({ outputTokens: 20 });
      await store.listRequests({ limit: 5, model: odd });
      expect(await store.findAccount(odd)).toBeUndefined();
      expect(await store.findItems(1, [odd], HOUR)).toEqual([]);
    });

    it('takes an empty batch, and a name of any length', async () => {
      await store.recordUsage([]);
      await store.recordUsage([usageRow({ modelAsked: 'x'.repeat(100_000), model: 'y'.repeat(100_000) })]);
      const [row] = await groupedTotals(store, 'model', 1, HOUR);
      expect(row?.group.model?.length).toBeLessThan(1000);
    });
  });

  describe(`${name}: a part of an hour`, () => {
    it('is the sum of its rows, by account', async () => {
      await store.createKey(newKey());
      const id = await accountId();
      const rows = [
        usageRow({ at: HOUR + 9, accountId: id, input: 1000 }),
        usageRow({ at: HOUR + 10, accountId: id }),
        usageRow({ at: HOUR + 19, accountId: id, error: 'upstream', costUsd: null }),
        usageRow({ at: HOUR + 19, accountId: id + 1 }),
        usageRow({ at: HOUR + 20, accountId: id, input: 1000 }),
      ];
      await store.recordUsage(rows);
      const [plain] = plainSums(rows.slice(1, 3), 'account', 0);
      const found = await store.rowTotals(undefined, HOUR + 10, HOUR + 20);
      expect([...found.keys()]).toEqual([id, id + 1]);
      expect(found.get(id)).toEqual({ ...plain?.totals, requests: 2 });
      expect(await store.rowTotals(id + 1, HOUR + 10, HOUR + 20)).toEqual(
        new Map([[id + 1, found.get(id + 1)]]),
      );
      expect(await store.rowTotals(undefined, HOUR + 11, HOUR + 19)).toEqual(new Map());
    });
  });

  describe(`${name}: single requests`, () => {
    const LIMIT = 10;

    it('gives a request back as it was recorded, with the name of its account', async () => {
      await store.createKey(newKey());
      const row = usageRow({
        accountId: await accountId(),
        requestId: 'req_one',
        attempts: 2,
        detail: '{"lost":["x"]}',
        streamed: false,
        error: 'upstream',
      });
      const bare = usageRow({
        ...NOTHING_KNOWN,
        at: HOUR,
        accountId: 99,
        provider: null,
        model: null,
        firstByteMs: null,
      });
      await store.recordUsage([bare, row]);
      expect(await store.listRequests({ limit: LIMIT })).toEqual([
        { ...row, account: 'alice', rowId: expect.any(Number) as number },
        { ...bare, account: null, rowId: expect.any(Number) as number },
      ]);
    });

    it('lists the newest first, as many as are asked for, whatever the order of recording', async () => {
      await store.recordUsage([3, 1, 2].map((at) => usageRow({ at: HOUR + at, requestId: `req_${at}` })));
      const ids = (await store.listRequests({ limit: 2 })).map(({ requestId }) => requestId);
      expect(ids).toEqual(['req_3', 'req_2']);
    });

    it('filters by time, account, model and failure, together', async () => {
      const rows = [
        usageRow({ requestId: 'a', error: 'upstream' }),
        usageRow({ requestId: 'b', accountId: 2 }),
        usageRow({ requestId: 'c', modelAsked: 'sim/echo' }),
        usageRow({ requestId: 'd', model: 'other', at: HOUR + 60_000 }),
        usageRow({ requestId: 'e', provider: null, model: null, modelAsked: 'other' }),
      ];
      await store.recordUsage(rows);
      const ids = async (filter: Partial<RequestQuery>): Promise<string> =>
        (await store.listRequests({ limit: LIMIT, ...filter }))
          .map(({ requestId }) => requestId)
          .sort()
          .join('');
      expect(await ids({ errors: true })).toBe('a');
      expect(await ids({ errors: false, accountId: 2 })).toBe('b');
      expect(await ids({ model: 'echo' })).toBe('abc');
      expect(await ids({ model: 'sim/echo' })).toBe('abc');
      expect(await ids({ model: 'other' })).toBe('de');
      expect(await ids({ since: HOUR + 60_000 })).toBe('d');
      expect(await ids({ since: HOUR + 60_000, model: 'echo' })).toBe('');
      expect(await ids({ accountId: 1, errors: true, model: 'auto', since: HOUR })).toBe('a');
    });

    it('lists what is older than a place, and no older than another, also among requests of the same time', async () => {
      const times = [0, 0, 5, 5, 5, 9];
      await store.recordUsage(times.map((at, n) => usageRow({ at: HOUR + at, requestId: String(n) })));
      const all = await store.listRequests({ limit: LIMIT });
      const ids = async (query: Partial<RequestQuery>): Promise<string> =>
        (await store.listRequests({ limit: LIMIT, ...query })).map(({ requestId }) => requestId).join('');
      expect(await ids({})).toBe('543210');
      const [newest, , , , , oldest] = all;
      expect(await ids({ before: all[2] })).toBe('210');
      expect(await ids({ before: all[2], limit: 2 })).toBe('21');
      expect(await ids({ before: oldest })).toBe('');
      expect(await ids({ downTo: all[2] })).toBe('543');
      expect(await ids({ before: newest, downTo: all[3], since: HOUR + 5 })).toBe('432');
      expect(await ids({ before: all[1], downTo: all[4], accountId: 2 })).toBe('');
      expect(await ids({ before: { at: HOUR + 5, rowId: 0 } })).toBe('10');
    });

    it('says where so many requests of a window end', async () => {
      const times = [0, 0, 5, 5, 5, 9];
      await store.recordUsage(times.map((at, n) => usageRow({ at: HOUR + at, requestId: String(n) })));
      const all = await store.listRequests({ limit: LIMIT });
      const at = async (window: RequestWindow, count: number): Promise<number> => {
        const place = await store.passRequests(window, count);
        return all.findIndex(({ rowId }) => rowId === place?.rowId);
      };
      expect(await at({}, 1)).toBe(0);
      expect(await at({}, 3)).toBe(2);
      expect(await at({ before: all[2] }, 2)).toBe(4);
      expect(await at({ since: HOUR + 5, before: all[1] }, 2)).toBe(3);
      expect(await store.passRequests({ since: HOUR + 5 }, 5)).toBeUndefined();
      expect(await store.passRequests({}, 7)).toBeUndefined();
    });

    it('finds requests by the beginning of their ids, exactly, within a time', async () => {
      await store.recordUsage([
        usageRow({ requestId: 'req_0aB', at: HOUR }),
        usageRow({ requestId: 'req_0ab', at: HOUR + 5 }),
        usageRow({ at: HOUR + 6 }),
        usageRow({ requestId: 'req_%', at: HOUR + 7 }),
      ]);
      const ids = async (prefix: string, change: Partial<RequestIdQuery> = {}) =>
        (await store.findRequests({ prefix, from: HOUR, until: HOUR + 10, limit: LIMIT, ...change })).map(
          ({ requestId }) => requestId,
        );
      expect(await ids('req_0aB')).toEqual(['req_0aB']);
      expect(await ids('req_0a')).toEqual(['req_0aB', 'req_0ab']);
      expect(await ids('req_0a', { limit: 1 })).toEqual(['req_0aB']);
      expect(await ids('req_0a', { from: HOUR + 1 })).toEqual(['req_0ab']);
      expect(await ids('req_0a', { until: HOUR + 4 })).toEqual(['req_0aB']);
      expect(await ids('req_%')).toEqual(['req_%']);
    });

    it('looks for an id among many, or among as many as are asked for', async () => {
      const rows = Array.from({ length: 25_000 }, (_, n) =>
        usageRow({ at: HOUR + Math.floor(n / 7), requestId: `req_${n}x` }),
      );
      await store.recordUsage(rows);
      const window = { from: HOUR, until: HOUR + 10_000, limit: 2 };
      const ids = async (prefix: string, most?: number) =>
        (await store.findRequests({ ...window, prefix, ...(most !== undefined && { most }) })).map(
          ({ requestId }) => requestId,
        );
      for (const n of [0, 9_999, 10_000, 19_999, 20_000, 24_999])
        expect(await ids(`req_${n}x`)).toEqual([`req_${n}x`]);
      expect(await ids('req_2499')).toEqual(['req_2499x', 'req_24990x']);
      expect(await ids('nothing')).toEqual([]);
      expect(await ids('req_24999x', 10_000)).toEqual([]);
      expect(await ids('req_5x', 10_000)).toEqual(['req_5x']);
    });

    it('sums up conversations by what their requests have in common, found by window, account, label or id', async () => {
      await store.createKey(newKey());
      const alice = await accountId();
      const part = { accountId: alice, conversation: 'conv_a', client: 'claude-code' };
      await store.recordUsage([
        usageRow({ ...part, at: HOUR, durationMs: 5.5 }),
        usageRow({
          ...part,
          at: HOUR + HOUR_MS,
          cacheMiss: 'tools',
          cacheMissTokens: 9,
          cacheMissCostUsd: 0.25,
        }),
        usageRow({
          ...part,
          at: HOUR + 2,
          agent: 'a1',
          agentType: 'Explore',
          label: 'pr-1',
          ...NOTHING_KNOWN,
          error: 'x',
        }),
        usageRow({ ...part, at: HOUR + 3, conversation: 'conv_b', accountId: alice + 1 }),
        usageRow({ at: HOUR + 4 }),
      ]);
      const one = {
        conversation: 'conv_a',
        accountId: alice,
        account: 'alice',
        client: 'claude-code',
        misses: 0,
      };
      const parts = [
        {
          ...{
            ...one,
            agent: null,
            agentType: null,
            requests: 2,
            errors: 0,
            inputTokens: 230,
            outputTokens: 40,
          },
          ...{ cacheReadTokens: 20, cacheWriteTokens: 10, costUsd: 1, misses: 1, missesCostUsd: 0.25 },
          ...{ startedAt: Math.trunc(HOUR - 5.5), lastAt: HOUR + HOUR_MS },
        },
        {
          ...{
            ...one,
            agent: 'a1',
            agentType: 'Explore',
            label: 'pr-1',
            requests: 1,
            errors: 1,
            inputTokens: 0,
          },
          ...{ costUsd: null, missesCostUsd: null },
        },
      ];
      const found = async (query: object): Promise<ConversationPart[]> =>
        (await store.conversationParts({ limit: 10, ...query })).sort((a, b) =>
          a.conversation + (a.agent ?? '') < b.conversation + (b.agent ?? '') ? -1 : 1,
        );
      const all = await found({});
      expect(all).toMatchObject([...parts, { conversation: 'conv_b', account: null }]);
      for (const query of [
        { since: HOUR + HOUR_MS },
        { accountId: alice },
        { prefix: 'conv_a' },
        { ids: ['conv_a', 'conv_c'] },
      ])
        expect(await found(query)).toEqual(all.slice(0, 2));
      const labelled = await found({ label: 'pr-1' });
      expect(labelled).toEqual(all.slice(0, 2).map((part) => ({ ...part, place: labelled[0]?.place })));
      expect(labelled[0]?.place).toBeLessThan(all[0]?.place ?? 0);
      const before = { at: all[0]?.place ?? 0, conversation: 'conv_a' };
      expect((await found({ before })).map(({ conversation }) => conversation)).toEqual(['conv_b']);
      expect(await found({ before: { ...before, conversation: 'conv_b' } })).toEqual(all);
      expect(await found({ limit: 1 })).toHaveLength(2);
      expect(await found({ prefix: 'conv_c' })).toEqual([]);
      const rows = await store.listRequests({ conversation: 'conv_a', missed: true, limit: 9 });
      expect(rows.map(({ cacheMiss }) => cacheMiss)).toEqual(['tools']);
    });
  });
}
