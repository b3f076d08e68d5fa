// What the gateway does now: requests under way, the health of targets, the hour of each account.
import {
  get,
  type LiveRequest,
  type LiveTarget,
  type Page,
  type RequestJson,
  type AccountLimits,
  type Attention,
  type Target,
} from '../../api.ts';
import * as format from '../../format.ts';
import { html } from '../../html.ts';
import { MOST_SAMPLES, useLive, type Sample } from '../../live.ts';
import { Chart, wholeCount } from '../../parts/chart.ts';
import { HEALTH_TONES, State, Name, Time, Unknown, Figures } from '../../parts/text.ts';
import { Await, Empty, useLoaded } from '../../parts/load.ts';
import { Table, type Column } from '../../parts/table.ts';
import { hrefOf } from '../../route.ts';
import { shortId } from '../conversations/words.ts';
import { Strip } from './attention.ts';
import { Fullest } from './fullest.ts';
import type { VNode } from 'preact';

const SLOW_REFRESH_MS = 10_000;

/** The fullest accounts that are read: the strip names those near a limit, the table shows the first ones. */
const MOST_ACCOUNTS = '100';

export function NowView(): VNode {
  const attention = useLoaded((signal) => get<Attention>('/attention', {}, signal), [], SLOW_REFRESH_MS);
  const limits = useLoaded(
    (signal) => get<Page<AccountLimits>>('/limits', { order: 'fullest', limit: MOST_ACCOUNTS }, signal),
    [],
    SLOW_REFRESH_MS,
  );
  const live = useLive((state) => state.frame?.targets);
  return html`
    <h1 tabindex="-1">Now</h1>
    <${Await} of=${attention}>
      ${(found: Attention) => html`<${Strip} attention=${found} live=${live ?? []} limits=${limits.value?.data} />`}
    <//>
    <${Totals} />
    <${UnderWay} />
    <section>
      <h2>Fullest accounts</h2>
      <${Await} of=${limits}>${fullest}<//>
    </section>
    <${Health} />
    <${Ended} />
  `;
}

const fullest = ({ data }: Page<AccountLimits>): VNode => html`<${Fullest} limits=${data} />`;

function Totals(): VNode {
  const frame = useLive((state) => state.frame);
  const history = useLive((state) => state.history);
  const totals = frame?.totals;
  const pace = history.at(-1)?.tokensPerSecond;
  return html`
    <section class="split">
      <${Figures}
        label="Now"
        figures=${[
          { name: 'In flight', value: format.count(frame?.in_flight) },
          { name: 'Tokens a second', value: format.rate(pace) },
          { name: 'Requests', value: format.short(totals?.requests), note: 'since the gateway started' },
          {
            name: 'Not answered fully',
            value: format.short(totals?.errors),
            note: totals === undefined ? '' : `and ${format.short(totals.refused)} refused`,
          },
        ]}
      />
      <${Pace} history=${history} />
    </section>
  `;
}

function Pace({ history }: { history: readonly Sample[] }): VNode {
  const newest = history.at(-1)?.at ?? 0;
  const bySecond = new Map(history.map(({ at, tokensPerSecond }) => [at, tokensPerSecond]));
  const values = Array.from(
    { length: MOST_SAMPLES },
    (_, at) => bySecond.get(newest - MOST_SAMPLES + 1 + at) ?? null,
  );
  return html`<${Chart}
    title="Tokens a second, the last two minutes"
    summary="Tokens a second in the last two minutes; the number beside it is the newest"
    labels=${values.map(() => '')}
    lines=${[{ label: 'all streams', colour: 1, values }]}
    kind="line"
    format=${wholeCount}
    height=${120}
    isLive
  />`;
}

const UNDER_WAY: readonly Column<LiveRequest>[] = [
  {
    title: 'Asked for',
    cell: ({ id, model_asked: asked }) =>
      html`<a href=${hrefOf('requests', {}, id)}><${Name} of=${asked} /></a>`,
    isHead: true,
  },
  { title: 'Account', cell: ({ account }) => account, isName: true },
  {
    title: 'Target',
    cell: ({ target }) => target ?? html`<${Unknown} word="none yet" />`,
    isName: true,
    isMinor: true,
  },
  {
    title: 'State',
    isLesser: true,
    cell: ({ state, attempts }) =>
      html`<${State} tone=${state === 'answering' ? 'good' : 'plain'}
        >${state}${attempts > 1 ? `, attempt ${attempts}` : ''}<//
      >`,
  },
  {
    title: 'Conversation',
    cell: ({ conversation }) =>
      typeof conversation !== 'string'
        ? html`<${Unknown} word="none known" />`
        : html`<a href=${hrefOf('conversations', {}, conversation)}
            ><code class="id">${shortId(conversation)}</code></a
          >`,
    isMinor: true,
  },
  { title: 'Age', cell: (request) => format.age(request.age_ms), isNumber: true },
  {
    title: 'Tokens',
    cell: (request) => format.count(request.output_tokens),
    isNumber: true,
    isLesser: true,
  },
  { title: 'Tokens/s', cell: (request) => format.rate(request.tokens_per_second), isNumber: true },
];

function UnderWay(): VNode {
  const frame = useLive((state) => state.frame);
  if (frame === undefined) return html`<p class="loading">Waiting for the gateway…</p>`;
  const { requests, in_flight: all } = frame;
  return html`
    <section>
      <h2>In flight</h2>
      ${
        requests.length === 0
          ? html`<${Empty} title="No request is under way.">
              <p>
                Requests appear here while they are answered.${' '}
                <a href=${hrefOf('connect')}>Connect a tool</a> to send the first.
              </p>
            <//>`
          : html`<${Table}
              caption="Requests in flight"
              columns=${UNDER_WAY}
              rows=${requests}
              asCards
              keyOf=${({ id }: LiveRequest) => id}
            />`
      }
      ${
        all > requests.length &&
        html`<p class="quiet-text">
          The oldest ${format.count(requests.length)} of ${format.count(all)} are shown.
        </p>`
      }
    </section>
  `;
}

type TargetNow = Target & Partial<LiveTarget>;

const TARGETS: readonly Column<TargetNow>[] = [
  { title: 'Target', cell: ({ provider, model }) => `${provider}/${model}`, isHead: true, isName: true },
  { title: 'State', cell: ({ state }) => html`<${State} tone=${HEALTH_TONES[state]}>${state}<//>` },
];

/** Only where a target is avoided. */
const ASKED_AGAIN: Column<TargetNow> = {
  title: 'Asked again',
  cell: ({ state, until }) =>
    state === 'healthy' ? '' : until === null ? 'soon' : html`<${Time} at=${until} />`,
  isMinor: true,
};

const COUNTS: readonly Column<TargetNow>[] = [
  {
    title: 'Failures in a row',
    cell: ({ failures }) => format.count(failures),
    isNumber: true,
    isMinor: true,
  },
  { title: 'In flight', cell: (target) => format.count(target.in_flight), isNumber: true },
];

/** Targets that the live events name are as new as those. */
function withLive(targets: readonly Target[], live: readonly LiveTarget[]): TargetNow[] {
  const byKey = new Map(live.map((target) => [target.target, target]));
  return targets.map((target) => ({ ...target, ...byKey.get(`${target.provider}/${target.model}`) }));
}

const RANK = { failing: 0, cooling: 1, healthy: 2 } as const;

function Health(): VNode {
  const targets = useLoaded(
    (signal) => get<Page<Target>>('/targets', { limit: '1000' }, signal),
    [],
    SLOW_REFRESH_MS,
  );
  const live = useLive((state) => state.frame?.targets);
  return html`
    <section>
      <h2>Health of providers</h2>
      <${Await} of=${targets}>
        ${({ data }: Page<Target>) => {
          const all = withLive(data, live ?? []);
          const shown = all
            .filter(
              (target) => target.state !== 'healthy' || target.in_flight > 0 || target.first_byte_ms !== null,
            )
            .sort((a, b) => RANK[a.state] - RANK[b.state]);
          const firstByte = format.durations(shown.map((target) => target.first_byte_ms));
          const ill = shown.filter(({ state }) => state !== 'healthy').length;
          const columns: Column<TargetNow>[] = [
            ...TARGETS,
            ...(ill > 0 ? [ASKED_AGAIN] : []),
            ...COUNTS,
            { title: 'First byte', cell: (target) => firstByte(target.first_byte_ms), isNumber: true },
          ];
          return html`
            <p>
              ${
                ill === 0
                  ? `All ${format.count(all.length)} targets are healthy.`
                  : `${format.count(ill)} of ${format.count(all.length)} targets ${ill === 1 ? 'is' : 'are'} avoided now.`
              }
              ${shown.length > 0 && shown.length < all.length && (ill === 0 ? ' Used lately:' : ' Avoided or used lately:')}
            </p>
            ${
              shown.length > 0 &&
              html`<${Table}
                caption="Health of targets"
                columns=${columns}
                rows=${shown}
                keyOf=${({ provider, model }: Target) => `${provider}/${model}`}
                asCards
              />`
            }
          `;
        }}
      <//>
    </section>
  `;
}

const ENDED: readonly Column<RequestJson>[] = [
  {
    title: 'Ended',
    cell: ({ at, id, refused }) => {
      const time = html`<time datetime=${at} title=${format.time(at)}>${format.timeOfDay(at)}</time>`;
      return id === null || refused ? time : html`<a href=${hrefOf('requests', {}, id)}>${time}</a>`;
    },
    isHead: true,
  },
  { title: 'Account', cell: ({ account }) => account ?? html`<${Unknown} />`, isName: true, isLesser: true },
  { title: 'Model', cell: (request) => request.model_asked ?? request.endpoint, isName: true },
  {
    title: 'Status',
    cell: ({ status, error }) =>
      html`<${State} tone=${error === null ? 'good' : 'bad'}>${error ?? status}<//>`,
  },
];

function Ended(): VNode {
  const ended = useLive((state) => state.ended);
  if (ended.length === 0) return html``;
  const rows = ended.slice(0, 10);
  const took = format.durations(rows.map((row) => row.duration_ms));
  const columns: Column<RequestJson>[] = [
    ...ENDED,
    { title: 'Took', cell: (row) => took(row.duration_ms), isNumber: true },
  ];
  return html`
    <section>
      <h2>Ended just now</h2>
      <${Table}
        caption="Requests that ended just now"
        columns=${columns}
        rows=${rows}
        keyOf=${(row: RequestJson, index: number) => row.id ?? String(index)}
        asCards
      />
      <p class="below"><a href=${hrefOf('requests')}>All requests</a></p>
    </section>
  `;
}
