// `gateway explain`: which target would answer a request, and why the others would not.
import type { Command } from 'commander';
import type { RouteConfig } from '../../config/config.ts';
import type { Identity } from '../../conversations/identity.ts';
import { GatewayError } from '../../errors.ts';
import type { Target } from '../../routing/catalog.ts';
import { MAX_ATTEMPTS, type Resolution, type RoutingQuery } from '../../routing/resolve.ts';
import type { Context } from '../context.ts';
import { clean, createStyle, printJson, printLines, widthOf, type Style } from '../ui/style.ts';
import { wrapText } from '../ui/table.ts';
import type { States } from '../inventory.ts';
import type { Lessons } from '../../routing/state/lessons.ts';

interface Options {
  file?: string;
  class?: string;
  agent?: string;
  json?: boolean;
}

export function defineExplain(explain: Command, context: Context): void {
  explain
    .argument('<model>', 'the name that a client sends')
    .option(
      '--file <request.json>',
      'the body of a request; its images, tools and length are taken into account (default: none)',
    )
    .option(
      '--class <class>',
      'the kind of work, for routes with rules: compaction, subagent, … (default: none)',
    )
    .option(
      '--agent <type>',
      'the type of the sub-agent that asks, for routes with rules: Explore, … (default: none)',
    )
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  gateway explain auto\n  gateway explain auto --file request.json')
    .action(async (model: string, options: Options, command: Command) =>
      runExplain(model, options, command, context),
    );
}

interface Verdict {
  target: Target;
  /** `answers`: it would answer. `next`: it is tried if the targets before it fail. `never`: it is not tried. */
  role: 'answers' | 'next' | 'never';
  why: string;
  /** Wire paths of the fields that a request to this target leaves out. */
  dropped: readonly string[];
  /** What the running gateway has learnt from its refusals. */
  learnt?: readonly string[];
}

async function runExplain(
  model: string,
  options: Options,
  command: Command,
  context: Context,
): Promise<void> {
  const { learnModels, lessonText, readLessons, readStates, withInventory } = await import('../inventory.ts');
  const states = await readStates(command, context);
  const lessons = await readLessons(command, context);
  const explained = await withInventory(command, context, async (inventory): Promise<Explanation> => {
    await learnModels(inventory, context);
    const { routing } = inventory;
    for (const lesson of lessons) routing.lessons.adopt(lesson);
    const { query, droppedFor } = await readQuery(model, options, context.cwd, routing.lessons);
    const resolution = routing.resolve(query);
    const verdicts = judge(resolution, droppedFor, states).map((verdict) => ({
      ...verdict,
      learnt: lessons.filter(({ target }) => target === verdict.target.key).map(lessonText),
    }));
    const strategy = inventory.routing.model(model, null)?.strategy ?? 'priority';
    const { rule } = resolution;
    const protocol = options.file === undefined ? undefined : query.protocol;
    return { verdicts, strategy, ...(rule !== undefined && { rule }), protocol };
  });
  const { verdicts, ...how } = explained;
  if (options.json) printJson(context, { model, ...how, targets: verdicts.map(describe) });
  else await printVerdicts(model, explained, context, await createStyle(context.stdout, context.env));
}

interface Explanation {
  verdicts: Verdict[];
  strategy: RouteConfig['strategy'];
  /** The rule of the route that chose. */
  rule?: string;
  /** The protocol that was detected for the request in the file. */
  protocol: RoutingQuery['protocol'] | undefined;
}

interface Query {
  query: RoutingQuery;
  /** Fields that a request to the target leaves out. Throws GatewayError if the request can't be encoded for it. */
  droppedFor: (target: Target) => readonly string[];
}

const NOBODY: Identity = {
  conversation: '',
  begun: false,
  agent: null,
  parentAgent: null,
  agentType: null,
  class: null,
  prompt: null,
  label: null,
  client: null,
  tools: null,
};

async function readQuery(
  model: string,
  { file, class: kind, agent }: Options,
  cwd: string,
  lessons: Lessons,
): Promise<Query> {
  const identity: Identity = { ...NOBODY, agentType: agent ?? null, class: kind ?? null };
  if (file === undefined) {
    const { plainQuery } = await import('../inventory.ts');
    return { query: { ...plainQuery(model), identity }, droppedFor: () => [] };
  }
  const { routingQuery } = await import('../../gateway/inbound/route.ts');
  const { buildRequest } = await import('../../gateway/outbound/build-request.ts');
  const { readRequestFile } = await import('../args/request-file.ts');
  const inbound = await readRequestFile(file, cwd, model);
  const forwarded = inbound.protocol.client.forwardedHeaders({}, '');
  return {
    query: routingQuery(inbound, { key: { models: null, accountId: 0 }, identify: () => identity }),
    droppedFor: (target) => buildRequest(inbound, target, { forwarded, strict: false, lessons }).dropped,
  };
}

/** The verdicts in the order of a server with these target states. Only a running server knows how fast its targets are, and
 *  which target answered a conversation before. */
function judge(
  { targets, weak, skipped }: Resolution,
  droppedFor: Query['droppedFor'],
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
  const excluded = skipped.map(({ target, why }): Verdict => ({
    target,
    role: 'never',
    why,
    dropped: [],
  }));
  return [...verdicts, ...excluded];
}

function tooMany(state: string | undefined): string {
  const limit = 'at most three targets are tried';
  return state === undefined ? limit : `it is ${state} at the moment; ${limit}`;
}

function reason(before: Target | undefined, lacks: readonly string[], state: string | undefined): string {
  const drawbacks = [
    ...(state === undefined ? [] : [`it is ${state} at the moment`]),
    ...(lacks.length > 0 ? [`it lacks ${lacks.join(', ')}`] : []),
  ];
  const drawback = drawbacks.length > 0 ? drawbacks.join(', ') : undefined;
  if (before === undefined)
    return drawback === undefined
      ? 'the first that can answer it'
      : `${drawback}, but no better target is left`;
  const position = `tried if ${before.key} fails`;
  return drawback === undefined ? position : `${position}: ${drawback}`;
}

function describe({ target, role, why, dropped, learnt = [] }: Verdict) {
  const { model, provider } = target;
  return { provider: provider.name, model, role, why, dropped, ...(learnt.length > 0 && { learnt }) };
}

const LABELS = { answers: 'answers', next: 'then', never: 'not' } as const satisfies Record<
  Verdict['role'],
  string
>;

/** Details stand below the target's name. */
const INDENT = ' '.repeat(9);

async function printVerdicts(
  model: string,
  { verdicts, strategy, rule, protocol }: Explanation,
  { stdout }: Context,
  style: Style,
): Promise<void> {
  const { outlines } = await import('../../protocols/outlines.ts');
  const read = protocol === undefined ? '' : `; the request's protocol is ${outlines[protocol].setup.title}`;
  const paints = { answers: style.green, next: style.bold, never: style.red } as const;
  const width = widthOf(stdout);
  const details = (text: string): string[] =>
    wrapText(text, width && Math.max(20, width - INDENT.length)).map((line) => style.dim(INDENT + line));
  const lines = verdicts.flatMap(({ target, role, why, dropped, learnt = [] }) => [
    `${paints[role](LABELS[role].padEnd(7))}  ${style.bold(clean(target.key))}`,
    ...details(clean(why)),
    ...(dropped.length > 0 ? details(`leaves out: ${dropped.map(clean).join(', ')}`) : []),
    ...learnt.flatMap((text) => details(`learnt from a refusal: ${text}`)),
  ]);
  const ruled = rule === undefined ? '' : `; the rule ${clean(rule)} chooses first`;
  const turns = strategy === 'balanced' ? ': conversations take turns by the weights of targets' : '';
  printLines(stdout, [
    ...wrapText(`${clean(model)}: strategy ${strategy}${turns}${ruled}${read}`, width),
    ...lines,
  ]);
}
