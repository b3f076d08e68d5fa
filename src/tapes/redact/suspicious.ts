// What could be a secret, or a person's, in a text whose known secrets are taken out: for a look before a tape is given away. It may
// say too much; what it does not find can still be there.
import { findSecrets } from './find.ts';

export interface Suspicion {
  kind: string;
  /** Lines count from 1. */
  line: number;
  /** The beginning: enough to find it, too little to use it. */
  sample: string;
}

const WORDS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['e-mail address', /(?<![\w.+%-])[\w.+%-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}\b/g],
  [
    'home folder',
    /(?:\/home\/|\/Users\/|[A-Za-z]:\\{1,16}Users\\{1,16})(?!runner\b|user\b|node\b|root\b)[\w.-]{2,64}/g,
  ],
  [
    'address in a private network',
    /\b(?:10(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2})\b/g,
  ],
  ['phone number', /(?<![\w.+-])\+\d{1,3}[ -]\(?\d{2,4}\)?(?:[ -]\d{2,4}){2,4}\b/g],
  ['card number', /(?<![\w.-])(?:\d{4}[ -]){3}\d{4}(?![\w.-])/g],
];

const RANDOM = /(?<![A-Za-z0-9+/_=.%-])[A-Za-z0-9+/_=-]{20,200}(?![A-Za-z0-9+/_=.-])/g;
/** Ids of the protocols, and words in a row: `msg_01…`, `fix-the-login-of-admins`. */
const NO_SECRET =
  /^(?:(?:toolu|call|msg|req|resp|rs|fc|item|ses|prt|chatcmpl|conv|cache|srvtoolu|batch|file|ws|ctc|sha\d{3})[_-]|[0-9a-f]+$|[a-z]+(?:[-_/][a-z]+)*$|[A-Z]+(?:[-_/][A-Z]+)*$|[A-Z]?[a-z]+(?:[A-Z][a-z]+)*$)/;
const MIN_ENTROPY = 3.7;
/** Signed thinking and sealed data of providers mean nothing outside of their conversation. */
const OPAQUE =
  /"(?:signature|encrypted_content|thinking_signature|data|system_fingerprint|obfuscation)": ?"[^"]{0,100}$/;

export function suspicionsIn(text: string): Suspicion[] {
  const found: Suspicion[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const add = (kind: string, sample: string): void =>
      void found.push({ kind, line: index + 1, sample: cut(sample) });
    for (const { kind, start, end } of findSecrets(line, [])) {
      if (!line.slice(start, end).includes('[secret')) add(kind, line.slice(start, end));
    }
    for (const [kind, pattern] of WORDS) for (const [match] of line.matchAll(pattern)) add(kind, match);
    for (const { 0: match, index: at } of line.matchAll(RANDOM)) {
      if (isRandom(match) && !OPAQUE.test(line.slice(Math.max(0, at - 140), at))) add('random text', match);
    }
  }
  return found;
}

/** Letters of both cases and digits, or many different characters. */
function isRandom(text: string): boolean {
  if (NO_SECRET.test(text) || !/\d/.test(text) || !/[A-Za-z]/.test(text)) return false;
  const isMixed = /[a-z]/.test(text) && /[A-Z]/.test(text);
  return isMixed && entropy(text) >= MIN_ENTROPY;
}

/** Bits a character. */
function entropy(text: string): number {
  const counts = new Map<string, number>();
  for (const char of text) counts.set(char, (counts.get(char) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

const SHOWN = 6;

function cut(text: string): string {
  return text.length <= SHOWN ? '…' : `${text.slice(0, SHOWN)}… (${text.length} characters)`;
}
