// Choices of a new key or sign-in: when it ends, and the models that it may use.
import { useState } from 'preact/hooks';
import { get, type Model, type Page } from '../../api.ts';
import * as format from '../../format.ts';
import { html } from '../../html.ts';
import { textOf } from '../../parts/dialog.ts';
import { Check } from '../../parts/fields.ts';
import { useLoaded } from '../../parts/load.ts';
import type { VNode } from 'preact';

const DAY_MS = 86_400_000;
const OWN_DATE = 'date';
const EXPIRIES = [
  { value: '', title: 'Never' },
  { value: '1', title: 'In a day' },
  { value: '30', title: 'In 30 days' },
  { value: '90', title: 'In 90 days' },
  { value: '365', title: 'In a year' },
  { value: OWN_DATE, title: 'At the end of a day' },
];

/** The day of the reader's own calendar, as a date field writes it. */
const dayOf = (time: Date): string =>
  [time.getFullYear(), time.getMonth() + 1, time.getDate()]
    .map((part) => String(part).padStart(2, '0'))
    .join('-');

export function Expiry({ label = 'Expires' }: { label?: string }): VNode {
  const [choice, setChoice] = useState('');
  const choose = ({ target }: Event): void => {
    if (target instanceof HTMLSelectElement) setChoice(target.value);
  };
  return html`<div class="field">
    <label for="field-expires">${label}</label>
    <select id="field-expires" name="expires" value=${choice} onChange=${choose}>
      ${EXPIRIES.map(({ value, title }) => html`<option value=${value}>${title}</option>`)}
    </select>
    ${
      choice === OWN_DATE &&
      html`<input
        type="date"
        name="expires_on"
        aria-label="Last day"
        min=${dayOf(new Date())}
        value=${dayOf(new Date(Date.now() + 30 * DAY_MS))}
        required
      />`
    }
  </div>`;
}

/** undefined: never. */
export function expiryOf(form: FormData): string | undefined {
  const choice = textOf(form, 'expires');
  if (choice === undefined) return undefined;
  if (choice !== OWN_DATE) return new Date(Date.now() + Number(choice) * DAY_MS).toISOString();
  return new Date(`${textOf(form, 'expires_on') ?? ''}T23:59:59`).toISOString();
}

const MOST_SHOWN = 100;

/** Every model, or those that are ticked; a name that no model has yet can be added. The form gets them as `models`. */
export function ModelChoice(): VNode {
  const [isEvery, setEvery] = useState(true);
  return html`<fieldset>
    <legend>Models</legend>
    <${Check} label="Every model, also later ones" name="every" checked=${isEvery} onChange=${setEvery} />
    ${!isEvery && html`<${SomeModels} />`}
  </fieldset>`;
}

function SomeModels(): VNode {
  const models = useLoaded((signal) => get<Page<Model>>('/models', { limit: '1000' }, signal), []);
  const [find, setFind] = useState('');
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const names = models.value?.data.map(({ name }) => name) ?? [];
  const wanted = find.trim();
  const fitting = names.filter((name) => name.toLowerCase().includes(wanted.toLowerCase()));
  const shown = fitting.filter((name) => !chosen.includes(name)).slice(0, MOST_SHOWN);
  const isNew = wanted !== '' && ![...names, ...chosen].includes(wanted);
  const toggle = (name: string, isOn: boolean): void =>
    setChosen((before) => (isOn ? [...before, name] : before.filter((other) => other !== name)));
  function add(name: string): void {
    toggle(name, true);
    setFind('');
  }
  function onKey(event: KeyboardEvent): void {
    if (event.key !== 'Enter') return;
    // It would send the form.
    event.preventDefault();
    const [only] = shown;
    if (shown.length === 1 && only !== undefined) add(only);
    else if (isNew) add(wanted);
  }
  return html`<div class="models">
    <input
      type="search"
      aria-label="Find a model"
      placeholder="Find a model"
      autocomplete="off"
      value=${find}
      onInput=${({ target }: Event) => setFind(target instanceof HTMLInputElement ? target.value : '')}
      onKeyDown=${onKey}
    />
    ${isNew && html`<button type="button" class="quiet" onClick=${() => add(wanted)}>Add ${wanted}</button>`}
    <div class="ticks" role="group" aria-label="Models that it may use" tabindex="0">
      ${[...chosen, ...shown].map(
        (name) =>
          html`<${Check}
            key=${name}
            label=${name}
            name="models"
            value=${name}
            checked=${chosen.includes(name)}
            onChange=${(isOn: boolean) => toggle(name, isOn)}
          />`,
      )}
    </div>
    <small role="status">
      ${chosen.length === 0 ? 'None is ticked yet.' : `${format.count(chosen.length)} ticked.`}
      ${fitting.length > MOST_SHOWN && ` ${format.count(fitting.length)} fit; ${format.count(MOST_SHOWN)} are shown.`}
    </small>
  </div>`;
}

/** undefined: every model. Throws if none is ticked. */
export function modelsOf(form: FormData): string[] | undefined {
  if (form.get('every') !== null) return undefined;
  const models = form.getAll('models').filter((name) => typeof name === 'string');
  if (models.length === 0) throw new Error('Tick the models that the key may use, or every model.');
  return models;
}
