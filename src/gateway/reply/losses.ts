// What the client's protocol has no notion of in an answer: left out, and told by the log alone.
import type { StreamEvent } from '../../canonical/events.ts';
import type { JsonObject } from '../../canonical/json.ts';
import type { Reply, StopReason } from '../../canonical/reply.ts';
import type { Citation, NativePart } from '../../canonical/request.ts';
import type { ClientSide, ReplyOptions } from '../../protocols/protocol.ts';

/** Characters: the words are a provider's. */
const MOST = 60;
/** Of what a decoder could not read, with its own words around it. */
const MOST_OF_LOSS = 80;
/** Before the words are cut, as half a key is none that would be found in them. */
const LOOKED_AT = 2000;
/** Things that are told. */
const MOST_THINGS = 20;

export interface Losses {
  event(event: StreamEvent): void;
  reply(reply: Reply): void;
  /** Each thing once; undefined: nothing. */
  list(): string[] | undefined;
}

/** `clean` takes secrets out of a provider's words. An answer in the legacy form holds one call, and JSON no list of sources. */
export function createLosses(
  { holds }: ClientSide,
  clean: (words: string) => string,
  { legacyFunctions: oneCall, responseFormat }: Pick<ReplyOptions, 'legacyFunctions' | 'responseFormat'> = {},
): Losses {
  const lost = new Set<string>();
  let calls = 0;

  function add(what: string): void {
    if (lost.size < MOST_THINGS) lost.add(what);
  }

  function said(word: string, most = MOST): string {
    return clean(word.slice(0, LOOKED_AT)).slice(0, most);
  }

  function native({ protocol, kind }: NativePart): void {
    if (protocol !== holds.protocol || !holds.nativeParts) add(`a block of type ${said(kind)}`);
  }

  function call(extra: JsonObject | undefined): void {
    calls += 1;
    if (oneCall === true && calls > 1) add('the calls after the first');
    beside(extra);
  }

  function beside(extra: JsonObject | undefined): void {
    if (extra !== undefined && holds.losesExtras(extra)) add('the extra content of a call');
  }

  /** What every protocol knows of another's sources are pages. */
  function citation({ protocol, url }: Citation): void {
    if (protocol === holds.protocol) return;
    if (url === undefined || (!holds.pages && responseFormat !== undefined)) add('a citation');
  }

  function ending({ reason, raw = '', category }: StopReason): void {
    if (reason === 'other') add(`the stop reason ${said(raw)}`);
    if (category !== undefined && !holds.stopCategory) add(`the category ${said(category)}`);
  }

  return {
    event(event) {
      if (event.type === 'native') native(event.part);
      else if (event.type === 'citation') citation(event.citation);
      else if (event.type === 'tool_start') call(event.extra);
      else if (event.type === 'tool_end') beside(event.extra);
      else if (event.type === 'end') {
        ending(event.stop);
        for (const what of event.lost ?? []) add(said(what, MOST_OF_LOSS));
      }
    },
    reply({ parts, stop }) {
      for (const part of parts) {
        if (part.type === 'native') native(part);
        else if (part.type === 'text') part.citations?.forEach(citation);
        else if (part.type === 'tool_call') call(part.extra);
      }
      ending(stop);
    },
    list: () => (lost.size === 0 ? undefined : [...lost]),
  };
}
