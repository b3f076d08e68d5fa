// One request: what was asked, who answered, how long each attempt took, what was left out. Bodies are not stored.
import { get, type RequestJson } from '../api.ts';
import * as format from '../format.ts';
import { html } from '../html.ts';
import { State, Time, Bar, Facts, type Fact } from '../parts/text.ts';
import { Await, useLoaded } from '../parts/load.ts';
import { Table, type Column } from '../parts/table.ts';
import { hrefOf } from '../route.ts';
import type { VNode } from 'preact';

export function RequestView({ id }: { id: string }): VNode {
  const request = useLoaded(
    (signal) => get<RequestJson>(`/requests/${encodeURIComponent(id)}`, {}, signal),
    [id],
  );
  return html`
    <p class="back"><a href=${hrefOf('requests')}>Requests</a></p>
    <h1 tabindex="-1">Request <code class="id">${id}</code></h1>
    <${Await} of=${request}>${(value: RequestJson) => html`<${Detail} request=${value} />`}<//>
  `;
}

function Detail({ request }: { request: RequestJson }): VNode {
  const { error, status, detail } = request;
  return html`
    <p class="outcome">
      <${State} tone=${error === null ? 'good' : 'bad'}>${error === null ? 'answered' : error}<//>
      <span>status ${status}</span>
    </p>
    ${detail.message !== undefined && html`<blockquote>${detail.message}</blockquote>`}
    <div class="columns">
      <section>
        <h2>What</h2>
        <${Facts} facts=${what(request)} />
      </section>
      <section>
        <h2>How long</h2>
        <${Facts} facts=${timings(request)} />
      </section>
      <section>
        <h2>Tokens</h2>
        <${Facts} facts=${tokens(request)} />
      </section>
    </div>
    <${Attempts} request=${request} />
    <${LeftOut} detail=${detail} />
    <p class="quiet-text">The texts of requests and answers are not stored.</p>
  `;
}

function what({ account, key, endpoint, model_asked, provider, model, stream }: RequestJson): Fact[] {
  return [
    { name: 'Account', value: account ?? 'removed' },
    { name: 'Key', value: html`<code class="id">${key ?? format.UNKNOWN}</code>` },
    { name: 'Endpoint', value: `${endpoint}${stream ? ', streamed' : ''}` },
    { name: 'Asked for', value: model_asked ?? format.UNKNOWN },
    { name: 'Target', value: provider === null ? 'none' : `${provider}/${model ?? ''}` },
  ];
}

function timings({ at, first_byte_ms, duration_ms, output_tokens }: RequestJson): Fact[] {
  const rest = duration_ms === null || first_byte_ms === null ? null : duration_ms - first_byte_ms;
  const pace = rest === null || rest < 50 || output_tokens === null ? null : (1000 * output_tokens) / rest;
  return [
    { name: 'Ended', value: html`<${Time} at=${at} whole />` },
    { name: 'First byte', value: format.duration(first_byte_ms) },
    { name: 'Whole', value: format.duration(duration_ms) },
    { name: 'Tokens a second', value: format.rate(pace) },
  ];
}

function tokens(request: RequestJson): Fact[] {
  const estimated = request.detail.estimated_input;
  return [
    {
      name: 'Input',
      value:
        request.input_tokens === null && estimated !== undefined
          ? `about ${format.count(estimated)}`
          : format.count(request.input_tokens),
    },
    { name: 'from a cache', value: format.count(request.cache_read_tokens) },
    { name: 'into a cache', value: format.count(request.cache_write_tokens) },
    { name: 'Output', value: format.count(request.output_tokens) },
    { name: 'for reasoning', value: format.count(request.reasoning_tokens) },
    { name: 'Cost', value: format.cost(request.cost_usd) },
  ];
}

type Attempt = NonNullable<RequestJson['detail']['attempts']>[number];

/** A request that the first target answered has no list. */
function attemptsOf({ detail, provider, model, duration_ms, status }: RequestJson): readonly Attempt[] {
  if (detail.attempts !== undefined) return detail.attempts;
  if (provider === null || duration_ms === null) return [];
  return [{ target: `${provider}/${model ?? ''}`, protocol: '', status, ms: duration_ms }];
}

/** The attempt without an error is the last one: its end is that of the request. */
function Result({ of: { error, status }, request }: { of: Attempt; request: RequestJson }): VNode {
  const fault = error ?? request.error;
  if (fault === null) return html`<${State} tone="good">answered<//>`;
  return html`<${State} tone="bad">${fault}<//>${status !== undefined && ` status ${status}`}`;
}

function Attempts({ request }: { request: RequestJson }): VNode {
  const attempts = attemptsOf(request);
  const longest = Math.max(1, ...attempts.map(({ ms }) => ms));
  const columns: Column<Attempt>[] = [
    { title: 'Target', cell: ({ target }) => target, isHead: true },
    { title: 'Protocol', cell: ({ protocol }) => protocol, isMinor: true },
    { title: 'Result', cell: (attempt) => html`<${Result} of=${attempt} request=${request} />` },
    { title: 'Message', cell: ({ message }) => message ?? '' },
    {
      title: 'Took',
      cell: ({ ms }) =>
        html`<span class="share"><${Bar} part=${ms} whole=${longest} />${format.duration(ms)}</span>`,
      isNumber: true,
    },
  ];
  const { passed_over: passedOver = [] } = request.detail;
  return html`
    <section>
      <h2>Attempts</h2>
      ${request.detail.rule === undefined ? '' : html`<p>The rule of the route: ${request.detail.rule}</p>`}
      ${
        attempts.length === 0
          ? html`<p>No target was contacted.</p>`
          : html`<${Table}
              caption="Attempts, in their order"
              columns=${columns}
              rows=${attempts}
              keyOf=${(_: Attempt, index: number) => String(index)}
            />`
      }
      ${
        passedOver.length > 0 &&
        html`<h3>Targets that were passed over</h3>
          <${Facts} facts=${passedOver.map(({ target, why }) => ({ name: target, value: why }))} />`
      }
    </section>
  `;
}

const LISTS = [
  { name: 'dropped', title: 'Fields of the request that the target does not take' },
  { name: 'changed', title: 'Fields that were changed in form' },
  { name: 'lost', title: "Parts of the answer that the client's protocol cannot hold" },
  { name: 'repaired', title: 'Tool calls of the model that were repaired' },
] as const;

function LeftOut({ detail }: { detail: RequestJson['detail'] }): VNode {
  const shown = LISTS.flatMap(({ name, title }) => {
    const names = detail[name] ?? [];
    return names.length === 0 ? [] : [{ title, names }];
  });
  return html`
    <section>
      <h2>Left out or changed</h2>
      ${
        shown.length === 0
          ? html`<p>Nothing.</p>`
          : shown.map(
              ({ title, names }) =>
                html`<h3>${title}</h3>
                  <ul class="names">
                    ${names.map((name) => html`<li><code>${name}</code></li>`)}
                  </ul>`,
            )
      }
    </section>
  `;
}
