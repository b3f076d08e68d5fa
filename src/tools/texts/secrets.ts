// Masks the secrets of a settings file that is shown to people, who paste it into issues: the values of members and variables whose
// name says that they are secret, in any form, and texts in the form of a known key.
import { DocumentError, type Editor, type Names, type Token } from './document.ts';

const MASK = '…';
const OWN_KEY = 'sk-gw-';

/** Parts of a name whose value is a secret. */
const SECRET_NAME =
  /key|token|secret|passw|pwd|passphrase|credential|authorization|bearer|cookie|private|(?:^|[-_.])(?:auth|pass|pat|pin)$/i;
/** Names of that kind with other values. */
const PLAIN_NAME = /keyboard|keymap|keybind|keyword|hotkey|tokeniz/i;
/** It may hold settings beside the secret. */
const GROUP_NAME = /^auth$/i;
/** `max_output_tokens`: how many. */
const COUNT_NAME = /[a-z][-_ ]?tokens$/i;
const COUNT = /^\d{1,9}$/;
/** How our own settings name the variable of the key. */
const OWN_REFERENCE = /^(?:\$?GATEWAY_KEY|\{env:GATEWAY_KEY\})$/;

const isSecretName = (name: string): boolean => SECRET_NAME.test(name) && !PLAIN_NAME.test(name);

/** Whether the value must not be shown under this name. */
function isSecret(name: string, text: string | undefined): boolean {
  if (text === undefined || text === '' || !isSecretName(name)) return false;
  return !(COUNT_NAME.test(name) && COUNT.test(text)) && !OWN_REFERENCE.test(text);
}

/** Forms of keys, and credentials in a URL. */
const KNOWN_FORMS: readonly (readonly [RegExp, string])[] = [
  [/\bsk-gw-[\w…]+/g, `${OWN_KEY}${MASK}`],
  [/\bsk-(?!gw-)[\w-]{8,}/g, MASK],
  [
    /\b(?:gh[a-z]_|github_pat_|glpat-|gsk_|xai-|hf_|nvapi-|pplx-|AIza|AKIA|ASIA|xox[a-z]-|eyJ)[\w.~+/=-]{8,}/g,
    MASK,
  ],
  [/\b(Bearer|Basic) +[\w.~+/=-]+/gi, `$1 ${MASK}`],
  [/(?<=:\/\/)[^\s/@"'`]{1,500}@/g, `${MASK}@`],
];

const withoutKnownForms = (text: string): string =>
  KNOWN_FORMS.reduce((result, [form, mask]) => result.replace(form, mask), text);

/** Of a comment, or of a value that is shown. */
const withoutSecretWords = (text: string): string =>
  withoutKnownForms(text)
    .split('\n')
    .map((line) => withoutPairs(line))
    .join('\n');

const NAME = /[\w.-]+/g;
const BETWEEN = /\\?["'`]?[ \t]*(?:[:=]|=>)[ \t]*(\\?["'`])?/y;
const WORD = / +(["'`])?/y;

/** `NAME=value`, `name: "value"` and `--name value`, as in a command line. A value without quotes ends with the line, that of an option
 *  with its word. */
function withoutPairs(line: string): string {
  let result = '';
  let done = 0;
  for (const { 0: name, index } of line.matchAll(NAME)) {
    if (index < done || !isSecretName(name)) continue;
    const found = valueAfter(line, name, index + name.length);
    if (found === undefined) continue;
    const value = line.slice(found.from, found.to).trim();
    const bare = /[,;]/.test(value.slice(-1)) ? value.slice(0, -1) : value;
    if (!isSecret(name, bare) || /^(?:null|true|false)\b/.test(bare)) continue;
    result += line.slice(done, found.from) + maskOf(value);
    done = found.to;
  }
  return result + line.slice(done);
}

function valueAfter(line: string, name: string, at: number): { from: number; to: number } | undefined {
  BETWEEN.lastIndex = WORD.lastIndex = at;
  const between = BETWEEN.exec(line);
  if (between !== null) return { from: BETWEEN.lastIndex, to: endOf(line, BETWEEN.lastIndex, between[1]) };
  const word = name.startsWith('-') ? WORD.exec(line) : null;
  if (word === null) return undefined;
  return { from: WORD.lastIndex, to: endOf(line, WORD.lastIndex, word[1] ?? ' ') };
}

/** Before the closing quote; without one, the end of the line. */
function endOf(line: string, from: number, quote: string | undefined): number {
  if (quote === undefined) return line.length;
  for (let at = line.indexOf(quote, from); at >= 0; at = line.indexOf(quote, at + 1))
    if (quote.startsWith('\\') || line[at - 1] !== '\\') return at;
  return line.length;
}

const maskOf = (value: string): string => (value.startsWith(OWN_KEY) ? `${OWN_KEY}${MASK}` : MASK);

/** The text as people may see it. One that is not valid is masked line by line. */
export function withoutSecrets(text: string, editor: Editor): string {
  let found: ReturnType<Editor['tokens']>;
  try {
    found = editor.tokens(text);
  } catch (error) {
    if (error instanceof DocumentError) return withoutSecretWords(text);
    throw error;
  }
  const isHidden = secretsAmong(found);
  let [result, done] = ['', 0];
  for (const token of found.tokens) {
    const { from, to, kind } = token;
    const own = text.slice(from, to);
    result += withoutSecretWords(text.slice(done, from));
    if (isHidden(token)) result += hiddenText(own, token.text ?? '');
    else result += kind === 'name' ? withoutKnownForms(own) : insideQuotes(own, withoutSecretWords);
    done = to;
  }
  return result + withoutSecretWords(text.slice(done));
}

/** Keeps the quotes, and the line breaks at the end of a block. */
const hiddenText = (text: string, value: string): string =>
  insideQuotes(text, () => maskOf(value)) + text.slice(text.trimEnd().length);

function insideQuotes(text: string, change: (inside: string) => string): string {
  const quote = /^["']/.exec(text)?.[0] ?? '';
  return quote === '' ? change(text) : quote + change(text.slice(1, -1)) + quote;
}

/** The values behind a secret name; beside one (`{"name": "API_KEY", "value": …}`); after one in a list (`["--token", …]`); and what is
 *  used once more under one. */
function secretsAmong({ tokens, repeated }: ReturnType<Editor['tokens']>): (token: Token) => boolean {
  const values = tokens.filter(({ kind }) => kind === 'value');
  const beside = new Set<string>();
  const behind = new Set<Token>();
  for (const [at, token] of values.entries()) {
    const { names, text = '' } = token;
    if (NAMING.has(names.at(-1)) && isSecretName(text)) beside.add(parentOf(names));
    const before = values[at - 1];
    if (before !== undefined && isOption(before.text) && isNextItem(before.names, names)) behind.add(token);
  }
  const ranges = repeated.filter(({ names }) => isBehindSecretName(names, 'value'));
  return (token) => {
    const { kind, names, text, from, to } = token;
    if (kind === 'name') return false;
    return (
      isBehindSecretName(names, text) ||
      behind.has(token) ||
      (names.at(-1) === 'value' && beside.has(parentOf(names))) ||
      ranges.some((range) => from >= range.from && to <= range.to)
    );
  };
}

function isBehindSecretName(names: Names, text: string | undefined): boolean {
  return names.some((name, at) => {
    const last = at === names.length - 1;
    return typeof name === 'string' && (last || !GROUP_NAME.test(name)) && isSecret(name, text);
  });
}

const NAMING: ReadonlySet<unknown> = new Set(['name', 'key', 'variable', 'header']);

const parentOf = (names: Names): string => JSON.stringify(names.slice(0, -1));

const isOption = (text: string | undefined): boolean =>
  text !== undefined && /^--?[\w-]+$/.test(text) && isSecretName(text);

const isNextItem = (one: Names, other: Names): boolean =>
  typeof other.at(-1) === 'number' && parentOf(one) === parentOf(other);
