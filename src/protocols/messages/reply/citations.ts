// Citations of answers: five kinds of objects of this protocol, carried unchanged; other protocols know only those of web pages.
import { isObject, type JsonObject } from '../../../canonical/json.ts';
import type { Citation } from '../../../canonical/request.ts';
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
