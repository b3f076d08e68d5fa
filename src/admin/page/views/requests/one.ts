// One request: how it ended and why, its time step by step, who answered, what was left out. Bodies are not stored.
import { errorWords, missWords } from '../../../../error-words.ts';
import { useState } from 'preact/hooks';
import { get, type Key, type Page, type RequestJson, type RequestUnderWay } from '../../api.ts';
import * as format from '../../format.ts';
import { html, type Children } from '../../html.ts';
import { Outcome } from './outcome.ts';
import { CopyButton, State, Time, Bar, Facts, Name, type Fact } from '../../parts/text.ts';
import { Await, useLoaded } from '../../parts/load.ts';
import { Table, type Column } from '../../parts/table.ts';
import { hrefOf, type Place } from '../../route.ts';
import { stepsOf, type Step } from './time-line.ts';
import { curlOf } from './curl.ts';
import type { VNode } from 'preact';

type Shown = RequestJson | RequestUnderWay;

const EVERY_MS = 1000;

const isUnderWay = (request: Shown): request is RequestUnderWay => 'state' in request;
const isRefused = (request: Shown): boolean => !isUnderWay(request) && request.refused;
const elapsedOf = (request: Shown): number | null =>
  isUnderWay(request) ? request.age_ms : request.duration_ms;

const SO_FAR = {
  waiting: 'In flight: nothing of the answer was sent yet',
  answering: 'In flight: answering',
};

/** `place`: with the filters of the list from which somebody came. */
export function RequestView({ id, place }: { id: string; place: Place }): VNode {
  const [isMoving, setMoving] = useState(false);
  const request = useLoaded(
    async (signal) => {
      const found = await get<Shown>(`/requests/${encodeURIComponent(id)}`, {}, signal);
      setMoving(isUnderWay(found));
      return found;
    },
    [id],
    isMoving ? EVERY_MS : undefined,
  );
  return html`
    <p class="back"><a href=${hrefOf('requests', place.query)}>Requests</a></p>
    <h1 tabindex="-1">Request <code class="id">${id}</code></h1>
    <${Await} of=${request}>${(value: Shown) => html`<${Detail} request=${value} />`}<//>
  `;
}

function Detail({ request }: { request: Shown }): VNode {
  const { detail, id } = request;
  const isAdmitted = !isRefused(request);
  const curl = curlOf(request, location.origin);
  const otherwise = isUnderWay(request) ? 'Not known so far' : 'Not recorded';
  return html`
    <p class="outcome" role="status">
      ${
        isUnderWay(request)
          ? html`<${State} tone=${request.state === 'answering' ? 'good' : 'plain'}
              >${SO_FAR[request.state]}<//
            >`
          : html`<${Outcome} of=${request} />`
      }
    </p>
    ${detail.message !== undefined && html`<blockquote>${detail.message}</blockquote>`}
    <p class="copies">
      ${id !== null && html`<${CopyButton} text=${id} label="the id of the request">Copy the id<//>`}
      ${
        curl !== undefined &&
        html`<${CopyButton} text=${curl} label="a command that asks alike, without key and text"
          >Copy as curl<//
        >`
      }
    </p>
    <${TimeLine} request=${request} />
    <div class="columns">
      <section>
        <h2>What</h2>
        <${Known} facts=${what(request)} otherwise="Not given" />
      </section>
      <section>
        <h2>How long</h2>
        <${Known} facts=${timings(request)} otherwise=${otherwise} />
      </section>
      ${
        isAdmitted &&
        html`<section>
          <h2>Tokens</h2>
          <${Known}
            facts=${[...tokens(request), ...(isUnderWay(request) ? [] : cacheFacts(request))]}
            otherwise=${otherwise}
          />
        </section>`
      }
    </div>
    ${isAdmitted && html`<${Attempts} request=${request} /> <${LeftOut} detail=${detail} />`}
    <p class="quiet-text">The texts of requests and answers are not stored.</p>
  `;
}

/** Facts that have a value, and the names of the others behind `otherwise`. */
function Known({ facts, otherwise }: { facts: readonly Fact[]; otherwise: string }): VNode {
  const isKnown = ({ value }: Fact): boolean => value !== null && value !== format.UNKNOWN;
  const known = facts.filter(isKnown);
  const unknown = facts.filter((fact) => !isKnown(fact)).map(({ name }) => name.toLowerCase());
  return html`${known.length > 0 && html`<${Facts} facts=${known} />`}
  ${unknown.length > 0 && html`<p class="unknown quiet-text">${otherwise}: ${unknown.join(', ')}</p>`}`;
}

const STEPS = { waited: 'Waited', failed: 'Failed', thought: 'First byte', answered: 'Last byte' };

function stepText({ kind, target, error }: Step, request: Shown): Children {
  const isMoving = isUnderWay(request);
  if (isMoving && kind === 'thought' && request.first_byte_ms === null) return `${target} is asked`;
  if (isMoving && kind === 'answered') return 'From the first byte until now';
  if (kind === 'waited') return 'Waited in the gateway, before a target was asked';
  if (kind === 'failed') {
    const why = error === undefined ? '' : `: ${errorWords(error).replace(/^failed: /, '')}`;
    return `${target} failed${why}`;
  }
  if (kind === 'thought') return html`Until the first byte of ${target}`;
  return error === undefined
    ? 'From the first byte to the last'
    : `From the first byte on, until: ${errorWords(error)}`;
}

function TimeLine({ request }: { request: Shown }): VNode | null {
  const steps = stepsOf(
    isUnderWay(request) ? { ...request, duration_ms: request.age_ms, error: null } : request,
  );
  const whole = steps.reduce((sum, { ms }) => sum + ms, 0);
  // What moves would change its unit before one's eyes.
  const duration = isUnderWay(request) ? format.duration : format.durations(steps.map(({ ms }) => ms));
  if (steps.length === 0) return null;
  return html`<section>
    <h2>Time</h2>
    <div class="line-of-time" aria-hidden="true">
      ${steps.map(
        ({ kind, ms }) =>
          html`<span
            class="step-${kind}"
            title="${STEPS[kind]} ${duration(ms)}"
            style=${{ width: `${(100 * ms) / whole}%` }}
          ></span>`,
      )}
    </div>
    <ol class="time-steps">
      ${steps.map(
        (step) =>
          html`<li>
            <i class="step-${step.kind}" aria-hidden="true"></i>
            <span>${stepText(step, request)}</span>
            <span class="nowrap">${duration(step.ms)}</span>
          </li>`,
      )}
    </ol>
  </section>`;
}

function what(request: Shown): Fact[] {
  const { account, key, endpoint, model_asked, provider, model, stream, conversation } = request;
  const { agent, agent_type: type, class: kind, prompt, label, client } = request;
  return [
    {
      name: 'Account',
      value: account === null ? 'removed' : html`<a href=${hrefOf('requests', { account })}>${account}</a>`,
    },
    { name: 'Key', value: key === null ? null : html`<${KeyName} id=${key} />` },
    { name: 'Endpoint', value: `${endpoint}${stream ? ', streamed' : ''}` },
    { name: 'Asked for', value: model_asked },
    ...(isRefused(request)
      ? []
      : [{ name: 'Target', value: provider === null ? 'none' : `${provider}/${model ?? ''}` }]),
    {
      name: 'Conversation',
      value:
        conversation === null
          ? null
          : html`<a href=${hrefOf('conversations', {}, conversation)}
              ><code class="id"><${Name} of=${conversation} /></code
            ></a>`,
    },
    { name: 'Agent', value: agent === null ? type : [type, agent].filter((word) => word !== null).join(' ') },
    { name: 'Kind of work', value: kind },
    { name: 'Task', value: prompt },
    { name: 'Label', value: label },
    { name: 'Client', value: client },
  ];
}

/** By the name that people gave it. A key of `gateway run` is deleted some days after its end. */
function KeyName({ id }: { id: string }): VNode {
  const keys = useLoaded((signal) => get<Page<Key>>('/keys', { q: id, limit: '10' }, signal), [id]);
  const key = keys.value?.data.find((one) => one.id === id);
  const name =
    key === undefined
      ? html`<code class="nowrap">${id}</code>`
      : (key.name ?? html`<code class="nowrap">${key.prefix}…</code>`);
  return html`${
      key === undefined
        ? name
        : html`<a href=${hrefOf('keys', { state: 'all', find: id })} title=${id}>${name}</a>`
    }${' '}<span class="nowrap"
      >(<a href=${hrefOf('requests', { since: '30d', key: id })}>its requests</a>)</span
    >`;
}

function timings(request: Shown): Fact[] {
  if (!isUnderWay(request)) return timingsOfEnded(request);
  return [
    { name: 'Started', value: html`<${Time} at=${request.started_at} whole />` },
    { name: 'First byte', value: format.duration(request.first_byte_ms) },
    { name: 'Until now', value: format.duration(request.age_ms) },
    {
      name: 'Tokens a second',
      value: request.first_byte_ms === null ? null : format.rate(request.tokens_per_second),
    },
  ];
}

function timingsOfEnded({ at, first_byte_ms, duration_ms, output_tokens }: RequestJson): Fact[] {
  const rest = duration_ms === null || first_byte_ms === null ? null : duration_ms - first_byte_ms;
  const duration = format.durations([first_byte_ms, duration_ms]);
  const pace = rest === null || rest < 50 || output_tokens === null ? null : (1000 * output_tokens) / rest;
  return [
    { name: 'Ended', value: html`<${Time} at=${at} whole />` },
    { name: 'First byte', value: duration(first_byte_ms) },
    { name: 'Took', value: duration(duration_ms) },
    { name: 'Tokens a second', value: format.rate(pace) },
  ];
}

function tokens(request: Shown): Fact[] {
  if (isUnderWay(request)) {
    const { output_tokens: output } = request;
    const isCounted = output !== null && output > 0;
    return [{ name: 'Output', value: isCounted ? `about ${format.count(output)} so far` : null }];
  }
  const estimated = request.detail.estimated_input;
  return [
    {
      name: 'Input',
      value:
        request.input_tokens === null && estimated !== undefined
          ? `about ${format.count(estimated)}`
          : format.count(request.input_tokens),
    },
    { name: 'Cache reads', value: format.count(request.cache_read_tokens) },
    { name: 'Cache writes', value: format.count(request.cache_write_tokens) },
    { name: 'Output', value: format.count(request.output_tokens) },
    { name: 'Reasoning', value: format.count(request.reasoning_tokens) },
    { name: 'Cost', value: format.cost(request.cost_usd) },
  ];
}

/** The part of the input that a cache had, or why it had to be read anew. */
function cacheFacts({ cache: { share, miss } }: RequestJson): Fact[] {
  return [
    ...(share === null
      ? []
      : [
          {
            name: 'Cached',
            value: html`<span class="share"
              ><${Bar} part=${share} whole=${1} />${format.share(share, 1)} of the input</span
            >`,
          },
        ]),
    ...(miss === null
      ? []
      : [
          {
            name: 'Cache miss',
            value: html`<${State} tone="warn"
                >${missWords(miss.cause)}${miss.detail === null ? '' : ` (${miss.detail})`}<//
              >
              ${miss.tokens === null ? '' : ` ${format.count(miss.tokens)} tokens read anew`}
              ${miss.cost_usd === null ? '' : `, ${format.cost(miss.cost_usd)}`}`,
          },
        ]),
  ];
}

type Attempt = NonNullable<RequestJson['detail']['attempts']>[number];

/** A request that the first target answered has no list. */
function attemptsOf(request: Shown): readonly Attempt[] {
  const { detail, provider, model } = request;
  const ms = elapsedOf(request);
  if (detail.attempts !== undefined) return detail.attempts;
  if (provider === null || ms === null) return [];
  const status = isUnderWay(request) ? undefined : request.status;
  return [
    { target: `${provider}/${model ?? ''}`, protocol: '', ...(status !== undefined && { status }), ms },
  ];
}

/** The attempt without an error is the last one: its end is that of the request. */
function Result({ of: { error, status }, request }: { of: Attempt; request: Shown }): VNode {
  if (error === undefined && isUnderWay(request))
    return html`<${State} tone="plain">${request.state === 'answering' ? 'is answering' : 'is asked'}<//>`;
  const fault = error ?? (isUnderWay(request) ? null : request.error);
  if (fault === null) return html`<${State} tone="good">answered<//>`;
  return html`<${State} tone="bad">${errorWords(fault)}<//
    >${status !== undefined && html` <span class="nowrap">status ${status}</span>`}`;
}

function Attempts({ request }: { request: Shown }): VNode {
  const attempts = attemptsOf(request);
  const longest = Math.max(1, ...attempts.map(({ ms }) => ms));
  const took = format.durations(attempts.map(({ ms }) => ms));
  const columns: Column<Attempt>[] = [
    { title: 'Target', cell: ({ target }) => target, isHead: true, isName: true },
    ...(attempts.some(({ protocol }) => protocol !== '')
      ? [{ title: 'Protocol', cell: ({ protocol }: Attempt) => protocol, isMinor: true }]
      : []),
    { title: 'Result', cell: (attempt) => html`<${Result} of=${attempt} request=${request} />` },
    ...(attempts.some(({ message }) => message !== undefined)
      ? [{ title: 'Message', cell: ({ message }: Attempt) => message ?? '' }]
      : []),
    {
      title: 'Took',
      cell: ({ ms }) =>
        attempts.length === 1
          ? took(ms)
          : html`<span class="share"
              ><${Bar} part=${ms} whole=${longest} /><span class="percent">${took(ms)}</span></span
            >`,
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
          ? html`<p>${isUnderWay(request) ? 'No target is asked yet.' : 'No target was contacted.'}</p>`
          : html`<div class="attempts">
              <${Table}
                caption="Attempts, in their order"
                columns=${columns}
                rows=${attempts}
                asCards
                keyOf=${(_: Attempt, index: number) => String(index)}
              />
            </div>`
      }
      ${
        passedOver.length > 0 &&
        html`<h3>Targets that were passed over</h3>
          <ul class="passed-over">
            ${passedOver.map(({ target, why }) => html`<li>${target}: ${why}</li>`)}
          </ul>`
      }
    </section>
  `;
}

const LISTS = [
  { name: 'dropped', title: 'Fields of the request that the target does not take' },
  { name: 'changed', title: 'Fields that were changed in form' },
  { name: 'lost', title: "Parts of the answer that the client's protocol cannot hold" },
  { name: 'repaired', title: 'Tool calls of the model that were repaired' },
  { name: 'learnt', title: 'What a refusal taught, for later requests to the target' },
] as const;

function LeftOut({ detail }: { detail: Shown['detail'] }): VNode {
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
