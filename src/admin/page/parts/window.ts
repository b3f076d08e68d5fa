// The window of time of a view: some time until now, a month, or a range of one's own. Days and months are those of the gateway, in UTC.
import type { Query } from '../api.ts';
import * as format from '../format.ts';
import { html } from '../html.ts';
import { Select, WINDOWS } from './fields.ts';
import type { VNode } from 'preact';

const DAY_MS = 86_400_000;
const OWN = 'own';
const DURATION = /^\d+\s*[a-z]+$/;
const CHOICES = [
  ...WINDOWS,
  { value: 'this-month', title: 'This month' },
  { value: 'last-month', title: 'Last month' },
];

/** The parameters of the API for what the place has. */
export function windowOf({ since = '24h', until }: Query, now = new Date()): Query {
  const month = (offset: number): string =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset)).toISOString();
  if (since === 'this-month') return { since: month(0), until: undefined };
  if (since === 'last-month') return { since: month(-1), until: month(0) };
  return { since, until };
}

/** Whether nothing new comes into it. */
export function hasEnded(query: Query, now = Date.now()): boolean {
  const { until } = windowOf(query);
  // A duration, too, is before now.
  return until !== undefined && !(Date.parse(until) > now);
}

interface WindowProps {
  query: Query;
  onChange: (query: Query) => void;
}

export function WindowFields({ query, onChange }: WindowProps): VNode {
  const { since = '24h', until } = query;
  const isListed = until === undefined && CHOICES.some(({ value }) => value === since);
  const isDuration = !isListed && until === undefined && DURATION.test(since);
  const isRange = !isListed && !isDuration;
  const own = isRange ? format.range(since, until) : 'Own range…';
  const choose = (value: string): void =>
    onChange(
      value === OWN
        ? { since: dayBefore(new Date().toISOString(), 7), until: dayBefore(new Date().toISOString(), -1) }
        : { since: value, until: undefined },
    );
  const lastDay = until === undefined ? '' : dayBefore(until, 0, 1);
  return html`
    <${Select}
      label="Window"
      name="since"
      value=${isRange ? OWN : since}
      choices=${[...CHOICES, ...(isDuration ? [{ value: since, title: `Last ${since}` }] : []), { value: OWN, title: own }]}
      onChange=${choose}
    />
    ${
      isRange &&
      html`<div class="range">
        <${DayField}
          label="From"
          value=${dayBefore(since, 0)}
          onChange=${(day: string) => onChange({ since: day, until })}
        />
        <${DayField}
          label="To"
          value=${lastDay}
          onChange=${(day: string) => onChange({ since, until: dayBefore(day, -1) })}
        />
      </div>`
    }
  `;
}

/** The day (UTC) so long before the time, which may be the end of a range: `ms` before it. */
function dayBefore(time: string, days: number, ms = 0): string {
  const at = Date.parse(time);
  return Number.isNaN(at) ? '' : new Date(at - ms - days * DAY_MS).toISOString().slice(0, 10);
}

function DayField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (day: string) => void;
}): VNode {
  const id = `field-${label.toLowerCase()}`;
  const change = ({ target }: Event): void => {
    if (target instanceof HTMLInputElement && target.value !== '') onChange(target.value);
  };
  return html`<div class="field">
    <label for=${id}>${label} (UTC)</label>
    <input
      id=${id}
      type="date"
      value=${value}
      max=${new Date().toISOString().slice(0, 10)}
      onChange=${change}
    />
  </div>`;
}
