// What every engine must do with requests that were refused: one row for like ones, in the places of one list with those that ended,
// bounded in number, pruned, gone with the account, and never counted as usage.
import { beforeEach, describe, expect, it } from 'vitest';
import type { RefusalRow } from '../../src/store/holds/refusals.ts';
import type { RequestQuery, Store } from '../../src/store/store.ts';
import { type Contract, HOUR, newKey, usageRow } from './support.ts';

const LIMIT = 100_000;

export function refusalContract(name: string, { store: opened }: Contract): void {
  describe(`${name}: refused requests`, () => {
    let store: Store;
    let accountId = 0;
    beforeEach(async () => {
      store = opened();
      ({ accountId } = await store.createKey(newKey()));
    });

    const row = (change: Partial<RefusalRow> = {}): RefusalRow => ({
      ...{ at: HOUR, requestId: 'req_r', accountId, keyId: 'key_one', endpoint: 'chat', modelAsked: 'auto' },
      ...{ conversation: 'conv_a', label: 'pr-1', client: 'codex', status: 429, error: 'rate_limited' },
      ...{ message: 'alice has used its 5 requests', times: 1 },
      ...change,
    });
    const ids = async (query: Partial<RequestQuery> = {}): Promise<string> =>
      (await store.listRefusals({ limit: LIMIT, ...query })).map(({ requestId }) => requestId).join('');

    it('gives them back as they were, with the name of the account, and counts nothing', async () => {
      const bare = row({
        ...{ at: HOUR - 1, requestId: 'req_bare', keyId: null, modelAsked: null, conversation: null },
        ...{ label: null, client: null },
      });
      await store.recordRefusals([row(), bare]);
      const place = { account: 'alice', rowId: expect.any(Number) as number };
      expect(await store.listRefusals({ limit: LIMIT })).toEqual([
        { ...row(), ...place },
        { ...bare, ...place },
      ]);
      expect(await store.listRequests({ limit: LIMIT })).toEqual([]);
      expect(await store.totals(accountId, 0)).toMatchObject({ requests: 0, errors: 0 });
      expect(await store.totalsBy('key', accountId, 0)).toEqual([]);
    });

    it('sets the number of a row that is there, and never a smaller one', async () => {
      await store.recordRefusals([row({ times: 3 })]);
      await store.recordRefusals([row({ times: 70 }), row({ requestId: 'req_other' })]);
      await store.recordRefusals([row({ times: 5 })]);
      const found = await store.listRefusals({ limit: LIMIT });
      expect(found.map(({ requestId, times }) => [requestId, times]).sort()).toEqual([
        ['req_other', 1],
        ['req_r', 70],
      ]);
    });

    it('filters as the list of requests does', async () => {
      await store.recordRefusals([
        row({ requestId: 'a', at: HOUR + 9 }),
        row({ requestId: 'b', at: HOUR + 8, keyId: 'key_two', status: 403, error: 'forbidden_model' }),
        row({ requestId: 'c', at: HOUR + 7, modelAsked: 'other', endpoint: 'messages', label: 'x' }),
        row({ requestId: 'd', at: HOUR + 6, conversation: 'conv_b' }),
      ]);
      expect(await ids()).toBe('abcd');
      expect(await ids({ limit: 2 })).toBe('ab');
      expect(await ids({ errors: true })).toBe('abcd');
      expect(await ids({ since: HOUR + 8 })).toBe('ab');
      expect(await ids({ accountId: accountId + 1 })).toBe('');
      expect(await ids({ keyId: 'key_two' })).toBe('b');
      expect(await ids({ model: 'other' })).toBe('c');
      expect(await ids({ endpoint: 'messages' })).toBe('c');
      expect(await ids({ label: 'pr-1' })).toBe('abd');
      expect(await ids({ conversation: 'conv_b' })).toBe('d');
      expect(await ids({ error: 'forbidden_model' })).toBe('b');
      expect(await ids({ status: { from: 400, to: 428 } })).toBe('b');
      expect(await ids({ status: { from: 429, to: 429 }, label: 'x' })).toBe('c');
      expect(await ids({ provider: 'openai' })).toBe('');
      expect(await ids({ missed: true })).toBe('');
    });

    it('has a place among the requests that ended at the same time', async () => {
      await store.recordRefusals(['r1', 'r2'].map((requestId) => row({ requestId })));
      await store.recordUsage(['u1', 'u2'].map((requestId) => usageRow({ at: HOUR, requestId })));
      const of = async (query: Partial<RequestQuery>): Promise<string> =>
        [
          ...(await store.listRefusals({ limit: LIMIT, ...query })),
          ...(await store.listRequests({ limit: LIMIT, ...query })),
        ]
          .map(({ requestId }) => requestId)
          .join(' ');
      const places = [
        ...(await store.listRefusals({ limit: LIMIT })),
        ...(await store.listRequests({ limit: LIMIT })),
      ];
      expect(await of({})).toBe('r2 r1 u2 u1');
      for (const [at, rest] of ['r1 u2 u1', 'u2 u1', 'u1', ''].entries())
        expect(await of({ before: places[at] })).toBe(rest);
      for (const [at, newer] of ['r2', 'r2 r1', 'r2 r1 u2', 'r2 r1 u2 u1'].entries())
        expect(await of({ downTo: places[at] })).toBe(newer);
    });

    it('finds them by the beginning of their ids, within a time', async () => {
      await store.recordRefusals([
        row({ requestId: 'req_0aB' }),
        row({ requestId: 'req_0ab', at: HOUR + 5 }),
        row({ requestId: 'req_%', at: HOUR + 6 }),
      ]);
      const found = async (prefix: string, limit = 9) =>
        (await store.findRefusals({ prefix, from: HOUR, until: HOUR + 6, limit })).map(
          ({ requestId }) => requestId,
        );
      expect(await found('req_0a')).toEqual(['req_0aB', 'req_0ab']);
      expect(await found('req_0a', 1)).toEqual(['req_0aB']);
      expect(await found('req_0ab')).toEqual(['req_0ab']);
      expect(await found('req_%')).toEqual(['req_%']);
    });

    it('holds the last 20,000 alone', async () => {
      for (let from = 0; from < 20_200; from += 1010) {
        const more = Array.from({ length: 1010 }, (_, n) => row({ requestId: `req_${from + n}` }));
        await store.recordRefusals(more);
      }
      const found = await store.listRefusals({ limit: LIMIT });
      expect(found).toHaveLength(20_000);
      expect(found.at(0)?.requestId).toBe('req_20199');
    });

    it('is pruned with usage, and goes with the account', async () => {
      const keep = 10 * 3_600_000;
      await store.recordUsage([usageRow({ at: HOUR + 2 * keep, accountId })]);
      await store.recordRefusals([row({ requestId: 'old' }), row({ requestId: 'new', at: HOUR + 2 * keep })]);
      await store.prune(HOUR + 2 * keep, keep);
      expect(await ids()).toBe('new');
      await store.removeAccount('alice');
      expect(await ids()).toBe('');
      await store.recordRefusals([row({ requestId: 'late' })]);
      expect(await ids()).toBe('');
    });
  });
}
