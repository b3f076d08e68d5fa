// The limits of an account in the headers that Claude Code shows on its own screen: a notice past 75 % and 95 %, `/usage`, and one
// sentence at the end. Only a client that bears the gateway's mark gets them: another one reads them otherwise.
import type { Period } from '../../../calendar.ts';
import type { GatewayError } from '../../../errors.ts';
import { fullestOf, type LimitState } from '../../../limit-state.ts';
import type { ErrorHead } from '../../interface/answer.ts';

const PREFIX = 'anthropic-ratelimit-unified-';
/** The notice is made of it, past each of these. */
const THRESHOLDS = [0.95, 0.75] as const;
/** Hundredths, below one while requests are let in. */
const MOST = 99;

/** All of them or none. */
export function screenHeaders(limits: readonly LimitState[]): string[] {
  const fullest = fullestOf(limits);
  if (fullest === undefined) return [];
  const { share, resetsAt } = fullest;
  const passed = THRESHOLDS.find((threshold) => share >= threshold);
  const status = passed === undefined ? 'allowed' : 'allowed_warning';
  const utilization = Math.min(MOST, Math.floor(share * 100)) / 100;
  return [
    ...[`${PREFIX}status`, status, `${PREFIX}representative-claim`, 'overage'],
    ...[`${PREFIX}overage-status`, status, `${PREFIX}overage-utilization`, utilization.toFixed(2)],
    ...(passed === undefined ? [] : [`${PREFIX}overage-surpassed-threshold`, String(passed)]),
    ...resets(resetsAt),
  ];
}

function resets(at: number): string[] {
  const seconds = String(Math.ceil(at / 1000));
  return [`${PREFIX}reset`, seconds, `${PREFIX}overage-reset`, seconds];
}

/** The words of the period; an hour has none. */
const WORDS: Readonly<Record<Period, string | undefined>> = {
  hour: undefined,
  day: 'daily',
  week: 'weekly',
  month: 'monthly',
};

/** Whether the client says the error's sentence and ends: a limit is used up, or a brake holds. What requests under way hold ends soon. */
export function endsOnScreen({ kind, native, options }: GatewayError): boolean {
  if (!native) return false;
  return kind === 'conversation_stopped' || (kind === 'rate_limited' && options.held !== true);
}

/** Without a claim and a status of the overage, Claude Code writes the error's own sentence alone. */
export function rejectedHead({ options: { resetsAt, per } }: GatewayError): ErrorHead {
  const period = per && WORDS[per];
  return {
    isFinal: true,
    headers: [
      ...[`${PREFIX}status`, 'rejected'],
      ...(resetsAt === undefined ? [] : resets(resetsAt)),
      ...[`${PREFIX}overage-utilization`, '1', `${PREFIX}overage-surpassed-threshold`, '1'],
      ...(period === undefined ? [] : [`${PREFIX}overage-period`, period]),
      ...[`${PREFIX}overage-disabled-reason`, 'org_spend_cap_reached'],
    ],
  };
}
