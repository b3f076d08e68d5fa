// The groups of a summary of usage as rows: each hour or day of the window, or names, with their requests as links.
import type { Query, SummaryTotals, UsageSummary } from '../api.ts';
import * as format from '../format.ts';
import { hrefOf } from '../route.ts';

export interface Group {
  /** Of a time: its ISO form. */
  key: string;
  name: string;
  /** What tells names apart: the provider of a model, the account of a key. */
  detail: string | undefined;
  /** The requests of the group. */
  href: string | undefined;
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
  cache_misses: 0,
  cache_miss_tokens: 0,
  cache_miss_cost_usd: 0,
  first_byte_ms: null,
};

/** `place`: window and account of the view, which its links keep. */
export function groupsOf({ by, since, until, groups }: UsageSummary, place: Query): Group[] {
  if (by === 'hour' || by === 'day')
    return timeGroups(by, { since: Date.parse(since), until: Date.parse(until), groups, place });
  const window = { since: place['since'], until: place['until'], account: place['account'] };
  return groups
    .map(({ group, totals }) => ({ key: JSON.stringify(group), totals, ...named(group, window) }))
    .sort((a, b) => b.totals.requests - a.totals.requests);
}

interface Times {
  since: number;
  until: number;
  groups: UsageSummary['groups'];
  place: Query;
}

function timeGroups(by: 'hour' | 'day', { since, until, groups, place }: Times): Group[] {
  const step = STEPS[by];
  const known = new Map(groups.map(({ group, totals }) => [Date.parse(group[by] ?? ''), totals]));
  const found: Group[] = [];
  for (let at = since - (since % step); at < until; at += step) {
    const time = new Date(at).toISOString();
    const range = { since: time, until: new Date(at + step).toISOString() };
    const totals = known.get(at);
    found.push({
      key: time,
      name: by === 'hour' ? format.timeOfHour(time) : format.dayOf(time),
      detail: undefined,
      href: totals && hrefOf('requests', { account: place['account'], ...range }),
      totals: totals ?? NOTHING,
    });
  }
  return found;
}

const MOST_NAMES = 3;

/** Names that are not in the order, since no price of them is known. */
export function withoutPrice(groups: readonly Group[]): string | undefined {
  const names = groups.filter(({ totals }) => totals.cost_usd === null && totals.unpriced > 0);
  if (names.length === 0) return undefined;
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : '';
  return `Cost not known: ${names
    .slice(0, MOST_NAMES)
    .map(({ name }) => name)
    .join(', ')}${more}`;
}

type Named = Pick<Group, 'name' | 'detail' | 'href'>;

/** Requests that no target answered have neither provider nor model. */
function named(group: UsageSummary['groups'][number]['group'], window: Query): Named {
  const { account, key, name, label, provider, model } = group;
  const to = (query: Query): string => hrefOf('requests', { ...window, ...query });
  const text = (value: string | null): string | undefined => value ?? undefined;
  if (key !== undefined)
    return {
      name: name ?? key ?? 'a removed key',
      detail: text(account ?? null),
      href: to({ key: text(key) }),
    };
  if (account !== undefined)
    return {
      name: account ?? 'a removed account',
      detail: undefined,
      href: account === null ? undefined : to({ account }),
    };
  if (label !== undefined)
    return { name: label ?? 'no label', detail: undefined, href: label === null ? undefined : to({ label }) };
  if (provider === null || provider === undefined)
    return { name: 'no target answered', detail: undefined, href: undefined };
  if (model === undefined) return { name: provider, detail: undefined, href: to({ provider }) };
  return { name: model ?? provider, detail: provider, href: to({ model: `${provider}/${model ?? ''}` }) };
}
