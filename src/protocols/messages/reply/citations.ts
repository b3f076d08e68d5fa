// Citations of answers: five kinds of objects of this protocol, carried unchanged; other protocols know only those of web pages.
import { isObject, type JsonObject } from '../../../canonical/json.ts';
import type { Citation } from '../../../canonical/request.ts';
import type { ReplyOptions } from '../../interface/answer.ts';
import { list, text } from '../wire-types.ts';

export function decodeCitation(raw: JsonObject): Citation {
  const citation: Citation = { protocol: 'messages', raw };
  const url = text(raw.url) ?? pageOf(raw);
  const title = text(raw.title) ?? text(raw.document_title);
  if (url !== undefined) citation.url = url;
  if (title !== undefined) citation.title = title;
  return citation;
}

/** What a client gave as a search result has a name of its own, which may be its page. */
function pageOf({ type, source }: JsonObject): string | undefined {
  if (type !== 'search_result_location' || typeof source !== 'string') return undefined;
  return /^https?:\/\//i.test(source) ? source : undefined;
}

export function decodeCitations(value: unknown): Citation[] {
  return list(value).filter(isObject).map(decodeCitation);
}

/** A foreign citation lacks the opaque index that this protocol's clients must send back: it is left out. */
export function encodeCitations(citations: readonly Citation[]): JsonObject[] {
  return citations.filter((citation) => citation.protocol === 'messages').map((citation) => citation.raw);
}

// -- pages that another protocol's answer names --
// A citation of this protocol holds an index that its own service alone can make, and few readers show any: the pages follow the
// text as a list, which every reader shows. Where JSON was asked for, a list would break it.

const MOST_PAGES = 100;
/** Characters of a stranger's title. */
const MOST_TITLE = 200;

export interface SourceList {
  add(citation: Citation): void;
  /** The pages that are still to be listed after the text; '': none. */
  take(): string;
}

export function createSourceList({ responseFormat }: ReplyOptions): SourceList {
  const known = new Set<string>();
  const waiting: string[] = [];
  return {
    add(citation) {
      const { url, title = '' } = citation;
      // This protocol's own stand in the text.
      if (responseFormat !== undefined || citation.protocol === 'messages' || url === undefined) return;
      if (known.has(url) || known.size === MOST_PAGES) return;
      known.add(url);
      const name = title.slice(0, MOST_TITLE).replace(/\s+/g, ' ').trim();
      waiting.push(`[${known.size}] ${name === '' ? '' : `${name}: `}${url}`);
    },
    take() {
      const pages = waiting.splice(0);
      return pages.length === 0 ? '' : `\n\nSources:\n${pages.join('\n')}`;
    },
  };
}
