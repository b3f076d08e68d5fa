// Names that clients may send, the targets behind them, what each can do and costs, and why others are not used.
import { get, type Configuration, type Model, type Page, type Target } from '../api.ts';
import * as format from '../format.ts';
import { html } from '../html.ts';
import { Text } from '../parts/fields.ts';
import { HEALTH_TONES, State, Time, Unknown, Facts } from '../parts/text.ts';
import { Await, Empty, useLoaded } from '../parts/load.ts';
import { Table, type Column } from '../parts/table.ts';
import type { ViewProps } from '../route.ts';
import type { VNode } from 'preact';

const MOST_ROWS = 300;

export function ModelsView({ place, change }: ViewProps): VNode {
  const { find = '' } = place.query;
  const data = useLoaded(
    async (signal) => {
      const [models, targets] = await Promise.all([
        get<Page<Model>>('/models', { limit: '1000' }, signal),
        get<Page<Target>>('/targets', { limit: '1000' }, signal),
      ]);
      return { models: models.data, targets: targets.data };
    },
    [],
    30_000,
  );
  return html`
    <h1 tabindex="-1">Models</h1>
    <div class="filters" role="search">
      <${Text}
        label="Find"
        name="find"
        value=${find}
        onChange=${(value: string) => change({ find: value })}
      />
    </div>
    <${Await} of=${data}>
      ${({ models, targets }: { models: Model[]; targets: Target[] }) => html`
        <${Names} models=${models.filter(({ name }) => fits(name, find))} />
        <${Targets} targets=${targets.filter(({ provider, model }) => fits(`${provider}/${model}`, find))} />
      `}
    <//>
    <${NotUsed} />
  `;
}

const fits = (name: string, find: string): boolean => name.toLowerCase().includes(find.toLowerCase());

/** The first ones, and how many more there are. */
function Some<Row>({ rows, of }: { rows: readonly Row[]; of: (rows: readonly Row[]) => VNode }): VNode {
  return html`${of(rows.slice(0, MOST_ROWS))}
  ${
    rows.length > MOST_ROWS &&
    html`<p class="quiet-text">
      ${format.count(MOST_ROWS)} of ${format.count(rows.length)} are shown; “Find” finds the others.
    </p>`
  }`;
}

const NAMES: readonly Column<Model>[] = [
  { title: 'Name', cell: ({ name }) => html`<code>${name}</code>`, isHead: true },
  {
    title: 'Answered by, in this order',
    cell: ({ targets }) =>
      html`<ol class="targets">
        ${targets.map(
          ({ provider, model, state }) =>
            html`<li>
              ${provider}/${model} ${state !== undefined && html`<${State} tone="bad">${state}<//>`}
            </li>`,
        )}
      </ol>`,
  },
  { title: 'Abilities', cell: (model) => html`<${Abilities} of=${model} />` },
  { title: 'Window', cell: (model) => format.count(model.context_window), isNumber: true },
  { title: 'Most output', cell: (model) => format.count(model.max_output), isNumber: true, isMinor: true },
];

function Names({ models }: { models: readonly Model[] }): VNode {
  return html`
    <section>
      <h2>Names that clients may send</h2>
      ${
        models.length === 0
          ? html`<${Empty} title="No name fits.">
              <p>Shorten what “Find” looks for, or add a provider to the configuration: gateway init</p>
            <//>`
          : html`<${Some}
              rows=${models}
              of=${(rows: readonly Model[]) => html`<${Table} caption="Names and their targets" columns=${NAMES} rows=${rows} keyOf=${({ name }: Model) => name} />`}
            />`
      }
    </section>
  `;
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

function Abilities({ of }: { of: Able }): VNode {
  const can = ABILITIES.filter(([name]) => of[name] === true).map(([, title]) => title);
  const cannot = ABILITIES.filter(([name]) => of[name] === false).map(([, title]) => title);
  if (can.length + cannot.length === 0) return html`<${Unknown} />`;
  return html`${can.join(', ')}${
    cannot.length > 0 &&
    html`<span class="quiet-text">${can.length > 0 ? '; ' : ''}not: ${cannot.join(', ')}</span>`
  }`;
}

const TARGETS: readonly Column<Target>[] = [
  {
    title: 'Target',
    cell: ({ provider, model, upstream }) =>
      html`${provider}/${model}${upstream !== model && html`<small class="quiet-text"> as ${upstream}</small>`}`,
    isHead: true,
  },
  {
    title: 'State',
    cell: ({ state, until, failures }) =>
      html`<${State} tone=${HEALTH_TONES[state]}>${state}<//>${
          state !== 'healthy' &&
          html` <span class="quiet-text">
            ${failures > 0 && `${format.count(failures)} failures in a row; `}asked again
            <${Time} at=${until} />
          </span>`
        }`,
  },
  { title: 'Protocols', cell: ({ protocols }) => protocols.join(', '), isMinor: true },
  { title: 'Abilities', cell: (target) => html`<${Abilities} of=${target} />`, isMinor: true },
  { title: 'Window', cell: (target) => format.count(target.context_window), isNumber: true },
  { title: 'Most output', cell: (target) => format.count(target.max_output), isNumber: true, isMinor: true },
  { title: 'Input', cell: (target) => format.price(target.price?.input), isNumber: true },
  { title: 'Output', cell: (target) => format.price(target.price?.output), isNumber: true },
  {
    title: 'Cache read',
    cell: (target) => format.price(target.price?.cache_read),
    isNumber: true,
    isMinor: true,
  },
];

function Targets({ targets }: { targets: readonly Target[] }): VNode {
  if (targets.length === 0) return html``;
  return html`
    <section>
      <h2>Targets</h2>
      <p class="quiet-text">Prices are US dollars for a million tokens.</p>
      <${Some}
        rows=${targets}
        of=${(rows: readonly Target[]) => html`<${Table} caption="Targets with their health, abilities and prices" columns=${TARGETS} rows=${rows} keyOf=${({ provider, model }: Target) => `${provider}/${model}`} />`}
      />
    </section>
  `;
}

function NotUsed(): VNode {
  const config = useLoaded((signal) => get<Configuration>('/config', {}, signal), []);
  return html`
    <section>
      <h2>Not used</h2>
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
