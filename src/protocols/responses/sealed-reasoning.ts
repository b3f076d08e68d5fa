// Thinking that another protocol's provider signed, as the `encrypted_content` of a reasoning item: clients of this protocol
// send it back unread, and the provider gets its block with its signature again.
import { isObject } from '../../canonical/json.ts';
import type { ReasoningPart } from '../../canonical/request.ts';

/** What stands before a blob of the gateway's own. */
export const SEAL_MARK = 'gw1.';

/** A signed part as text, for the gateway's own reading. The text is part of it: a signature holds for the very same text, which
 *  a client may shorten. */
export function writeReasoning({ text, signature, redacted }: ReasoningPart): string {
  return JSON.stringify(redacted === undefined ? { text, signature } : { redacted });
}

/** Of a blob that was opened before the request was decoded; undefined: one that this gateway did not write, or cannot open. */
export function openReasoning(json: string): ReasoningPart | undefined {
  const value = parsed(json);
  if (!isObject(value)) return undefined;
  const { text, signature, redacted } = value;
  if (typeof redacted === 'string') return { type: 'reasoning', text: '', redacted };
  if (typeof text !== 'string' || typeof signature !== 'string') return undefined;
  return { type: 'reasoning', text, signature };
}

function parsed(json: string): unknown {
  if (!json.startsWith('{')) return undefined;
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
