// What stays while a conversation grows, and tells it from others; and the one line that changes with every call.
import { createHash } from 'node:crypto';
import { isObject, type JsonValue } from '../../canonical/json.ts';

/** Of the client's own word for requests that belong together. */
export function hashOfKey(key: string): string {
  return createHash('sha256').update(key).digest('base64url');
}

/** Of what stands before the messages, and of the messages up to the first user message. */
export function hashOfBeginning(before: string, messages: JsonValue | undefined): string {
  const list = Array.isArray(messages) ? messages : [];
  const first = list.findIndex((message) => isObject(message) && message.role === 'user');
  const hash = createHash('sha256');
  hash.update(before);
  for (const message of list.slice(0, first + 1)) hash.update(JSON.stringify(message));
  return hash.digest('base64url');
}

/** The last message; some clients put system text behind the results of tools. */
export function lastTurn(messages: JsonValue | undefined): JsonValue | undefined {
  if (!Array.isArray(messages)) return undefined;
  return messages.findLast((message) => !isObject(message) || message.role !== 'system');
}

/**
 * Claude Code's attribution, a line at the beginning of its system text: it changes with every call, which would spoil another
 * provider's prompt cache, and concerns its own provider alone.
 */
const ATTRIBUTION = 'x-anthropic-billing-header';

/** The text without that line: some clients join it with their prompt. */
export function withoutAttribution(text: string): string {
  if (!text.startsWith(ATTRIBUTION)) return text;
  const end = text.indexOf('\n');
  return end < 0 ? '' : text.slice(end + 1);
}
