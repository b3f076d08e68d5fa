// Names, ids and arguments of tool calls in the forms that a wire takes: pure functions of the text alone, so that the same
// conversation is always written the same way and a call and its result agree without any state.
import { createHash } from 'node:crypto';
import { bareId } from '../../../canonical/tool-pairing.ts';
import {
  wellFormed,
  wellFormedValue,
  isObject,
  type JsonObject,
  type JsonValue,
} from '../../../canonical/json.ts';
import { keepText, likeness } from '../../json/raw-json.ts';
import { parseJson } from '../../json/values.ts';

/** What a target takes as the id of a tool call: `messages` letters, digits, `_` and `-`; `openai` at most 40 characters; `mistral` nine letters or digits. */
export type ToolIdRule = 'any' | 'messages' | 'openai' | 'mistral';

const NAME_HASH = 8;
const ID_HASH = 22;
const MISTRAL_ID = 9;

/**
 * `name` as a wire takes it: unchanged if it has at most `max` letters, digits, `_` and `-`; else cut, with a hash of the
 * whole name, so that two long names stay different.
 */
export function fitToolName(name: string, max: number): string {
  if (name.length > 0 && name.length <= max && isPlain(name)) return name;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, NAME_HASH);
  const legal = name.replaceAll(/[^a-zA-Z0-9_-]/gu, '_');
  return `${legal.slice(0, Math.max(0, max - NAME_HASH - 1))}_${hash}`;
}

/** Nothing but letters, digits, `_` and `-`. A loop: at the length of ids and names it costs a third of a regular expression. */
function isPlain(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const isLetter = (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a);
    if (!isLetter && !(code >= 0x30 && code <= 0x39) && code !== 0x5f && code !== 0x2d) return false;
  }
  return true;
}

const VALID = {
  any: (id) => id.length > 0,
  messages: (id) => id.length > 0 && isPlain(id),
  openai: (id) => id.length > 0 && id.length <= 40,
  mistral: (id) => /^[a-zA-Z0-9]{9}$/.test(id),
} as const satisfies Record<ToolIdRule, (id: string) => boolean>;

/** `id` in a form that the target takes: unchanged if valid; else derived from it, equal for a call and its result. */
export function fitToolId(id: string, rule: ToolIdRule): string {
  const own = bareId(id);
  if (VALID[rule](own)) return own;
  const hash = base62(createHash('sha256').update(own).digest(), ID_HASH);
  return rule === 'mistral' ? hash.slice(0, MISTRAL_ID) : `call_${hash}`;
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function base62(bytes: Buffer, length: number): string {
  let rest = BigInt(`0x${bytes.toString('hex')}`);
  let text = '';
  while (text.length < length) {
    text += ALPHABET.charAt(Number(rest % 62n));
    rest /= 62n;
  }
  return text;
}

/**
 * A call's arguments as the object that a messages body needs, to be written with `exactJson`. A call is never dropped: what is
 * not JSON (or deeper than readers go) comes as `{"_raw": text}`, JSON that is no object as `{"value": …}`; both are `repaired`.
 */
export function argumentsToObject(text: string): { value: JsonObject; repaired: boolean } {
  if (text === '') return { value: {}, repaired: false };
  let value: JsonValue;
  try {
    value = parseJson(text);
  } catch {
    return text.trim() === '' ? { value: {}, repaired: false } : { value: rawObject(text), repaired: true };
  }
  const written = likeness(value);
  if (written === 'deep') return { value: rawObject(text), repaired: true };
  // JSON can express halves of surrogate pairs, which strict parsers refuse.
  if (text.includes('\\u') && /\\u[dD][89a-fA-F]/.test(text)) value = wellFormedValue(value);
  const repaired = !isObject(value);
  const object = isObject(value) ? value : { value };
  if (written === 'other') keepText(object, repaired ? `{"value":${text}}` : text, written);
  return { value: object, repaired };
}

export function rawObject(text: string): JsonObject {
  return { _raw: wellFormed(text) };
}
