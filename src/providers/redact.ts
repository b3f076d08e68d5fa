// Removes a provider's key, other secrets and internal addresses from its messages before a client or the log gets them.
import type { ProviderConfig } from '../config/config.ts';

const MAX_MESSAGE = 2000;
/** Characters that are searched for secrets. */
const MAX_SEARCHED = 2 * MAX_MESSAGE;
/** Characters of keys and tokens that the patterns know. */
const LONGEST_SECRET = 256;
/** A shorter value is no secret, and removing it would garble ordinary words. */
const MIN_SECRET = 6;

const SECRETS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/\b(?:sk|pk|rk|gsk|xai|key|tok|pat|ghp|hf)[-_][\w-]{12,}/g, '[redacted]'],
  [/\bAIza[\w-]{30,}/g, '[redacted]'],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/gi, '$1 [redacted]'],
  [/\b([a-z][a-z+.-]{0,30}:\/\/)[^\s/@"']+@/gi, '$1[redacted]@'],
  [
    /([?&](?:[\w-]*(?:key|token|secret|signature|password)|sig)=)(?!\[redacted\])[^\s&"'#<>)]+/gi,
    '$1[redacted]',
  ],
];

/** An address of this machine or of a private network, and the path behind it. */
const ADDRESS =
  /\b(?:https?:\/\/)?(?:localhost|(?:127|10)(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2}|169\.254(?:\.\d{1,3}){2})(?::\d+)?(?:\/[^\s"',;)]*)?/gi;
/** In brackets, as in a URL; it is an address if it has several colons. */
const BRACKETED = /(?:https?:\/\/)?\[([0-9a-f:.]{2,45})\](?::\d+)?(?:\/[^\s"',;)]*)?/gi;

/** What stands in all that the expressions above find. Most ids hold none of it. */
const SUSPECT = /(?:sk|pk|rk|gsk|xai|key|tok|pat|ghp|hf)[-_]|AIza|bearer|basic|localhost|[:=.[]/i;

/** Every expression takes linear time, and text beyond the limit is cut first: it may be megabytes. */
export function redact(text: string, provider: ProviderConfig): string {
  const secrets = secretsOf(provider);
  let clean = text.slice(0, MAX_SEARCHED);
  for (const secret of secrets) clean = clean.replaceAll(secret, '[redacted]');
  if (SUSPECT.test(clean)) clean = withoutSuspects(clean);
  // A secret that the cut divided would not be found.
  if (text.length > MAX_SEARCHED) {
    const longest = secrets.reduce((most, { length }) => Math.max(most, length), LONGEST_SECRET);
    clean = clean.slice(0, Math.max(0, clean.length - longest));
  }
  if (clean.length > MAX_MESSAGE) return `${clean.slice(0, MAX_MESSAGE)}…`;
  return text.length > MAX_SEARCHED ? `${clean}…` : clean;
}

/** The same for every reply of a provider, so listed once. */
const known = new WeakMap<ProviderConfig, readonly string[]>();

function secretsOf(provider: ProviderConfig): readonly string[] {
  let secrets = known.get(provider);
  if (secrets === undefined) {
    const { apiKey, apiKeys = [apiKey], headers } = provider;
    secrets = [...apiKeys, ...Object.values(headers)].filter(isSecret);
    known.set(provider, secrets);
  }
  return secrets;
}

function withoutSuspects(text: string): string {
  let clean = text;
  for (const [pattern, replacement] of SECRETS) clean = clean.replace(pattern, replacement);
  clean = clean.replace(ADDRESS, '[address]');
  return clean.replace(BRACKETED, (whole, inner: string) => (isAddress(inner) ? '[address]' : whole));
}

function isSecret(text: string | undefined): text is string {
  return text !== undefined && text.length >= MIN_SECRET;
}

function isAddress(text: string): boolean {
  return text.indexOf(':') !== text.lastIndexOf(':');
}
