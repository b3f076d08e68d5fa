// Sources of an answer: annotations of an output text and the canonical citations. Both count characters within one text.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { Citation } from '../../../canonical/request.ts';

export function decodeAnnotation(value: JsonValue | undefined): Citation | undefined {
  if (!isObject(value)) return undefined;
  const citation: Citation = { protocol: 'responses', raw: value };
  if (value.type !== 'url_citation') return citation;
  if (typeof value.url === 'string') citation.url = value.url;
  if (typeof value.title === 'string') citation.title = value.title;
  if (typeof value.start_index === 'number') citation.start = Math.max(0, value.start_index);
  if (typeof value.end_index === 'number') citation.end = Math.max(0, value.end_index);
  return citation;
}

export function decodeAnnotations(value: JsonValue | undefined): Citation[] {
  if (!Array.isArray(value) || value.length === 0) return [];
  return value.map(decodeAnnotation).filter((citation) => citation !== undefined);
}

/**
 * Undefined: it points into another protocol's document. `offset`: characters of the same output text before the canonical text;
 * `length`: of that text, for citations of all of it.
 */
export function encodeCitation(citation: Citation, offset: number, length: number): JsonObject | undefined {
  if (citation.url === undefined) return citation.protocol === 'responses' ? citation.raw : undefined;
  return {
    type: 'url_citation',
    start_index: offset + (citation.start ?? 0),
    end_index: offset + (citation.end ?? length),
    url: citation.url,
    title: citation.title ?? '',
  };
}
