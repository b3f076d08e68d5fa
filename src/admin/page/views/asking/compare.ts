// One request to two models side by side: what each says and calls, at what cost. The request is one of a tape, or pasted.
import { useEffect, useRef, useState } from 'preact/hooks';
import { compareCalls, type ComparedCalls } from '../../../../repair/same-calls.ts';
import { get, write, type Asked, type Key, type Model, type Page } from '../../api.ts';
import { html } from '../../html.ts';
import { textOf } from '../../parts/dialog.ts';
import { Select, Text } from '../../parts/fields.ts';
import { Failure, useLoaded } from '../../parts/load.ts';
import { State } from '../../parts/text.ts';
import type { ViewProps } from '../../route.ts';
import { Cost, titleOf } from './try.ts';
import { ValidKeys } from './valid-keys.ts';
import type { VNode } from 'preact';

export function CompareView({ place, change }: ViewProps): VNode {
  return html`
    <h1 tabindex="-1">Compare</h1>
    <p>
      Sends the same request to two models as a key: one of a tape, which <code>gateway record</code> makes,
      or any body that you paste. Both count and cost as usual; nothing of them is kept.${' '}
      <code>gateway compare</code> does it for whole tapes.
    </p>
    <${ValidKeys}
      >${(keys: readonly Key[]) => html`<${Compare} keys=${keys} place=${place} change=${change} />`}<//
    >
  `;
}

/** A request that can be sent. */
interface Taped {
  name: string;
  text: string;
}

/** Bytes of a request's body. */
const LARGEST = 8 * 1024 * 1024;
const MOST_REQUESTS = 1000;

/** What a client sent, of each request on the tape. */
async function requestsIn(files: FileList | null): Promise<Taped[]> {
  const bodies = [...(files ?? [])]
    .filter(({ name, size }) => name === 'client-request.json' && size <= LARGEST)
    .map((file) => ({ file, name: file.webkitRelativePath.split('/').at(-2) ?? file.name }))
    .sort((a, b) => a.name.localeCompare(b.name))
    .slice(0, MOST_REQUESTS);
  return Promise.all(bodies.map(async ({ file, name }) => ({ name, text: await file.text() })));
}

type Side = { model: string } & (
  { state: 'running' } | { state: 'done'; asked: Asked } | { state: 'failed'; error: Error }
);

/** Both answers to the last request that was sent. */
function useSides() {
  const [sides, setSides] = useState<readonly Side[]>([]);
  const turn = useRef(0);
  useEffect(() => () => void (turn.current = -1), []);

  function send(key: string, models: readonly string[], request: object): void {
    const own = (turn.current += 1);
    setSides(models.map((model) => ({ model, state: 'running' })));
    const show = (at: number, side: Side): void => {
      if (turn.current === own)
        setSides((before) => before.map((each, index) => (index === at ? side : each)));
    };
    for (const [at, model] of models.entries()) {
      write<Asked>('POST', `/keys/${encodeURIComponent(key)}/ask`, { model, request }).then(
        (asked) => show(at, { model, state: 'done', asked }),
        (error: unknown) => show(at, { model, state: 'failed', error: error as Error }),
      );
    }
  }
  return { sides, send };
}

function Compare({ keys, place, change }: ViewProps & { keys: readonly Key[] }): VNode {
  const { key: id, a, b } = place.query;
  const models = useLoaded((signal) => get<Page<Model>>('/models', { limit: '1000' }, signal), []);
  const [taped, setTaped] = useState<readonly Taped[]>([]);
  const [fault, setFault] = useState<Error>();
  const { sides, send } = useSides();
  const chosen = keys.find((key) => key.id === id) ?? keys[0];
  const names = chosen?.models ?? models.value?.data.map(({ name }) => name) ?? [];
  const isRunning = sides.some(({ state }) => state === 'running');

  function pick({ target }: Event): void {
    if (!(target instanceof HTMLInputElement)) return;
    void requestsIn(target.files).then((found) => {
      setTaped(found);
      setFault(
        found.length > 0
          ? undefined
          : new Error('There is no client-request.json in this folder: pick the folder of a tape.'),
      );
    });
  }

  function submit(event: SubmitEvent): void {
    event.preventDefault();
    if (chosen === undefined || isRunning || !(event.target instanceof HTMLFormElement)) return;
    const form = new FormData(event.target);
    const [first = '', second = ''] = ['a', 'b'].map((name) => textOf(form, name) ?? '');
    const request = objectOf(textOf(form, 'body') ?? taped[Number(form.get('request') ?? 0)]?.text ?? '');
    if (request instanceof Error) return setFault(request);
    setFault(undefined);
    change({ key: chosen.id, a: first, b: second });
    send(chosen.id, [first, second], request);
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
      </div>
      <div class="filters">
        <${Text} label="Model" name="a" value=${a ?? names[0] ?? ''} required suggestions=${names} />
        <${Text} label="Against" name="b" value=${b ?? names[1] ?? ''} required suggestions=${names} />
      </div>
      <div class="filters">
        <div class="field">
          <label for="field-tape">Folder of a tape</label>
          <input id="field-tape" type="file" webkitdirectory onChange=${pick} />
        </div>
        ${
          taped.length > 0 &&
          html`<${Select}
            label="Request of the tape"
            name="request"
            value="0"
            choices=${taped.map(({ name }, at) => ({ value: String(at), title: name }))}
          />`
        }
      </div>
      <div class="field">
        <label for="field-body">Or the body of a request</label>
        <textarea
          id="field-body"
          name="body"
          rows="5"
          placeholder='{"messages": [{"role": "user", "content": "…"}]}'
        ></textarea>
      </div>
      <div class="buttons">
        <button type="submit" class="primary" aria-disabled=${isRunning}>Send to both</button>
      </div>
    </form>
    ${fault !== undefined && html`<${Failure} error=${fault} />`}
    ${sides.length > 0 && html`<${Sides} sides=${sides} />`}
  `;
}

function objectOf(text: string): object | Error {
  if (text === '') return new Error('Pick the folder of a tape, or paste the body of a request.');
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // The same words for both.
  }
  return new Error('The request is no JSON object: paste the body as a client sends it.');
}

function Sides({ sides }: { sides: readonly Side[] }): VNode {
  const [first, second] = sides.map((side) =>
    side.state === 'done' && side.asked.error === null ? side.asked : undefined,
  );
  return html`
    <section aria-label="Both answers">
      <p role="status" class="outcome">
        ${
          sides.some(({ state }) => state === 'running')
            ? html`<${State} tone="plain">Answering<//>`
            : first !== undefined && second !== undefined
              ? html`<${Verdict} first=${first} second=${second} />`
              : html`<${State} tone="bad">Not both have answered<//>`
        }
      </p>
      <div class="sides">${sides.map((side, at) => html`<${OneSide} key=${at} of=${side} />`)}</div>
    </section>
  `;
}

const words = (text: string): string => text.replace(/\s+/g, ' ').trim();

function Verdict({ first, second }: { first: Asked; second: Asked }): VNode {
  const schemas = { ...second.schemas, ...first.schemas };
  const calls = compareCalls(first.calls, second.calls, (tool) =>
    Object.hasOwn(schemas, tool) ? schemas[tool] : undefined,
  );
  const isSameText = words(first.text) === words(second.text);
  return html`
    <${State} tone=${isSameText ? 'good' : 'warn'}>${isSameText ? 'The same text' : 'Different text'}<//
    >${' '}
    <${State} tone=${calls.same === 'different' ? 'bad' : 'good'}>${callsText(calls, first.calls.length)}<//>
  `;
}

function callsText({ same, difference }: ComparedCalls, count: number): string {
  if (same === 'different') return `Different calls: ${difference ?? ''}`;
  if (same === 'after_schema') return 'Equal calls after their schemas';
  return count === 0 ? 'No tool calls' : 'Equal calls';
}

function OneSide({ of: side }: { of: Side }): VNode {
  const error =
    side.state === 'failed'
      ? side.error
      : side.state === 'done' && side.asked.error !== null
        ? new Error(side.asked.error)
        : undefined;
  const asked = side.state === 'done' ? side.asked : undefined;
  return html`<article>
    <h2>${side.model}</h2>
    ${error !== undefined && html`<${Failure} error=${error} />`}
    ${
      asked !== undefined &&
      asked.text !== '' &&
      html`<pre class="answer" tabindex="0" role="group" aria-label=${`Text of ${side.model}`}>
${asked.text}</pre>`
    }
    ${
      asked !== undefined &&
      asked.calls.length > 0 &&
      html`<pre class="answer" tabindex="0" role="group" aria-label=${`Calls of ${side.model}`}>
${asked.calls.map(({ name, arguments: given }) => `${name} ${given}`).join('\n')}</pre>`
    }
    ${asked?.request != null && html`<${Cost} of=${asked.request} />`}
  </article>`;
}
