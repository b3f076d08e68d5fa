// The filters of the list of requests: which members of the place they are, the fields for them, and which new request fits them.
import { useEffect, useState } from 'preact/hooks';
import { ENDPOINT_NAMES } from '../../../../canonical/request.ts';
import { errorWords, RECORDED_ERRORS } from '../../../../error-words.ts';
import {
  get,
  isMember,
  type Account,
  type Model,
  type Page,
  type Query,
  type RequestJson,
} from '../../api.ts';
import { html } from '../../html.ts';
import { AccountFilter, Check, Select, Text, type Choice } from '../../parts/fields.ts';
import { hasEnded, WindowFields } from '../../parts/window.ts';
import { useLoaded } from '../../parts/load.ts';
import type { ViewProps } from '../../route.ts';
import type { VNode } from 'preact';

/** Of the place and of the API alike. */
const SHOWN = ['account', 'model', 'errors'] as const;
const MORE = ['provider', 'error', 'status', 'endpoint', 'label', 'conversation', 'key'] as const;
const NAMES = new Set<string>([...SHOWN, ...MORE]);

type Filters = Readonly<Record<string, string | undefined>>;

/** Those that are set. */
export function filtersOf(query: Filters): Query {
  const given = Object.entries(query).filter(([name, value]) => NAMES.has(name) && value !== undefined);
  return Object.fromEntries<string | undefined>(given);
}

/** Whether new requests show themselves: the first page of a window that goes on. A member has no live events. */
export const isTail = (query: Filters): boolean =>
  query['live'] === 'true' && query['cursor'] === undefined && !hasEnded(query) && !isMember();

/** As the API filters. Refusals of nobody are in no list. */
export function fits(request: RequestJson, filters: Filters): boolean {
  const { account, model, provider, errors, error, status, endpoint, label, conversation, key } = filters;
  const is = (wanted: string | undefined, value: string | null): boolean =>
    wanted === undefined || wanted === value;
  const models = [request.model_asked, request.model, `${request.provider ?? ''}/${request.model ?? ''}`];
  return (
    !(request.refused && request.account === null) &&
    is(account, request.account) &&
    (model === undefined || models.includes(model)) &&
    is(provider, request.provider) &&
    (errors !== 'true' || request.error !== null) &&
    is(error, request.error) &&
    (status === undefined || String(request.status).startsWith(status.replace('xx', ''))) &&
    is(endpoint, request.endpoint) &&
    is(label, request.label) &&
    is(conversation, request.conversation) &&
    is(key, request.key)
  );
}

const any = (title: string, choices: readonly Choice[]): Choice[] => [{ value: '', title }, ...choices];
const same = (values: readonly string[]): Choice[] => values.map((value) => ({ value, title: value }));

/** A name of an older link stays a choice. */
const withOwn = (values: readonly string[], own: string): readonly string[] =>
  own === '' || values.includes(own) ? values : [own, ...values];

const STATUSES: readonly Choice[] = [
  { value: '2xx', title: '2xx answered' },
  { value: '4xx', title: '4xx refused' },
  { value: '403', title: '403 not allowed' },
  { value: '429', title: '429 a limit' },
  { value: '499', title: '499 the client left' },
  { value: '5xx', title: '5xx failed' },
];

export function RequestFilters({ place, change }: ViewProps): VNode {
  const { account = '', model = '', errors } = place.query;
  const accounts = useLoaded((signal) => get<Page<Account>>('/accounts', { limit: '1000' }, signal), []);
  const models = useLoaded((signal) => get<Page<Model>>('/models', { limit: '1000' }, signal), []);
  const names = withOwn(accounts.value?.data.map((row) => row.account) ?? [], account);
  const filter = (query: Query, isMore = false): void => change({ cursor: undefined, ...query }, isMore);
  return html`
    <div class="filters" role="group" aria-label="Filter">
      <${WindowFields} query=${place.query} onChange=${filter} />
      <${AccountFilter}
        value=${account}
        names=${names}
        onChange=${(value: string) => filter({ account: value })}
      />
      <${Text}
        label="Model"
        name="model"
        value=${model}
        suggestions=${models.value?.data.map(({ name }) => name) ?? []}
        onChange=${(value: string, isMore: boolean) => filter({ model: value }, isMore)}
      />
      <div class="checks">
        <${Check}
          label="Only errors"
          name="errors"
          checked=${errors === 'true'}
          onChange=${(checked: boolean) => filter({ errors: checked ? 'true' : undefined })}
        />
        ${
          !isMember() &&
          html`<${Check}
            label="Live"
            name="live"
            checked=${isTail(place.query)}
            unusable=${hasEnded(place.query) ? 'this window has ended' : undefined}
            onChange=${(checked: boolean) => filter({ live: checked ? 'true' : undefined })}
          />`
        }
      </div>
    </div>
    <${More} place=${place} models=${models.value?.data ?? []} filter=${filter} />
  `;
}

interface MoreProps {
  place: ViewProps['place'];
  models: readonly Model[];
  filter: (query: Query, isMore?: boolean) => void;
}

/** Folded until one of them is set; it stays as a person left it. */
function More({ place, models, filter }: MoreProps): VNode {
  const { query } = place;
  const set = MORE.filter((name) => query[name] !== undefined).length;
  const [isOpen, setOpen] = useState(set > 0);
  useEffect(() => {
    if (set > 0) setOpen(true);
  }, [set]);
  const onToggle = ({ currentTarget }: Event): void => {
    if (currentTarget instanceof HTMLDetailsElement) setOpen(currentTarget.open);
  };
  const providers = [
    ...new Set(models.flatMap(({ targets }) => targets.map(({ provider }) => provider))),
  ].sort();
  const select = (name: (typeof MORE)[number], label: string, choices: readonly Choice[]): VNode =>
    html`<${Select}
      label=${label}
      name=${name}
      value=${query[name] ?? ''}
      choices=${choices}
      onChange=${(value: string) => filter({ [name]: value })}
    />`;
  const text = (name: (typeof MORE)[number], label: string): VNode =>
    html`<${Text}
      label=${label}
      name=${name}
      value=${query[name] ?? ''}
      onChange=${(value: string, isMore: boolean) => filter({ [name]: value }, isMore)}
    />`;
  const errors = RECORDED_ERRORS.map((kind) => ({ value: kind, title: errorWords(kind) }));
  return html`<details class="more" open=${isOpen} onToggle=${onToggle}>
    <summary>More filters${set > 0 ? ` (${set})` : ''}</summary>
    <div class="filters" role="group" aria-label="More filters">
      ${select('provider', 'Provider', any('All providers', same(withOwn(providers, query['provider'] ?? ''))))}
      ${select('error', 'Error', any('Any', withOwnChoice(errors, query['error'])))}
      ${select('status', 'Status', any('Any', withOwnChoice(STATUSES, query['status'])))}
      ${select('endpoint', 'Endpoint', any('All endpoints', same(withOwn(ENDPOINT_NAMES, query['endpoint'] ?? ''))))}
      ${text('label', 'Label')} ${text('conversation', 'Conversation')} ${text('key', 'Key (its id)')}
    </div>
  </details>`;
}

function withOwnChoice(choices: readonly Choice[], own = ''): readonly Choice[] {
  return own === '' || choices.some(({ value }) => value === own)
    ? choices
    : [...choices, { value: own, title: own }];
}
