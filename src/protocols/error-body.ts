// What is read of a provider's error, whichever protocol it speaks. It may be megabytes, or deeper than can be written.
import { isObject, type JsonObject, type JsonValue } from '../canonical/json.ts';
import { likeness } from './exact-json.ts';

/** '' where it has more levels than any error that a person wrote. */
export function errorJson(value: JsonValue): string {
  return likeness(value) === 'deep' ? '' : JSON.stringify(value);
}

/** Characters of JSON. */
const MOST_DETAILS = 16_384;

/** What goes on to the client as it is. */
export function errorDetails(value: JsonValue | undefined): JsonObject | undefined {
  if (!isObject(value)) return undefined;
  const { length } = errorJson(value);
  return length > 0 && length <= MOST_DETAILS ? value : undefined;
}

/** Characters in which a page tells its title. */
const HEAD = 4000;

/** Markup says nothing to a client; its title sometimes does. */
export function pageTitle(page: string): string {
  return /<title[^>]*>([^<]*)<\/title>/i.exec(page.slice(0, HEAD))?.[1]?.trim() ?? '';
}
