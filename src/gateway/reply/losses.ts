// What of an answer the client's protocol could not hold, for the log and the usage row.
import type { JsonObject } from '../../canonical/json.ts';
import type { Reply, StopReason, StreamEvent } from '../../canonical/reply.ts';
import type { Citation, NativePart } from '../../canonical/request.ts';
import type { ReplyOptions } from '../../protocols/interface/answer.ts';
import type { ClientSide } from '../../protocols/interface/protocol.ts';

/** Characters of a provider's word. */
const MOST = 60;
/** Characters of what a decoder could not read, with its description. */
const MOST_OF_LOSS = 80;
/** Characters that are searched for secrets before the cut, since half a key would not be found. */
const MAX_SEARCHED = 2000;
/** Losses that are reported. */
const MOST_THINGS = 20;

export interface Losses {
  event(event: StreamEvent): void;
  reply(reply: Reply): void;
  /** Each loss once; undefined: none. */
  list(): string[] | undefined;
}

/** `clean` removes secrets. An answer in the legacy form holds one call, and an answer in JSON no list of sources. */
export function createLosses(
  { holds }: ClientSide,
  clean: (words: string) => string,
  { legacyFunctions: oneCall, responseFormat }: Pick<ReplyOptions, 'legacyFunctions' | 'responseFormat'> = {},
): Losses {
  /** Most answers lose nothing. */
  let lost: Set<string> | undefined;
  let calls = 0;

  function add(what: string): void {
    lost ??= new Set();
    if (lost.size < MOST_THINGS) lost.add(what);
  }

  function shown(word: string, most = MOST): string {
    return clean(word.slice(0, MAX_SEARCHED)).slice(0, most);
  }

  function native({ protocol, kind }: NativePart): void {
    if (protocol !== holds.protocol || !holds.nativeParts) add(`a block of type ${shown(kind)}`);
  }

  function call(extra: JsonObject | undefined): void {
    calls += 1;
    if (oneCall === true && calls > 1) add('the calls after the first');
    beside(extra);
  }

  function beside(extra: JsonObject | undefined): void {
    if (extra !== undefined && holds.losesExtras(extra)) add('the extra content of a call');
  }

  /** Of the sources of another protocol, every protocol can express pages. */
  function citation({ protocol, url }: Citation): void {
    if (protocol === holds.protocol) return;
    if (url === undefined || (!holds.pages && responseFormat !== undefined)) add('a citation');
  }

  function ending({ reason, raw = '', category }: StopReason): void {
    if (reason === 'other') add(`the stop reason ${shown(raw)}`);
    if (category !== undefined && !holds.stopCategory) add(`the category ${shown(category)}`);
  }

  return {
    event(event) {
      if (event.type === 'native') native(event.part);
      else if (event.type === 'citation') citation(event.citation);
      else if (event.type === 'tool_start') call(event.extra);
      else if (event.type === 'tool_end') beside(event.extra);
      else if (event.type === 'end') {
        ending(event.stop);
        for (const what of event.lost ?? []) add(shown(what, MOST_OF_LOSS));
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
    list: () => lost && [...lost],
  };
}
