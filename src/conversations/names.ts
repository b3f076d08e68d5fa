// Ids and labels of conversations, as people see and write them.
import { withoutKeys } from '../ids.ts';

export const ID_PREFIX = 'conv_';

/** People find a conversation by this many characters of its id. */
const SHORT_DIGITS = 8;

/** The beginning of the id, by which people find the conversation. */
export function shortId(conversation: string): string {
  return conversation.slice(ID_PREFIX.length, ID_PREFIX.length + SHORT_DIGITS);
}

/** A conversation's id or its beginning, with or without `conv_`. undefined: no id begins like this. */
export function readConversationId(given: string): string | undefined {
  const digits = given.startsWith(ID_PREFIX) ? given.slice(ID_PREFIX.length) : given;
  return /^[0-9A-Za-z]{1,32}$/.test(digits) ? ID_PREFIX + digits : undefined;
}

/** Characters of a label; more are cut. */
const MAX_LABEL = 64;

/** As it is stored: in one line, visible, cut. null: nothing is left. */
export function labelOf(given: string | undefined): string | null {
  if (given === undefined) return null;
  const visible = withoutKeys(utf8(given))
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .trim();
  const cut = Array.from(visible).slice(0, MAX_LABEL).join('').trim();
  return cut === '' ? null : cut;
}

/** Node reads headers as Latin-1; programs write UTF-8. */
function utf8(header: string): string {
  if (/^[\x20-\x7e]*$/.test(header) || /[^\0-\xff]/.test(header)) return header;
  const decoded = Buffer.from(header, 'latin1').toString('utf8');
  return decoded.includes('\ufffd') ? header : decoded;
}
