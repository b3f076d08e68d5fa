// A terminal with a memory of what it shows, for what moves its cursor.
import { stripVTControlCharacters } from 'node:util';

export interface Screen {
  /** All that was written. */
  text: string;
  isTTY: true;
  columns: number;
  write(text: string): boolean;
  cursorTo(column: number): boolean;
  moveCursor(columns: number, lines: number): boolean;
  clearLine(direction: -1 | 0 | 1): boolean;
  /** What stands on it, without colours and empty lines at the end. */
  lines(): string[];
}

export function createScreen(columns: number): Screen {
  const rows: string[] = [''];
  let at = 0;
  let column = 0;
  const put = (char: string): void => {
    if (char === '\n' || column === columns) {
      at += 1;
      column = 0;
    }
    if (char === '\n') return;
    const row = (rows[at] ?? '').padEnd(column);
    rows[at] = row.slice(0, column) + char + row.slice(column + 1);
    column += 1;
  };
  return {
    text: '',
    isTTY: true,
    columns,
    write(text) {
      this.text += text;
      for (const char of stripVTControlCharacters(text)) put(char);
      return true;
    },
    cursorTo(to) {
      column = to;
      return true;
    },
    moveCursor(by, lines) {
      column = Math.max(0, column + by);
      at = Math.max(0, at + lines);
      return true;
    },
    clearLine(direction) {
      const row = rows[at] ?? '';
      rows[at] = direction === 1 ? row.slice(0, column) : '';
      return true;
    },
    lines() {
      const shown = rows.map((row) => row.trimEnd());
      return shown.slice(0, shown.findLastIndex((row) => row !== '') + 1);
    },
  };
}
