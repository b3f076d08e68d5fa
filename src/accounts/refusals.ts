// The message of a refused request: the limit that is used up, its use, when it ends, and what to do.
import type { Period } from '../calendar.ts';
import { type Admission, GatewayError, LONG_WAIT_S } from '../errors.ts';
import { plural } from '../plural.ts';
import type { LimitState } from '../limit-state.ts';
import { hasRoom, type Standing } from '../store/holds/holds.ts';
import type { Key } from '../store/store.ts';
import { amountText, countedText, type LimitKind } from '../tier.ts';

/** Seconds: requests under way end soon, and with them what they hold. */
const HELD_WAIT_S = 3;

/** The limit of requests an hour is used up, and it is the only one. */
export function hourRefusal(key: Key, admission: Admission, now: number): GatewayError {
  const { limit, used, resetsAt } = admission;
  const spent = `used ${used} of ${plural(limit, 'request')} of this hour`;
  return usedUp(
    key,
    { spent, kind: 'requests', per: 'hour', resetsAt, now, limits: [hourState(admission)] },
    admission,
  );
}

/** Some limit has no room. Of several, the one that lasts longest counts; what is only held ends soon. */
export function limitRefusal(
  key: Key,
  admission: Admission,
  { standings, now }: { standings: readonly Standing[]; now: number },
): GatewayError {
  const full = standings.filter((standing) => !hasRoom(standing));
  const [first] = full
    .filter(({ limit, spent, granted }) => spent >= limit.most + granted)
    .sort((a, b) => b.resetsAt - a.resetsAt);
  if (first !== undefined) {
    const { kind, per } = first.limit;
    const { resetsAt } = first;
    const limits = standings.map(stateOf);
    return usedUp(key, { spent: spentText(first), kind, per, resetsAt, now, limits }, admission);
  }
  const [held] = full;
  const what = held === undefined ? '' : `: it has ${spentText(held)}`;
  const message =
    `what is left to account ${JSON.stringify(key.account)} is held by requests under way${what} ` +
    `(tier ${key.tier}); try again in some seconds`;
  return new GatewayError('rate_limited', message, {
    retryAfter: HELD_WAIT_S,
    held: true,
    ...hourly(admission),
  });
}

function spentText({ limit: { kind, per, most }, spent, granted }: Standing): string {
  const verb = kind === 'cost' ? 'spent' : 'used';
  return `${verb} ${amountText(kind, spent)} of ${countedText(kind, most + granted)} of this ${per}`;
}

interface UsedUp {
  spent: string;
  kind: LimitKind;
  per: Period;
  resetsAt: number;
  now: number;
  limits: readonly LimitState[];
}

function usedUp(
  { account, tier }: Key,
  { spent, kind, per, resetsAt, now, limits }: UsedUp,
  admission: Admission,
): GatewayError {
  const retryAfter = Math.max(1, Math.ceil((resetsAt - now) / 1000));
  const message =
    `account ${JSON.stringify(account)} has ${spent} (tier ${tier}); ` +
    `the next ${per} begins at ${new Date(resetsAt).toISOString()}; ` +
    `for more, on the gateway's machine: gateway limits raise ${JSON.stringify(account)} --${kind} N --for 2h, ` +
    `or gateway tiers assign ${JSON.stringify(account)} TIER`;
  return new GatewayError('rate_limited', message, {
    retryAfter,
    ...(retryAfter > LONG_WAIT_S && { shouldRetry: false }),
    resetsAt,
    per,
    limits,
    ...hourly(admission),
  });
}

export const stateOf = ({ limit: { kind, per, most }, spent, granted, resetsAt }: Standing): LimitState => ({
  kind,
  per,
  spent,
  most: most + granted,
  resetsAt,
});

const hourState = ({ limit: most, used: spent, resetsAt }: Admission): LimitState => ({
  kind: 'requests',
  per: 'hour',
  spent,
  most,
  resetsAt,
});

/** How the limits of an account stand after its request was admitted. */
export function limitStates(admission: Admission, standings: readonly Standing[] | undefined): LimitState[] {
  if (standings !== undefined) return standings.map(stateOf);
  return admission.limit === Infinity ? [] : [hourState(admission)];
}

/** Without a limit of requests an hour, the protocols' headers for it are not sent. */
function hourly(admission: Admission): { admission?: Admission } {
  return admission.limit === Infinity ? {} : { admission };
}

/** `requests 12/60 hour; cost 1.23/5 day`: every limit in the order of the file. */
export function standingsText(standings: readonly Standing[]): string {
  return standings
    .map(({ limit: { kind, per, most }, spent, granted }) => {
      const [used, all] = [amountText(kind, spent), amountText(kind, most + granted)];
      return `${kind} ${used}/${all} ${per}`;
    })
    .join('; ');
}
