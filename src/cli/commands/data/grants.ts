// `gateway limits raise` and `revoke`: what is added to the limits of an account until a time, with rows in the audit.
import { grantJson } from '../../../accounts/limits-json.ts';
import { tierNamed } from '../../../accounts/terms.ts';
import { CliError } from '../../../cli-error.ts';
import { isoTime } from '../../../clock.ts';
import type { Config } from '../../../config/config.ts';
import type { Grant } from '../../../store/holds/holds.ts';
import type { Account, Store } from '../../../store/store.ts';
import { amountNumber, countedText, LIMIT_KINDS, type LimitKind, tierText } from '../../../tier.ts';
import { auditedChange } from '../../audited.ts';
import type { Context } from '../../context.ts';
import { sayWritten } from '../../database.ts';
import { say } from '../../ui/lines.ts';
import { mustFind, unknown } from '../../ui/sentences.ts';
import { clean, printJson, printLines, shellWord, timeText } from '../../ui/style.ts';

/** Of `limits raise`. `for`: milliseconds. */
export type RaiseOptions = { json?: boolean; for: number } & Partial<Record<LimitKind, number>>;

const GRANT_ID = 'grant_';
const ID_LENGTH = 12;

export function raisedKinds(options: RaiseOptions): [kind: LimitKind, amount: number][] {
  return LIMIT_KINDS.flatMap((kind): [LimitKind, number][] => {
    const amount = options[kind];
    return amount === undefined ? [] : [[kind, amount]];
  });
}

export async function raiseLimits(
  name: string,
  options: RaiseOptions,
  { store, config, context }: { store: Store; config: Config; context: Context },
): Promise<void> {
  const { clock, ids, stdout } = context;
  const account = await mustFind(name, store);
  const raised = raisedKinds(options);
  checkKinds(account, raised, config);
  const createdAt = clock.now();
  const until = createdAt + options.for;
  const grants = raised.map(([kind, amount]): Grant => {
    const id = GRANT_ID + ids.random(ID_LENGTH);
    return { id, accountId: account.id, kind, amount, until, createdAt, revokedAt: null };
  });
  await auditedChange(store, context, {
    action: 'raiseLimits',
    detail: {
      account: name,
      ...Object.fromEntries(raised.map(([kind, amount]) => [kind, amountNumber(kind, amount)])),
      until: isoTime(until),
      grants: grants.map(({ id }) => id),
    },
    change: () => store.addGrants(grants),
    statusOf: () => 201,
  });
  sayWritten(context, store);
  if (options.json) {
    printJson(context, grants.map(grantJson));
    return;
  }
  const end = timeText(until, context);
  printLines(
    stdout,
    grants.map(
      ({ id, kind, amount }) =>
        `account ${clean(account.name)} has ${countedText(kind, amount)} more until ${end}: ${id}`,
    ),
  );
}

/** A grant for what the tier does not limit would do nothing. */
function checkKinds(
  { name, tier }: Account,
  raised: readonly (readonly [LimitKind, number])[],
  { tiers }: Config,
): void {
  const held = tierNamed(tier, tiers);
  const [free] = raised.filter(([kind]) => held.limits.every((limit) => limit.kind !== kind));
  if (free === undefined) return;
  const what = `tier ${tier} of account ${JSON.stringify(name)} has no limit of ${free[0]}: it allows ${tierText(held)}`;
  throw new CliError(`${what}; another tier: gateway tiers assign ${shellWord(name)} TIER`);
}

export async function revokeGrant(
  id: string,
  { json }: { json?: boolean },
  store: Store,
  context: Context,
): Promise<void> {
  const now = context.clock.now();
  const revoked = await auditedChange(store, context, {
    action: 'revokeGrant',
    detail: { id },
    change: () => store.revokeGrant(id, now),
    statusOf: (found) => (found === undefined ? 404 : 200),
  });
  if (revoked === undefined) {
    const known = (await store.listGrants(undefined, now)).map((grant) => grant.id);
    throw await unknown('grant', id, known, 'see: gateway limits');
  }
  sayWritten(context, store);
  if (json) printJson(context, { id: revoked.id, revoked_at: isoTime(revoked.revokedAt) });
  else {
    const { kind, amount } = revoked;
    say(context.stdout, `grant ${clean(id)} is revoked: ${countedText(kind, amount)}`);
  }
}
