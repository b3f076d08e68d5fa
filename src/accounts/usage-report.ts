// The usage of accounts in a window of time, as `gateway usage --json` prints it and the admin API sends it.
import { HOUR_MS, isoTime } from '../clock.ts';
import { NO_FIRST_BYTES } from '../store/first-byte.ts';
import type { Account, Grouping, StoreReader, Totals } from '../store/store.ts';

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
  input_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
}

export interface Window {
  since: number;
  now: number;
  by: Grouping | undefined;
  /** Only this account's usage. */
  only: number | undefined;
}

/** Reads the usage of all accounts at once. Returns a function that describes one of them. The window begins at the start of an
 *  hour, so that hours and totals cover the same time. */
export async function readUsage(
  { since, now, by, only }: Window,
  store: StoreReader,
): Promise<(account: Account, limit: number) => AccountUsage> {
  const first = since - (since % HOUR_MS);
  const current = now - (now % HOUR_MS);
  const admitted = groupBy(await store.admissionsByHour(only, first));
  const totals = groupBy(await store.totalsBy('account', only, first));
  const groups = by === undefined ? undefined : groupBy(await store.totalsBy(by, only, first));

  const keys = by === 'key' ? await store.listKeys() : [];
  const labels = new Map(keys.map(({ id, label }) => [id, label]));
  const window: { at: number; hour: string }[] = [];
  for (let at = first; at <= current; at += HOUR_MS) window.push({ at, hour: isoTime(at) });

  return ({ id, name, tier }, limit) => {
    const requests = new Map(admitted.get(id)?.map((row) => [row.hour, row.requests]));
    const used = requests.get(current) ?? 0;
    return {
      account: name,
      tier,
      limit: limit === Infinity ? null : limit,
      used,
      remaining: limit === Infinity ? null : Math.max(0, limit - used),
      resets_at: isoTime(current + HOUR_MS),
      totals: printed(totals.get(id)?.[0]?.totals ?? NO_USAGE),
      hours: window.map(({ at, hour }) => ({ hour, requests: requests.get(at) ?? 0 })),
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

const NO_USAGE: Totals = {
  requests: 0,
  errors: 0,
  unknown: 0,
  unpriced: 0,
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  costUsd: null,
  firstByte: NO_FIRST_BYTES,
};

function groupBy<Row extends { accountId: number }>(rows: readonly Row[]): Map<number, Row[]> {
  const groups = new Map<number, Row[]>();
  for (const row of rows) {
    const group = groups.get(row.accountId);
    if (group === undefined) groups.set(row.accountId, [row]);
    else group.push(row);
  }
  return groups;
}

function printed(totals: Totals): PrintedTotals {
  return {
    requests: totals.requests,
    errors: totals.errors,
    unknown: totals.unknown,
    unpriced: totals.unpriced,
    input_tokens: totals.inputTokens,
    output_tokens: totals.outputTokens,
    cost_usd: totals.costUsd,
  };
}
