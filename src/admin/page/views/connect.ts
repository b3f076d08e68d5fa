// How each tool is pointed at this gateway. The facts are those of the commands `run` and `connect`.
import { get, type Connect, type Model, type Page } from '../api.ts';
import { html } from '../html.ts';
import { Select } from '../parts/fields.ts';
import { Code, Facts } from '../parts/text.ts';
import { Await, useLoaded } from '../parts/load.ts';
import { hrefOf, type ViewProps } from '../route.ts';
import type { VNode } from 'preact';

type Tool = Connect['tools'][number];

export function ConnectView({ place, change }: ViewProps): VNode {
  const { tool = '', model = '' } = place.query;
  const models = useLoaded((signal) => get<Page<Model>>('/models', { limit: '1000' }, signal), []);
  const connect = useLoaded((signal) => get<Connect>('/connect', { model }, signal), [model]);
  const names = models.value?.data.map(({ name }) => name) ?? [];
  return html`
    <h1 tabindex="-1">Connect</h1>
    <${Await} of=${connect}>
      ${(facts: Connect) => {
        const chosen = facts.tools.find(({ name }) => name === tool) ?? facts.tools[0];
        return html`
          <${Addresses} facts=${facts} />
          <div class="filters choices" role="group" aria-label="What is shown">
            <${Select}
              label="Tool"
              name="tool"
              value=${chosen?.name ?? ''}
              choices=${facts.tools.map(({ name, title }) => ({ value: name, title }))}
              onChange=${(value: string) => change({ tool: value })}
            />
            <${Select}
              label="Model"
              name="model"
              value=${facts.model ?? ''}
              choices=${(names.length === 0 && facts.model !== null ? [facts.model] : names).map((name) => ({ value: name, title: name }))}
              onChange=${(value: string) => change({ model: value })}
            />
          </div>
          ${chosen !== undefined && html`<${ToolLines} key=${chosen.name} tool=${chosen} />`}
        `;
      }}
    <//>
  `;
}

function Addresses({ facts: { url } }: { facts: Connect }): VNode {
  return html`<${Facts}
    facts=${[
      {
        name: 'OpenAI clients (chat, responses)',
        value: html`<${Code} label="Base URL of OpenAI clients" text=${`${url}/v1`} isOneLine />`,
      },
      {
        name: 'Anthropic clients (messages)',
        value: html`<${Code} label="Base URL of Anthropic clients" text=${url} isOneLine />`,
      },
      {
        name: 'Key',
        value: html`<a href=${hrefOf('keys')}>Create a key</a> for each tool, and put it in place of${' '}
          <code>YOUR_KEY</code>.`,
      },
    ]}
  />`;
}

function ToolLines({ tool }: { tool: Tool }): VNode {
  const { title, run, connect, variables, files, steps } = tool;
  const isByHand = variables !== null || files.length > 0;
  return html`
    <section aria-label=${title}>
      <h2>${title}</h2>
      ${
        run !== null &&
        html`<h3>For one start</h3>
          <p>On the gateway's machine, with a key that is valid until the tool ends:</p>
          <${Code} label="Command for one start" text=${run} isOneLine />`
      }
      ${
        connect !== null &&
        html`<h3>For good</h3>
          <p>
            Shows what it would write; <code>--write</code> writes it, and <code>--undo</code> takes it back:
          </p>
          <${Code} label="Command for good" text=${connect} isOneLine />`
      }
      ${isByHand && html`<h3>By hand</h3>`}
      ${variables !== null && html`<${Code} label="Lines for a shell" text=${variables} />`}
      ${files.map(
        ({ path, text }) =>
          html`<p>In <code>${path}</code>, beside what is there:</p>
            <${Code} label=${`Settings in ${path}`} text=${text} />`,
      )}
      ${
        steps.length > 0 &&
        html`<h3>${isByHand || run !== null ? 'Then' : 'Steps'}</h3>
          ${
            steps.length === 1
              ? html`<p>${steps[0]}</p>`
              : html`<ol class="steps">
                  ${steps.map((step) => html`<li>${step}</li>`)}
                </ol>`
          }`
      }
    </section>
  `;
}
