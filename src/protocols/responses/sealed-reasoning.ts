// Thinking that another protocol's provider signed, as the `encrypted_content` of a reasoning item: clients of this protocol
// send it back unread, and the provider gets its block with its signature again.
import { isObject } from '../../canonical/json.ts';
import type { ReasoningPart } from '../../canonical/request.ts';
import type { ReplyContext } from '../protocol.ts';

/** What stands before a blob of the gateway's own. */
export const SEAL_MARK = 'gw1.';

/** The text is part of it: a signature holds for the very same text, which a client may shorten. */
export function sealReasoning(
  { text, signature, redacted }: ReasoningPart,
  { seal = plainSeal }: Pick<ReplyContext, 'seal'>,
): string {
  return seal(JSON.stringify(redacted === undefined ? { text, signature } : { redacted }));
}

function plainSeal(json: string): string {
  return SEAL_MARK + Buffer.from(json).toString('base64url');
}

/** Undefined: a blob that this gateway did not write. `blob`: as it was written, or already opened. */
export function openReasoning(blob: string): ReasoningPart | undefined {
  const json = blob.startsWith(SEAL_MARK)
    ? Buffer.from(blob.slice(SEAL_MARK.length), 'base64url').toString('utf8')
    : blob;
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
