// Log records for people: a request is one line, as wide as the terminal up to 160 columns; all other records wrap at words.
import { plural } from './plural.ts';
import { displayWidth, truncate } from './display-width.ts';
import { formatElapsed } from './elapsed.ts';

/** Text that is broken only if it is longer than a line. `label` is dim and stays with it. */
interface Word {
  text: string;
  label?: string;
  /** The escape code of a colour. */
  code?: string;
  /** Columns between it and the word before, on the same line. */
  gap: number;
}

interface Shown {
  words: Word[];
  /** Columns before each line but the first. */
  indent: number;
}

const COLORS: Record<string, string> = { info: '32', warn: '33', error: '31' };
const DIM = '2';

const LINE_WIDTH = 100;
/** A wider terminal shows more of the names and the message of a request. */
const REQUEST_WIDTH = 160;
const NARROWEST = 32;

/** Makes the function that formats a record (a line of JSON) for a terminal of `columns`, or for another output. */
export function createPretty(colors: boolean): (record: string, columns?: number) => string {
  const paint = (code: string | undefined, text: string): string =>
    colors && code !== undefined && text !== '' ? `\x1b[${code}m${text}\x1b[0m` : text;
  return (record, columns = LINE_WIDTH) => {
    const { level, time, msg, ...fields } = JSON.parse(record) as Record<string, unknown>;
    const name = typeof level === 'string' ? level : 'info';
    const clock = typeof time === 'string' ? time.slice(11, 19) : '';
    const code = COLORS[name];
    const head = (mark: string): Word[] => [
      { text: clock, code: DIM, gap: 0 },
      { text: mark, code, gap: 1 },
    ];
    const room = Math.max(NARROWEST, Math.min(REQUEST_WIDTH, columns || LINE_WIDTH));
    if (isRequest(fields))
      return laidOut(requestWords(head(String(fields.status)), fields, room), room, paint);
    if (isRefusal(fields))
      return laidOut(refusalWords(head(String(fields.status)), fields, room), room, paint);
    const width = Math.min(LINE_WIDTH, room);
    return laidOut(recordWords(head(name.padEnd(5)), msg, fields), width, paint);
  };
}

function laidOut(
  { words, indent }: Shown,
  width: number,
  paint: (code: string | undefined, text: string) => string,
): string {
  let lines = '';
  let used = 0;
  for (const { text, label = '', code, gap } of words) {
    const size = displayWidth(label) + displayWidth(text);
    const fits = used === 0 || used + gap + size <= width;
    lines += fits ? ' '.repeat(gap) : `\n${' '.repeat(indent)}`;
    used = (fits ? used + gap : indent) + displayWidth(label);
    lines += paint(DIM, label);
    // Text without spaces, such as a name, is broken at the end of the line.
    for (const [at, piece] of pieces(text, width - used, width - indent).entries()) {
      if (at > 0) {
        lines += `\n${' '.repeat(indent)}`;
        used = indent;
      }
      lines += paint(code, piece);
      used += displayWidth(piece);
    }
  }
  return `${lines}\n`;
}

/** The text in pieces: the first of at most `first` columns, all others of at most `room`. */
function pieces(text: string, first: number, room: number): string[] {
  if (displayWidth(text) <= first) return [text];
  const result: string[] = [];
  let piece = '';
  let left = first;
  for (const char of text) {
    const width = displayWidth(char);
    if (width > left) {
      result.push(piece);
      piece = '';
      left = room;
    }
    piece += char;
    left -= width;
  }
  return [...result, piece];
}

function sentence(text: string, gap: number): Word[] {
  return text.split(' ').map((word, at) => ({ text: word, gap: at === 0 ? gap : 1 }));
}

/** `12:00:01 info   message  member=value …`: members in the given order. */
function recordWords(head: Word[], message: unknown, fields: Record<string, unknown>): Shown {
  const members = Object.entries(fields)
    .filter(([, value]) => value !== null)
    .flatMap(([member, value]) => {
      const [first, ...others] = sentence(plain(value), 2);
      return [{ text: '', gap: 2, ...first, label: `${member}=` }, ...others];
    });
  return { words: [...head, ...sentence(plain(message), 1), ...members], indent: '12:00:01 info  '.length };
}

/** The members of a request's record that are shown; JSON lines have more. */
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
  /** Which process served it, if there are several. */
  worker?: number;
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

const ACCOUNT_WIDTH = { narrow: 16, wide: 32 };
const STATUS_INDENT = '12:00:01 200  '.length;

/** `12:00:01 200  alice  auto → anthropic/claude-sonnet-5  12.3k → 678 tokens  321ms  4.6s`; a narrow terminal wraps it. */
function requestWords(head: Word[], answered: Answered, width: number): Shown {
  const { account, model, target = 'none', error, input, output, first_byte_ms: first, ms } = answered;
  const who = truncate(plain(account), ACCOUNT_WIDTH[width > LINE_WIDTH ? 'wide' : 'narrow']);
  const numbers = [
    `${short(input)} → ${plural(output ?? 0, 'token', short(output))}`,
    formatElapsed(first ?? null),
    formatElapsed(ms),
    ...(error === undefined ? [] : [plain(error)]),
    ...workerPart(answered),
  ];
  const beside = width < LINE_WIDTH ? 0 : displayWidth(who) + 2 + displayWidth(numbers.join('  ')) + 2;
  const where = namesFitted(plain(model), plain(target), width - STATUS_INDENT - beside);
  const words = [
    ...head,
    { text: who, gap: 2 },
    { text: where, gap: 2 },
    ...numbers.map((text) => ({ text, code: DIM, gap: 2 })),
  ];
  return { words, indent: STATUS_INDENT };
}

const workerPart = ({ worker }: { worker?: number }): string[] =>
  worker === undefined ? [] : [`worker=${worker}`];

function namesFitted(asked: string, reached: string, room: number): string {
  if (asked === reached) return truncate(asked, room);
  const names = `${truncate(asked, Math.max(Math.floor((room - 3) / 2), room - 3 - displayWidth(reached)))} → `;
  return names + truncate(reached, room - displayWidth(names));
}

/** A refused request; its client got the whole message. */
interface Refused {
  path: string;
  status: number;
  message: string;
  worker?: number;
}

function isRefusal(fields: object): fields is Refused {
  const { path, status, message } = fields as Partial<Refused>;
  return typeof path === 'string' && typeof status === 'number' && typeof message === 'string';
}

const PATH_WIDTH = 32;

/** At least 100 columns, on several lines of a narrow terminal. */
function refusalWords(head: Word[], refused: Refused, width: number): Shown {
  const where = truncate(plain(refused.path), PATH_WIDTH);
  const by = workerPart(refused);
  const room = Math.max(LINE_WIDTH, width) - STATUS_INDENT - displayWidth([where, ...by].join('  ')) - 2;
  const words = [
    ...head,
    { text: where, gap: 2 },
    ...sentence(truncate(plain(refused.message), room), 2),
    ...by.map((text) => ({ text, code: DIM, gap: 2 })),
  ];
  return { words, indent: STATUS_INDENT };
}

function short(count: number | undefined): string {
  if (count === undefined) return '?';
  const [unit, size] = count >= 999_950 ? ['M', 1_000_000] : ['k', 1000];
  return count < 1000 ? String(count) : `${(count / size).toFixed(1)}${unit}`;
}

/** Control characters from strangers never reach the terminal raw. */
function plain(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  // eslint-disable-next-line no-control-regex -- it looks for control characters
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (char) => JSON.stringify(char).slice(1, -1));
}
