// The log: one record per event, written in batches to a stream, as JSON lines or as lines for people. It never ends the process, delays
// a request or grows without bound: if the pipe is closed, full or unread, records are dropped, and nothing else happens.
import { pino } from 'pino';
import { createPretty } from './pretty-log.ts';
import { withoutKeys } from './ids.ts';

export type Fields = Record<string, unknown>;

export interface Logger {
  /** All records are discarded, so none need be made. */
  readonly isOff?: boolean;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** Writes the records that wait. */
  flush(): void;
  /** Records that were lost so far: nobody read them, or they could not be written. */
  readonly lost?: () => number;
}

/** The log of a process that others write into, too. */
export interface SharedLog extends Logger {
  /** Adds a record (a line of JSON) that another process made. */
  relay(record: string): void;
}

export type LogFormat = 'pretty' | 'json' | 'off';

interface Output {
  /** Throws, or calls back with an error, where the text could not be written. */
  write(text: string, done?: (error?: Error | null) => void): unknown;
  /** Bytes that its reader has not taken yet. */
  readonly writableLength?: number | undefined;
  /** Of a terminal. */
  readonly columns?: number | undefined;
  on?(event: 'error', listener: () => void): unknown;
}

const FLUSH_MS = 50;
const FLUSH_BYTES = 64 * 1024;
/** Records are dropped while more than this waits for the reader, and until half of it is gone. */
const MOST_WAITING = 1024 * 1024;

export function createLog(options: {
  format: LogFormat;
  stream: Output;
  colors?: boolean;
  /** Fields of every record. */
  fields?: Fields;
}): SharedLog {
  const { format, stream } = options;
  if (format === 'off') return { ...silentLog, relay: () => undefined };
  stream.on?.('error', () => undefined);
  let waiting = '';
  const losses = createLosses((records, message) => log.warn({ records }, message));
  let timer: NodeJS.Timeout | undefined;
  const isFull = (): boolean => {
    const most = losses.dropped === 0 ? MOST_WAITING : MOST_WAITING / 2;
    return waiting.length + (stream.writableLength ?? 0) > most;
  };
  const flush = (): void => {
    if (losses.dropped > 0 && !isFull()) losses.reportDropped();
    clearTimeout(timer);
    timer = undefined;
    if (waiting === '') return;
    const text = waiting;
    waiting = '';
    try {
      stream.write(text, (error) => {
        if (error) losses.failed(text);
        else losses.reportUnwritten();
      });
    } catch {
      // The reader of the log is gone, or the disk is full; the gateway keeps running.
      losses.failed(text);
    }
  };
  const pretty = createPretty(options.colors ?? false);
  const line =
    format === 'json' ? (record: string) => record : (record: string) => pretty(record, stream.columns);
  const destination = {
    write(record: string): void {
      waiting += line(withoutKeys(record));
      if (waiting.length > FLUSH_BYTES) flush();
      else timer ??= setTimeout(flush, FLUSH_MS).unref();
    },
  };
  const log = pino(
    {
      base: options.fields ?? null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
    },
    destination,
  );
  const writer =
    (level: 'info' | 'warn' | 'error') =>
    (message: string, fields: Fields = {}): void => {
      if (isFull()) {
        losses.drop();
        return;
      }
      if (losses.dropped > 0) losses.reportDropped();
      log[level](cutMembers(fields), cut(message, LONGEST_MESSAGE));
    };
  const relay = (record: string): void => {
    if (isFull()) losses.drop();
    else destination.write(`${record}\n`);
  };
  return {
    info: writer('info'),
    warn: writer('warn'),
    error: writer('error'),
    flush,
    relay,
    lost: () => losses.all,
  };
}

/** Counts the records that were lost, in all and since the log last said so. */
function createLosses(warn: (records: number, message: string) => void) {
  let unwritten = 0;
  return {
    all: 0,
    dropped: 0,
    drop(): void {
      this.dropped += 1;
      this.all += 1;
    },
    /** `text`: lines that could not be written. */
    failed(text: string): void {
      const records = text.split('\n').length - 1;
      unwritten += records;
      this.all += records;
    },
    reportDropped(): void {
      const records = this.dropped;
      this.dropped = 0;
      warn(records, 'log records were dropped: nobody read the log');
    },
    /** To be called when something could be written. */
    reportUnwritten(): void {
      if (unwritten === 0) return;
      const records = unwritten;
      unwritten = 0;
      warn(records, 'log records were lost: they could not be written');
    },
  };
}

/** Clients choose names and paths, so each is cut after so many characters. Fields that are not listed are names. */
const LONGEST: Readonly<Record<string, number>> = { path: 512, message: 2000, reason: 2000, detail: 8000 };
const LONGEST_NAME = 256;
const LONGEST_MESSAGE = 2000;
const MOST_ITEMS = 50;

function cutMembers(fields: Fields): Fields {
  const result: Fields = {};
  for (const name in fields) {
    const value = fields[name];
    const short =
      typeof value === 'string' || typeof value === 'object' ? cutValue(value, LONGEST[name]) : value;
    result[cut(name, LONGEST_NAME)] = short;
  }
  return result;
}

function cutValue(value: unknown, most = LONGEST_NAME): unknown {
  if (typeof value === 'string') return cut(value, most);
  if (Array.isArray(value)) {
    const items: unknown[] = value.slice(0, MOST_ITEMS).map((item: unknown) => cutValue(item));
    return value.length > MOST_ITEMS ? [...items, `… and ${value.length - MOST_ITEMS} more`] : items;
  }
  return typeof value === 'object' && value !== null ? cutMembers(value as Fields) : value;
}

function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  // Not in the middle of a surrogate pair.
  const last = text.charCodeAt(most - 1);
  return `${text.slice(0, last >= 0xd800 && last <= 0xdbff ? most - 1 : most)}…`;
}

export const silentLog: Logger = {
  isOff: true,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  flush: () => undefined,
};
