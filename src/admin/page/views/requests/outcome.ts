// How a request ended, in words, with whose fault it was. A success is quiet.
import { blamedFor, errorWords } from '../../../../error-words.ts';
import type { RequestJson } from '../../api.ts';
import * as format from '../../format.ts';
import { html } from '../../html.ts';
import { State } from '../../parts/text.ts';
import type { VNode } from 'preact';

type Ended = Pick<RequestJson, 'error' | 'status' | 'refused' | 'detail'>;

const BLAMED = { client: 'the client', provider: 'the provider', gateway: 'the gateway', limit: 'a limit' };

/** `the client, refused with 403, 30 times in a minute`; `502` where the words name who it was. `isBrief`: `the client, 403, 30 times`. */
function whose({ error, status, refused, detail: { times = 1 } }: Ended, isBrief: boolean): string {
  const blamed = error === null ? undefined : blamedFor(error, refused);
  const words = error === null ? '' : errorWords(error);
  return [
    ...(blamed === undefined || words.includes(BLAMED[blamed]) ? [] : [BLAMED[blamed]]),
    refused && !isBrief ? `refused with ${status}` : status === 200 ? 'within a stream' : String(status),
    ...(times > 1 ? [`${format.count(times)} times${isBrief ? '' : ' in a minute'}`] : []),
  ].join(', ');
}

/** What a client or a limit stopped is worth a look, what failed is worth another. */
export function toneOf({ error, refused }: Ended): 'warn' | 'bad' {
  const blamed = error === null ? undefined : blamedFor(error, refused);
  return blamed === 'client' || blamed === 'limit' ? 'warn' : 'bad';
}

interface OutcomeProps {
  of: Ended;
  /** In a list, where the rest is the title. */
  isBrief?: boolean;
  /** There are no figures that need the room. */
  isWide?: boolean;
}

export function Outcome({ of, isBrief = false, isWide = false }: OutcomeProps): VNode {
  if (of.error === null) return html`<span class="quiet-text">answered</span>`;
  return html`<span class=${isWide ? 'ended wide' : 'ended'}
    ><${State} tone=${toneOf(of)}>${errorWords(of.error)}<//
    ><small class="whose" title=${whose(of, false)}>${whose(of, isBrief)}</small></span
  >`;
}
