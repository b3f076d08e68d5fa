// `gateway approve`: the owner lets a client in that asks to sign in by a code, denies it, or looks at those that wait.
import type { Command } from 'commander';
import { isoTime } from '../../../clock.ts';
import { CliError } from '../../../cli-error.ts';
import type { Config } from '../../../config/config.ts';
import type { SignIn } from '../../../sign-in/sign-in.ts';
import type { Store } from '../../../store/store.ts';
import { parseExpiry, parseAccount } from '../../args/values.ts';
import { auditedChange } from '../../audited.ts';
import { LOCAL_ACCOUNT, tierOfNew, type Context } from '../../context.ts';
import { sayWritten, withStore } from '../../database.ts';
import { say } from '../../ui/lines.ts';
import { otherTier, unknownTier, warnOfLookalike } from '../../ui/sentences.ts';
import {
  clean,
  createStyle,
  formatDuration,
  printJson,
  printLines,
  timeText,
  widthOf,
} from '../../ui/style.ts';
import { table } from '../../ui/table.ts';

interface Options {
  account: string;
  tier?: string;
  expires?: number;
  list?: boolean;
  deny?: string;
  json?: boolean;
}

export function defineApprove(approve: Command, context: Context): void {
  approve
    .argument('[code]', 'the code that the client shows, ABCD-EFGH')
    .option('--account <name>', 'the account that the client uses', parseAccount, LOCAL_ACCOUNT)
    .option(
      '--tier <tier>',
      'tier of a new account (default: default_tier of the file, else free; of local: unlimited)',
    )
    .option(
      '--expires <when>',
      'end of the sign-in, a duration (90d) or an ISO date or time (default: never)',
      (text) => parseExpiry(text, context.clock.now()),
    )
    .option('--list', 'show the codes that wait')
    .option('--deny <code>', 'refuse a code (default: none)')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nApprove only a code that you see in your own client. A code waits for ten minutes.' +
        '\n\nExamples:\n  gateway approve BCDF-GHJK --account laptop --expires 90d' +
        '\n  gateway approve --list\n  gateway approve --deny BCDF-GHJK',
    )
    .action(async (code: string | undefined, options: Options, command: Command) => {
      const asked = [code, options.deny, options.list === true ? 'list' : undefined];
      if (asked.filter((given) => given !== undefined).length !== 1)
        command.error('error: name one code to approve, or --deny CODE, or --list');
      await checkCode(code ?? options.deny, command);
      await withStore(command, context, async (store, config) => {
        const { createSignIn } = await import('../../../sign-in/sign-in.ts');
        const signIn = createSignIn({
          store,
          clock: context.clock,
          ids: context.ids,
        });
        const run: Run = {
          store,
          config,
          context,
          signIn,
          isJson: options.json === true,
        };
        if (options.list === true) await listCodes(run);
        else if (options.deny !== undefined) await denyCode(options.deny, run);
        else await approveCode(code ?? '', options, run);
      });
    });
}

interface Run {
  store: Store;
  config: Config;
  context: Context;
  signIn: SignIn;
  isJson: boolean;
}

async function checkCode(code: string | undefined, command: Command): Promise<void> {
  if (code === undefined) return;
  const { readUserCode } = await import('../../../sign-in/codes.ts');
  if (readUserCode(code) === undefined)
    command.error('error: this is not a code; a code has eight letters, like BCDF-GHJK');
}

async function approveCode(
  code: string,
  { account, tier, expires }: Options,
  { store, config, context, signIn, isJson }: Run,
): Promise<void> {
  if (tier !== undefined && !config.tiers.has(tier)) throw await unknownTier(config, tier);
  const existing = await store.findAccount(account);
  if (existing !== undefined && tier !== undefined && existing.tier !== tier) throw otherTier(existing, tier);
  if (existing === undefined) await warnOfLookalike(account, store, context);
  const approval = {
    account,
    tier: tier ?? tierOfNew(account, config),
    endsAt: expires ?? null,
  };
  const approved = await auditedChange(store, context, {
    action: 'approveSignIn',
    detail: {
      code,
      account,
      tier: approval.tier,
      expires_at: isoTime(approval.endsAt),
    },
    change: () => signIn.approve(code, approval),
    statusOf: (result) => (result === undefined ? 404 : 200),
  });
  if (approved === undefined) throw notWaiting();
  sayWritten(context, store);
  const { name, tier: given } = approved.account;
  if (isJson) {
    printJson(context, {
      account: name,
      tier: given,
      expires_at: isoTime(approval.endsAt),
    });
    return;
  }
  const { client } = approved;
  const end = approval.endsAt === null ? '' : `, until ${timeText(approval.endsAt, context)}`;
  say(
    context.stdout,
    `${client.code} is approved: ${clean(client.userAgent)} from ${client.address} uses account ${clean(name)} (tier ${given})${end}`,
  );
}

async function denyCode(code: string, { store, context, signIn, isJson }: Run): Promise<void> {
  const denied = await auditedChange(store, context, {
    action: 'denySignIn',
    detail: { code },
    change: () => signIn.deny(code),
    statusOf: (result) => (result === undefined ? 404 : 200),
  });
  if (denied === undefined) throw notWaiting();
  sayWritten(context, store);
  if (isJson)
    printJson(context, {
      code: denied.code,
      denied_at: isoTime(context.clock.now()),
    });
  else say(context.stdout, `${denied.code} is denied: ${clean(denied.userAgent)} from ${denied.address}`);
}

const notWaiting = (): CliError =>
  new CliError(
    'no sign-in waits with this code: it is unknown, used, denied or older than ten minutes; see: gateway approve --list',
  );

async function listCodes({ config, context, signIn, isJson }: Run): Promise<void> {
  const codes = await signIn.waiting();
  if (isJson) {
    const { waitingSignInJson } = await import('../../../accounts/json.ts');
    printJson(context, codes.map(waitingSignInJson));
    return;
  }
  const { stdout, env, clock } = context;
  if (codes.length === 0) {
    const off = config.signIn === null ? ' (sign_in is off in the configuration)' : '';
    say(stdout, `No sign-in waits${off}.`);
    return;
  }
  const now = clock.now();
  const lines = table(
    codes,
    [
      { title: 'CODE', value: ({ code }) => code },
      {
        title: 'CLIENT',
        value: ({ userAgent }) => clean(userAgent),
        shrinks: true,
      },
      { title: 'FROM', value: ({ address }) => clean(address) },
      {
        title: 'ASKED',
        value: ({ createdAt }) => `${formatDuration(now - createdAt)} ago`,
      },
      {
        title: 'LEFT',
        value: ({ expiresAt }) => formatDuration(expiresAt - now),
      },
    ],
    { width: widthOf(stdout), style: await createStyle(stdout, env) },
  );
  printLines(stdout, lines);
}
