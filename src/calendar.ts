// Calendar periods of limits, in UTC: daylight saving time does not matter.
import { DAY_MS, HOUR_MS } from './clock.ts';

export const PERIODS = ['hour', 'day', 'week', 'month'] as const;
export type Period = (typeof PERIODS)[number];

/** Milliseconds since the epoch; the end belongs to the next window. */
interface CalendarWindow {
  start: number;
  end: number;
}

/** The epoch began on a Thursday, three days after a Monday. */
const DAYS_AFTER_MONDAY = 3;
const WEEK_MS = 7 * DAY_MS;

/** The window of a period that holds a time. Weeks begin on Monday. */
export function windowOf(per: Period, time: number): CalendarWindow {
  switch (per) {
    case 'hour':
      return repeated(time, HOUR_MS, 0);
    case 'day':
      return repeated(time, DAY_MS, 0);
    case 'week':
      return repeated(time, WEEK_MS, DAYS_AFTER_MONDAY * DAY_MS);
    case 'month': {
      const date = new Date(time);
      const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
      return { start: Date.UTC(year, month), end: Date.UTC(year, month + 1) };
    }
  }
}

/** Windows of one length; `ahead`: how long before the epoch one of them began. */
function repeated(time: number, length: number, ahead: number): CalendarWindow {
  const start = Math.floor((time + ahead) / length) * length - ahead;
  return { start, end: start + length };
}
