// One conversation: what it cost and which part of it, its sub-agents as a tree, where its prompt cache was missed, and the button that
// lets it go on after a brake.
import { useState } from 'preact/hooks';
import { missWords } from '../../../../error-words.ts';
import { get, isMember, write, type OneConversation } from '../../api.ts';
import * as format from '../../format.ts';
import { html, type Children } from '../../html.ts';
import { AskDialog, textOf } from '../../parts/dialog.ts';
import { Text } from '../../parts/fields.ts';
import { Await, useLoaded } from '../../parts/load.ts';
import { Table, type Column } from '../../parts/table.ts';
import { Facts, Figures, Time, Unknown } from '../../parts/text.ts';
import { hrefOf } from '../../route.ts';
import { shortId } from './words.ts';
import type { VNode } from 'preact';

type Agent = OneConversation['agents'][number];
type Miss = OneConversation['cache_misses'][number];
type Tool = OneConversation['tools'][number];

export function ConversationView({ id }: { id: string }): VNode {
  const found = useLoaded(
    (signal) => get<OneConversation>(`/conversations/${encodeURIComponent(id)}`, {}, signal),
    [id],
  );
  const [said, setSaid] = useState('');
  const done = (text: string): void => {
    setSaid(text);
    found.reload();
  };
  return html`
    <p class="back"><a href=${hrefOf('conversations')}>Conversations</a></p>
    <h1 tabindex="-1">Conversation ${shortId(id)}</h1>
    <p role="status" class="said">${said}</p>
    <${Await} of=${found}>${(one: OneConversation) => html`<${Whole} of=${one} done=${done} />`}<//>
  `;
}

function Whole({ of, done }: { of: OneConversation; done: (text: string) => void }): VNode {
  const { misses, misses_cost_usd: missed, subagents } = of;
  return html`
    <${Stopped} of=${of} done=${done} />
    <${Figures}
      label="Sums"
      figures=${[
        { name: 'Cost', value: format.cost(of.cost_usd) },
        {
          name: 'Requests',
          value: format.count(of.requests),
          note: subagents > 0 && format.counted(subagents, 'sub-agent'),
        },
        {
          name: 'Input',
          value: format.short(of.input_tokens),
          note: `${format.share(of.cache_read_tokens, of.input_tokens)} from caches`,
        },
        { name: 'Output', value: format.short(of.output_tokens) },
        {
          name: 'Cache misses',
          value: format.count(misses),
          note: missed === null ? '' : `cost ${format.cost(missed)}`,
        },
      ]}
    />
    <section>
      <${Facts} facts=${factsOf(of)} />
    </section>
    <${Agents} of=${of.agents} />
    <${Parts}
      title="Models"
      rows=${of.models.map(({ provider, model, ...sums }) => ({ name: provider === null ? 'no target answered' : `${provider}/${model ?? ''}`, ...sums }))}
    />
    <${Parts}
      title="Kinds of work"
      rows=${of.classes.map(({ class: name, ...sums }) => ({ name: name ?? 'not named', ...sums }))}
    />
    <${Parts}
      title="Tasks"
      rows=${of.prompts.map((task) => ({ name: task.prompt ?? 'not named', at: task.started_at, ...task }))}
    />
    <${Misses} rows=${of.cache_misses} />
    <${Tools} rows=${of.tools} />
  `;
}

const WHY: Readonly<Record<NonNullable<OneConversation['stopped']>, string>> = {
  conversation: 'it has cost what one conversation may cost',
  repeated_call: 'it called one tool with the same arguments and the same result again and again',
  requests_a_prompt: 'one prompt has taken as many requests as it may',
};

function Stopped({
  of: { id, stopped },
  done,
}: {
  of: OneConversation;
  done: (text: string) => void;
}): VNode {
  const [isAsking, setAsking] = useState(false);
  if (stopped === null) return html``;
  const run = async (form: FormData): Promise<void> => {
    const given = textOf(form, 'cost');
    const cost = given === undefined ? undefined : Number(given.replace(',', '.'));
    if (cost !== undefined && !(cost > 0))
      throw new Error('Give the cost as a number of USD, or leave it empty.');
    const path = `/conversations/${encodeURIComponent(id)}/continue`;
    await write('POST', path, cost === undefined ? {} : { cost_usd: cost });
    setAsking(false);
    done('The conversation may go on. Its cost and its requests are counted from zero again.');
  };
  return html`
    <div class="stopped">
      <p><span class="state bad">A brake stopped this conversation</span>: ${WHY[stopped]}.</p>
      ${
        isMember()
          ? html`<p>The owner of this gateway can let it go on.</p>`
          : html`<button type="button" class="primary" onClick=${() => setAsking(true)}>Let it go on</button>`
      }
    </div>
    ${
      isAsking &&
      html`<${AskDialog}
        title="Let it go on?"
        action="Let it go on"
        run=${run}
        onClose=${() => setAsking(false)}
      >
        <p>
          Its cost and its requests are counted from zero again, by every gateway of this database. The agent
          goes on when its user asks again.
        </p>
        ${
          stopped === 'conversation' &&
          html`<${Text} label="Cost in USD from now on" name="cost" hint="Left empty: the usual limit" />`
        }
      <//>`
    }
  `;
}

function factsOf(of: OneConversation) {
  const { account } = of;
  const work = [
    of.commits > 0 && format.counted(of.commits, 'commit'),
    of.pull_requests > 0 && format.counted(of.pull_requests, 'pull request'),
    of.lines_added + of.lines_removed > 0 &&
      `${format.counted(of.lines_added, 'line')} added, ${format.count(of.lines_removed)} removed`,
  ].filter((text) => text !== false);
  return [
    { name: 'Id', value: html`<code class="id">${of.id}</code>` },
    {
      name: 'Account',
      value:
        account === null
          ? html`<${Unknown} word="removed account" />`
          : html`<a href=${hrefOf('usage', { account })}>${account}</a>`,
    },
    ...(of.label === null ? [] : [{ name: 'Label', value: of.label }]),
    ...(of.client === null ? [] : [{ name: 'Program', value: of.client }]),
    { name: 'Began', value: html`<${Time} at=${of.started_at} whole />` },
    { name: 'Last request', value: html`<${Time} at=${of.last_at} whole />` },
    ...(of.turns.length > 1 ? [{ name: 'Models in turn', value: turnsText(of) }] : []),
    ...(of.compactions.length > 0
      ? [{ name: 'Compactions', value: format.count(of.compactions.length) }]
      : []),
    ...(work.length > 0 ? [{ name: 'Work', value: work.join(', ') }] : []),
    {
      name: 'Requests',
      value: html`<a href=${hrefOf('requests', { conversation: of.id, since: '30d' })}>Its requests</a>`,
    },
  ];
}

const MOST_TURNS = 20;

function turnsText({ turns }: OneConversation): Children {
  const more = turns.length - MOST_TURNS;
  return html`${turns
    .slice(0, MOST_TURNS)
    .map(
      ({ model, requests }, at) =>
        html`${at > 0 && ' → '}<span class="turn">${model ?? 'no answer'} ×${requests}</span>`,
    )}${more > 0 && ` and ${format.count(more)} more`}`;
}

/** Deeper ones stand at this depth. */
const DEEPEST = 6;

interface Branch {
  agent: Agent;
  depth: number;
}

/** Each agent below the one that started it, in the order of their first requests; each once, whatever their parents say. */
function branchesOf(agents: readonly Agent[]): Branch[] {
  const ids = new Set(agents.map(({ id }) => id));
  const below = new Map<string | null, Agent[]>();
  for (const agent of agents) {
    if (agent.id === null) continue;
    const parent =
      agent.parent !== null && ids.has(agent.parent) && agent.parent !== agent.id ? agent.parent : null;
    below.set(parent, [...(below.get(parent) ?? []), agent]);
  }
  const found: Branch[] = [];
  const seen = new Set<Agent>();
  const open: Branch[] = agents.filter(({ id }) => id === null).map((agent) => ({ agent, depth: 0 }));
  const start = open.length === 0 ? 0 : 1;
  const push = (list: readonly Agent[], depth: number): void => {
    for (const agent of [...list].reverse()) open.push({ agent, depth });
  };
  const walk = (): void => {
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (seen.has(next.agent)) continue;
      seen.add(next.agent);
      found.push(next);
      if (next.agent.id !== null) push(below.get(next.agent.id) ?? [], Math.min(next.depth + 1, DEEPEST));
    }
  };
  walk();
  push(below.get(null) ?? [], start);
  walk();
  // Those whose parents are each other's.
  push(
    agents.filter((agent) => !seen.has(agent)),
    start,
  );
  walk();
  return found;
}

/** Nothing where one did it all. */
function Agents({ of }: { of: readonly Agent[] }): VNode {
  if (of.length < 2) return html``;
  return section(
    'Agents',
    html`<div class="sums">
      <${Table}
        caption="Agents of the conversation"
        columns=${[AGENT, ...sumsOf(of, ({ agent }: Branch) => agent)]}
        rows=${branchesOf(of)}
        keyOf=${({ agent }: Branch) => agent.id ?? ''}
      />
    </div>`,
  );
}

const agentName = ({ id, type }: Agent): string => (id === null ? 'main' : (type ?? 'sub-agent'));

const AGENT: Column<Branch> = {
  title: 'Agent',
  cell: ({ agent, depth }) =>
    html`<span class="depth-${depth}"
      >${depth > 0 && html`<span aria-hidden="true">└ </span>`}${agentName(agent)}${
        depth > 0 && html`<span class="hidden">, at depth ${depth}</span>`
      }${agent.id !== null && html` <code class="id">${agent.id.slice(0, 8)}</code>`}</span
    >`,
  isHead: true,
};

interface Part extends Sums {
  name: string;
  at?: string;
}

interface Sums {
  requests: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
}

/** Each column in one precision. */
function sumsOf<Row>(all: readonly Sums[], of: (row: Row) => Sums): readonly Column<Row>[] {
  const input = format.shorts(all.map((sums) => sums.input_tokens));
  const output = format.shorts(all.map((sums) => sums.output_tokens));
  const cost = format.costs(
    all.map((sums) => sums.cost_usd),
    true,
  );
  return [
    { title: 'Requests', cell: (row) => format.count(of(row).requests), isNumber: true },
    { title: 'Input', cell: (row) => input(of(row).input_tokens), isNumber: true, isLesser: true },
    { title: 'Output', cell: (row) => output(of(row).output_tokens), isNumber: true, isLesser: true },
    { title: 'Cost', cell: (row) => cost(of(row).cost_usd), isNumber: true },
  ];
}

const NAME: Column<Part> = { title: 'Name', cell: ({ name }) => name, isHead: true, isName: true };

/** Nothing where there is one part alone: it is the whole. */
function Parts({ title, rows }: { title: string; rows: readonly Part[] }): VNode {
  if (rows.length < 2) return html``;
  return section(
    title,
    html`<div class="sums">
      <${Table}
        caption=${title}
        columns=${[NAME, ...sumsOf(rows, (row: Part) => row)]}
        rows=${rows}
        keyOf=${({ name, at }: Part, index: number) => `${name} ${at ?? ''} ${index}`}
      />
    </div>`,
  );
}

const section = (title: string, children: Children): VNode =>
  html`<section>
    <h2>${title}</h2>
    ${children}
  </section>`;

function missesFor(rows: readonly Miss[]): readonly Column<Miss>[] {
  const cost = format.costs(
    rows.map((miss) => miss.cost_usd),
    true,
  );
  return [
    {
      title: 'When',
      cell: ({ at, request }) =>
        request === null
          ? html`<${Time} at=${at} whole />`
          : html`<a href=${hrefOf('requests', {}, request)}><${Time} at=${at} whole /></a>`,
      isHead: true,
    },
    {
      title: 'Cause',
      cell: ({ cause, detail }) => `${missWords(cause)}${detail === null ? '' : ` (${detail})`}`,
    },
    { title: 'Tokens', cell: ({ tokens }) => format.count(tokens), isNumber: true, isLesser: true },
    { title: 'Cost', cell: (miss) => cost(miss.cost_usd), isNumber: true },
  ];
}

function Misses({ rows }: { rows: readonly Miss[] }): VNode {
  if (rows.length === 0) return html``;
  return section(
    'Cache misses',
    html`<${Table}
      caption="Answers whose prompt cache was missed"
      columns=${missesFor(rows)}
      rows=${rows}
      keyOf=${({ request, at }: Miss, index: number) => `${request ?? at} ${index}`}
    />`,
  );
}

const TOOLS: readonly Column<Tool>[] = [
  { title: 'Tool', cell: ({ name }) => name, isHead: true, isName: true },
  { title: 'Calls', cell: ({ calls }) => format.count(calls), isNumber: true },
  { title: 'In all', cell: ({ ms }) => format.duration(ms), isNumber: true },
  { title: 'Slowest', cell: (tool) => format.duration(tool.slowest_ms), isNumber: true },
];

function Tools({ rows }: { rows: readonly Tool[] }): VNode {
  if (rows.length === 0) return html``;
  return section(
    'Tools',
    html`<${Table}
      caption="How long its tools took"
      columns=${TOOLS}
      rows=${rows}
      keyOf=${({ name }: Tool) => name}
    />`,
  );
}
