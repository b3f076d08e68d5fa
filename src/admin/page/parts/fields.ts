// Fields of forms and filters.
import { useEffect, useRef, useState } from 'preact/hooks';
import { isMember } from '../api.ts';
import { html, type Children } from '../html.ts';
import type { VNode } from 'preact';

export interface Choice {
  value: string;
  title: string;
}

interface FieldProps {
  label: string;
  name: string;
  hint?: Children;
}

export function Select({
  label,
  name,
  hint,
  value,
  choices,
  onChange,
}: FieldProps & { value: string; choices: readonly Choice[]; onChange?: (value: string) => void }): VNode {
  const change = (event: Event): void => {
    if (event.target instanceof HTMLSelectElement) onChange?.(event.target.value);
  };
  // Without a listener, the browser holds the choice; a new drawing must not undo it.
  const own = onChange === undefined ? {} : { value };
  return html`<${Field} label=${label} name=${name} hint=${hint}>
    <select id=${idOf(name)} name=${name} ...${own} aria-describedby=${hintOf(name, hint)} onChange=${change}>
      ${withOwn(choices, value).map((choice) => html`<option value=${choice.value} selected=${choice.value === value}>${choice.title}</option>`)}
    </select>
  <//>`;
}

/** A place may name what is not in the list, such as another window: it is shown, not hidden behind the first choice. */
const withOwn = (choices: readonly Choice[], value: string): readonly Choice[] =>
  value === '' || choices.some((choice) => choice.value === value)
    ? choices
    : [{ value, title: value }, ...choices];

const idOf = (name: string): string => `field-${name}`;
const hintOf = (name: string, hint: Children): string | undefined =>
  hint === undefined ? undefined : `hint-${name}`;

function Field({ label, name, hint, children }: FieldProps & { children: Children }): VNode {
  return html`<div class="field">
    <label for=${idOf(name)}>${label}</label>
    ${children} ${hint !== undefined && html`<small id=${hintOf(name, hint)}>${hint}</small>`}
  </div>`;
}

interface TextProps extends FieldProps {
  value?: string;
  required?: boolean;
  suggestions?: readonly string[];
  /** Makes it a filter, which acts while somebody types. `isMore`: it was typed after what the last call gave. */
  onChange?: (value: string, isMore: boolean) => void;
}

export function Text({
  label,
  name,
  hint,
  value = '',
  required = false,
  suggestions = [],
  onChange,
}: TextProps): VNode {
  const [filter, draft] = [useTyped(value, onChange), useDraft(value)];
  const own = onChange === undefined ? draft : filter;
  const list = suggestions.length === 0 ? undefined : `${name}-list`;
  return html`<${Field} label=${label} name=${name} hint=${hint}>
    <input
      id=${idOf(name)}
      name=${name}
      required=${required}
      list=${list}
      aria-describedby=${hintOf(name, hint)}
      autocomplete="off"
      ...${own}
    />
    ${list !== undefined && html`<datalist id=${list}>${suggestions.map((text) => html`<option value=${text}></option>`)}</datalist>`}
  <//>`;
}

/** Of a form: the value stands there until something is typed, which stays whatever comes late. */
function useDraft(value: string): object {
  const [typed, setTyped] = useState<string>();
  useEffect(() => setTyped((before) => (before === value ? undefined : before)), [value]);
  const onInput = ({ target }: Event): void => {
    if (target instanceof HTMLInputElement) setTyped(target.value);
  };
  return { value: typed ?? value, onInput };
}

const TYPING_MS = 150;

/** What is typed, sent when nobody has typed for a moment. Going to another place, as by Back, drops what was not sent yet. */
function useTyped(value: string, send: TextProps['onChange']): object {
  const [draft, setDraft] = useState(value);
  const latest = useRef({ value, send });
  latest.current = { value, send };
  const typing = useRef<{ timer?: ReturnType<typeof setTimeout> | undefined; sent?: string | undefined }>({});

  function forget(): void {
    clearTimeout(typing.current.timer);
    typing.current = {};
  }
  useEffect(() => {
    if (typing.current.sent !== value) {
      forget();
      setDraft(value);
    }
  }, [value]);
  useEffect(() => {
    const onPlace = (): void => {
      forget();
      setDraft(latest.current.value);
    };
    addEventListener('popstate', onPlace);
    return () => {
      forget();
      removeEventListener('popstate', onPlace);
    };
  }, []);

  function act(text: string): void {
    clearTimeout(typing.current.timer);
    const isMore = typing.current.sent !== undefined;
    if (text === latest.current.value) return;
    typing.current = { sent: text };
    latest.current.send?.(text, isMore);
  }
  return {
    value: draft,
    onInput: ({ target }: Event) => {
      if (!(target instanceof HTMLInputElement)) return;
      const text = target.value;
      setDraft(text);
      clearTimeout(typing.current.timer);
      typing.current.timer = setTimeout(() => act(text.trim()), TYPING_MS);
    },
    onKeyDown: ({ key, target }: KeyboardEvent) => {
      if (key === 'Enter' && target instanceof HTMLInputElement) act(target.value.trim());
    },
    // What is typed now is a change of its own.
    onFocus: () => (typing.current.sent = undefined),
  };
}

export function Check({
  label,
  name,
  value,
  checked,
  unusable,
  onChange,
}: Omit<FieldProps, 'hint'> & {
  value?: string;
  checked: boolean;
  /** Why it can't be checked. */
  unusable?: string | undefined;
  onChange?: (checked: boolean) => void;
}): VNode {
  const change = (event: Event): void => {
    if (event.target instanceof HTMLInputElement) onChange?.(event.target.checked);
  };
  const props = onChange === undefined ? { defaultChecked: checked } : { checked };
  return html`<label class="check">
    <input
      type="checkbox"
      name=${name}
      value=${value}
      disabled=${unusable !== undefined}
      aria-describedby=${hintOf(name, unusable)}
      ...${props}
      onChange=${change}
    />
    <span>${label}</span
    >${unusable !== undefined && html`<small id=${hintOf(name, unusable)}>${unusable}</small>`}
  </label>`;
}

export const WINDOWS: readonly Choice[] = [
  { value: '1h', title: 'Last hour' },
  { value: '24h', title: 'Last 24 hours' },
  { value: '7d', title: 'Last 7 days' },
  { value: '30d', title: 'Last 30 days' },
  { value: '90d', title: 'Last 90 days' },
];

/** A member has no other account to choose. */
export function AccountFilter({
  value,
  names,
  onChange,
}: {
  value: string;
  names: readonly string[];
  onChange: (value: string) => void;
}): VNode {
  if (isMember()) return html``;
  const all = { value: '', title: 'All accounts' };
  return html`<${Select}
    label="Account"
    name="account"
    value=${value}
    choices=${[all, ...names.map((name) => ({ value: name, title: name }))]}
    onChange=${onChange}
  />`;
}
