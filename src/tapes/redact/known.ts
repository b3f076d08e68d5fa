// The secrets that a recording knows by value: keys of its gateway and of the providers, and what the environment of the recorded
// program holds under a name of a secret.
import type { Config } from '../../config/config.ts';
import type { Environment } from '../../environment.ts';
import type { KnownSecret } from './find.ts';

const SECRET_HEADER = /auth|key|token|secret|cookie|signature|password|credential/i;
/** A header's value that is no word. */
const RANDOM = /^(?=.*\d)\S{20,}$/;

export function secretsOfProviders({ providers }: Pick<Config, 'providers'>): KnownSecret[] {
  return providers.flatMap(({ name, apiKey, apiKeys = [apiKey], headers }) => {
    const own = Object.entries(headers).filter(
      ([header, value]) => SECRET_HEADER.test(header) || RANDOM.test(value),
    );
    return [
      ...apiKeys.flatMap((key) => (key === undefined ? [] : [{ kind: `key of ${name}`, text: key }])),
      ...own.map(([header, text]) => ({ kind: `${header} of ${name}`, text: text.replace(/^\w+ /, '') })),
    ];
  });
}

const PASSWORD = /(?:^|_)(?:PASS(?:WORD|WD|PHRASE)?|PWD|SECRET|CREDENTIALS?)(?:_|$)/i;
const KEY = /(?:^|_)(?:[A-Z]*KEY|[A-Z]*TOKEN|PAT|AUTH)(?:_|$)/i;
/** Folders, sockets, addresses without a password, names of variables. */
const NO_SECRET = /^(?:\/|~|\.{1,2}\/|[a-z+]+:\/\/[^@]*$)/i;

/** `PWD` and `OLDPWD` are folders, numbers are ports and switches. */
export function secretsOfEnvironment(env: Environment): KnownSecret[] {
  return Object.entries(env).flatMap(([name, text = '']) => {
    if (NO_SECRET.test(text) || text.length < 6 || /^\d{1,9}$/.test(text)) return [];
    const isSecret = PASSWORD.test(name) || (KEY.test(name) && (/\d/.test(text) || text.length >= 20));
    return isSecret ? [{ kind: name, text }] : [];
  });
}
