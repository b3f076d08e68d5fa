// What is read of a provider's error, whichever protocol it speaks. It may be megabytes, or deeper than can be written.
import { isObject, type JsonObject, type JsonValue } from '../../canonical/json.ts';
import { likeness } from '../json/raw-json.ts';

/** '' where it has more levels than any error that a person wrote. */
export function errorJson(value: JsonValue): string {
  return likeness(value) === 'deep' ? '' : JSON.stringify(value);
}

/** Characters of a text, or of JSON. */
const MOST_TEXT = 16_384;

/**
 * The words of an error. They are cut again where secrets are taken out, which looks at much less: a secret that this cut splits
 * is seen by nobody.
 */
export function errorMessage(words: string): string {
  return words.slice(0, MOST_TEXT);
}

/** What goes on to the client as it is: an object, a list or a text. */
export function errorDetails(value: JsonValue | undefined): JsonValue | undefined {
  if (!isObject(value) && !(Array.isArray(value) && value.length > 0)) {
    return typeof value === 'string' && value !== '' ? value.slice(0, MOST_TEXT) : undefined;
  }
  const { length } = errorJson(value);
  return length > 0 && length <= MOST_TEXT ? value : undefined;
}

/** What the model wrote that Groq could not read as a call: programs repair it, or show it to the model. */
export function failedGeneration({ failed_generation: written }: JsonObject): string | undefined {
  return typeof written === 'string' && written !== '' ? written.slice(0, MOST_TEXT) : undefined;
}

/** Characters in which a page tells its title. */
const HEAD = 4000;

/** Markup says nothing to a client; its title sometimes does. */
export function pageTitle(page: string): string {
  const head = page.slice(0, HEAD);
  const lower = head.toLowerCase();
  const open = lower.indexOf('<title');
  const start = open === -1 ? -1 : lower.indexOf('>', open);
  const end = start === -1 ? -1 : lower.indexOf('</title>', start);
  return end === -1 ? '' : head.slice(start + 1, end).trim();
}
