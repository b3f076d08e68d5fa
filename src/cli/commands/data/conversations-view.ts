// Prints conversations for people: the last ones as a table, one of them as a tree of its agents with what each spent.
import type { ConversationJson, OneConversationJson } from '../../../accounts/conversation-report.ts';
import { shortId } from '../../../conversations/names.ts';
import { formatElapsed } from '../../../elapsed.ts';
import { plural } from '../../../plural.ts';
import {
  clean,
  formatCost,
  formatCount,
  formatShort,
  inSentence,
  shown,
  shownSecond,
  timeTitle,
  type Style,
  type Zone,
} from '../../ui/style.ts';
import { labelledBy, table, type Column } from '../../ui/table.ts';

interface Canvas {
  /** undefined: a pipe, so nothing is shortened. */
  width: number | undefined;
  style: Style;
  zone: Zone;
}

type Counted = Pick<
  ConversationJson,
  'requests' | 'input_tokens' | 'cache_read_tokens' | 'output_tokens' | 'cost_usd'
>;

/** `81%`: the share of the input that providers read from their caches. */
function cachedText({ input_tokens: input, cache_read_tokens: read }: Counted): string {
  return input === 0 ? '-' : `${Math.round((100 * read) / input)}%`;
}

function missText({ misses, misses_cost_usd: cost }: ConversationJson): string {
  if (misses === 0) return '-';
  return cost === null ? String(misses) : `${misses}, ${formatCost(cost)}`;
}

/** `from`: shown from this width of the terminal on. `isStopped`: a brake stopped some conversation. */
function columnsFor({ width, zone }: Canvas, isStopped: boolean): Column<ConversationJson>[] {
  const idOf = ({ id }: ConversationJson): string => (width === undefined ? clean(id) : shortId(clean(id)));
  const columns: (Column<ConversationJson> & { from?: number })[] = [
    { title: timeTitle('STARTED', zone), value: (row) => shown(Date.parse(row.started_at), zone), from: 100 },
    { title: 'ACCOUNT', value: ({ account }) => clean(account ?? '-'), shrinks: true },
    { title: 'CLIENT', value: ({ client }) => clean(client ?? '-'), shrinks: true },
    { title: 'LABEL', value: ({ label }) => clean(label ?? '-'), shrinks: true, from: 110 },
    { title: 'REQUESTS', value: ({ requests }) => formatCount(requests), align: 'right' },
    { title: 'AGENTS', value: ({ subagents }) => formatCount(subagents), align: 'right', from: 90 },
    { title: 'IN', value: (row) => formatShort(row.input_tokens), align: 'right' },
    { title: 'CACHED', value: cachedText, align: 'right', from: 70 },
    { title: 'OUT', value: (row) => formatShort(row.output_tokens), align: 'right' },
    { title: 'COST', value: (row) => formatCost(row.cost_usd), align: 'right' },
    { title: 'MISSES', value: missText, align: 'right', from: 120 },
    { title: timeTitle('LAST', zone), value: (row) => shown(Date.parse(row.last_at), zone), from: 80 },
    { title: 'STOPPED BY', value: ({ stopped }) => stopped ?? '-' },
    { title: 'ID', value: idOf },
  ];
  const isShown = ({ title, from = 0 }: { title: string; from?: number }): boolean =>
    from <= (width ?? Infinity) && (isStopped || title !== 'STOPPED BY');
  return columns.filter(isShown);
}

export function conversationTable(rows: readonly ConversationJson[], canvas: Canvas): string[] {
  const { width, style } = canvas;
  const isStopped = rows.some(({ stopped }) => stopped !== null);
  return table(rows, columnsFor(canvas, isStopped), { width, style });
}

export function conversationLines(conversation: OneConversationJson, canvas: Canvas): string[] {
  const { style, zone } = canvas;
  const labelled = labelledBy(canvas);
  const { id, account, client, label, classes, prompts, compactions, stopped } = conversation;
  const time = (iso: string): string => shownSecond(Date.parse(iso), zone);
  const told = prompts.some(({ prompt }) => prompt !== null);
  return [
    style.bold(clean(id)),
    ...labelled('account', [clean(account ?? 'removed')]),
    ...labelled('client', client === null ? [] : [clean(client)]),
    ...labelled('label', label === null ? [] : [clean(label)]),
    ...labelled('time', [
      inSentence(`${time(conversation.started_at)} to ${time(conversation.last_at)}`, zone),
    ]),
    ...labelled('all', [sumText(conversation)]),
    ...labelled(
      'stopped',
      stopped === null
        ? []
        : [`by the brake ${stopped}; to let it go on: gateway conversations continue ${shortId(id)}`],
    ),
    ...labelled('agents', agentTree(conversation)),
    ...labelled(
      'work',
      classes.some((row) => row.class !== null)
        ? classes.map((row) => `${clean(row.class ?? 'not told')}: ${sumText(row)}`)
        : [],
    ),
    ...labelled(
      'tasks',
      told
        ? prompts.map((row) => `${time(row.started_at)} ${clean(row.prompt ?? 'none')}: ${sumText(row)}`)
        : [],
    ),
    ...labelled(
      'models',
      conversation.models.map((row) => `${clean(targetOf(row))}: ${sumText(row)}`),
    ),
    ...labelled('in turn', conversation.turns.length === 0 ? [] : [turnsText(conversation)]),
    ...labelled('changes', changesOf(conversation)),
    ...labelled('compactions', compactions.length === 0 ? [] : [compactions.map(time).join(', ')]),
    ...labelled(
      'cache misses',
      conversation.cache_misses.map((miss) => `${time(miss.at)} ${missLine(miss)}`),
    ),
    ...labelled('slow tools', slowTools(conversation)),
    ...labelled('requests', [`gateway requests --conversation ${shortId(id)}`]),
  ];
}

function sumText(row: Counted): string {
  const { requests, input_tokens: input, output_tokens: output, cost_usd: cost } = row;
  const price = cost === null ? '' : `, ${formatCost(cost)}`;
  const cached = row.cache_read_tokens > 0 ? ` (${cachedText(row)} cached)` : '';
  return `${plural(requests, 'request', formatCount(requests))}, ${formatCount(input)} in${cached}, ${formatCount(output)} out${price}`;
}

const targetOf = ({ provider, model }: { provider: string | null; model: string | null }): string =>
  provider === null ? 'no target' : `${provider}/${model ?? ''}`;

/** The first agent, and below it those that it started, with those that they started. */
function agentTree({ agents }: OneConversationJson): string[] {
  const known = new Set(agents.map(({ id }) => id));
  const lines: string[] = [];
  const visited = new Set<string | null>();
  const visit = (agent: OneConversationJson['agents'][number], depth: number): void => {
    if (visited.has(agent.id)) return;
    visited.add(agent.id);
    const name =
      agent.id === null ? 'main' : [agent.type, agent.id].filter((word) => word !== null).join(' ');
    lines.push(`${'  '.repeat(depth)}${clean(name)}: ${sumText(agent)}`);
    for (const child of agents) {
      if (child.id !== null && parentOf(child, known) === agent.id) visit(child, depth + 1);
    }
  };
  for (const agent of agents) if (agent.id === null || !known.has(parentOf(agent, known))) visit(agent, 0);
  // Agents that name each other as their parents.
  for (const agent of agents) visit(agent, 0);
  return lines;
}

/** The first agent, where the client does not say, or names one that sent nothing. */
function parentOf(
  { parent }: OneConversationJson['agents'][number],
  known: ReadonlySet<string | null>,
): string | null {
  return parent !== null && known.has(parent) ? parent : null;
}

/** What the agent says that it did. */
function changesOf(conversation: OneConversationJson): string[] {
  const { commits, pull_requests: pulls, lines_added: added, lines_removed: removed } = conversation;
  const words = [
    ...(commits > 0 ? [plural(commits, 'commit', formatCount(commits))] : []),
    ...(pulls > 0 ? [plural(pulls, 'pull request', formatCount(pulls))] : []),
    ...(added > 0 ? [`${plural(added, 'line', formatCount(added))} added`] : []),
    ...(removed > 0 ? [`${plural(removed, 'line', formatCount(removed))} removed`] : []),
  ];
  return words.length === 0 ? [] : [words.join(', ')];
}

function turnsText({ turns }: OneConversationJson): string {
  return turns.map((turn) => `${clean(targetOf(turn))} ×${turn.requests}`).join(' → ');
}

function missLine({
  cause,
  detail,
  tokens,
  cost_usd: cost,
  request,
}: OneConversationJson['cache_misses'][number]): string {
  const what = detail === null ? cause : `${cause}: ${detail}`;
  const words = [what];
  if (tokens !== null) words.push(`${formatCount(tokens)} tokens`);
  if (cost !== null) words.push(formatCost(cost));
  return clean(`${words.join(', ')}${request === null ? '' : ` (${request})`}`);
}

const MOST_TOOLS = 5;

function slowTools({ tools }: OneConversationJson): string[] {
  return tools
    .slice(0, MOST_TOOLS)
    .map(
      ({ name, calls, ms, slowest_ms: slowest }) =>
        `${clean(name)}: ${formatElapsed(slowest)} at most, ${plural(calls, 'call')}, ${formatElapsed(ms)} in all`,
    );
}
