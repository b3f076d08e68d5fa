// How a request ended, in words, with whose fault it was. A success is quiet.
import { blamedFor, errorWords } from '../../../../error-words.ts';
import type { RequestJson } from '../../api.ts';
import * as format from '../../format.ts';
import { html } from '../../html.ts';
import { State } from '../../parts/text.ts';
import type { VNode } from 'preact';

type Ended = Pick<RequestJson, 'error' | 'status' | 'refused' | 'detail'>;

const BLAMED = { client: 'the client', provider: 'the provider', gateway: 'the gateway', limit: 'a limit' };

/** `the client, refused with 403, 30 times`; `502` where the words name who it was. */
function whose({ error, status, refused, detail: { times = 1 } }: Ended): string {
  const blamed = error === null ? undefined : blamedFor(error, refused);
  const words = error === null ? '' : errorWords(error);
  return [
    ...(blamed === undefined || words.includes(BLAMED[blamed]) ? [] : [BLAMED[blamed]]),
    refused ? `refused with ${status}` : status === 200 ? 'within a stream' : String(status),
    ...(times > 1 ? [`${format.count(times)} times in a minute`] : []),
  ].join(', ');
}

/** What a client or a limit stopped is worth a look, what failed is worth another. */
export function toneOf({ error, refused }: Ended): 'warn' | 'bad' {
  const blamed = error === null ? undefined : blamedFor(error, refused);
  return blamed === 'client' || blamed === 'limit' ? 'warn' : 'bad';
}

export function Outcome({ of }: { of: Ended }): VNode {
  if (of.error === null) return html`<span class="quiet-text">answered</span>`;
  const text = whose(of);
  return html`<span class="ended"
    ><${State} tone=${toneOf(of)}>${errorWords(of.error)}<//
    ><small class="whose" title=${text}>${text}</small></span
  >`;
}
