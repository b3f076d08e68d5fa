// Which target would answer a request, and why each other would not.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { NO_NEEDS } from '../../canonical/traits.ts';
import { PROTOCOL_NAMES } from '../../canonical/request.ts';
import type { RouteConfig } from '../../config/config.ts';
import { GatewayError } from '../../errors.ts';
import { MAX_ATTEMPTS } from '../../gateway/outbound/fallback.ts';
import type { Target } from '../../routing/catalog.ts';
import type { RoutingQuery, Resolution } from '../../routing/routing.ts';
import { type Context, CliError } from '../context.ts';
import { clean, createStyle, printJson, printLines, type Style } from '../ui/style.ts';
import type { States } from '../inventory.ts';
import { isObject, type JsonObject } from '../../canonical/json.ts';
import { readRequest, type Inbound } from '../../gateway/inbound/read-request.ts';
import { protocolOfBody } from '../../protocols/registry.ts';

interface Options {
  file?: string;
  json?: boolean;
}

export function defineExplain(explain: Command, context: Context): void {
  explain
    .argument('<model>', 'the name that a client sends')
    .option('--file <request.json>', 'the body of a request: its images, tools and length count')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  gateway explain auto\n  gateway explain auto --file request.json')
    .action(async (model: string, options: Options, command: Command) =>
      runExplain(model, options, command, context),
    );
}

interface Verdict {
  target: Target;
  /** It would answer; it is tried if those before it fail; it is never tried. */
  role: 'answers' | 'next' | 'never';
  why: string;
  /** Wire paths of the request that it would not be given. */
  dropped: readonly string[];
}

async function runExplain(
  model: string,
  options: Options,
  command: Command,
  context: Context,
): Promise<void> {
  const { learnModels, readStates, withInventory } = await import('../inventory.ts');
  const states = await readStates(command, context);
  const explained = await withInventory(command, context, async (survey): Promise<Explained> => {
    await learnModels(survey, context);
    const { question, droppedFor } = await askedOf(model, options.file, context.cwd);
    const verdicts = judge(survey.routing.resolve(question), droppedFor, states);
    const strategy = survey.routing.model(model, null)?.strategy ?? 'priority';
    return { verdicts, strategy, protocol: options.file === undefined ? undefined : question.protocol };
  });
  const { verdicts, ...how } = explained;
  if (options.json) printJson(context, { model, ...how, targets: verdicts.map(describe) });
  else await printVerdicts(model, explained, context, await createStyle(context.stdout, context.env));
}

interface Explained {
  verdicts: Verdict[];
  strategy: RouteConfig['strategy'];
  /** Of the request in the file, which does not say it. */
  protocol: RoutingQuery['protocol'] | undefined;
}

interface Asked {
  question: RoutingQuery;
  /** What the target would not be given of the request. Throws GatewayError where it can't be written for it at all. */
  droppedFor: (target: Target) => readonly string[];
}

async function askedOf(model: string, file: string | undefined, cwd: string): Promise<Asked> {
  if (file === undefined) {
    const question: RoutingQuery = {
      protocol: PROTOCOL_NAMES[0],
      model,
      needs: NO_NEEDS,
      allowed: null,
      accountId: 0,
      conversation: undefined,
      openToolTurn: false,
      estimate: () => 0,
    };
    return { question, droppedFor: () => [] };
  }
  const { routingQuery: questionOf } = await import('../../gateway/inbound/routing-query.ts');
  const { buildRequest: prepare } = await import('../../gateway/outbound/build-request.ts');
  const inbound = await readRequestFile(file, cwd, model);
  const forwarded = inbound.protocol.client.forwardedHeaders({}, '');
  return {
    question: questionOf(inbound, { models: null, accountId: 0 }),
    droppedFor: (target) => prepare(inbound, target, { forwarded, strict: false }).dropped,
  };
}

/** In the order of a server that knows what `states` says; how fast targets are, and who answered before, only it knows. */
function judge(
  { targets, weak, passedOver }: Resolution,
  droppedFor: Asked['droppedFor'],
  states: States,
): Verdict[] {
  const verdicts: Verdict[] = [];
  let before: Target | undefined;
  let tried = 0;
  for (const target of [...targets].sort((a, b) => Number(states.has(a.key)) - Number(states.has(b.key)))) {
    const lacks = weak.get(target.key) ?? [];
    try {
      const dropped = droppedFor(target);
      if (tried === MAX_ATTEMPTS) {
        verdicts.push({ target, role: 'never', why: tooMany(states.get(target.key)), dropped: [] });
        continue;
      }
      const role = before === undefined ? 'answers' : 'next';
      verdicts.push({ target, role, why: reason(before, lacks, states.get(target.key)), dropped });
      before = target;
      tried += 1;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      verdicts.push({ target, role: 'never', why: error.message, dropped: [] });
    }
  }
  const left = passedOver.map(({ target, why }): Verdict => ({ target, role: 'never', why, dropped: [] }));
  return [...verdicts, ...left];
}

function tooMany(state: string | undefined): string {
  const last = 'three targets are tried at most';
  return state === undefined ? last : `it is ${state} at the moment; ${last}`;
}

function reason(before: Target | undefined, lacks: readonly string[], state: string | undefined): string {
  const buts = [
    ...(state === undefined ? [] : [`it is ${state} at the moment`]),
    ...(lacks.length > 0 ? [`it lacks ${lacks.join(', ')}`] : []),
  ];
  const but = buts.length > 0 ? buts.join(', ') : undefined;
  if (before === undefined)
    return but === undefined ? 'the first that can take it' : `${but}, but none better is left`;
  const place = `tried if ${before.key} fails`;
  return but === undefined ? place : `${place}: ${but}`;
}

function describe({ target, role, why, dropped }: Verdict) {
  return { provider: target.provider.name, model: target.model, role, why, dropped };
}

const LABELS = { answers: 'answers', next: 'then', never: 'not' } as const satisfies Record<
  Verdict['role'],
  string
>;

async function printVerdicts(
  model: string,
  { verdicts, strategy, protocol }: Explained,
  { stdout }: Context,
  style: Style,
): Promise<void> {
  const { protocols } = await import('../../protocols/registry.ts');
  const read =
    protocol === undefined ? '' : `; the request is read as ${protocols[protocol].client.setup.title}`;
  const paints = { answers: style.green, next: style.bold, never: style.red } as const;
  const lines = verdicts.flatMap(({ target, role, why, dropped }) => [
    `${paints[role](LABELS[role].padEnd(7))}  ${style.bold(clean(target.key))}`,
    style.dim(`         ${clean(why)}`),
    ...(dropped.length > 0 ? [style.dim(`         left out: ${dropped.map(clean).join(', ')}`)] : []),
  ]);
  printLines(stdout, [`${clean(model)}: strategy ${strategy}${read}`, ...lines]);
}

// A request's body from a file, read as the gateway reads it, under the model's name of the command line.

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'is not there; check the name',
  EISDIR: 'is a folder; name the file in it',
  EACCES: 'may not be read; give this user the permission',
};

/** Throws CliError for a file that is none, GatewayError for a body that the gateway would refuse. */
async function readRequestFile(file: string, cwd: string, model: string): Promise<Inbound> {
  const text = await readFile(resolve(cwd, file), 'utf8').catch((error: NodeJS.ErrnoException) => {
    const code = error.code ?? error.message;
    throw new CliError(
      `${file} ${UNREADABLE[code] ?? `can't be read (${code}); name a file with a request's JSON`}`,
    );
  });
  const value = { ...parse(text, file), model };
  return readRequest(protocolOfBody(value), Buffer.from(JSON.stringify(value)));
}

function parse(text: string, file: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CliError(`${file} is not valid JSON: ${(error as Error).message}`);
  }
  if (!isObject(value))
    throw new CliError(`${file} is not a JSON object; write a request's body, as a client sends it`);
  return value;
}
