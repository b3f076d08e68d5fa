// `gateway limits raise` and `revoke`: what is added to the limits of an account until a time, with rows in the audit.
import { grantJson } from '../../../accounts/limits-json.ts';
import { grantFault, newGrants } from '../../../accounts/limits-report.ts';
import { CliError } from '../../../cli-error.ts';
import { isoTime } from '../../../clock.ts';
import type { Config } from '../../../config/config.ts';
import type { Store } from '../../../store/store.ts';
import { amountNumber, countedText, LIMIT_KINDS, type LimitKind } from '../../../tier.ts';
import { auditedChange } from '../../audited.ts';
import type { Context } from '../../context.ts';
import { sayWritten } from '../../database.ts';
import { say } from '../../ui/lines.ts';
import { mustFind, unknown } from '../../ui/sentences.ts';
import { clean, printJson, printLines, shellWord, timeText } from '../../ui/style.ts';

/** Of `limits raise`. `for`: milliseconds. */
export type RaiseOptions = { json?: boolean; for: number } & Partial<Record<LimitKind, number>>;

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
  const fault = grantFault(account, raised, config.tiers);
  if (fault !== undefined)
    throw new CliError(`${fault}; another tier: gateway tiers assign ${shellWord(name)} TIER`);
  const until = clock.now() + options.for;
  const grants = newGrants(account.id, raised, until, { clock, ids });
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

export async function revokeGrant(
  id: string,
  { json }: { json?: boolean },
  store: Store,
  context: Context,
): Promise<void> {
  const now = context.clock.now();
  const accounts = await store.listAccounts();
  const revoked = await auditedChange(store, context, {
    action: 'revokeGrant',
    detail: { id },
    change: () => store.revokeGrant(id, now),
    noted: (found) => ({ account: accounts.find((account) => account.id === found?.accountId)?.name }),
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
