// Members beside a call's name and arguments, which Gemini's chat endpoint needs back with the call.
import type { JsonObject } from '../../../canonical/json.ts';
import type { EncodeContext } from '../../shared/encode-context.ts';

/** Google's word for a call whose signature was lost or never was: https://ai.google.dev/gemini-api/docs/thought-signatures */
const UNSIGNED: JsonObject = { google: { thought_signature: 'skip_thought_signature_validator' } };

/** The members beside a call of a history; `at`: its place among the calls of its turn, of which only the first is signed. */
export function signedExtra(extra: JsonObject | undefined, at: number, encoding: EncodeContext): JsonObject {
  const own = encoding.request.protocol === 'chat' ? (extra ?? {}) : chatExtra(extra);
  if (!encoding.traits.thoughtSignatures || at > 0 || own.extra_content !== undefined) return own;
  return { ...own, extra_content: UNSIGNED };
}

/** Of a call's further members the chat wire knows Gemini's alone; other protocols' mean nothing here. */
export function chatExtra(extra: JsonObject | undefined): JsonObject {
  return extra?.extra_content === undefined ? {} : { extra_content: extra.extra_content };
}
