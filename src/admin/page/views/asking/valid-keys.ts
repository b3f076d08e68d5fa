// What needs a key to ask as: the valid ones, or the way to the first.
import { get, type Key, type Page } from '../../api.ts';
import { html, type Children } from '../../html.ts';
import { Await, Empty, useLoaded } from '../../parts/load.ts';
import { hrefOf } from '../../route.ts';
import type { VNode } from 'preact';

const VALID = { state: 'valid', order: 'newest', limit: '1000' };

export function ValidKeys({ children }: { children: (keys: readonly Key[]) => Children }): VNode {
  const keys = useLoaded((signal) => get<Page<Key>>('/keys', VALID, signal), []);
  return html`<${Await} of=${keys}>
    ${({ data }: Page<Key>) =>
      data.length === 0
        ? html`<${Empty} title="There is no valid key.">
            <p><a href=${hrefOf('keys')}>Create a key</a> first.</p>
          <//>`
        : children(data)}
  <//>`;
}
