// Tables that fit the terminal: aligned by displayed width (wide and combining characters count correctly), with shortened columns
// or as records if the terminal is too narrow, without colour in a pipe.
import { displayWidth, truncate } from '../../display-width.ts';
import { plainStyle, type Style } from './style.ts';

export interface Cell {
  text: string;
  paint?: keyof Style | undefined;
}

export interface Column<Row> {
  title: string;
  value: (row: Row) => string | Cell;
  align?: 'left' | 'right';
  /** The column may be cut to make the table fit. IDs and keys must not be cut. */
  shrinks?: boolean;
  /** The greatest width; what is longer is cut. */
  shortest?: number;
  /** The width without longer values. */
  least?: number;
}

const GAP = 2;
const SHORTEST = 8;
/** Columns of a value in a record, also on a narrower terminal. */
const NARROWEST = 20;
/** In a table without a limit, a longer cell exceeds its column instead of widening the column for all rows. */
const WIDEST = 80;

/** A list is cut between two items, so that no name is shown in part. */
function truncateList(text: string, width: number): string {
  const shown = truncate(text, width);
  const lastItem = shown === text ? -1 : shown.lastIndexOf(', ');
  return lastItem < 1 ? shown : `${shown.slice(0, lastItem)}, …`;
}

/** Lines of whole words in at most `width` columns. A longer word gets a line of its own. */
export function wrapWords(words: readonly string[], separator: string, width: number = Infinity): string[] {
  const lines: string[] = [];
  let line = '';
  for (const [index, word] of words.entries()) {
    const last = index === words.length - 1;
    const piece = last ? word : word + separator;
    if (line !== '' && displayWidth((line + piece).trimEnd()) > width) {
      lines.push(line.trimEnd());
      line = '';
    }
    line += piece;
  }
  return line === '' ? lines : [...lines, line.trimEnd()];
}

/** A sentence in lines of whole words. Lines after the first are indented. */
export function wrapText(text: string, width: number | undefined, indent = ''): string[] {
  if (width === undefined || displayWidth(text) <= width) return [text];
  const lines = wrapWords(text.split(' '), ' ', width - indent.length);
  return lines.map((line, index) => (index === 0 ? line : indent + line));
}

/** `isPlain`: the text is as wide as it has characters. */
function pad(text: string, width: number, align: 'left' | 'right', isPlain = false): string {
  const length = isPlain ? width : width + text.length - displayWidth(text);
  return align === 'right' ? text.padStart(length) : text.padEnd(length);
}

/** Shrinks the widest column that may shrink, by one at a time, until the table fits; undefined: it cannot fit. */
function fit(
  widths: readonly number[],
  columns: readonly Pick<Column<never>, 'shrinks' | 'shortest'>[],
  limit: number | undefined,
): number[] | undefined {
  const result = [...widths];
  const total = (): number => result.reduce((sum, width) => sum + width + GAP, -GAP);
  while (limit !== undefined && total() > limit) {
    let widest = -1;
    for (const [index, width] of result.entries()) {
      const { shrinks, shortest = SHORTEST } = columns[index] ?? {};
      if (shrinks && width > shortest && width > (result[widest] ?? 0)) widest = index;
    }
    const width = result[widest];
    if (width === undefined) return undefined;
    result[widest] = width - 1;
  }
  return result;
}

interface Filled {
  column: Omit<Column<never>, 'value'>;
  cells: readonly (string | Cell)[];
  /** Of the title and the longest cell. */
  width: number;
  /** Each cell is as wide as it has characters. */
  isPlain: boolean;
}

const textOf = (cell: string | Cell): string => (typeof cell === 'string' ? cell : cell.text);

/** Row by row, so that a long report keeps only its cells. */
function fill<Row>(
  rows: Iterable<Row>,
  columns: readonly Column<Row>[],
  limit: number | undefined,
): Filled[] {
  const parts = columns.map((column) => ({
    column,
    cells: [] as (string | Cell)[],
    width: Math.max(column.least ?? 0, displayWidth(column.title)),
    isPlain: true,
    most: limit === undefined || column.shrinks === true ? (limit ?? WIDEST) : Infinity,
  }));
  for (const row of rows) {
    for (const part of parts) {
      const cell = part.column.value(row);
      part.cells.push(cell);
      const text = textOf(cell);
      const width = displayWidth(text);
      if (width > part.width) part.width = Math.max(part.width, Math.min(part.most, width));
      if (width !== text.length) part.isPlain = false;
    }
  }
  return parts;
}

/** Each row as a record: a line `title  value` for each column. */
function records(
  columns: readonly Filled[],
  rows: number,
  style: Style,
  limit: number | undefined,
): string[] {
  const width = Math.max(...columns.map(({ column }) => displayWidth(column.title)));
  const room = limit && Math.max(NARROWEST, limit - width - GAP);
  return Array.from({ length: rows }, (_, row) => {
    const lines = columns.flatMap(({ column, cells }) => {
      const cell = cells[row] ?? '';
      const paint = typeof cell !== 'string' && cell.paint ? style[cell.paint] : plainStyle.bold;
      return wrapText(textOf(cell), room).map((line, at) => {
        const title = at === 0 ? column.title : '';
        return `${style.dim(pad(title, width, 'left'))}${' '.repeat(GAP)}${paint(line)}`;
      });
    });
    return row === 0 ? lines : ['', ...lines];
  }).flat();
}

interface Options {
  width?: number | undefined;
  style?: Style;
  /** Titles of columns that a table leaves out to fit, the first ones first. */
  optional?: readonly (readonly string[])[];
}

/** The lines of a table in at most `width` columns (undefined: no limit). */
export function table<Row>(
  rows: Iterable<Row>,
  columns: readonly Column<Row>[],
  { width: limit, style = plainStyle, optional = [] }: Options = {},
): string[] {
  const all = fill(rows, columns, limit);
  const count = all[0]?.cells.length ?? 0;
  const left = new Set(columns.map(({ title }) => title));
  for (const titles of [[], ...optional]) {
    for (const title of titles) left.delete(title);
    const shown = all.filter(({ column }) => left.has(column.title));
    const widths = fit(
      shown.map(({ width }) => width),
      shown.map(({ column }) => column),
      limit,
    );
    if (widths !== undefined) return fittedLines(shown, count, widths, { limit, style });
  }
  return records(all, count, style, limit);
}

function fittedLines(
  columns: readonly Filled[],
  rows: number,
  widths: readonly number[],
  { limit, style }: { limit: number | undefined; style: Style },
): string[] {
  const gap = ' '.repeat(GAP);
  const last = columns.length - 1;
  const line = (cellOf: (column: Filled) => string | Cell): string => {
    const texts = columns.map((filled, index) => {
      const cell = cellOf(filled);
      const width = widths[index] ?? 0;
      const mayCut = limit !== undefined && filled.column.shrinks === true;
      const shown = mayCut ? truncateList(textOf(cell), width) : textOf(cell);
      const padded = pad(shown, width, filled.column.align ?? 'left', filled.isPlain && !mayCut);
      const fitted = index === last ? padded.trimEnd() : padded;
      const paint = typeof cell === 'string' ? undefined : cell.paint;
      return paint ? style[paint](fitted) : fitted;
    });
    return texts.join(gap).trimEnd();
  };
  return [
    line(({ column }) => ({ text: column.title, paint: 'dim' })),
    ...Array.from({ length: rows }, (_, row) => line(({ cells }) => cells[row] ?? '')),
  ];
}

const LABEL = 13;
/** The text of a label gets at least this many columns. */
const NARROWEST_TEXT = 24;

/** Makes lines of a label and its texts. `width`: of the terminal; undefined: a pipe. */
export function labelledBy({ width, style }: { width: number | undefined; style: Style }) {
  const room = width && Math.max(NARROWEST_TEXT, width - LABEL);
  return (label: string, texts: readonly string[]): string[] =>
    texts
      .flatMap((text) => wrapText(text, room, '  '))
      .map((line, at) => `${style.dim((at === 0 ? label : '').padEnd(LABEL))}${line}`);
}
