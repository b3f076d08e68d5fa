// Points of OpenTelemetry's metrics, as far as they count an agent's work; whichever form they came in.
import { hash } from 'node:crypto';
import { MOST_WORK } from '../../../store/holds/work-sql.ts';
import type { Work } from '../../../store/holds/work.ts';

/** The body is not what its type says. */
export class Malformed extends Error {
  override readonly name = 'Malformed';
}

/** As both forms have it. */
export interface RawPoint {
  metric: string;
  temporality: 'delta' | 'cumulative' | undefined;
  /** When counting began, in the form's own text. */
  start: string;
  value: number;
  attributes: readonly (readonly [name: string, value: string])[];
}

export interface Point {
  metric: string;
  /** The client's id of the conversation. */
  session: string;
  type: string | undefined;
  /** Whole, 1 to MOST_WORK. */
  value: number;
  /** '' adds; else a sum since a start, of which the largest value counts. */
  series: string;
}

const KINDS: Readonly<Record<string, (type: string | undefined) => keyof Work | undefined>> = {
  'claude_code.commit.count': () => 'commits',
  'claude_code.pull_request.count': () => 'pullRequests',
  'claude_code.lines_of_code.count': (type) =>
    type === 'added' ? 'linesAdded' : type === 'removed' ? 'linesRemoved' : undefined,
};

/** Other metrics are not read any further. */
export const isWork = (metric: string): boolean => Object.hasOwn(KINDS, metric);

export const workKindOf = ({ metric, type }: Point): keyof Work | undefined => KINDS[metric]?.(type);

/** As of a request's header. */
const LONGEST_SESSION = 256;
/** Characters of a series' digest. */
const SERIES_DIGITS = 24;

/** undefined: it names no conversation, or counts nothing. */
export function pointOf({ metric, temporality, start, value, attributes }: RawPoint): Point | undefined {
  const named = new Map(attributes);
  const session = named.get('session.id') ?? '';
  const whole = Math.round(value);
  if (temporality === undefined || session === '' || session.length > LONGEST_SESSION) return undefined;
  if (!(whole >= 1 && whole <= MOST_WORK)) return undefined;
  return {
    ...{ metric, session, type: named.get('type'), value: whole },
    series: temporality === 'delta' ? '' : seriesOf(metric, start, attributes),
  };
}

/** The same for all reports of one counter: it counts from its start on, for these attributes. */
function seriesOf(metric: string, start: string, attributes: RawPoint['attributes']): string {
  const named = attributes.map(([name, value]) => JSON.stringify([name, value])).sort();
  return hash('sha256', [metric, start, ...named].join('\n'), 'hex').slice(0, SERIES_DIGITS);
}
