// The usage of accounts in a window of time, as `gateway usage --json` prints it and the admin API sends it; and for charts, as totals of
// each group, of one account or of all together.
import { HOUR_MS, isoTime } from '../clock.ts';
import { addTotals, firstByteAt, NO_USAGE } from '../store/usage-sums.ts';
import type { Account, GroupedTotals, Grouping, StoreReader, Totals } from '../store/store.ts';

/** The shape that `--json` prints and the admin API sends. */
export interface AccountUsage {
  account: string;
  tier: string;
  /** null: no limit. */
  limit: number | null;
  used: number;
  /** null: no limit. */
  remaining: number | null;
  resets_at: string;
  totals: PrintedTotals;
  hours: { hour: string; requests: number }[];
  by?: ({ totals: PrintedTotals } & Record<string, unknown>)[];
}

export interface PrintedTotals {
  requests: number;
  errors: number;
  unknown: number;
  /** Answered requests whose model has no known price. `cost_usd` does not include them. */
  unpriced: number;
  /** With cache reads and writes. */
  input_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
  /** Estimated. null: no request had a first byte. */
  first_byte_ms: { p50: number; p95: number } | null;
}

export interface Window {
  since: number;
  now: number;
  by: Grouping | undefined;
  /** Only this account's usage. */
  only: number | undefined;
  /** The start of the day that an hour belongs to. Without it, days are those of UTC. */
  dayOf?: ((hour: number) => number) | undefined;
}

/** Reads the usage of all accounts at once. Returns a function that describes one of them. The window begins at the start of an
 *  hour, so that hours and totals cover the same time. */
export async function readUsage(
  { since, now, by, only, dayOf }: Window,
  store: StoreReader,
): Promise<(account: Account, limit: number) => AccountUsage> {
  const first = since - (since % HOUR_MS);
  const current = now - (now % HOUR_MS);
  const needsHours = by === 'hour' || (by === 'day' && dayOf !== undefined);
  const hours = needsHours ? await store.totalsBy('hour', only, first) : undefined;
  const ofHours = hours && groupBy(hours);
  const admitted = hours ? undefined : groupBy(await store.admissionsByHour(only, first));
  const totals = groupBy(await store.totalsBy('account', only, first));
  const groups = by === undefined || by === 'hour' ? ofHours : groupBy(await grouped(by));

  async function grouped(by: Grouping): Promise<readonly GroupedTotals[]> {
    return hours && dayOf ? intoDays(hours, dayOf) : store.totalsBy(by, only, first);
  }

  const keys = by === 'key' ? await store.listKeys() : [];
  const labels = new Map(keys.map(({ id, label }) => [id, label]));
  const window = new Map<number, string>();
  for (let at = first; at <= current; at += HOUR_MS) window.set(at, isoTime(at));

  return ({ id, name, tier }, limit) => {
    const requests = new Map(
      ofHours?.get(id)?.map(({ group, totals }) => [group['hour'] ?? undefined, totals.requests]) ??
        admitted?.get(id)?.map(({ hour, requests }) => [window.get(hour), requests]),
    );
    const used = requests.get(window.get(current)) ?? 0;
    return {
      account: name,
      tier,
      limit: limit === Infinity ? null : limit,
      used,
      remaining: limit === Infinity ? null : Math.max(0, limit - used),
      resets_at: isoTime(current + HOUR_MS),
      totals: printed(totals.get(id)?.[0]?.totals ?? NO_USAGE),
      hours: Array.from(window.values(), (hour) => ({ hour, requests: requests.get(hour) ?? 0 })),
      ...(groups && {
        by:
          groups.get(id)?.map(({ group, totals }) => ({
            ...group,
            ...(by === 'key' && { name: labels.get(group['key'] ?? '') ?? null }),
            totals: printed(totals),
          })) ?? [],
      }),
    };
  };
}

/** Hours in order, as days in order. */
function intoDays(hours: readonly GroupedTotals[], dayOf: (hour: number) => number): GroupedTotals[] {
  const days = new Map<string, GroupedTotals>();
  for (const { accountId, group, totals } of hours) {
    const day = isoTime(dayOf(Date.parse(group['hour'] ?? '')));
    const name = `${accountId} ${day}`;
    const before = days.get(name);
    days.set(name, {
      accountId,
      group: { day },
      totals: before === undefined ? totals : addTotals(before.totals, totals),
    });
  }
  return [...days.values()];
}

function groupBy<Row extends { accountId: number }>(rows: readonly Row[]): Map<number, Row[]> {
  const groups = new Map<number, Row[]>();
  for (const row of rows) {
    const group = groups.get(row.accountId);
    if (group === undefined) groups.set(row.accountId, [row]);
    else group.push(row);
  }
  return groups;
}

export function printed(totals: Totals): PrintedTotals {
  const p50 = firstByteAt(totals.firstByte, 0.5);
  const p95 = firstByteAt(totals.firstByte, 0.95);
  return {
    requests: totals.requests,
    errors: totals.errors,
    unknown: totals.unknown,
    unpriced: totals.unpriced,
    input_tokens: totals.inputTokens,
    cache_read_tokens: totals.cacheReadTokens,
    cache_write_tokens: totals.cacheWriteTokens,
    output_tokens: totals.outputTokens,
    cost_usd: totals.costUsd,
    first_byte_ms: p50 === null || p95 === null ? null : { p50: Math.round(p50), p95: Math.round(p95) },
  };
}

/** The window begins at the start of an hour. */
export async function summarizeUsage(
  { since, now, by, only }: Omit<Window, 'dayOf'> & { by: Grouping },
  store: StoreReader,
) {
  const first = since - (since % HOUR_MS);
  const groups = new Map<string, { group: Record<string, string | null>; totals: Totals }>();
  for (const { group, totals } of await store.totalsBy(by, only, first)) {
    const key = JSON.stringify(group);
    const before = groups.get(key);
    groups.set(key, { group, totals: before === undefined ? totals : addTotals(before.totals, totals) });
  }
  const accounts = await store.totalsBy('account', only, first);
  return {
    by,
    since: isoTime(first),
    until: isoTime(now),
    totals: printed(accounts.map(({ totals }) => totals).reduce(addTotals, NO_USAGE)),
    groups: [...groups.values()].map(({ group, totals }) => ({ group, totals: printed(totals) })),
  };
}
