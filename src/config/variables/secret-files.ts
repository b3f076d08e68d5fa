// Values that stand in files of their own, as Docker and Kubernetes mount secrets: `${file:/run/secrets/x}`, and `NAME_FILE` beside a
// variable `NAME`.
import { readFileSync, statSync } from 'node:fs';
import type { Environment } from '../../environment.ts';

/** A value, or why there is none, as the end of a sentence about the file. */
type Secret = { text: string } | { fault: string };

/** More than any key or address has. */
const MOST_BYTES = 64 * 1024;

const FAULTS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EACCES: 'may not be read by this user',
  EPERM: 'may not be read by this user',
};

/** The content without the line break at its end. Never waits: what is no regular file, such as a pipe, is not opened. */
export function readFileValue(file: string, most = MOST_BYTES): Secret {
  try {
    const stat = statSync(file);
    if (!stat.isFile()) return { fault: 'is not a file' };
    if (stat.size > most) return { fault: `is larger than ${most} bytes` };
    const text = readFileSync(file, 'utf8')
      .replace(/^\ufeff/, '')
      .replace(/[\r\n]+$/, '');
    return text === '' ? { fault: 'is empty' } : { text };
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    return { fault: FAULTS[code] ?? `can't be read (${code})` };
  }
}

/** Bytes of a file of settings. */
const MOST_SETTINGS = 1024 * 1024;

/** The JSON object that a file holds, or why it holds none; never a part of the file. */
export function readObjectFile(file: string): { value: object } | { fault: string } {
  const read = readFileValue(file, MOST_SETTINGS);
  if ('fault' in read) return read;
  try {
    const value: unknown = JSON.parse(read.text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { value };
  } catch {
    // The message of the parser would show a part of the file.
  }
  return { fault: 'holds no JSON object' };
}

interface Variable {
  /** '' if it is not set. */
  text: string;
  /** `X_FILE names a file that does not exist`, where that is why it is not set. */
  fault?: string;
}

/** A variable, or the content of the file that `NAME_FILE` names. The variable itself has priority. */
export function readVariable(env: Environment, name: string): Variable {
  const own = valueIn(env, name);
  if (own !== '') return { text: own };
  const file = valueIn(env, `${name}_FILE`).trim();
  if (file === '') return { text: '' };
  const read = readFileValue(file);
  return 'text' in read ? read : { text: '', fault: `${name}_FILE names a file that ${read.fault}` };
}

const valueIn = (env: Environment, name: string): string =>
  (Object.hasOwn(env, name) ? env[name] : undefined) ?? '';
