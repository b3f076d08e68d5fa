// What Claude Code shows under "Spend limit" of `/usage`, in the form of its vendor's gateway contract: `GET /api/oauth/usage`.
// https://code.claude.com/docs/en/llm-gateway-protocol
import type { Period } from '../../../calendar.ts';
import type { JsonObject } from '../../../canonical/json.ts';
import { fullestOf, type LimitState, type ShareOfLimit, type SpentMoney } from '../../../limit-state.ts';
import { type LimitKind, NANOS } from '../../../tier.ts';

export const USAGE_PATH = '/api/oauth/usage';

/** Claude Code writes any three letters before a number. Its numbers are hundredths of that unit. */
const UNITS = {
  requests: { currency: 'REQ', hundredths: 100 },
  tokens: { currency: 'TOK', hundredths: 100 },
  cost: { currency: 'USD', hundredths: 100 / NANOS },
} as const satisfies Record<LimitKind, { currency: string; hundredths: number }>;

/** `daily` is told as "today", `weekly` and `monthly` likewise, another word not at all. */
const GROUPS = {
  hour: 'hourly',
  day: 'daily',
  week: 'weekly',
  month: 'monthly',
} as const satisfies Record<Period, string>;

/** The fullest limit: there is room for one. */
export function screenUsage(limits: readonly LimitState[], spent: SpentMoney): JsonObject {
  const fullest = fullestOf(limits);
  const { currency } = UNITS[fullest?.kind ?? 'cost'];
  return {
    extra_usage: {
      is_enabled: true,
      monthly_limit: fullest === undefined ? null : hundredths(fullest.kind, fullest.most),
      used_credits:
        fullest === undefined ? hundredths('cost', spent.month) : hundredths(fullest.kind, fullest.spent),
      utilization: fullest === undefined ? null : percentOf(fullest),
      currency,
      // Beside an amount of another unit, sums of money would be told in that unit.
      ...(currency === 'USD' && {
        daily: windowOf('day', limits, spent.day),
        weekly: windowOf('week', limits, spent.week),
      }),
    },
    limits: fullest === undefined ? [] : [rowOf(fullest)],
  };
}

function windowOf(per: Period, limits: readonly LimitState[], spent: number): JsonObject {
  const limit = fullestOf(limits.filter(({ kind, per: other }) => kind === 'cost' && other === per));
  return {
    limit: limit === undefined ? null : hundredths('cost', limit.most),
    used_credits: hundredths('cost', spent),
    utilization: limit === undefined ? null : percentOf(limit),
  };
}

function rowOf(limit: ShareOfLimit): JsonObject {
  return {
    kind: 'spend',
    group: GROUPS[limit.per],
    percent: percentOf(limit),
    resets_at: new Date(Math.ceil(limit.resetsAt / 1000) * 1000).toISOString(),
    severity: 'normal',
    is_active: true,
  };
}

const hundredths = (kind: LimitKind, amount: number): number => Math.round(amount * UNITS[kind].hundredths);

const percentOf = ({ share }: ShareOfLimit): number => Math.min(100, Math.floor(share * 100));
