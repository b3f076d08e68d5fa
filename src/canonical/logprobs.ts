// Log probabilities of a text's tokens: chat and responses have them in nearly the same form, which is the canonical one too.
import { isObject, type JsonObject, type JsonValue } from './json.ts';

/** The tokens of a list, with all the members that the strictest readers demand. */
export function tokensOf(list: JsonValue | undefined): JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject).map(wholeToken) : [];
}

/** Streams of responses leave out the bytes. */
function wholeToken(token: JsonObject): JsonObject {
  const others = Array.isArray(token.top_logprobs) ? token.top_logprobs.filter(isObject) : [];
  return { ...withBytes(token), top_logprobs: others.map(withBytes) };
}

function withBytes({ token, logprob, bytes }: JsonObject): JsonObject {
  const text = typeof token === 'string' ? token : '';
  return { token: text, logprob: logprob ?? null, bytes: bytes ?? [...Buffer.from(text)] };
}
