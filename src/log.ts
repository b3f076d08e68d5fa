// One record an event, written in batches to a given stream: JSON lines, or lines for people. A log must never end the
// process nor hold a request back: a closed or full pipe loses records, nothing else.
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
  on?(event: 'error', listener: () => void): unknown;
}

const FLUSH_MS = 50;
const FLUSH_BYTES = 64 * 1024;

export function createLog(options: { format: LogFormat; stream: Output; colors?: boolean }): Logger {
  const { format, stream } = options;
  if (format === 'off') return silentLog;
  stream.on?.('error', () => undefined);
  let waiting = '';
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
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
  return {
    info: (message, fields) => log.info(fields ?? {}, message),
    warn: (message, fields) => log.warn(fields ?? {}, message),
    error: (message, fields) => log.error(fields ?? {}, message),
    flush,
  };
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
  const paint = (code: string, text: string): string => (colors ? `\x1b[${code}m${text}\x1b[0m` : text);
  return (record) => {
    const { level, time, msg, ...fields } = JSON.parse(record) as Record<string, unknown>;
    const name = typeof level === 'string' ? level : 'info';
    const members = Object.entries(fields)
      .filter(([, value]) => value !== null)
      .map(([member, value]) => `${paint('2', `${member}=`)}${plain(value)}`);
    const clock = typeof time === 'string' ? time.slice(11, 19) : '';
    const head = `${paint('2', clock)} ${paint(COLORS[name] ?? '0', name.padEnd(5))} ${plain(msg)}`;
    return `${[head, ...members].join('  ')}\n`;
  };
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
