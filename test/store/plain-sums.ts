// What reports must equal: usage rows summed one by one.
import fc from 'fast-check';
import { DAY_MS, HOUR_MS } from '../../src/clock.ts';
import { FIRST_BYTE_LIMITS, NO_FIRST_BYTES } from '../../src/store/usage-sums.ts';
import type { StoreReader } from '../../src/store/reader.ts';
import type { Grouping, GroupTotals, Totals } from '../../src/store/store.ts';
import type { UsageRow } from '../../src/store/usage-columns.ts';

export const NO_TOTALS: Totals = {
  requests: 0,
  errors: 0,
  unknown: 0,
  unpriced: 0,
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  cacheMisses: 0,
  cacheMissTokens: 0,
  costUsd: null,
  cacheMissCostUsd: 0,
  firstByte: NO_FIRST_BYTES,
};

export const hourOf = (at: number): number => at - (at % HOUR_MS);
const dayOf = (at: number): number => at - (at % DAY_MS);

const ACCOUNTS = new Map([
  [1, 'alice'],
  [2, 'bob'],
]);

const GROUPS: Record<Grouping, (row: UsageRow) => Record<string, string | null>> = {
  account: ({ accountId }) => ({ account: ACCOUNTS.get(accountId) ?? null }),
  key: ({ keyId }) => ({ key: keyId }),
  label: ({ label }) => ({ label }),
  model: ({ model, provider }) => ({ model, provider }),
  provider: ({ provider }) => ({ provider }),
  hour: ({ at }) => ({ hour: new Date(hourOf(at)).toISOString() }),
  day: ({ at }) => ({ day: new Date(dayOf(at)).toISOString() }),
};

/** `requests` of sums by account, hour and day are admissions: 0 here. */
const OF_ADMISSIONS: readonly Grouping[] = ['account', 'hour', 'day'];

interface GroupedTotals extends GroupTotals {
  accountId: number;
}

/** The report of a store as one list. */
export async function groupedTotals(
  store: Pick<StoreReader, 'totalsBy'>,
  ...query: Parameters<StoreReader['totalsBy']>
): Promise<GroupedTotals[]> {
  const accounts = await store.totalsBy(...query);
  return accounts.flatMap(({ accountId, groups }) => groups.map((group) => ({ accountId, ...group })));
}

export function plainSums(rows: readonly UsageRow[], by: Grouping, since: number): GroupedTotals[] {
  const sums = new Map<string, GroupedTotals & { totals: Sums }>();
  for (const row of rows) {
    if (row.at < hourOf(since)) continue;
    const group = GROUPS[by](row);
    const name = JSON.stringify([row.accountId, group]);
    let sum = sums.get(name);
    if (sum === undefined) {
      const totals = { ...NO_TOTALS, firstByte: [...NO_TOTALS.firstByte] };
      sums.set(name, (sum = { accountId: row.accountId, group, totals }));
    }
    addRow(sum.totals, row);
  }
  if (!OF_ADMISSIONS.includes(by)) return [...sums.values()];
  return [...sums.values()].map(({ totals, ...rest }) => ({ ...rest, totals: { ...totals, requests: 0 } }));
}

interface Sums extends Totals {
  firstByte: number[];
}

function addRow(sums: Sums, row: UsageRow): void {
  const known = row.input !== null && row.output !== null;
  const tokens = (count: number | null): number => (known ? (count ?? 0) : 0);
  sums.requests += 1;
  sums.errors += Number(row.error !== null);
  sums.unknown += Number(row.error === null && !known);
  sums.unpriced += Number(known && row.costUsd === null);
  sums.inputTokens += tokens(row.input) + tokens(row.cacheRead) + tokens(row.cacheWrite);
  sums.cacheReadTokens += tokens(row.cacheRead);
  sums.cacheWriteTokens += tokens(row.cacheWrite);
  sums.outputTokens += tokens(row.output);
  sums.cacheMisses += Number(row.cacheMiss !== null);
  sums.cacheMissTokens += tokens(row.cacheMissTokens);
  sums.cacheMissCostUsd += row.cacheMissCostUsd ?? 0;
  if (row.costUsd !== null) sums.costUsd = (sums.costUsd ?? 0) + row.costUsd;
  const range = sums.firstByte.findIndex((_, at) => isInRange(row.firstByteMs, at));
  if (range >= 0) sums.firstByte[range] = (sums.firstByte[range] ?? 0) + 1;
}

function isInRange(ms: number | null, range: number): boolean {
  return (
    ms !== null && ms >= (FIRST_BYTE_LIMITS[range - 1] ?? 0) && ms < (FIRST_BYTE_LIMITS[range] ?? Infinity)
  );
}

/** Groups by name, whatever their order. */
export function byName(groups: readonly GroupedTotals[]): Record<string, Totals> {
  return Object.fromEntries(
    groups.map(({ accountId, group, totals }) => [JSON.stringify([accountId, group]), totals]),
  );
}

const COUNT = fc.option(fc.integer({ min: 0, max: 5000 }));

/** Rows of two accounts in the day and a half around `hour`. Costs are sums of powers of two, so that sums of them are exact. */
export function usageRows(hour: number, base: UsageRow): fc.Arbitrary<UsageRow[]> {
  const row = fc.record({
    at: fc.integer({ min: hour - 30 * HOUR_MS, max: hour + 4 * HOUR_MS }),
    accountId: fc.constantFrom(1, 2),
    keyId: fc.constantFrom('key_one', 'key_two'),
    target: fc.constantFrom(['sim', 'echo'], ['sim', 'slow'], ['other', 'echo'], [null, null]),
    input: COUNT,
    cacheRead: COUNT,
    cacheWrite: COUNT,
    output: COUNT,
    cost: fc.option(fc.integer({ min: 0, max: 64 })),
    firstByteMs: fc.option(fc.double({ min: 0, max: 60_000, noNaN: true })),
    error: fc.constantFrom(null, null, 'upstream'),
    label: fc.constantFrom(null, 'pr-123', 'pr-124'),
    miss: fc.option(fc.integer({ min: 0, max: 64 })),
  });
  // Some rows many times, so that there are more rows than wait to be summed up.
  const times = fc.constantFrom(1, 1, 2, 1000);
  return fc.array(fc.record({ row, times }), { maxLength: 6 }).map((specs) =>
    specs.flatMap(({ row: { target, cost, miss, ...rest }, times }) =>
      Array.from({ length: times }, () => ({
        ...base,
        ...rest,
        provider: target[0] ?? null,
        model: target[1] ?? null,
        costUsd: cost === null ? null : cost / 16,
        cacheMiss: miss === null ? null : 'tools',
        cacheMissTokens: miss === null ? null : miss * 1000,
        cacheMissCostUsd: miss === null ? null : miss / 16,
      })),
    ),
  );
}
