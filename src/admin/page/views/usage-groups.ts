// The groups of a summary in the order in which they are shown: time with its empty hours, others by their requests.
import * as format from '../format.ts';
import { hrefOf } from '../route.ts';
import type { SummaryTotals, UsageSummary } from '../types.ts';

export interface Group {
  key: string;
  label: string;
  /** The requests of the group. */
  href: string | undefined;
  isTime: boolean;
  totals: SummaryTotals;
}

const HOUR_MS = 3_600_000;
const STEPS = { hour: HOUR_MS, day: 24 * HOUR_MS } as const;

const NOTHING: SummaryTotals = {
  requests: 0,
  errors: 0,
  unknown: 0,
  unpriced: 0,
  input_tokens: 0,
  output_tokens: 0,
  cost_usd: null,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  first_byte_ms: null,
};

export function groupsOf({ by, since, until, groups }: UsageSummary): Group[] {
  if (by === 'hour' || by === 'day') return timeGroups(by, Date.parse(since), Date.parse(until), groups);
  return groups
    .map(({ group, totals }) => nameGroup(group, totals))
    .sort((a, b) => b.totals.requests - a.totals.requests);
}

function timeGroups(
  by: 'hour' | 'day',
  since: number,
  until: number,
  groups: UsageSummary['groups'],
): Group[] {
  const step = STEPS[by];
  const known = new Map(groups.map(({ group, totals }) => [Date.parse(group[by] ?? ''), totals]));
  const found: Group[] = [];
  for (let at = since - (since % step); at <= until; at += step) {
    const time = new Date(at).toISOString();
    found.push({
      key: time,
      label: by === 'hour' ? format.timeOfHour(time) : format.dayOf(time),
      href: undefined,
      isTime: true,
      totals: known.get(at) ?? NOTHING,
    });
  }
  return found;
}

/** Requests that no target answered have neither provider nor model. */
function nameGroup(group: Readonly<Record<string, string | null>>, totals: SummaryTotals): Group {
  const { account, provider, model } = group;
  const place = [provider, model].filter((name) => name !== undefined);
  const isUnanswered = place.length > 0 && provider === null;
  const label = isUnanswered ? 'no target answered' : (account ?? place.join('/'));
  const query = account !== undefined ? { account: account ?? undefined } : { model: place.join('/') };
  const hasRequests = account !== undefined || (model !== undefined && !isUnanswered);
  return {
    key: JSON.stringify(group),
    label,
    href: hasRequests ? hrefOf('requests', query) : undefined,
    isTime: false,
    totals,
  };
}
