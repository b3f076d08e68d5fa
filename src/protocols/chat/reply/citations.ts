// Sources of an answer: chat's url_citation annotations and the canonical citations.
// chat counts characters over the whole text, the canonical form within one text block.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { Citation } from '../../../canonical/request.ts';

/** `offset`: characters of text before the block. */
export function decodeAnnotation(value: JsonValue, offset: number): Citation | undefined {
  if (!isObject(value)) return undefined;
  const citation: Citation = { protocol: 'chat', raw: value };
  const source = value.url_citation;
  if (!isObject(source)) return citation;
  if (typeof source.url === 'string') citation.url = source.url;
  if (typeof source.title === 'string') citation.title = source.title;
  if (typeof source.start_index === 'number') citation.start = Math.max(0, source.start_index - offset);
  if (typeof source.end_index === 'number') citation.end = Math.max(0, source.end_index - offset);
  return citation;
}

/** Pages that stand beside the text: `citations`, addresses as a rule, and `search_results`, which have titles (Perplexity, xAI). */
export function pagesBeside({ citations, search_results: results }: JsonObject): Citation[] {
  const pages = new Map<string, string>();
  for (const item of [...listOf(citations), ...listOf(results)]) {
    const { url, title } = isObject(item) ? item : { url: item };
    if (typeof url !== 'string' || url === '') continue;
    pages.set(url, typeof title === 'string' && title !== '' ? title : (pages.get(url) ?? ''));
  }
  return [...pages].map(([url, title]) => ({
    protocol: 'chat',
    raw: { type: 'url_citation', url_citation: { url, title } },
    url,
    title,
  }));
}

function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** Undefined: it points into a document, which chat cannot express. `length`: of the block, for citations of all of it. */
export function encodeCitation(citation: Citation, offset: number, length: number): JsonObject | undefined {
  if (citation.url === undefined) return undefined;
  return {
    type: 'url_citation',
    url_citation: {
      start_index: offset + (citation.start ?? 0),
      end_index: offset + (citation.end ?? length),
      url: citation.url,
      title: citation.title ?? '',
    },
  };
}
