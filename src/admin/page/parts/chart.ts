// Charts by uPlot. The colours are those of the style, so that they follow dark and light; the table beside a chart is its alternative.
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot, { type AlignedData, type Axis, type Options, type Series } from 'uplot';
import * as format from '../format.ts';
import { html } from '../html.ts';
import { useTheme } from './theme.ts';
import type { VNode } from 'preact';

export interface Line {
  label: string;
  values: readonly (number | null)[];
  /** The number of a colour of the style: `--series-1`, … */
  colour: number;
}

interface ChartProps {
  title: string;
  /** What it shows, for those who do not see it. */
  summary: string;
  /** Labels of the values, below the chart. */
  labels: readonly string[];
  lines: readonly Line[];
  kind: 'stack' | 'line';
  /** The times of the values, from which the labels below the chart come. */
  axis?: { times: readonly number[]; step: 'hour' | 'day' };
  /** The last value is not complete yet. */
  isRunning?: boolean;
  /** The ID of the table with the same values. */
  table?: string;
  format: (value: number) => string;
  /** The marks of the axis at the left; without it, each by `format`. */
  marks?: (values: readonly number[]) => string[];
  height?: number;
  /** The labels are neither shown nor read out under the pointer: the chart moves. */
  isLive?: boolean;
}

const HEIGHT = 180;
const BAR_SHARE = 0.7;
const WIDEST_BAR = 48;
/** Pixels for a label below the chart. */
const LABEL_WIDTH = 64;
const STRIPE = 6;
const GLYPH_WIDTH = 7;
/** The lowest mark of the left axis reaches below the chart. */
const LABEL_GAP = 9;

export function Chart(props: ChartProps): VNode {
  const { title, summary, lines, labels, isLive = false } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const [at, setAt] = useState<number | null>(null);
  const theme = useTheme();
  const shape = JSON.stringify([
    props.kind,
    props.axis?.step,
    props.isRunning,
    lines.map(({ label, colour }) => [label, colour]),
    theme,
    isLive,
  ]);
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const own = new uPlot(optionsOf(element, latest, setAt), dataOf(latest.current), element);
    plot.current = own;
    const observer = new ResizeObserver(() =>
      own.setSize({ width: element.clientWidth, height: latest.current.height ?? HEIGHT }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      own.destroy();
    };
  }, [shape]);

  useEffect(() => plot.current?.setData(dataOf(props)), [lines, labels]);

  const shown = at ?? -1;
  // The title names a single line.
  const named = isLive && lines.length === 1 ? [] : lines;
  return html`
    <figure class="chart">
      <figcaption>
        <span class="chart-title">${title}</span>
        <span class="legend ${props.kind === 'line' ? 'lines' : ''}" aria-hidden="true">
          ${labels[shown] !== undefined && !isLive && html`<span class="chart-at">${labels[shown]}</span>`}
          ${named.map(({ label, values, colour }) => {
            const value = values[shown];
            return html`<span class="legend-item series-${colour}">
              ${label}${typeof value === 'number' && !isLive && html` <b>${props.format(value)}</b>`}
            </span>`;
          })}
          ${props.isRunning === true && props.kind === 'stack' && html`<span class="legend-item running">not over yet</span>`}
        </span>
      </figcaption>
      <div class="plot" ref=${place} role="img" aria-label=${summary} aria-describedby=${props.table}></div>
    </figure>
  `;
}

/** Stacked values are drawn as sums, the largest first, so that the smaller ones stand before it. */
function dataOf({ labels, lines, kind }: ChartProps): AlignedData {
  const x = labels.map((_, index) => index);
  const values = lines.map((line) => line.values);
  if (kind !== 'stack') return [x, ...values.map((list) => [...list])];
  const sums = x.map(() => 0);
  const stacked = values.map((list) =>
    x.map((index) => (sums[index] = (sums[index] ?? 0) + (list[index] ?? 0))),
  );
  return [x, ...stacked.reverse()];
}

function optionsOf(
  element: HTMLElement,
  latest: { readonly current: ChartProps },
  onCursor: (index: number | null) => void,
): Options {
  const { kind, lines, height = HEIGHT, isLive = false } = latest.current;
  const colourOf = (name: string): string => resolved(element, name);
  // Where the system forces its colours, a grid has the colour of the lines.
  const isForced = matchMedia('(forced-colors: active)').matches;
  const grid = { stroke: colourOf('--line'), width: 1, ...(isForced && { dash: [1, 5] }) };
  const axis: Axis = {
    stroke: colourOf('--text-quiet'),
    font: `12px ${getComputedStyle(element).fontFamily}`,
    ticks: { show: false },
  };
  const drawn = kind === 'stack' ? [...lines].reverse() : lines;
  return {
    width: element.clientWidth,
    height,
    // Room for the half of the last label.
    padding: [8, isLive ? 8 : kind === 'line' ? 24 : 12, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { setScale: false }, points: { show: kind !== 'stack' }, show: !isLive },
    scales: {
      x: {
        time: false,
        range: (_, min, max) => (kind !== 'line' ? [min - 0.5, max + 0.5] : [min, Math.max(max, min + 1)]),
      },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: isLive ? 8 : 39 + LABEL_GAP,
        gap: LABEL_GAP,
        splits: (self) => marksOf(latest.current, self.bbox.width / devicePixelRatio),
        values: (_, marks) => labelsOf(latest.current, marks),
      },
      {
        ...axis,
        grid,
        // The first label below the chart is centred at this edge.
        size: (_, texts) =>
          Math.max(
            isLive ? 0 : LABEL_WIDTH / 2,
            16 + GLYPH_WIDTH * Math.max(2, ...(texts ?? []).map(({ length }) => length)),
          ),
        space: 32,
        values: (_, values) => latest.current.marks?.(values) ?? values.map(latest.current.format),
      },
    ],
    series: [
      {},
      ...drawn.map(({ label, colour }) => {
        const ink = colourOf(`--series-${colour}`);
        return seriesOf(label, { ink, fill: fillOf(colour, ink, colourOf('--page')), colour }, kind);
      }),
    ],
    hooks: {
      setCursor: [({ cursor }) => onCursor(cursor.idx ?? null)],
      draw: [
        (self) => {
          if (latest.current.isRunning === true && kind === 'stack') hatchLast(self, colourOf('--page'));
        },
      ],
    },
  };
}

interface Look {
  ink: string;
  fill: string | CanvasPattern;
  colour: number;
}

function seriesOf(label: string, { ink, fill, colour }: Look, kind: ChartProps['kind']): Series {
  // A second line is told apart without its colour.
  const dash = colour === 1 ? undefined : [6, 4];
  if (kind === 'line')
    return { label, stroke: ink, width: 2, spanGaps: true, points: { size: 5 }, ...(dash && { dash }) };
  const paths = uPlot.paths.bars?.({ size: [BAR_SHARE, WIDEST_BAR] });
  return { label, fill, width: 0, points: { show: false }, ...(paths && { paths }) };
}

/**
 * What of a tile of the pattern shows the page: dots, diagonals, broken lines down, chequers. No row and no column of it is empty, so that a
 * bar of two pixels is seen. The style has the same for the legend.
 */
const HOLES: Readonly<
  Record<number, (unit: number) => readonly [x: number, y: number, w: number, h: number][]>
> = {
  2: (unit) => [[unit, unit, unit, unit]],
  3: (unit) => [0, unit, 2 * unit].map((at) => [at, at, unit, unit] as const),
  4: (unit) => [
    [0, 0, unit, 1.5 * unit],
    [1.5 * unit, 1.5 * unit, unit, 1.5 * unit],
  ],
  5: (unit) => [
    [0, 0, 1.5 * unit, 1.5 * unit],
    [1.5 * unit, 1.5 * unit, 1.5 * unit, 1.5 * unit],
  ],
};

/** A pattern for each colour, so that hue is not needed, nor there where the system forces its colours. */
function fillOf(colour: number, ink: string, ground: string): string | CanvasPattern {
  const holes = HOLES[colour];
  const tile = document.createElement('canvas');
  const context = tile.getContext('2d');
  if (holes === undefined || context === null) return ink;
  const unit = 2 * devicePixelRatio;
  tile.width = tile.height = 3 * unit;
  context.fillStyle = ink;
  context.fillRect(0, 0, tile.width, tile.height);
  context.fillStyle = ground;
  for (const hole of holes(unit)) context.fillRect(...hole);
  return context.createPattern(tile, 'repeat') ?? ink;
}

/** Stripes over the last bar. */
function hatchLast(self: uPlot, ground: string): void {
  const last = self.data[0].length - 1;
  const highest = Math.max(0, ...self.data.slice(1).map((values) => values[last] ?? 0));
  const [left, right] = [last - 0.5, last + 0.5].map((at) => self.valToPos(at, 'x', true));
  const top = self.valToPos(highest, 'y', true);
  const bottom = self.valToPos(0, 'y', true);
  if (left === undefined || right === undefined) return;
  const { ctx } = self;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, right - left, bottom - top);
  ctx.clip();
  ctx.strokeStyle = ground;
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.beginPath();
  for (let x = left - (bottom - top); x < right; x += STRIPE * devicePixelRatio) {
    ctx.moveTo(x, bottom);
    ctx.lineTo(x + bottom - top, top);
  }
  ctx.stroke();
  ctx.restore();
}

const HOUR_STEPS = [1, 2, 3, 6, 12, 24, 48, 72, 168, 336];
const DAY_STEPS = [1, 2, 7, 14, 28, 56];

/** Values that get a label: at round hours of the reader's day, or at days counted from the last one. */
function marksOf({ axis }: ChartProps, width: number): number[] {
  const times = axis?.times ?? [];
  const all = times.map((_, index) => index);
  const fits = (step: number): boolean => (width / Math.max(1, times.length)) * step >= LABEL_WIDTH;
  if (axis?.step === 'day') {
    const step = DAY_STEPS.find(fits) ?? times.length;
    return all.filter((index) => (times.length - 1 - index) % step === 0);
  }
  const step = HOUR_STEPS.find(fits) ?? times.length;
  let day = -1;
  return all.filter((index) => {
    const hour = new Date(times[index] ?? 0).getHours();
    if (hour === 0) day += 1;
    return hour % Math.min(step, 24) === 0 && (step <= 24 || (hour === 0 && day % (step / 24) === 0));
  });
}

/** The hour, and the day once below; or the day, and the month once below. */
function labelsOf({ axis }: ChartProps, marks: readonly number[]): string[] {
  let before = '';
  return marks.map((mark) => {
    const time = axis?.times[mark];
    if (time === undefined) return '';
    const [label, place] =
      axis?.step === 'day'
        ? [format.dayOfMonth(time), format.monthLabel(time)]
        : [format.hourLabel(time), format.dayLabel(time)];
    const isNew = place !== before;
    before = place;
    return isNew ? `${label}\n${place}` : label;
  });
}

/** The colour that a variable of the style has here and now. */
function resolved(element: HTMLElement, name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  element.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

/** Marks of the axis: whole numbers where nothing can be between them. */
export const wholeCount = (value: number): string => (Number.isInteger(value) ? format.short(value) : '');
