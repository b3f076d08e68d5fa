// A gateway.yaml of the current folder may come from somebody else, with a cloned project. It counts only while its owner's consent
// to this path and this content is on record: one small file for each path, in the user's own data folder.
import { createHash } from 'node:crypto';
import { lstatSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { makeFolder } from '../../folders.ts';
import { ConfigError } from '../config.ts';
import { defaultPaths } from '../load.ts';
import type { Environment } from '../../environment.ts';

/** There is no consent to a file, or to its present content. */
export class ConsentError extends ConfigError {
  readonly why: string;
  /** The content. */
  readonly bytes: Uint8Array;
  constructor(why: string, bytes: Uint8Array) {
    super([`${why}; look at it, then run gateway config trust, or name another file with --config`]);
    this.why = why;
    this.bytes = bytes;
  }
}

/** What is given to `writeConsent` and `checkConsent`: a file, and the bytes that were read from it. */
interface Content {
  file: string;
  bytes: Uint8Array;
}

const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');

/** The file by the real path of its folder. A link under its own name is not followed: consent is to what is read there. */
function realName(file: string): string {
  try {
    return path.join(realpathSync(path.dirname(file)), path.basename(file));
  } catch {
    return path.resolve(file);
  }
}

/** Where the consent to a file is on record. */
export function consentRecord(file: string, env: Environment): string {
  const folder = path.join(path.dirname(defaultPaths(env).database), 'trusted');
  return path.join(folder, sha256(realName(file)));
}

/** The text of a record, in the form of `sha256sum`. */
const recordText = (hash: string, file: string): string => `${hash}  ${realName(file)}\n`;

export function writeConsent({ file, bytes }: Content, env: Environment): void {
  const target = consentRecord(file, env);
  makeFolder(path.dirname(target));
  const draft = `${target}.${process.pid}`;
  rmSync(draft, { force: true });
  writeFileSync(draft, recordText(sha256(bytes), file), { mode: 0o600, flag: 'wx' });
  renameSync(draft, target);
}

/** false: there was none. */
export function removeConsent(file: string, env: Environment): boolean {
  const target = consentRecord(file, env);
  if (lstatSync(target, { throwIfNoEntry: false }) === undefined) return false;
  rmSync(target);
  return true;
}

/** Throws ConsentError unless there is consent to exactly these bytes at this path. */
export function checkConsent({ file, bytes }: Content, env: Environment): void {
  const given = readConsent(file, env);
  if (given === sha256(bytes)) return;
  const why =
    given === undefined ? 'belongs to this folder and is not trusted' : 'has changed since it was trusted';
  throw new ConsentError(`${file} ${why}`, bytes);
}

/** The hash of the content that was consented to. */
function readConsent(file: string, env: Environment): string | undefined {
  const target = consentRecord(file, env);
  if (!isOwn(path.dirname(target)) || !isOwn(target)) return undefined;
  try {
    const text = readFileSync(target, 'utf8');
    const hash = text.slice(0, 64);
    return text === recordText(hash, file) ? hash : undefined;
  } catch {
    return undefined;
  }
}

/** What another user could have written is no consent. */
function isOwn(place: string): boolean {
  const stat = lstatSync(place, { throwIfNoEntry: false });
  if (stat === undefined || stat.isSymbolicLink()) return false;
  return process.geteuid === undefined || (stat.uid === process.geteuid() && (stat.mode & 0o022) === 0);
}
