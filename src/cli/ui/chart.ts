// Draws with block characters: a column chart of the requests of each hour, and a meter for a limit.
import { formatShort, plainStyle, type Style } from './style.ts';
import type { Cell } from './table.ts';
import { HOUR_MS } from '../../clock.ts';

/** Blocks of 0 to 8 eighths, filled from below and from the left. */
const RISING = ['', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const FILLING = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
const EIGHTHS = 8;

/** `████▌░░░`: the used part of a limit. */
export function meter(used: number, limit: number, width: number, style: Style = plainStyle): string {
  const share = limit > 0 ? Math.min(1, used / limit) : 1;
  const eighths = used > 0 ? Math.max(1, Math.floor(share * width * EIGHTHS)) : 0;
  const full = Math.floor(eighths / EIGHTHS);
  const bar = '█'.repeat(full) + (FILLING[eighths % EIGHTHS] ?? '');
  const rest = '░'.repeat(width - bar.length);
  return style[levelOf(share)](bar) + style.dim(rest);
}

/** The meter as a cell of a table. */
export function meterCell(used: number, limit: number, width: number): Cell {
  return { text: meter(used, limit, width), paint: levelOf(limit > 0 ? used / limit : 1) };
}

function levelOf(share: number): 'green' | 'yellow' | 'red' {
  if (share >= 1) return 'red';
  return share >= 0.8 ? 'yellow' : 'green';
}

interface HourCount {
  /** The start of the hour, milliseconds since the epoch. */
  hour: number;
  requests: number;
}

interface ChartOptions {
  /** Lines of the bars, without the axis. */
  height: number;
  width: number;
  /** Hours that reached the limit are marked. */
  limit: number;
  style?: Style;
}

interface Bar {
  /** Its first hour, milliseconds since the epoch. */
  at: number;
  requests: number;
  /** One of its hours reached the limit. */
  full: boolean;
}

// Hours per bar: the smallest number with which the chart fits the width; beyond these, whole days.
const BUCKETS = [1, 2, 3, 4, 6, 8, 12];

function bucketHours(hours: number, room: number): number {
  // Buckets begin at whole multiples of their size, so the first and the last may be incomplete: one bucket more.
  const small = BUCKETS.find((size) => (size === 1 ? hours : Math.ceil(hours / size) + 1) <= room);
  return small ?? Math.ceil(hours / 24 / Math.max(1, room - 1)) * 24;
}

function bucket(hours: readonly HourCount[], size: number, limit: number): Bar[] {
  const span = size * HOUR_MS;
  const bars: Bar[] = [];
  for (const { hour, requests } of hours) {
    const at = hour - (hour % span);
    const last = bars.at(-1);
    const full = requests >= limit;
    if (last?.at === at) {
      last.requests += requests;
      last.full ||= full;
    } else bars.push({ at, requests, full });
  }
  return bars;
}

/** The lines of a column chart with its axis. If a bar is not one hour, the last line says what it is. */
export function chart(hours: readonly HourCount[], options: ChartOptions): string[] {
  const { height, width, limit, style = plainStyle } = options;
  const peak = Math.max(...hours.map(({ requests }) => requests));
  // The label of the highest bucket is not known yet: reserve a few characters more than the highest hour needs.
  const size = bucketHours(hours.length, Math.max(1, width - formatShort(peak).length - 5));
  const bars = bucket(hours, size, limit);
  const top = Math.max(1, ...bars.map(({ requests }) => requests));
  const label = formatShort(top);
  const room = Math.max(1, width - label.length - 2);
  // Columns of one bar with the gap after it.
  const pitch = Math.min(4, Math.max(1, Math.floor(room / bars.length)));
  const lines: string[] = [];
  for (let row = height - 1; row >= 0; row--) {
    const axis = row === height - 1 ? `${label} ┤` : `${' '.repeat(label.length)} │`;
    lines.push(`${style.dim(axis)}${barRow(bars, row, height, top, pitch, style)}`.trimEnd());
  }
  lines.push(style.dim(`${'0'.padStart(label.length)} ┼${'─'.repeat(bars.length * pitch)}`));
  const labels = axisLabels(bars, size, pitch);
  if (labels.trim() !== '') lines.push(style.dim(`${' '.repeat(label.length + 2)}${labels}`.trimEnd()));
  if (size > 1) lines.push(style.dim(`one bar: ${size % 24 === 0 ? `${size / 24} d` : `${size} h`}`));
  return lines;
}

/** One line of all bars; row 0 is the lowest. `top` is the value of a bar of full height. */
function barRow(
  bars: readonly Bar[],
  row: number,
  height: number,
  top: number,
  pitch: number,
  style: Style,
): string {
  const thickness = Math.max(1, pitch - 1);
  return bars
    .map(({ requests, full }) => {
      const eighths = requests === 0 ? 0 : Math.max(1, Math.round((requests / top) * height * EIGHTHS));
      const block = RISING[Math.min(EIGHTHS, Math.max(0, eighths - row * EIGHTHS))] ?? '';
      if (block === '') return ' '.repeat(pitch);
      return style[full ? 'red' : 'cyan'](block.repeat(thickness)) + ' '.repeat(pitch - thickness);
    })
    .join('');
}

/** Hours between two labels. */
const STEPS = [1, 2, 3, 4, 6, 12, 24];
const LABEL_GAP = 2;

/** Labels under the bars: hours of the day (UTC), or dates if the window is longer than two days. */
function axisLabels(bars: readonly Bar[], size: number, pitch: number): string {
  const days = bars.length * size > 48;
  const length = days ? 5 : 2;
  const everyHours = days
    ? 24 * Math.ceil((length + LABEL_GAP) / ((24 / size) * pitch))
    : (STEPS.find((step) => (step / size) * pitch >= length + LABEL_GAP) ?? 24);
  let line = '';
  for (const [index, { at }] of bars.entries()) {
    const column = index * pitch;
    const onStep = Math.floor(at / HOUR_MS) % everyHours === 0;
    if (!onStep || column < line.length || column + length > bars.length * pitch) continue;
    const iso = new Date(at).toISOString();
    line = line.padEnd(column) + (days ? iso.slice(5, 10) : iso.slice(11, 13));
  }
  return line;
}
