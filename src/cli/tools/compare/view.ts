// Prints a comparison for people: a table for each request as it ends, and one over all of them.
import { plural } from '../../../plural.ts';
import { formatElapsed } from '../../../elapsed.ts';
import { truncate } from '../../../display-width.ts';
import { clean, formatCost, formatShort, type Style } from '../../ui/style.ts';
import { table, type Cell, type Column } from '../../ui/table.ts';
import type { Estimate } from './estimate.ts';
import type { Judged, JudgedRow, Total } from './report.ts';

export interface Canvas {
  width: number | undefined;
  style: Style;
}

/** Columns of a text in a pipe. */
const WIDEST = 60;

const tokens = (count: number | null): string => (count === null ? '-' : formatShort(count));

export function rowLines({ request, asks, answers }: JudgedRow, { width, style }: Canvas): string[] {
  const room = width ?? 2 * WIDEST;
  const title =
    asks === ''
      ? clean(request)
      : `${clean(request)}  ${style.dim(oneLine(asks, room - request.length - 2))}`;
  const columns: Column<Judged>[] = [
    { title: 'TARGET', value: ({ target }) => clean(target), shrinks: true, shortest: 12, least: 8 },
    { title: 'ANSWER', value: answerCell, shrinks: true, least: 10 },
    { title: 'TEXT', value: textCell, least: 5 },
    { title: 'CALLS', value: callsCell, shrinks: true, least: 5 },
    { title: 'IN', value: ({ input }) => tokens(input), align: 'right', least: 5 },
    { title: 'OUT', value: ({ output }) => tokens(output), align: 'right', least: 5 },
    { title: 'COST', value: ({ cost }) => formatCost(cost), align: 'right', least: 7 },
    { title: 'FIRST', value: ({ firstByteMs }) => formatElapsed(firstByteMs), align: 'right', least: 5 },
    { title: 'TOOK', value: ({ ms }) => formatElapsed(ms), align: 'right', least: 5 },
  ];
  return [style.bold(title), ...table(answers, columns, { width, style, optional: OPTIONAL })];
}

const OPTIONAL = [['FIRST'], ['FIRST', 'IN', 'OUT']];

const oneLine = (text: string, width: number): string =>
  truncate(clean(text.replace(/\s+/g, ' ').trim()), Math.max(8, width));

/** What the model does: its calls, else its text. */
function answerCell({ error, status, text, calls, stop }: Judged): string | Cell {
  if (error !== null)
    return {
      text: oneLine(status === null || status === 200 ? error : `${status} ${error}`, WIDEST),
      paint: 'red',
    };
  const called = calls.map(({ name, arguments: given }) => `${name} ${given}`).join('; ');
  const said = called === '' ? text : called;
  return said.trim() === ''
    ? { text: `nothing (${stop ?? 'no reason'})`, paint: 'yellow' }
    : oneLine(said, WIDEST);
}

function textCell({ sameText }: Judged): string | Cell {
  if (sameText === null) return '-';
  return sameText ? { text: 'equal', paint: 'green' } : { text: 'other', paint: 'yellow' };
}

function callsCell({ sameCalls, calls }: Judged): string | Cell {
  if (sameCalls === null) return calls.length === 0 ? '-' : plural(calls.length, 'call');
  if (sameCalls.same === 'equal') return { text: 'equal', paint: 'green' };
  if (sameCalls.same === 'after_schema') return { text: 'equal after schema', paint: 'green' };
  return { text: clean(`different: ${sameCalls.difference ?? ''}`), paint: 'red' };
}

export function totalLines(all: readonly Total[], { width, style }: Canvas): string[] {
  // The first is what the others are measured by.
  const against = (count: (total: Total) => number) => (total: Total) =>
    total === all[0] ? '-' : String(count(total));
  const columns: Column<Total>[] = [
    { title: 'TARGET', value: ({ target }) => clean(target), shrinks: true, shortest: 12 },
    { title: 'ANSWERED', value: answeredCell, align: 'right' },
    { title: 'TEXTS EQUAL', value: against(({ texts }) => texts), align: 'right' },
    { title: 'CALLS EQUAL', value: against(({ calls }) => calls.equal), align: 'right' },
    { title: 'AFTER SCHEMA', value: against(({ calls }) => calls.after_schema), align: 'right' },
    { title: 'DIFFERENT', value: against(({ calls }) => calls.different), align: 'right' },
    { title: 'IN', value: ({ input }) => tokens(input), align: 'right' },
    { title: 'OUT', value: ({ output }) => tokens(output), align: 'right' },
    { title: 'COST', value: ({ cost }) => formatCost(cost), align: 'right' },
    { title: 'FIRST', value: ({ firstByteMs }) => formatElapsed(firstByteMs), align: 'right' },
    { title: 'TOOK', value: ({ ms }) => formatElapsed(ms), align: 'right' },
  ];
  return table(all, columns, { width, style, optional: [['FIRST'], ['IN', 'OUT'], ['TEXTS EQUAL']] });
}

function answeredCell({ answered, failed }: Total): string | Cell {
  return failed === 0 ? String(answered) : { text: `${answered} of ${answered + failed}`, paint: 'red' };
}

/** `12 requests to 3 targets cost $4.20 at most, about $0.31 with answers as long as the recorded ones` */
export function estimateText(
  { most, usual, unpriced }: Estimate,
  counts: { requests: number; targets: number; left: number },
): string {
  const what = `${plural(counts.requests, 'request')} to ${plural(counts.targets, 'target')}`;
  const about =
    usual === null || usual >= most
      ? ''
      : `, about ${formatCost(usual)} with answers as long as the recorded ones`;
  const unknown =
    unpriced.length === 0 ? '' : `; the price of ${unpriced.map(clean).join(', ')} is unknown and not in it`;
  const left =
    counts.left === 0
      ? ''
      : `; ${plural(counts.left, 'request')} of the tape ${counts.left === 1 ? 'asks' : 'ask'} no model and ${counts.left === 1 ? 'is' : 'are'} left out`;
  return `${what} cost ${formatCost(most)} at most${about}${unknown}${left}`;
}
