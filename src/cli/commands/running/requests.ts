// `gateway requests`: the last requests, or one by its id: its attempts, why targets were passed over, what was left out.
import { InvalidArgumentError, type Command } from 'commander';
import {
  findAnyRequests,
  listAllRequests,
  statusRange,
  type RequestJson,
} from '../../../accounts/request-json.ts';
import { ENDPOINT_NAMES } from '../../../canonical/request.ts';
import type { Config } from '../../../config/config.ts';
import type { RunningGateway } from '../../../control/client.ts';
import { RECORDED_ERRORS } from '../../../error-words.ts';
import { readRequestId } from '../../../ids.ts';
import type { StoreReader } from '../../../store/reader.ts';
import type { RequestQuery } from '../../../store/store.ts';
import { parseLimit, parseSince } from '../../args/values.ts';
import { CliError } from '../../../cli-error.ts';
import type { Context } from '../../context.ts';
import { findRunning } from '../../running.ts';
import { say } from '../../ui/lines.ts';
import { createStyle, printJson, printLines, widthOf, zoneOf } from '../../ui/style.ts';
import type { RequestOptions } from './follow.ts';
import { withReadStore } from '../../database.ts';
import { findConversation } from '../../args/find-conversation.ts';
import { unknown, unknownAccount } from '../../ui/sentences.ts';

const DEFAULT_LIMIT = 20;

export function defineRequests(requests: Command, context: Context): void {
  const { clock } = context;
  requests
    .argument('[id]', 'the id of one request (x-request-id of its answer), or the beginning of it')
    .option('--limit <n>', 'show so many', parseLimit, DEFAULT_LIMIT)
    .option('--errors', 'only requests that were not fully answered')
    .option('--account <name>', 'only this account (default: all)')
    .option('--model <name>', 'only this model: as asked for, or as it answered (default: all)')
    .option('--conversation <id>', 'only this conversation: its id, or the beginning of it (default: all)')
    .option('--key <id>', 'only this key, by its id (default: all)')
    .option('--provider <name>', 'only this provider (default: all)')
    .option('--endpoint <name>', `only this one: ${ENDPOINT_NAMES.join(', ')} (default: all)`)
    .option('--label <label>', 'only with this label (default: all)')
    .option('--status <code>', '429, or 4xx for all of its class (default: all)', parseStatus)
    .option('--error <kind>', 'only this kind of error, as --json shows it (default: all)')
    .option(
      '--since <when>',
      'a duration (2h, 7d) or an ISO date or time (default: all that is stored)',
      (text) => parseSince(text, clock.now()),
    )
    .option('--follow', 'show new requests as they end, until Ctrl-C')
    .option('--diff', 'of one on a tape: what the client sent and what the provider got, side by side')
    .option('--repro', 'of one on a tape: write a folder without its texts, to attach to an issue')
    .option('--tape <tape>', 'the tape that holds it (default: all in this folder and in its folder tapes)')
    .option('--to <folder>', 'the folder that --repro makes (default: repro-ID)')
    .option('--json', 'print JSON; with --follow one line for each request')
    .addHelpText(
      'after',
      '\nExamples:\n  gateway requests --errors --since 2h\n  gateway requests --status 5xx --provider openai\n  gateway requests 0Vx3kQp8aB\n  gateway requests 0Vx3kQp8aB --diff\n  gateway requests 0Vx3kQp8aB --repro --tape login-bug',
    )
    .action(async (id: string | undefined, options: RequestOptions & TapeOptions, command: Command) =>
      withReadStore(command, context, async (store, config) => {
        if (options.diff === true || options.repro === true)
          await showOnTape(id, options, store, config, context);
        else if (id !== undefined) await showOne(id, options, store, config, context);
        else await showLast(options, store, config, context);
      }),
    );
}

/** `429`, or `4xx`: all of its class. */
function parseStatus(text: string): { from: number; to: number } {
  const range = statusRange(text);
  if (range === undefined) throw new InvalidArgumentError('Give a status such as 429, or 4xx for its class.');
  return range;
}

interface TapeOptions {
  diff?: boolean;
  repro?: boolean;
  tape?: string;
  to?: string;
}

async function showOnTape(
  text: string | undefined,
  options: RequestOptions & TapeOptions,
  store: StoreReader,
  config: Config,
  context: Context,
): Promise<void> {
  const option = options.diff === true ? '--diff' : '--repro';
  if (text === undefined) throw new CliError(`${option} is of one request: gateway requests ID ${option}`, 2);
  const prefix = readRequestId(text.trim())?.prefix;
  if (prefix === undefined) throw await noneFound(text, config, context);
  const { findOnTape } = await import('../../tools/tapes/find-on-tape.ts');
  const found = findOnTape(prefix, options.tape, context);
  if (options.repro === true) {
    const { writeReproduction } = await import('../../tools/tapes/reproduction.ts');
    writeReproduction(found, options, context);
  }
  if (options.diff !== true) return;
  const { showDifferences } = await import('../../tools/tapes/differences.ts');
  const [record] = await find(found.exchange.head.request, store, config, context);
  await showDifferences(found, record, options.json === true, context);
}

async function showLast(
  options: RequestOptions,
  store: StoreReader,
  config: Config,
  context: Context,
): Promise<void> {
  const query = await queryOf(options, store);
  const gateways = options.errors || options.follow ? (await findRunning(config, context)).all : [];
  const stored = (await listAllRequests(store, query)).map(({ json }) => json);
  const refused = options.errors ? await refusedBy(gateways, options) : [];
  const rows = newestLast(stored, refused).slice(-options.limit);
  if (rows.length === 0 && options.follow !== true) await checkNames(options, store, config);
  if (options.errors) sayRefused(gateways, context);
  const { follow } = options;
  if (follow) {
    const { followRequests } = await import('./follow.ts');
    await followRequests({ rows, query, options, gateways, store }, context);
  } else if (options.json) printJson(context, rows);
  else await printTable(rows, context);
}

async function queryOf(
  { limit, errors, account, model, conversation, since, ...more }: RequestOptions,
  store: StoreReader,
) {
  const { key: keyId, provider, endpoint, label, status, error } = more;
  const query: RequestQuery = {
    limit,
    errors,
    model,
    since,
    keyId,
    provider,
    endpoint,
    label,
    status,
    error,
  };
  if (conversation !== undefined) query.conversation = (await findConversation(conversation, store)).id;
  if (account !== undefined) {
    const found = await store.findAccount(account);
    if (found === undefined) throw await unknownAccount(store, account);
    query.accountId = found.id;
  }
  return query;
}

/** Where nothing was found, a name that neither the configuration nor any request has is a slip. Rejects with CliError. */
async function checkNames(
  { key: keyId, provider, endpoint, error }: RequestOptions,
  store: StoreReader,
  { providers }: Config,
): Promise<void> {
  async function check(kind: string, asked: Partial<RequestQuery>, known: readonly string[], see?: string) {
    const [name] = Object.values(asked);
    if (typeof name !== 'string' || known.includes(name)) return;
    const [one] = await listAllRequests(store, { ...asked, limit: 1 });
    if (one === undefined) throw await unknown(kind, name, known, see ?? `known: ${known.join(', ')}`);
  }
  await check('provider', { provider }, [...providers.map(({ name }) => name), 'sim']);
  await check('endpoint', { endpoint }, ENDPOINT_NAMES);
  await check('kind of error', { error }, RECORDED_ERRORS);
  const keys = keyId === undefined ? [] : await store.listKeys();
  await check(
    'key',
    { keyId },
    keys.map(({ id }) => id),
    'see: gateway keys list',
  );
}

function newestLast(stored: readonly RequestJson[], refused: readonly RequestJson[]): RequestJson[] {
  const ids = new Set(stored.map(({ id }) => id));
  return [...stored, ...refused.filter(({ id }) => !ids.has(id))].sort(
    (a, b) => Date.parse(a.at) - Date.parse(b.at),
  );
}

/** The refused requests that the running gateways remember, and that the database does not hold: nobody's. */
async function refusedBy(
  gateways: readonly RunningGateway[],
  options: RequestOptions,
): Promise<RequestJson[]> {
  const { isWanted, readRecent } = await import('./follow.ts');
  const found = await Promise.all(gateways.map(readRecent));
  return found
    .flatMap(({ refused }) => refused)
    .filter((request) => request.account === null && isWanted(request, options));
}

function sayRefused(gateways: readonly RunningGateway[], { stderr }: Context): void {
  const refused = 'requests without a valid key (401, 404, …)';
  say(
    stderr,
    gateways.length === 0
      ? `${refused} are not stored, and no gateway runs that would remember the last of them`
      : `${refused} are not stored: those below are the last that the running gateway remembers`,
  );
}

async function printTable(rows: readonly RequestJson[], context: Context): Promise<void> {
  const { stdout, env, clock } = context;
  if (rows.length === 0) {
    printLines(stdout, ['No requests.']);
    return;
  }
  const { requestTable } = await import('../../ui/requests-view.ts');
  const canvas = {
    width: widthOf(stdout),
    style: await createStyle(stdout, env),
    now: clock.now(),
    zone: zoneOf(context),
  };
  printLines(stdout, requestTable(rows, canvas));
}

/** A request ends after it arrived; clocks may be set back a little in between. */
const CLOCK_SLACK_MS = 60_000;
const LONGEST_REQUEST_MS = 24 * 3_600_000;
/** Ids that an error names. */
const MOST_NAMED = 3;

async function showOne(
  text: string,
  options: RequestOptions,
  store: StoreReader,
  config: Config,
  context: Context,
): Promise<void> {
  const found = await find(text, store, config, context);
  const [only] = found;
  if (only === undefined) throw await noneFound(text, config, context);
  if (found.length > 1) {
    const ids = found.slice(0, MOST_NAMED).map(({ id }) => id);
    throw new CliError(
      `several requests begin with ${JSON.stringify(text)}: ${ids.join(', ')}; give more of the id`,
    );
  }
  if (options.json) {
    printJson(context, only);
    return;
  }
  const { stdout, env, clock } = context;
  const { requestLines } = await import('../../ui/requests-view.ts');
  const canvas = {
    width: widthOf(stdout),
    style: await createStyle(stdout, env),
    now: clock.now(),
    zone: zoneOf(context),
  };
  printLines(stdout, requestLines(only, canvas));
}

async function find(
  text: string,
  store: StoreReader,
  config: Config,
  context: Context,
): Promise<readonly RequestJson[]> {
  const id = readRequestId(text.trim());
  if (id === undefined) return [];
  const { prefix, isWhole, from, to } = id;
  const stored = await findAnyRequests(store, {
    prefix,
    from: from - CLOCK_SLACK_MS,
    until: to + LONGEST_REQUEST_MS,
    limit: isWhole ? 1 : MOST_NAMED,
  });
  if (stored.length > 0) return stored;
  const { readRecent } = await import('./follow.ts');
  const recent = await Promise.all((await findRunning(config, context)).all.map(readRecent));
  return recent.flatMap(({ refused }) => refused).filter((request) => request.id?.startsWith(prefix));
}

async function noneFound(text: string, config: Config, context: Context): Promise<CliError> {
  const { readRecent } = await import('./follow.ts');
  const recent = await Promise.all((await findRunning(config, context)).all.map(readRecent));
  const prefix = readRequestId(text.trim())?.prefix;
  const underWay = recent.flatMap(({ under_way: ids }) => ids);
  if (prefix !== undefined && underWay.some((id) => id.startsWith(prefix)))
    return new CliError(`the request ${text} is still under way; see: gateway top`);
  return new CliError(
    `no request's id begins with ${JSON.stringify(text)}; an id is the x-request-id of an answer; see: gateway requests`,
  );
}
