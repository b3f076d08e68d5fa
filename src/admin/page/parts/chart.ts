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
  /** `points`: lines would join things that have no order. */
  kind: 'stack' | 'line' | 'points';
  format: (value: number) => string;
  height?: number;
  /** The labels are neither shown nor read out under the pointer: the chart moves. */
  isLive?: boolean;
}

const HEIGHT = 180;
const BAR_SHARE = 0.7;
const WIDEST_BAR = 48;
/** Pixels for a label below the chart. */
const LABEL_WIDTH = 90;
const GLYPH_WIDTH = 7;

export function Chart(props: ChartProps): VNode {
  const { title, summary, lines, labels, isLive = false } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const [at, setAt] = useState<number | null>(null);
  const theme = useTheme();
  const shape = JSON.stringify([
    props.kind,
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
        <span class="legend" aria-hidden="true">
          ${labels[shown] !== undefined && !isLive && html`<span class="chart-at">${labels[shown]}</span>`}
          ${named.map(({ label, values, colour }) => {
            const value = values[shown];
            return html`<span class="legend-item series-${colour}">
              ${label}${typeof value === 'number' && !isLive && html` <b>${props.format(value)}</b>`}
            </span>`;
          })}
        </span>
      </figcaption>
      <div class="plot" ref=${place} role="img" aria-label=${summary}></div>
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
  const grid = { stroke: colourOf('--line'), width: 1 };
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
    padding: isLive ? [8, 8, 0, 0] : [8, LABEL_WIDTH / 2, 0, 0],
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
        size: isLive ? 8 : 28,
        space: LABEL_WIDTH,
        incrs: [1, 2, 3, 6, 12, 24, 48, 96, 168, 336],
        values: (_, marks) =>
          marks.map((mark) => (isLive ? '' : shortened(latest.current.labels[mark] ?? ''))),
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
        space: 40,
        values: (_, marks) => marks.map((mark) => latest.current.format(mark)),
      },
    ],
    series: [{}, ...drawn.map(({ label, colour }) => seriesOf(label, colourOf(`--series-${colour}`), kind))],
    hooks: { setCursor: [({ cursor }) => onCursor(cursor.idx ?? null)] },
  };
}

function seriesOf(label: string, colour: string, kind: ChartProps['kind']): Series {
  if (kind === 'line') return { label, stroke: colour, width: 2, spanGaps: true, points: { size: 5 } };
  if (kind === 'points')
    return { label, stroke: colour, width: 0, points: { show: true, size: 9, fill: colour } };
  const paths = uPlot.paths.bars?.({ size: [BAR_SHARE, WIDEST_BAR] });
  return { label, fill: colour, width: 0, points: { show: false }, ...(paths && { paths }) };
}

const LONGEST_LABEL = 14;
const shortened = (text: string): string =>
  text.length <= LONGEST_LABEL ? text : `${text.slice(0, LONGEST_LABEL - 1)}…`;

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
