// A provider's words on their way to a client or a log: without its key, other secrets and internal addresses.
import type { ProviderConfig } from '../config/config.ts';

const MAX_MESSAGE = 2000;
/** A shorter value is no secret, and taking it out would garble ordinary words. */
const MIN_SECRET = 6;

const SECRETS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/\b(?:sk|pk|rk|gsk|xai|key|tok|pat|ghp|hf)[-_][\w-]{12,}/g, '[redacted]'],
  [/\bAIza[\w-]{30,}/g, '[redacted]'],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/gi, '$1 [redacted]'],
  [/\b([a-z][a-z+.-]*:\/\/)[^\s/@"']+@/gi, '$1[redacted]@'],
  [
    /([?&](?:[\w-]*(?:key|token|secret|signature|password)|sig)=)(?!\[redacted\])[^\s&"'#<>)]+/gi,
    '$1[redacted]',
  ],
];

const ADDRESS =
  /\b(?:https?:\/\/)?(?:localhost|(?:127|10)(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2}|169\.254(?:\.\d{1,3}){2})(?::\d+)?(?:\/[^\s"',;)]*)?|(?:https?:\/\/)?\[(?=[^\]]*:[^\]]*:)[0-9a-f:.]+\](?::\d+)?(?:\/[^\s"',;)]*)?/gi;

export function scrub(text: string, provider: ProviderConfig): string {
  let clean = text;
  for (const secret of [provider.apiKey, ...Object.values(provider.headers)]) {
    if (secret !== undefined && secret.length >= MIN_SECRET) clean = clean.replaceAll(secret, '[redacted]');
  }
  for (const [pattern, replacement] of SECRETS) clean = clean.replace(pattern, replacement);
  clean = clean.replace(ADDRESS, '[address]');
  return clean.length > MAX_MESSAGE ? `${clean.slice(0, MAX_MESSAGE)}…` : clean;
}
