// One record an event, written in batches to a given stream: JSON lines, or lines for people. A log must never end the
// process nor hold a request back nor grow: a closed, full or unread pipe loses records, nothing else.
import { pino } from 'pino';

export type Fields = Record<string, unknown>;

export interface Logger {
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** Writes what is waiting. */
  flush(): void;
}

export type LogFormat = 'pretty' | 'json' | 'off';

interface Output {
  write(text: string): unknown;
  /** What its reader did not take yet. */
  readonly writableLength?: number | undefined;
  on?(event: 'error', listener: () => void): unknown;
}

const FLUSH_MS = 50;
const FLUSH_BYTES = 64 * 1024;
/** Records are dropped while more than this waits for the reader, and until half of it is gone. */
const MOST_WAITING = 1024 * 1024;

export function createLog(options: { format: LogFormat; stream: Output; colors?: boolean }): Logger {
  const { format, stream } = options;
  if (format === 'off') return silentLog;
  stream.on?.('error', () => undefined);
  let waiting = '';
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  const isFull = (): boolean => {
    const most = dropped === 0 ? MOST_WAITING : MOST_WAITING / 2;
    return waiting.length + (stream.writableLength ?? 0) > most;
  };
  const sayDropped = (): void => {
    const records = dropped;
    dropped = 0;
    log.warn({ records }, 'log records were dropped: nobody read the log');
  };
  const flush = (): void => {
    if (dropped > 0 && !isFull()) sayDropped();
    clearTimeout(timer);
    timer = undefined;
    if (waiting === '') return;
    const text = waiting;
    waiting = '';
    try {
      stream.write(text);
    } catch {
      // The reader of the log is gone; the gateway goes on.
    }
  };
  const line = format === 'json' ? (record: string) => record : prettyLine(options.colors ?? false);
  const destination = {
    write(record: string): void {
      waiting += line(withoutKeys(record));
      if (waiting.length > FLUSH_BYTES) flush();
      else timer ??= setTimeout(flush, FLUSH_MS).unref();
    },
  };
  const log = pino(
    { base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (level) => ({ level }) } },
    destination,
  );
  const writer =
    (level: 'info' | 'warn' | 'error') =>
    (message: string, fields: Fields = {}): void => {
      if (isFull()) {
        dropped += 1;
        return;
      }
      if (dropped > 0) sayDropped();
      log[level](cutMembers(fields), cut(message, LONGEST_MESSAGE));
    };
  return { info: writer('info'), warn: writer('warn'), error: writer('error'), flush };
}

/** Strangers choose names and paths: characters of each that the log keeps. What is not named here is a name. */
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
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  flush: () => undefined,
};

const COLORS: Record<string, string> = { info: '32', warn: '33', error: '31' };

/** `12:00:01 info  message  member=value …`: members in the order in which they were given. */
function prettyLine(colors: boolean): (record: string) => string {
  const paint: Paint = (code, text) => (colors ? `\x1b[${code}m${text}\x1b[0m` : text);
  return (record) => {
    const { level, time, msg, ...fields } = JSON.parse(record) as Record<string, unknown>;
    const name = typeof level === 'string' ? level : 'info';
    const clock = typeof time === 'string' ? time.slice(11, 19) : '';
    if (isRequest(fields)) return requestLine(clock, fields, COLORS[name] ?? '0', paint);
    if (isRefusal(fields)) return refusalLine(clock, fields, COLORS[name] ?? '0', paint);
    const members = Object.entries(fields)
      .filter(([, value]) => value !== null)
      .map(([member, value]) => `${paint('2', `${member}=`)}${plain(value)}`);
    const head = `${paint('2', clock)} ${paint(COLORS[name] ?? '0', name.padEnd(5))} ${plain(msg)}`;
    return `${[head, ...members].join('  ')}\n`;
  };
}

/** What the record of a request holds, beside what only JSON lines show. */
interface Answered {
  account: string;
  model: string;
  target?: string;
  status: number;
  error?: string;
  input?: number;
  output?: number;
  first_byte_ms?: number;
  ms: number;
}

function isRequest(fields: object): fields is Answered {
  const { account, model, status, ms } = fields as Partial<Answered>;
  return (
    typeof account === 'string' &&
    typeof model === 'string' &&
    typeof status === 'number' &&
    typeof ms === 'number'
  );
}

type Paint = (code: string, text: string) => string;

const LINE_WIDTH = 100;
const ACCOUNT_WIDTH = 16;

/** `12:00:01 200  alice  auto → anthropic/claude-sonnet-5  12.3k → 678 tokens  321ms  4.6s`, in 100 columns at most. */
function requestLine(clock: string, answered: Answered, color: string, paint: Paint): string {
  const {
    account,
    model,
    target = 'none',
    status,
    error,
    input,
    output,
    first_byte_ms: first,
    ms,
  } = answered;
  const who = fitted(plain(account), ACCOUNT_WIDTH);
  const numbers = [
    `${short(input)} → ${short(output)} tokens`,
    first === undefined ? '-' : span(first),
    span(ms),
    ...(error === undefined ? [] : [plain(error)]),
  ].join('  ');
  const room = LINE_WIDTH - `${clock} ${status}  `.length - widthOf(who) - numbers.length - 4;
  const asked = plain(model);
  const reached = plain(target);
  const names =
    asked === reached
      ? fitted(asked, room)
      : `${fitted(asked, Math.max(Math.floor((room - 3) / 2), room - 3 - widthOf(reached)))} → `;
  const where = asked === reached ? names : names + fitted(reached, room - widthOf(names));
  return `${paint('2', clock)} ${paint(color, String(status))}  ${who}  ${where}  ${paint('2', numbers)}\n`;
}

/** What a request that was not let through was told; its client has the whole of it. */
interface Refused {
  path: string;
  status: number;
  message: string;
}

function isRefusal(fields: object): fields is Refused {
  const { path, status, message } = fields as Partial<Refused>;
  return typeof path === 'string' && typeof status === 'number' && typeof message === 'string';
}

const PATH_WIDTH = 32;

function refusalLine(clock: string, { path, status, message }: Refused, color: string, paint: Paint): string {
  const where = fitted(plain(path), PATH_WIDTH);
  const room = LINE_WIDTH - `${clock} ${status}  `.length - widthOf(where) - 2;
  return `${paint('2', clock)} ${paint(color, String(status))}  ${where}  ${fitted(plain(message), room)}\n`;
}

function short(count: number | undefined): string {
  if (count === undefined) return '?';
  const [unit, size] = count >= 999_950 ? ['M', 1_000_000] : ['k', 1000];
  return count < 1000 ? String(count) : `${(count / size).toFixed(1)}${unit}`;
}

function span(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)}ms` : `${(ms / 1000).toFixed(1)}s`;
}

/** Columns of a terminal, never fewer than it takes: what is beyond the alphabets may be wide. */
function widthOf(text: string): number {
  let width = 0;
  for (const char of text) width += (char.codePointAt(0) ?? 0) > 0x10ff ? 2 : 1;
  return width;
}

function fitted(text: string, room: number): string {
  if (widthOf(text) <= room) return text;
  let result = '';
  let width = 2;
  for (const char of text) {
    width += widthOf(char);
    if (width > room) break;
    result += char;
  }
  return `${result}…`;
}

/** Control characters from strangers never reach the terminal raw. */
function plain(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  // eslint-disable-next-line no-control-regex -- they are what is looked for
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (char) => JSON.stringify(char).slice(1, -1));
}

/** More of a secret than a person is shown to recognise it by. A path may hold it percent-encoded. */
const KEY = /sk(?:-|%2[dD])gw(?:-|%2[dD])[0-9A-Za-z]{10,}/g;

/** Keys of this gateway in places where no key belongs, such as a model's name or a path, are never written down nor sent back. */
export function withoutKeys(text: string): string {
  return text.includes('gw') ? text.replace(KEY, 'sk-gw-[redacted]') : text;
}
