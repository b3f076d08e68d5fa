// A prompt as a key, streamed: what its client would get, from which target, with which headers, at what cost. Nothing of it is kept.
import { useEffect, useRef, useState } from 'preact/hooks';
import { get, tryKey, type Key, type Model, type Page, type RequestJson } from '../../api.ts';
import * as format from '../../format.ts';
import { html } from '../../html.ts';
import { textOf } from '../../parts/dialog.ts';
import { Select, Text } from '../../parts/fields.ts';
import { Failure, useLoaded } from '../../parts/load.ts';
import { Facts, State } from '../../parts/text.ts';
import { hrefOf, type ViewProps } from '../../route.ts';
import { ValidKeys } from './valid-keys.ts';
import type { VNode } from 'preact';

export function TryView({ place, change }: ViewProps): VNode {
  return html`
    <h1 tabindex="-1">Try it</h1>
    <p>
      Sends a prompt as the client of a key would: the key's models and limits apply, and the request counts.
      Neither the prompt nor the answer is kept.
    </p>
    <${ValidKeys}
      >${(keys: readonly Key[]) => html`<${Try} keys=${keys} place=${place} change=${change} />`}<//
    >
  `;
}

/** What has come of the answer so far. */
interface Answer {
  state: 'running' | 'done' | 'stopped';
  text: string;
  thinking: string;
  headers: readonly (readonly [string, string])[];
  error: Error | undefined;
  /** As it is recorded; null: it was not admitted. */
  request: RequestJson | null | undefined;
}

const BEGUN: Answer = {
  state: 'running',
  text: '',
  thinking: '',
  headers: [],
  error: undefined,
  request: undefined,
};

function withEvent(answer: Answer, name: string, value: unknown): Answer {
  const { text = '', headers = [], message = '', request } = value as Partial<Answer> & { message?: string };
  switch (name) {
    case 'head':
      return headers.length === 0 ? answer : { ...answer, headers };
    case 'text':
      return { ...answer, text: answer.text + text };
    case 'thinking':
      return { ...answer, thinking: answer.thinking + text };
    case 'error':
      return { ...answer, error: new Error(message) };
    case 'end':
      return { ...answer, request: request ?? null };
    default:
      return answer;
  }
}

/** The request that runs, and its answer. Events are drawn once for each frame of the screen. */
function useAnswer() {
  const [answer, setAnswer] = useState<Answer>();
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  async function send(id: string, body: object): Promise<void> {
    const abort = new AbortController();
    running.current?.abort();
    running.current = abort;
    let latest = BEGUN;
    let isDue = false;
    const show = (next: Answer): void => {
      if (running.current !== abort) return;
      latest = next;
      if (isDue) return;
      isDue = true;
      requestAnimationFrame(() => {
        isDue = false;
        if (running.current === abort) setAnswer(latest);
      });
    };
    show(BEGUN);
    try {
      const onEvent = (name: string, value: unknown): void => show(withEvent(latest, name, value));
      await tryKey(id, body, { signal: abort.signal, onEvent });
      show({ ...latest, state: 'done' });
    } catch (error) {
      if (abort.signal.aborted) show({ ...latest, state: 'stopped' });
      else show({ ...latest, state: 'done', error: error as Error });
    }
  }
  return { answer, send, stop: () => running.current?.abort() };
}

function Try({ keys, place, change }: ViewProps & { keys: readonly Key[] }): VNode {
  const { key: id, model } = place.query;
  const models = useLoaded((signal) => get<Page<Model>>('/models', { limit: '1000' }, signal), []);
  const { answer, send, stop } = useAnswer();
  const chosen = keys.find((key) => key.id === id) ?? keys[0];
  const names = chosen?.models ?? models.value?.data.map(({ name }) => name) ?? [];
  const isRunning = answer?.state === 'running';

  function submit(event: SubmitEvent): void {
    event.preventDefault();
    if (chosen === undefined || isRunning || !(event.target instanceof HTMLFormElement)) return;
    const form = new FormData(event.target);
    const [prompt, system, protocol] = ['prompt', 'system', 'protocol'].map((name) => textOf(form, name));
    const most = Number(textOf(form, 'most'));
    const asked = textOf(form, 'model') ?? '';
    change({ key: chosen.id, model: asked });
    void send(chosen.id, {
      ...{ model: asked, prompt, system, protocol },
      ...(Number.isInteger(most) && most > 0 && { max_output: most }),
    });
  }
  return html`
    <form class="try" onSubmit=${submit}>
      <div class="filters">
        <${Select}
          label="As the key"
          name="key"
          value=${chosen?.id ?? ''}
          choices=${keys.map((key) => ({ value: key.id, title: titleOf(key) }))}
          onChange=${(value: string) => change({ key: value })}
        />
        <${Text} label="Model" name="model" value=${model ?? names[0] ?? ''} required suggestions=${names} />
        <${Select}
          label="Protocol"
          name="protocol"
          value=""
          choices=${[{ value: '', title: 'The first that the key may use' }, ...protocolsOf(chosen)]}
        />
        <${Text} label="Most tokens of the answer" name="most" value="1024" />
      </div>
      <${Area} label="Prompt" name="prompt" rows=${5} required />
      <details>
        <summary>Instructions before the prompt</summary>
        <${Area} label="Instructions" name="system" rows=${3} />
      </details>
      <div class="buttons">
        <button type="submit" class="primary" aria-disabled=${isRunning}>Send</button>
        <button type="button" aria-disabled=${!isRunning} onClick=${stop}>Stop</button>
      </div>
    </form>
    ${answer !== undefined && html`<${Shown} answer=${answer} />`}
  `;
}

export const titleOf = ({ account, name, prefix }: Key): string =>
  `${account}${name === null ? '' : `, ${name}`} (${prefix}…)`;

/** Those of generation. */
const protocolsOf = (key: Key | undefined) =>
  (key?.permissions ?? [])
    .filter((name) => name !== 'embeddings')
    .map((name) => ({ value: name, title: name }));

const LONGEST = 8000;

function Area({
  label,
  name,
  rows,
  required = false,
}: {
  label: string;
  name: string;
  rows: number;
  required?: boolean;
}): VNode {
  return html`<div class="field">
    <label for=${`field-${name}`}>${label}</label>
    <textarea
      id=${`field-${name}`}
      name=${name}
      rows=${rows}
      maxlength=${LONGEST}
      required=${required}
    ></textarea>
  </div>`;
}

const STATES = {
  running: { tone: 'plain', text: 'Answering' },
  done: { tone: 'good', text: 'Done' },
  stopped: { tone: 'warn', text: 'Stopped' },
} as const;

function Shown({ answer }: { answer: Answer }): VNode {
  const { state, text, thinking, headers, error, request } = answer;
  const { tone, text: word } = STATES[state];
  return html`<section aria-label="Answer">
    <p role="status">
      ${error === undefined ? html`<${State} tone=${tone}>${word}<//>` : html`<${State} tone="bad">Failed<//>`}
    </p>
    ${
      thinking !== '' &&
      html`<details>
        <summary>Thinking</summary>
        <pre class="answer">${thinking}</pre>
      </details>`
    }
    ${text !== '' && html`<pre class="answer" tabindex="0" role="group" aria-label="Text of the answer">${text}</pre>`}
    ${error !== undefined && html`<${Failure} error=${error} />`}
    ${request != null && html`<${Cost} of=${request} />`}
    ${
      headers.length > 0 &&
      html`<details>
        <summary>Headers</summary>
        <${Facts} facts=${headers.map(([name, value]) => ({ name, value: html`<code>${value}</code>` }))} />
      </details>`
    }
  </section>`;
}

export function Cost({ of: request }: { of: RequestJson }): VNode {
  const { id, provider, model } = request;
  return html`<${Facts}
    facts=${[
      { name: 'Target', value: provider === null ? 'none' : `${provider}/${model ?? ''}` },
      { name: 'First byte', value: format.duration(request.first_byte_ms) },
      { name: 'Took', value: format.duration(request.duration_ms) },
      {
        name: 'Tokens',
        value: `${format.count(request.input_tokens)} in, ${format.count(request.output_tokens)} out`,
      },
      { name: 'Cost', value: format.cost(request.cost_usd) },
      ...(id === null
        ? []
        : [{ name: 'Request', value: html`<a href=${hrefOf('requests', {}, id)}><code>${id}</code></a>` }]),
    ]}
  />`;
}
