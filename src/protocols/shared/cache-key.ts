// The key by which a provider finds the machine that has a conversation's prompt in its cache: the client's own, else one that is
// made of the conversation. Providers hash the beginning of a prompt anyway; under load they need the key to find the same machine.
import { createHash } from 'node:crypto';
import type { RelayedBody } from '../interface/bodies.ts';
import type { Addition } from '../json/splice.ts';
import type { EncodeContext } from './encode-context.ts';

const DIGITS = 32;

/** The same for all requests of a conversation; says nothing of it. */
function derivedKey(conversation: string): string {
  return createHash('sha256').update(conversation).digest('hex').slice(0, DIGITS);
}

/** Of a translated request; made of the conversation only for a provider that is known to take keys. */
export function cacheKeyFor({ request: { cacheKey }, traits }: EncodeContext): string | undefined {
  if (cacheKey?.from !== 'session') return cacheKey?.value;
  return traits.cacheKey ? derivedKey(cacheKey.value) : undefined;
}

/** For a provider that takes no key. */
export function leaveOutCacheKey(encoding: EncodeContext, why: string): void {
  const { cacheKey } = encoding.request;
  if (cacheKey === undefined || cacheKey.from === 'session') return;
  encoding.warn(cacheKey.from === 'asked' ? 'dropped' : 'quiet', 'cacheKey', why);
}

/** The member to add to a relayed body; nothing if the client sent one. */
export function addedCacheKey(
  { value }: Pick<RelayedBody, 'value'>,
  conversation: string | undefined,
): Addition | undefined {
  if (conversation === undefined || value.prompt_cache_key !== undefined) return undefined;
  const text = `,"prompt_cache_key":"${derivedKey(conversation)}"`;
  return ({ close }) => ({ start: close, end: close, text });
}
