// `gateway audit`: who changed what, when, and from where: through the admin API, its page, and commands.
import type { Command } from 'commander';
import { HOUR_MS } from '../../../clock.ts';
import type { AuditRow } from '../../../store/admin/admin-records.ts';
import { auditOutcome, auditWords } from '../../../store/admin/audit-words.ts';
import type { StoreReader } from '../../../store/reader.ts';
import { parseLimit, parseSince } from '../../args/values.ts';
import type { Context } from '../../context.ts';
import { withReadStore } from '../../database.ts';
import {
  clean,
  createStyle,
  printJson,
  printLines,
  shownSecond,
  timeTitle,
  widthOf,
  zoneOf,
} from '../../ui/style.ts';
import { table } from '../../ui/table.ts';

interface Options {
  since?: number;
  actor?: string;
  operation?: string;
  limit: number;
  json?: boolean;
}

const DEFAULT_LIMIT = 100;
const DEFAULT_WINDOW_MS = 24 * HOUR_MS;

export function defineAudit(audit: Command, context: Context): void {
  const { clock } = context;
  audit
    .option('--since <when>', 'a duration (2h, 7d) or an ISO date or time (default: 24h)', (text) =>
      parseSince(text, clock.now()),
    )
    .option(
      '--actor <name>',
      'only what this one did, by the ID or words that the column WHO begins with (default: all)',
    )
    .option('--operation <name>', 'only this operation, as --json shows it (default: all)')
    .option('--limit <n>', 'the last so many', parseLimit, DEFAULT_LIMIT)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nWHO: a user of this machine (cli NAME), a token (adm_…), a session of the dashboard (ses_…), the key of a sign-in (key_…),' +
        '\nwho opened the control socket (owner), the configuration.' +
        '\n\nExamples:\n  gateway audit --since 7d\n  gateway audit --operation createKey --json',
    )
    .action(async (options: Options, command: Command) =>
      withReadStore(command, context, async (store) => {
        const { limit, actor, operation: action } = options;
        const since = options.since ?? clock.now() - DEFAULT_WINDOW_MS;
        await show(
          await store.listAudit(Number.MAX_SAFE_INTEGER, limit, { actor, action, since }),
          store,
          options,
          context,
        );
      }),
    );
}

/** The newest comes last, as in `gateway requests`; of JSON first, as in the admin API. */
async function show(
  rows: readonly AuditRow[],
  store: StoreReader,
  { json }: Options,
  context: Context,
): Promise<void> {
  const { auditRowsJson } = await import('../../../accounts/admin.ts');
  const found = await auditRowsJson(rows, store);
  if (json) {
    printJson(context, found);
    return;
  }
  const { stdout, env } = context;
  if (found.length === 0) {
    printLines(stdout, ['Nothing was changed in this window.']);
    return;
  }
  const zone = zoneOf(context);
  const lines = table(
    found.reverse(),
    [
      { title: timeTitle('TIME', zone), value: ({ at }) => shownSecond(Date.parse(at), zone) },
      {
        title: 'WHO',
        value: ({ actor, names }) => clean(actor + (names[actor] === undefined ? '' : ` ${names[actor]}`)),
        shrinks: true,
        shortest: 16,
      },
      {
        title: 'WHAT',
        value: ({ operation, detail, names }) => clean(auditWords(operation, detail, names)),
        shrinks: true,
      },
      { title: 'FROM', value: ({ address }) => clean(address) },
      {
        title: 'RESULT',
        value({ status }) {
          const { text, isGood } = auditOutcome(status);
          return isGood ? text : { text, paint: 'red' };
        },
      },
    ],
    { width: widthOf(stdout), style: await createStyle(stdout, env), optional: [['FROM']] },
  );
  printLines(stdout, lines);
}
