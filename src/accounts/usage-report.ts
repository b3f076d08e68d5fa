// The usage of accounts in a window of time, as `gateway usage --json` prints it and the admin API sends it; and for charts, as totals of
// each group, of one account or of all together.
import { DAY_MS, HOUR_MS, hourOf, isoTime } from '../clock.ts';
import { difference, firstByteAt, sumOf } from '../store/usage-sums.ts';
import type { StoreReader } from '../store/reader.ts';
import type { Account, AccountTotals, Grouping, GroupTotals, Totals } from '../store/store.ts';

/** The shape that `--json` prints and the admin API sends. */
export interface AccountUsage {
  account: string;
  tier: string;
  /** null: no limit. */
  limit: number | null;
  used: number;
  /** With what grants add. null: no limit. */
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
  /** Answers that read anew what the provider's cache had, as far as they were explained; the cost is part of `cost_usd`. */
  cache_misses: number;
  cache_miss_tokens: number;
  cache_miss_cost_usd: number;
  /** Estimated. null: no request had a first byte. */
  first_byte_ms: { p50: number; p95: number } | null;
}

export interface Window {
  since: number;
  /** The end, as far as it is not now: the window has the whole of its last hour. */
  until?: number | undefined;
  now: number;
  by: Grouping | undefined;
  /** Only this account's usage. */
  only: number | undefined;
  /** The start of the day that a time belongs to. Without it, days are those of UTC. */
  dayOf?: ((time: number) => number) | undefined;
}

/** What reports read. */
export type UsageReader = Pick<StoreReader, 'totalsBy' | 'rowTotals' | 'admissionsByHour' | 'listKeys'>;

/** Hours of a window that are always listed, the last ones. Of a longer one, hours before the first request are left out. */
const LISTED_MS = 31 * DAY_MS;

/** `earliest`: the first hour of the window with a request. */
function listedFrom(first: number, last: number, earliest: number): number {
  return Math.max(first, Math.min(earliest, last - LISTED_MS));
}

const earliestOf = (groups: Iterable<GroupTotals>): number => {
  let earliest = Infinity;
  for (const { group } of groups)
    earliest = Math.min(earliest, Date.parse(group['hour'] ?? group['day'] ?? ''));
  return earliest;
};

/** Reads the usage of all accounts at once. Returns a function that describes one of them. The window begins at the start of an
 *  hour, so that hours and totals cover the same time. */
export async function readUsage(
  { since, until, now, by, only, dayOf }: Window,
  store: UsageReader,
): Promise<
  (account: Pick<Account, 'id' | 'name' | 'tier'>, limit: number, granted?: number) => AccountUsage
> {
  const first = hourOf(since);
  const current = hourOf(now);
  const last = until === undefined ? current : hourOf(Math.min(until - 1, now));
  const localDay = by === 'day' ? dayOf : undefined;
  const byHours = by === 'hour' || localDay !== undefined;
  const [totals, groups, admitted, keys] = await Promise.all([
    totalsBy(byHours ? 'hour' : 'account'),
    byHours || by === undefined || by === 'account' ? undefined : totalsBy(by),
    // The hour that runs counts against the limit, whatever the window.
    byHours && until === undefined
      ? undefined
      : store.admissionsByHour(only, Math.min(first, current)).then(groupByAccount),
    by === 'key' ? store.listKeys() : [],
  ]);
  const hoursOfTotals = byHours ? [...totals.values()].flatMap((each) => each.groups) : [];
  const hoursAdmitted = [...(admitted?.values() ?? [])].flat().map(({ hour }) => hour);
  const earliest = hoursAdmitted.reduce((a, b) => Math.min(a, b), earliestOf(hoursOfTotals));
  const listed = listedFrom(first, last, earliest);
  const cut = new Map(localDay === undefined ? [] : await partsOfHours(listed, last, localDay));

  async function totalsBy(grouping: Grouping): Promise<Map<number, AccountTotals>> {
    const found = await store.totalsBy(grouping, only, first, until);
    return new Map(found.map((each) => [each.accountId, each]));
  }

  /** `own`: the account as one group, or its hours. */
  function split(id: number, own: readonly GroupTotals[]): readonly GroupTotals[] {
    if (groups !== undefined) return groups.get(id)?.groups ?? [];
    return localDay === undefined ? own : intoDays(own, localDay, (hour) => cut.get(hour)?.get(id));
  }

  /** Where a day begins within an hour (zones of half an hour): what was recorded in the rest of that hour. */
  function partsOfHours(from: number, to: number, dayOf: (time: number) => number) {
    const hours: number[] = [];
    for (let hour = from; hour <= to; hour += HOUR_MS) if (dayOf(lastOf(hour)) > hour) hours.push(hour);
    return Promise.all(
      hours.map(async (hour) => {
        const part = await store.rowTotals(only, dayOf(lastOf(hour)), hour + HOUR_MS);
        return [hour, part] as const;
      }),
    );
  }

  const labels = new Map(keys.map(({ id, label }) => [id, label]));
  const window = new Map<number, string>();
  for (let at = listed; at <= last; at += HOUR_MS) window.set(at, isoTime(at));

  return ({ id, name, tier }, limit, granted = 0) => {
    const found = totals.get(id)?.groups ?? [];
    const requests = new Map(
      admitted === undefined
        ? found.map(({ group, totals }) => [group['hour'] ?? '', totals.requests])
        : admitted.get(id)?.map(({ hour, requests }) => [isoTime(hour), requests]),
    );
    const used = requests.get(isoTime(current)) ?? 0;
    return {
      account: name,
      tier,
      limit: limit === Infinity ? null : limit,
      used,
      remaining: limit === Infinity ? null : Math.max(0, limit + granted - used),
      resets_at: isoTime(current + HOUR_MS),
      totals: printed(sumOf(found.map(({ totals }) => totals))),
      hours: Array.from(window.values(), (hour) => ({ hour, requests: requests.get(hour) ?? 0 })),
      ...(by !== undefined && {
        by: split(id, found).map(({ group, totals }) =>
          by === 'key'
            ? { ...group, name: labels.get(group['key'] ?? '') ?? null, totals: printed(totals) }
            : { ...group, totals: printed(totals) },
        ),
      }),
    };
  };
}

const lastOf = (hour: number): number => hour + HOUR_MS - 1;

/** Hours in order, as days in order. `restOf`: of an hour in which a day begins, what belongs to that day. */
function intoDays(
  hours: readonly GroupTotals[],
  dayOf: (time: number) => number,
  restOf: (hour: number) => Totals | undefined,
): GroupTotals[] {
  const days = new Map<string, GroupTotals>();
  function add(time: number, totals: Totals): void {
    const day = isoTime(dayOf(time));
    const before = days.get(day);
    days.set(day, {
      group: { day },
      totals: before === undefined ? totals : sumOf([before.totals, totals]),
    });
  }
  for (const { group, totals } of hours) {
    const hour = Date.parse(group['hour'] ?? '');
    const rest = restOf(hour);
    if (rest === undefined) add(hour, totals);
    else {
      // A request counts where it began, its row where it ended.
      const requests = Math.min(rest.requests, totals.requests);
      const earlier = difference(totals, { ...rest, requests });
      if (!isEmpty(earlier)) add(hour, earlier);
      add(lastOf(hour), { ...rest, requests });
    }
  }
  return [...days.values()];
}

const isEmpty = ({ requests, errors, inputTokens, outputTokens }: Totals): boolean =>
  requests + errors + inputTokens + outputTokens === 0;

function groupByAccount<Row extends { accountId: number }>(rows: readonly Row[]): Map<number, Row[]> {
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
    cache_misses: totals.cacheMisses,
    cache_miss_tokens: totals.cacheMissTokens,
    cache_miss_cost_usd: totals.cacheMissCostUsd,
    first_byte_ms: p50 === null || p95 === null ? null : { p50: Math.round(p50), p95: Math.round(p95) },
  };
}

/** The window begins at the start of an hour. Hours and days in their order, other groups by their requests. */
export async function summarizeUsage(
  { since, until, now, by, only }: Omit<Window, 'dayOf'> & { by: Grouping },
  store: UsageReader,
) {
  const first = hourOf(since);
  const end = until === undefined ? now : Math.min(Math.ceil(until / HOUR_MS) * HOUR_MS, now);
  const groups = new Map<string, GroupTotals>();
  for (const account of await store.totalsBy(by, only, first, until)) {
    for (const { group, totals } of account.groups) {
      const key = JSON.stringify(group);
      const before = groups.get(key);
      groups.set(key, { group, totals: before === undefined ? totals : sumOf([before.totals, totals]) });
    }
  }
  const isTime = by === 'hour' || by === 'day';
  const named = by === 'key' ? await keyNames(store) : undefined;
  return {
    by,
    since: isoTime(isTime ? listedFrom(first, hourOf(end), earliestOf(groups.values())) : first),
    until: isoTime(end),
    totals: printed(await allTotals(store, only, first, until)),
    before: printed(await totalsBefore(store, only, first, Math.max(0, end - first))),
    groups: [...groups]
      .sort(
        ([a, one], [b, two]) => (isTime ? 0 : two.totals.requests - one.totals.requests) || (a < b ? -1 : 1),
      )
      .map(([, { group, totals }]) => ({
        group: { ...group, ...named?.(group['key'] ?? '') },
        totals: printed(totals),
      })),
  };
}

async function allTotals(
  store: UsageReader,
  only: number | undefined,
  since: number,
  until: number | undefined,
): Promise<Totals> {
  const accounts = await store.totalsBy('account', only, since, until);
  return sumOf(accounts.flatMap(({ groups }) => groups.map(({ totals }) => totals)));
}

/** Of the time before, as long as the window: the hour in which that begins is taken from its rows. */
async function totalsBefore(
  store: UsageReader,
  only: number | undefined,
  first: number,
  length: number,
): Promise<Totals> {
  const from = first - length;
  const whole = Math.ceil(from / HOUR_MS) * HOUR_MS;
  const part = from === whole ? [] : (await store.rowTotals(only, from, whole)).values();
  return sumOf([...part, await allTotals(store, only, whole, first)]);
}

async function keyNames(store: UsageReader): Promise<(id: string) => Record<string, string | null>> {
  const keys = new Map((await store.listKeys()).map((key) => [key.id, key]));
  return (id) => ({ name: keys.get(id)?.label ?? null, account: keys.get(id)?.account ?? null });
}
