// Reads a tape. It may be anybody's: names, sizes and contents are checked, and no link leads out of its folder.
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import { CliError } from '../cli-error.ts';
import { messageOf } from '../errors.ts';
import {
  ANSWER_FORMS,
  answerFile,
  EXCHANGE_FILE,
  EXCHANGE_FOLDER,
  HEAD_FILE,
  isLine,
  providerSide,
  readExchange,
  readHead,
  requestFile,
  type AttemptHead,
  type ExchangeHead,
  type TapeHead,
} from './format.ts';
import { jsonOf } from './json.ts';
import { frameOf, type TimedFrame } from './frames.ts';

export interface Tape {
  folder: string;
  head: TapeHead;
  /** In the order in which the requests arrived. */
  exchanges: readonly TapedExchange[];
}

/** A request with its answer. Bodies are read when they are asked for. */
export interface TapedExchange extends TapedSide {
  /** Its folder in the tape: `0001`. */
  number: string;
  head: ExchangeHead;
  attempts: readonly TapedAttempt[];
}

interface TapedSide {
  /** The body as JSON text; undefined: it was not read. */
  request(): string | undefined;
  /** undefined: there was none. */
  answer(): TapedAnswer | undefined;
}

/** A request to a provider. */
export interface TapedAttempt extends TapedSide {
  head: AttemptHead;
}

export type TapedAnswer = { form: 'stream'; frames: readonly TimedFrame[] } | { form: 'whole'; text: string };

/** Of one file, and of one tape. */
const MOST_BYTES = 128 * 1024 * 1024;
const MOST_EXCHANGES = 20_000;

/** Throws CliError for what is no tape. An exchange that was not written to its end is left out. */
export function readTape(folder: string): Tape {
  const found = readHead(jsonIn(path.join(folder, HEAD_FILE), () => noTape(folder)));
  if (typeof found === 'string')
    throw new CliError(`${path.join(folder, HEAD_FILE)}: ${found}; it is no tape of this version`);
  const numbers = readdirSync(folder)
    .filter((name) => EXCHANGE_FOLDER.test(name) && isOwnFolder(path.join(folder, name)))
    .sort(byNumber);
  if (numbers.length > MOST_EXCHANGES)
    throw new CliError(`${folder} holds more than ${MOST_EXCHANGES} requests`);
  return { folder, head: found, exchanges: numbers.flatMap((number) => exchangeIn(folder, number)) };
}

/** A link may lead out of the tape. */
const isOwnFolder = (folder: string): boolean =>
  lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;

const byNumber = (a: string, b: string): number => Number(a) - Number(b);

function noTape(folder: string): CliError {
  const exists = statSync(folder, { throwIfNoEntry: false }) !== undefined;
  const why = exists ? `it has no ${HEAD_FILE}` : 'it does not exist';
  return new CliError(`${folder} is no tape: ${why}; gateway record NAME -- COMMAND makes one`);
}

function exchangeIn(folder: string, number: string): TapedExchange[] {
  const at = (name: string): string => path.join(folder, number, name);
  const value = jsonIn(at(EXCHANGE_FILE), () => undefined);
  if (value === undefined) return [];
  const head = readExchange(value);
  if (typeof head === 'string') throw new CliError(`${at(EXCHANGE_FILE)}: ${head}`);
  const side = (name: string): TapedSide => ({
    request: () => textIn(at(requestFile(name))),
    answer: () => answerIn(at, name),
  });
  const attempts = head.attempts.map((attempt, index) => ({
    head: attempt,
    ...side(providerSide(index + 1)),
  }));
  return [{ number, head, attempts, ...side('client') }];
}

function answerIn(at: (name: string) => string, side: string): TapedAnswer | undefined {
  for (const form of ANSWER_FORMS) {
    const file = at(answerFile(side, form));
    const text = textIn(file);
    if (text === undefined) continue;
    return form === 'jsonl' ? { form: 'stream', frames: framesIn(text, file) } : { form: 'whole', text };
  }
  return undefined;
}

function framesIn(text: string, file: string): TimedFrame[] {
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    const value = jsonOf(line);
    if (!isLine(value)) throw new CliError(`${file}:${index + 1}: is no line of a stream`);
    return [frameOf(line, value as Parameters<typeof frameOf>[1])];
  });
}

/** What `missing` gives, or throws, if there is no such file. */
function jsonIn<T>(file: string, missing: () => T): unknown {
  const text = textIn(file);
  if (text === undefined) {
    const given = missing();
    if (given instanceof Error) throw given;
    return given;
  }
  const value = jsonOf(text);
  if (value === undefined) throw new CliError(`${file}: is no JSON`);
  return value;
}

/** undefined: there is no such file. Throws CliError for what is no file, is too large, or can't be read. */
function textIn(file: string): string | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(
      file,
      constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0),
    );
  } catch (error) {
    if (
      (error as NodeJS.ErrnoException).code === 'ENOENT' ||
      (error as NodeJS.ErrnoException).code === 'ENOTDIR'
    )
      return undefined;
    throw new CliError(`${file} can't be read: ${messageOf(error)}`);
  }
  try {
    const stat = fstatSync(descriptor);
    if (!stat.isFile() || stat.size > MOST_BYTES) throw new CliError(`${file} is no file of a tape`);
    return readFileSync(descriptor, 'utf8');
  } finally {
    closeSync(descriptor);
  }
}
