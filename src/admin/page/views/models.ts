// Names that clients may send, routes first: each unfolds to its targets, with what they lack and cost, and what was learnt of them.
import { useState } from 'preact/hooks';
import { get, write, type Configuration, type Model, type Page, type Route, type Target } from '../api.ts';
import * as format from '../format.ts';
import { html, type Children } from '../html.ts';
import { Text } from '../parts/fields.ts';
import { Facts, HEALTH_TONES, Name, State, Time } from '../parts/text.ts';
import { Await, Empty, Failure, useLoaded } from '../parts/load.ts';
import { Table, type Column } from '../parts/table.ts';
import { hrefOf, type ViewProps } from '../route.ts';
import type { VNode } from 'preact';

const MOST_ROWS = 300;
const EVERY_MS = 30_000;

/** A name with its targets, in their order. */
interface Row {
  model: Model;
  /** Of the configuration. */
  route: Route | undefined;
  targets: readonly Target[];
}

export function ModelsView({ place, change }: ViewProps): VNode {
  const { find = '' } = place.query;
  const [note, setNote] = useState('');
  const rows = useLoaded(loadRows, [], EVERY_MS);
  const reset: Reset = async (target) => {
    await write('POST', '/targets/reset', { target });
    setNote(`${target} is asked again, and what was learnt of it is forgotten.`);
    rows.reload();
  };
  return html`
    <h1 tabindex="-1">Models</h1>
    <div class="filters" role="search">
      <${Text}
        label="Find"
        name="find"
        value=${find}
        onChange=${(value: string, isMore: boolean) => change({ find: value }, isMore)}
      />
    </div>
    <p role="status" class="note">${note}</p>
    <${Await} of=${rows}>
      ${(all: readonly Row[]) => html`<${Names} rows=${all.filter((row) => fits(row, find))} reset=${reset} />`}
    <//>
    <${NotUsed} />
  `;
}

const keyOf = ({ provider, model }: { provider: string; model: string }): string => `${provider}/${model}`;

async function loadRows(signal: AbortSignal): Promise<Row[]> {
  const [models, targets, routes] = await Promise.all([
    get<Page<Model>>('/models', { limit: '1000' }, signal),
    get<Page<Target>>('/targets', { limit: '1000' }, signal),
    get<Page<Route>>('/routes', {}, signal),
  ]);
  const known = new Map(targets.data.map((target) => [keyOf(target), target]));
  const rows = models.data.map((model): Row => {
    const route = routes.data.find(({ name }) => name === model.name);
    return { model, route, targets: model.targets.flatMap((target) => known.get(keyOf(target)) ?? []) };
  });
  return [...rows.filter(isRoute), ...rows.filter((row) => !isRoute(row))];
}

/** `auto` is one without a line in the configuration, too. */
const isRoute = ({ model, route }: Row): boolean => route !== undefined || model.targets.length > 1;

function fits({ model, targets }: Row, find: string): boolean {
  const text = [model.name, ...targets.map(keyOf)].join(' ').toLowerCase();
  return text.includes(find.toLowerCase());
}

type Reset = (target: string) => Promise<void>;

const STRATEGIES = {
  priority: (count: string) => `the first of ${count} that can`,
  fastest: (count: string) => `the fastest of ${count}`,
  balanced: (count: string) => `${count} in turns`,
} as const;

function leadsTo({ model, route }: Row): Children {
  const [first] = model.targets;
  if ((route?.rules.length ?? 0) === 0 && model.targets.length === 1 && first !== undefined)
    return html`<${Name} of=${keyOf(first)} />`;
  const how = STRATEGIES[route?.strategy ?? 'priority'](format.count(model.targets.length));
  const rules = route?.rules.length ?? 0;
  return html`<span>${how}${rules > 0 ? `, ${format.count(rules)} by work` : ''}</span>`;
}

/** How many of the targets requests avoid; nothing is said where all is well. */
function Health({ of: { model } }: { of: Row }): VNode {
  const bad = model.targets.filter(({ state }) => state !== undefined);
  if (bad.length === 0) return html``;
  const isAll = bad.length === model.targets.length;
  const text =
    model.targets.length === 1 ? bad[0]?.state : `${bad.length} of ${model.targets.length} avoided`;
  return html`<${State} tone=${isAll ? 'bad' : 'warn'}>${text}<//>`;
}

const ABILITIES = [
  ['vision', 'vision'],
  ['documents', 'documents'],
  ['audio', 'audio'],
  ['tools', 'tools'],
  ['thinking', 'thinking'],
  ['structured_output', 'structured output'],
] as const;

type Able = Partial<Record<(typeof ABILITIES)[number][0], boolean | null>>;

/** What it is known not to do. */
const lacks = (of: Able): string =>
  ABILITIES.flatMap(([name, title]) => (of[name] === false ? [title] : [])).join(', ');

/** What none of its targets does, so that both tables say the same. */
function nameLacks({ model, targets }: Row): string {
  if (targets.length === 0) return lacks(model);
  const all = ABILITIES.map(([name]) => [name, targets.some((target) => target[name] !== false)]);
  return lacks(Object.fromEntries(all) as Able);
}

/** Without those that have nothing to say. */
const columnsOf = (rows: readonly Row[]): readonly Column<Row>[] => [
  { title: 'Name', cell: ({ model }) => html`<${Name} of=${model.name} />`, isHead: true },
  { title: 'Answered by', cell: leadsTo },
  ...(rows.some(({ model }) => model.targets.some(({ state }) => state !== undefined))
    ? [{ title: 'State', cell: (row: Row) => html`<${Health} of=${row} />` }]
    : []),
  ...(rows.some((row) => nameLacks(row) !== '') ? [{ title: 'Lacks', cell: nameLacks, isMinor: true }] : []),
  {
    title: 'Context',
    cell: ({ model }) => format.short(model.context_window),
    isNumber: true,
    isLesser: true,
  },
  ...(rows.some((row) => lessonsOf(row) > 0)
    ? [
        {
          title: 'Learnt',
          cell: (row: Row) => lessonsOf(row) > 0 && format.count(lessonsOf(row)),
          isMinor: true,
        },
      ]
    : []),
];

const lessonsOf = ({ targets }: Row): number =>
  targets.reduce((sum, target) => sum + target.learnt.length, 0);

function Names({ rows, reset }: { rows: readonly Row[]; reset: Reset }): VNode {
  if (rows.length === 0)
    return html`<${Empty} title="No name fits.">
      <p>Shorten what “Find” looks for, or add a provider to the configuration: gateway init</p>
    <//>`;
  return html`
    <${Table}
      caption="Names that clients may send, routes first"
      columns=${columnsOf(rows)}
      rows=${rows.slice(0, MOST_ROWS)}
      asCards
      keyOf=${({ model }: Row) => model.name}
      unfold=${(row: Row) => html`<${Inside} of=${row} reset=${reset} />`}
    />
    ${
      rows.length > MOST_ROWS &&
      html`<p class="quiet-text">
        ${format.count(MOST_ROWS)} of ${format.count(rows.length)} are shown; “Find” finds the others.
      </p>`
    }
  `;
}

const STATE: Column<Target> = {
  title: 'State',
  cell: ({ state, until, failures }) =>
    state === 'healthy'
      ? ''
      : html`<${State} tone=${HEALTH_TONES[state]}>${state}<//>
          <span class="quiet-text">
            ${failures > 0 && `${failures === 1 ? '1 failure' : `${format.count(failures)} failures in a row`}; `}asked
            again${' '}
            <${Time} at=${until} />
          </span>`,
};

const targetColumnsOf = (targets: readonly Target[]): readonly Column<Target>[] => [
  { title: 'Target', cell: keyOf, isHead: true, isName: true },
  ...(targets.some(({ state }) => state !== 'healthy') ? [STATE] : []),
  { title: 'Lacks', cell: (target) => lacks(target), isMinor: true },
  { title: 'Context', cell: (target) => format.short(target.context_window), isNumber: true, isLesser: true },
  { title: 'Output', cell: (target) => format.short(target.max_output), isNumber: true, isMinor: true },
  { title: '$ in', cell: (target) => format.price(target.price?.input), isNumber: true, isLesser: true },
  { title: '$ out', cell: (target) => format.price(target.price?.output), isNumber: true, isLesser: true },
];

function Inside({ of: { model, route, targets }, reset }: { of: Row; reset: Reset }): VNode {
  return html`
    <${Table}
      caption=${`Targets of ${model.name}, in their order`}
      columns=${targetColumnsOf(targets)}
      rows=${targets}
      keyOf=${keyOf}
      asCards
    />
    <p class="quiet-text below">
      Prices are US dollars for a million tokens.${' '}
      <a class="nowrap" href=${hrefOf('try', { model: model.name })}>Try it</a>
    </p>
    ${
      (route?.rules.length ?? 0) > 0 &&
      html`<${Facts}
        facts=${route?.rules.map(({ by, name, targets: first }) => ({
          name: `First for ${by} ${name}`,
          value: first.map(keyOf).join(', '),
        }))}
      />`
    }
    ${targets.map((target) => html`<${Learnt} key=${keyOf(target)} of=${target} reset=${reset} />`)}
  `;
}

/** What refusals taught, and the button that forgets it and ends a pause. */
function Learnt({ of: target, reset }: { of: Target; reset: Reset }): VNode {
  const [error, setError] = useState<Error>();
  const name = keyOf(target);
  if (target.learnt.length === 0 && target.state === 'healthy') return html``;
  const run = (): void => {
    reset(name).catch((failure: unknown) => setError(failure as Error));
  };
  return html`
    ${target.learnt.map(
      ({ protocol, changes, words, learnt_at: at }) =>
        html`<p>
          ${name} (${protocol}) refuses: ${changes.join(', ')}. It said <q>${words}</q> <${Time} at=${at} />;
          forgotten after a day.
        </p>`,
    )}
    ${error !== undefined && html`<${Failure} error=${error} />`}
    <button type="button" class="quiet" onClick=${run}>
      ${target.state === 'healthy' ? 'Forget it' : 'Ask again now'}<span class="hidden"> ${name}</span>
    </button>
  `;
}

function NotUsed(): VNode {
  const config = useLoaded((signal) => get<Configuration>('/config', {}, signal), []);
  return html`
    <section>
      <h2>Providers that are not used</h2>
      <${Await} of=${config}>
        ${({ left_out: leftOut, warnings }: Configuration) => html`
          ${
            leftOut.length === 0
              ? html`<p>Every configured provider is used.</p>`
              : html`<${Facts}
                  facts=${leftOut.map(({ provider, why }) => ({ name: provider, value: why }))}
                />`
          }
          ${
            othersOf(warnings, leftOut).length > 0 &&
            html`<h3>Warnings of the configuration</h3>
              <ul>
                ${othersOf(warnings, leftOut).map((warning) => html`<li>${warning}</li>`)}
              </ul>`
          }
        `}
      <//>
    </section>
  `;
}

/** Warnings that say more than the list of providers that are not used. */
const othersOf = (warnings: readonly string[], leftOut: Configuration['left_out']): readonly string[] =>
  warnings.filter(
    (text) => !leftOut.some(({ provider }) => text.startsWith(`provider ${provider} is left out`)),
  );
