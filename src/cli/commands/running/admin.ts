// `gateway admin tokens`: create, list and revoke tokens of the admin API. Only `create` has the plaintext, and prints it once.
import { Option, type Command } from 'commander';
import { isoTime } from '../../../clock.ts';
import type { AdminScope, AdminToken, AdminStore } from '../../../store/admin/admin-records.ts';
import type { Store } from '../../../store/store.ts';
import { parseExpiry, parseName } from '../../args/values.ts';
import { CliError } from '../../../cli-error.ts';
import type { Context } from '../../context.ts';
import { say } from '../../ui/lines.ts';
import { table, type Cell } from '../../ui/table.ts';
import {
  clean,
  createStyle,
  formatDuration,
  printJson,
  printLines,
  timeText,
  widthOf,
} from '../../ui/style.ts';
import { sayWritten, withStore } from '../../database.ts';
import { auditedChange } from '../../audited.ts';

interface CreateOptions {
  scope: AdminScope;
  name?: string;
  expires?: number;
  json?: boolean;
}

interface Options {
  json?: boolean;
}

const SCOPES = ['read', 'write'] as const satisfies readonly AdminScope[];

export function defineAdmin(admin: Command, context: Context): void {
  const { clock } = context;
  admin.addHelpText('after', '\nExample:\n  gateway admin tokens create --scope read --expires 90d');
  const tokens = admin
    .command('tokens')
    .description('create, list and revoke tokens of the admin API')
    .addHelpText('after', '\nExample:\n  gateway admin tokens create --scope read --expires 90d');
  tokens
    .command('create')
    .description('create a token; print it once')
    .addOption(new Option('--scope <scope>', 'what it may do').choices(SCOPES).default('read'))
    .option('--name <label>', 'a label by which you recognise the token (default: none)', parseName)
    .option('--expires <when>', 'a duration (30d) or an ISO date or time (default: never)', (text) =>
      parseExpiry(text, clock.now()),
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExample:\n  gateway admin tokens create --scope write --name backup --expires 30d',
    )
    .action(async (options: CreateOptions, command: Command) =>
      withStore(command, context, (store) => createToken(options, store, context)),
    );
  tokens
    .command('list')
    .description('list tokens, without their plaintext')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  gateway admin tokens list')
    .action(async (options: Options, command: Command) =>
      withStore(command, context, (store) => listTokens(options, store, context)),
    );
  tokens
    .command('revoke')
    .description('revoke a token at once, also for running servers')
    .argument('<id>', 'the ID that `admin tokens list` shows')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  gateway admin tokens revoke adm_8mVYcHq2Tn5b')
    .action(async (id: string, options: Options, command: Command) =>
      withStore(command, context, (store) => revokeToken(id, options, store, context)),
    );
}

async function createToken(options: CreateOptions, store: Store, context: Context): Promise<void> {
  const { createAdminToken, createdTokenJson } = await import('../../../accounts/admin.ts');
  const { scope, name = null, expires = null } = options;
  const { clock, ids, stdout, env } = context;
  const created = await auditedChange(store, context, {
    action: 'createToken',
    detail: { scope, name, expires_at: isoTime(expires) },
    change: () => createAdminToken({ store, clock, ids }, { label: name, scope, expiresAt: expires }),
    statusOf: () => 201,
  });
  sayWritten(context, store);
  if (options.json) {
    printJson(context, createdTokenJson(created));
    return;
  }
  const { token, plaintext } = created;
  const style = await createStyle(stdout, env);
  const end = expires === null ? 'never' : timeText(expires, context);
  printLines(stdout, [
    style.bold(style.green(plaintext)),
    style.yellow('Copy it now: it is shown only once.'),
    '',
    `  ${style.dim('id     ')}  ${token.id}`,
    `  ${style.dim('scope  ')}  ${scope}`,
    `  ${style.dim('expires')}  ${end}`,
  ]);
}

async function listTokens(options: Options, store: AdminStore, context: Context): Promise<void> {
  const tokens = await store.listAdminTokens();
  if (options.json) {
    const { tokenJson } = await import('../../../accounts/admin.ts');
    printJson(context, tokens.map(tokenJson));
    return;
  }
  const { stdout, env, clock } = context;
  if (tokens.length === 0) {
    say(stdout, 'No tokens yet. Create one: gateway admin tokens create --scope read');
    return;
  }
  const now = clock.now();
  const lines = table(
    tokens,
    [
      { title: 'ID', value: ({ id }) => id },
      { title: 'TOKEN', value: ({ prefix }) => prefix },
      { title: 'NAME', value: ({ label }) => clean(label ?? '-'), shrinks: true },
      { title: 'SCOPE', value: ({ scope }) => scope },
      {
        title: 'USED',
        value: ({ lastUsedAt }) =>
          lastUsedAt === null ? 'never' : `${formatDuration(now - lastUsedAt)} ago`,
      },
      { title: 'STATE', value: (token) => stateOf(token, now) },
    ],
    { width: widthOf(stdout), style: await createStyle(stdout, env) },
  );
  printLines(stdout, lines);
}

function stateOf({ revokedAt, expiresAt }: AdminToken, now: number): Cell {
  if (revokedAt !== null) return { text: 'revoked', paint: 'red' };
  if (expiresAt === null) return { text: 'active', paint: 'green' };
  if (expiresAt <= now) return { text: 'expired', paint: 'red' };
  return { text: `${formatDuration(expiresAt - now)} left`, paint: 'green' };
}

async function revokeToken(id: string, options: Options, store: Store, context: Context): Promise<void> {
  const token = await auditedChange(store, context, {
    action: 'revokeToken',
    detail: { id },
    change: () => store.revokeAdminToken(id, context.clock.now()),
    statusOf: (found) => (found === undefined ? 404 : 200),
  });
  if (token === undefined) {
    // The message never repeats a token that was given instead of its ID.
    const what = id.startsWith('sk-gw')
      ? 'give the ID of the token, not the token itself'
      : `unknown token ID ${JSON.stringify(id)}`;
    throw new CliError(`${what}; IDs are in: gateway admin tokens list`);
  }
  sayWritten(context, store);
  const { tokenJson } = await import('../../../accounts/admin.ts');
  const { revoked_at } = tokenJson(token);
  if (options.json) printJson(context, { id: token.id, revoked_at });
  else say(context.stdout, `token ${token.id} is revoked`);
}
